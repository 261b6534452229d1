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

// As Frame::ParallelFor, but of a loop that takes long a stretch after the other, and the host is
// asked in between whether the step goes on. The error that it gives then is the kernel's to return
// at once: not all was done. Not for what must not be left half done, as a variable's update.
template <typename Fn>
ms::Status StoppableFor(ms::Frame& frame, uint64_t total, uint64_t cost_ns_per_unit, Fn&& fn) {
  // Of one thread. Costs are guesses; a step should end within a tenth of a second.
  constexpr uint64_t kNanosecondsBetweenChecks = 10 * 1000 * 1000;
  const uint64_t stretch =
      std::max<uint64_t>(1, kNanosecondsBetweenChecks / std::max<uint64_t>(cost_ns_per_unit, 1));
  if (total <= stretch) {
    frame.ParallelFor(total, cost_ns_per_unit, fn);
    return ms::Status();
  }
  // Whole turns of all threads, each of which takes several units.
  const uint64_t threads = frame.num_threads();
  const uint64_t turn = stretch * threads;
  for (uint64_t first = 0; first < total; first += turn) {
    if (first > 0) MS_TRY(frame.CheckCancelled());
    frame.ParallelFor(std::min(turn, total - first), cost_ns_per_unit,
                      [&](uint64_t begin, uint64_t end) { fn(first + begin, first + end); });
  }
  return ms::Status();
}

// Calls fn(begin, end) on ranges that cover [0, elements), as StoppableFor does. One element costs
// about `picoseconds` (a cheap operation on float32 from memory: 300; a division: 1000; an exp:
// 3000).
template <typename Fn>
ms::Status ParallelElements(ms::Frame& frame, int64_t elements, int64_t picoseconds, Fn&& fn) {
  if (elements <= 0) return ms::Status();
  if (IsSerialWork(elements, picoseconds)) {
    fn(int64_t{0}, elements);
    return ms::Status();
  }
  const uint64_t units = static_cast<uint64_t>((elements - 1) / kElementsPerUnit + 1);
  const uint64_t nanoseconds =
      std::max<uint64_t>(1, static_cast<uint64_t>(kElementsPerUnit * picoseconds / 1000));
  return StoppableFor(frame, units, nanoseconds, [&](uint64_t begin, uint64_t end) {
    fn(static_cast<int64_t>(begin) * kElementsPerUnit,
       std::min(elements, static_cast<int64_t>(end) * kElementsPerUnit));
  });
}

// Calls fn(begin, end) on ranges that cover [0, rows), where a row is `elements_per_row` elements.
template <typename Fn>
ms::Status ParallelRows(ms::Frame& frame, int64_t rows, int64_t elements_per_row,
                        int64_t picoseconds, Fn&& fn) {
  if (rows <= 0) return ms::Status();
  const int64_t row_picoseconds = std::max<int64_t>(1, elements_per_row * picoseconds);
  if (IsSerialWork(rows, row_picoseconds)) {
    fn(int64_t{0}, rows);
    return ms::Status();
  }
  return StoppableFor(frame, static_cast<uint64_t>(rows),
                      static_cast<uint64_t>(row_picoseconds / 1000 + 1),
                      [&](uint64_t begin, uint64_t end) {
                        fn(static_cast<int64_t>(begin), static_cast<int64_t>(end));
                      });
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_PARALLEL_H_
