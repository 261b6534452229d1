// Copies of large tensors.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_STREAMED_COPY_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_STREAMED_COPY_H_

#include <cstddef>

namespace millstream {

// Copies of so many bytes are made of stores that do not read the lines first and leave the caches
// to others: what is copied, and the copy, do not fit into most last caches together.
inline constexpr size_t kLeastStreamed = size_t{16} << 20;

// A part of a copy by such stores, or by others where the processor has none. The ranges must not
// overlap. Other threads see the bytes after EndStreaming, which the same thread calls before it
// says that they are there.
void StreamCopy(const char* from, size_t size, char* to);
void EndStreaming();

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_STREAMED_COPY_H_
