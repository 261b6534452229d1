#include "kernels/common/parallel.h"

#include <algorithm>

namespace millstream::kernels::internal {

ms::Status StoppableFor(ms::Frame& frame, uint64_t total, uint64_t cost_ns_per_unit,
                        RangeFunction fn) {
  // Of one thread. Costs are guesses; a step should end within a tenth of a second.
  constexpr uint64_t kNanosecondsBetweenChecks = 10 * 1000 * 1000;
  const uint64_t stretch =
      std::max<uint64_t>(1, kNanosecondsBetweenChecks / std::max<uint64_t>(cost_ns_per_unit, 1));
  // Whole turns of all threads, each of which takes several units.
  const uint64_t turn = total <= stretch ? total : stretch * frame.num_threads();
  for (uint64_t first = 0; first < total; first += turn) {
    if (first > 0) MS_TRY(frame.CheckCancelled());
    frame.ParallelFor(std::min(turn, total - first), cost_ns_per_unit,
                      [&](uint64_t begin, uint64_t end) {
                        fn(static_cast<int64_t>(first + begin), static_cast<int64_t>(first + end));
                      });
  }
  return ms::Status();
}

ms::Status ParallelElements(ms::Frame& frame, int64_t elements, int64_t picoseconds,
                            RangeFunction fn) {
  if (elements <= 0) return ms::Status();
  if (IsSerialWork(elements, picoseconds)) {
    fn(int64_t{0}, elements);
    return ms::Status();
  }
  const uint64_t units = static_cast<uint64_t>((elements - 1) / kElementsPerUnit + 1);
  const uint64_t nanoseconds =
      std::max<uint64_t>(1, static_cast<uint64_t>(kElementsPerUnit * picoseconds / 1000));
  const auto run_units = [&](int64_t begin, int64_t end) {
    fn(begin * kElementsPerUnit, std::min(elements, end * kElementsPerUnit));
  };
  return StoppableFor(frame, units, nanoseconds, RangeFunction(run_units));
}

ms::Status ParallelRows(ms::Frame& frame, int64_t rows, int64_t elements_per_row,
                        int64_t picoseconds, RangeFunction fn) {
  if (rows <= 0) return ms::Status();
  const int64_t row_picoseconds = std::max<int64_t>(1, elements_per_row * picoseconds);
  if (IsSerialWork(rows, row_picoseconds)) {
    fn(int64_t{0}, rows);
    return ms::Status();
  }
  return StoppableFor(frame, static_cast<uint64_t>(rows),
                      static_cast<uint64_t>(row_picoseconds / 1000 + 1), fn);
}

}  // namespace millstream::kernels::internal
