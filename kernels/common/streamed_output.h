// Results that are written past the caches.
#ifndef MILLSTREAM_KERNELS_COMMON_STREAMED_OUTPUT_H_
#define MILLSTREAM_KERNELS_COMMON_STREAMED_OUTPUT_H_

#include <cstdint>

namespace millstream::kernels {

// A store to a line that is in no cache reads the line first, and displaces another one. Where what
// an op reads and writes does not fit into the last cache together, the first of its results are
// out of it again before the next op asks for them. So they are better made in a small buffer, a
// tile at a time, and copied from there by stores that only write (non-temporal stores: Intel 64
// and IA-32 Architectures Optimization Reference Manual, "Non-temporal store"). An addition of two
// tensors of 16 MB then takes less than half of the time.
//
// Bytes of such a tile: it stays in the first cache, and is so small that the processor goes on to
// read for the next one while it copies this one. With four times as many, reading and writing take
// turns.
inline constexpr int64_t kStreamedTileBytes = 2048;

// Whether results are to be written so: `written` bytes of an op that reads `read` bytes. Never
// where the results take the place of an input, whose lines are in the caches already: that is for
// the caller to know.
bool IsStreamed(int64_t read, int64_t written);

// Copies by such stores. Other threads see the bytes after EndStreaming, which the writing thread
// calls before it says that they are there. The ranges must not overlap.
void StreamCopy(const void* from, int64_t bytes, void* to);
void EndStreaming();

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_STREAMED_OUTPUT_H_
