// Reads bytes as what tasks of a cluster read, for tests of hostile input.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_ANY_MESSAGE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_ANY_MESSAGE_H_

#include <cstddef>
#include <cstdint>

namespace millstream {

// The first byte says what the bytes are: 'c' and 'd' a request to begin a session and its response
// (devices), 'g' a graph, a signature and devices that a master registers, 'r' a request to run a
// step and 'R' its response (tensors), 't' the response to a request for a tensor, 'j' a member
// that joins a collective operation and 'J' what it gets, 'p' what a traced step reports, 's' an
// error, 'f' frames on a socket between processes of a host. The second byte is the size of the
// slices in which a transport gives the others; 0: one. What is read is written and read again; the
// process ends if that differs. Messages that ask for more than some megabytes of memory, which a
// task may do, are not read further.
void ReadAnyMessage(const uint8_t* data, size_t size);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_ANY_MESSAGE_H_
