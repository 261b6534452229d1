// Slices of the table as byte buffers of gRPC. Only small messages are copied.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_BYTES_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_BYTES_H_

#include <grpc/byte_buffer.h>
#include <grpc/slice.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "distributed_runtime/network_table.h"

namespace millstream::network {

struct DestroyBytes {
  void operator()(grpc_byte_buffer* bytes) const { grpc_byte_buffer_destroy(bytes); }
};
using Bytes = std::unique_ptr<grpc_byte_buffer, DestroyBytes>;

// A message of at most so many bytes is copied into one slice, which costs less than several, and
// frees the memory of the runtime at once.
constexpr size_t kMostCopied = 4096;

// gRPC writes the size of a message in 32 bits, and cuts off those of a larger one: what is behind
// would be taken for the next messages of the stream.
constexpr size_t kMostBytes = UINT32_MAX;
inline constexpr char kTooLarge[] = "a message of more than 4294967295 bytes: gRPC has none";

// Takes over the slices. The front, which is copied, comes before them. Null, and the slices are
// released, if they are of more than kMostBytes.
Bytes ToBytes(const std::string& front, const millstream_slice* slices, size_t n);
// Whether a message keeps memory of the runtime until it is sent.
bool KeepsMemory(const grpc_byte_buffer* bytes);
// Whether to send it, or to take it, is long work (LetOthersRead).
bool IsLarge(const grpc_byte_buffer* bytes);
// What is in front of a request whose method TakeMethod reads. REQUIRES: at most 255 letters.
std::string FrontFor(const char* method);
// The receiver takes over the slices. None of null.
std::vector<millstream_slice> ToSlices(Bytes bytes);
// Reads the name in front of a request, and leaves the rest. False if there is none.
bool TakeMethod(std::vector<millstream_slice>* slices, std::string* method);
void Release(const std::vector<millstream_slice>& slices);

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_BYTES_H_
