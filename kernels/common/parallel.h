// Cutting work over elements into pieces worth a thread.
#ifndef MILLSTREAM_KERNELS_COMMON_PARALLEL_H_
#define MILLSTREAM_KERNELS_COMMON_PARALLEL_H_

#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// Ranges are cut at multiples of this many elements: a multiple of any vector and cache line.
inline constexpr int64_t kElementsPerUnit = 4096;

// Less work than this runs in the caller's thread without asking the host.
inline constexpr int64_t kSerialPicoseconds = 20 * 1000 * 1000;

// Whether `count` things of `picoseconds` each are such work. Small steps do little else than ask
// this, so it does without a division.
inline bool IsSerialWork(int64_t count, int64_t picoseconds) {
  return count <= kSerialPicoseconds && picoseconds <= kSerialPicoseconds &&
         count * picoseconds <= kSerialPicoseconds;
}

// Calls fn(begin, end) on ranges that cover [0, elements). One element costs about
// `picoseconds` (a cheap operation on float32 from memory: 300; a division: 1000; an exp: 3000).
template <typename Fn>
void ParallelElements(ms::Frame& frame, int64_t elements, int64_t picoseconds, Fn&& fn) {
  if (elements <= 0) return;
  if (IsSerialWork(elements, picoseconds)) {
    fn(int64_t{0}, elements);
    return;
  }
  const uint64_t units = static_cast<uint64_t>((elements - 1) / kElementsPerUnit + 1);
  const uint64_t nanoseconds =
      std::max<uint64_t>(1, static_cast<uint64_t>(kElementsPerUnit * picoseconds / 1000));
  frame.ParallelFor(units, nanoseconds, [&](uint64_t begin, uint64_t end) {
    fn(static_cast<int64_t>(begin) * kElementsPerUnit,
       std::min(elements, static_cast<int64_t>(end) * kElementsPerUnit));
  });
}

// Calls fn(begin, end) on ranges that cover [0, rows), where a row is `elements_per_row` elements.
template <typename Fn>
void ParallelRows(ms::Frame& frame, int64_t rows, int64_t elements_per_row, int64_t picoseconds,
                  Fn&& fn) {
  if (rows <= 0) return;
  const int64_t row_picoseconds = std::max<int64_t>(1, elements_per_row * picoseconds);
  if (IsSerialWork(rows, row_picoseconds)) {
    fn(int64_t{0}, rows);
    return;
  }
  frame.ParallelFor(static_cast<uint64_t>(rows), static_cast<uint64_t>(row_picoseconds / 1000 + 1),
                    [&](uint64_t begin, uint64_t end) {
                      fn(static_cast<int64_t>(begin), static_cast<int64_t>(end));
                    });
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_PARALLEL_H_
