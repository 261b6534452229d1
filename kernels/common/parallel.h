// Divides work on elements into parts that are large enough for a thread.
#ifndef MILLSTREAM_KERNELS_COMMON_PARALLEL_H_
#define MILLSTREAM_KERNELS_COMMON_PARALLEL_H_

#include <cstdint>
#include <type_traits>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// Ranges are cut at multiples of this many elements: a multiple of any vector and cache line.
inline constexpr int64_t kElementsPerUnit = 4096;

// Less work than this runs in the caller's thread without asking the host.
inline constexpr int64_t kSerialPicoseconds = 20 * 1000 * 1000;

// True if `count` units of `picoseconds` each are such work. It has no division, because it takes a
// large part of the time of small steps.
inline bool IsSerialWork(int64_t count, int64_t picoseconds) {
  return count <= kSerialPicoseconds && picoseconds <= kSerialPicoseconds &&
         count * picoseconds <= kSerialPicoseconds;
}

// A function fn(begin, end) that belongs to the caller. What cuts work is compiled once for all of
// them, and calls them by their address.
class RangeFunction {
 public:
  template <typename Fn,
            typename = std::enable_if_t<!std::is_same_v<std::decay_t<Fn>, RangeFunction>>>
  explicit RangeFunction(Fn& fn)
      : fn_(const_cast<void*>(static_cast<const void*>(&fn))),
        call_([](void* called, int64_t begin, int64_t end) {
          (*static_cast<Fn*>(called))(begin, end);
        }) {}
  void operator()(int64_t begin, int64_t end) const { call_(fn_, begin, end); }

 private:
  void* fn_;
  void (*call_)(void* called, int64_t begin, int64_t end);
};

namespace internal {
ms::Status StoppableFor(ms::Frame& frame, uint64_t total, uint64_t cost_ns_per_unit,
                        RangeFunction fn);
ms::Status ParallelElements(ms::Frame& frame, int64_t elements, int64_t picoseconds,
                            RangeFunction fn);
ms::Status ParallelRows(ms::Frame& frame, int64_t rows, int64_t elements_per_row,
                        int64_t picoseconds, RangeFunction fn);
}  // namespace internal

// As Frame::ParallelFor, but of a loop that takes long a stretch after the other, and the host is
// asked in between whether the step goes on. The error that it gives then is the kernel's to return
// at once: not all was done. Not for what must not be left half done, as a variable's update.
template <typename Fn>
ms::Status StoppableFor(ms::Frame& frame, uint64_t total, uint64_t cost_ns_per_unit, Fn&& fn) {
  return internal::StoppableFor(frame, total, cost_ns_per_unit, RangeFunction(fn));
}

// Calls fn(begin, end) on ranges that cover [0, elements), as StoppableFor does. One element costs
// about `picoseconds` (a cheap operation on float32 from memory: 300; a division: 1000; an exp:
// 3000).
template <typename Fn>
ms::Status ParallelElements(ms::Frame& frame, int64_t elements, int64_t picoseconds, Fn&& fn) {
  return internal::ParallelElements(frame, elements, picoseconds, RangeFunction(fn));
}

// Calls fn(begin, end) on ranges that cover [0, rows), where a row is `elements_per_row` elements.
template <typename Fn>
ms::Status ParallelRows(ms::Frame& frame, int64_t rows, int64_t elements_per_row,
                        int64_t picoseconds, Fn&& fn) {
  return internal::ParallelRows(frame, rows, elements_per_row, picoseconds, RangeFunction(fn));
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_PARALLEL_H_
