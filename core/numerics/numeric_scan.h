// Scans tensors for NaN and infinities, in one pass at the speed of memory.
#ifndef MILLSTREAM_CORE_NUMERICS_NUMERIC_SCAN_H_
#define MILLSTREAM_CORE_NUMERICS_NUMERIC_SCAN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "framework/numeric_bounds.h"
#include "framework/plugin/plugin.h"

namespace millstream {

// True if the type has NaN and infinities.
bool HasNonFinite(MS_DType dtype);
// True if HasNonFinite(view.dtype) and the host can read the memory.
bool CanScan(const MS_TensorView& view);
// True if an element is NaN or an infinity. False if !CanScan(view). With `threads`, large tensors
// are divided among the threads that the execution of `frame` may use.
bool HoldsNonFinite(const MS_TensorView& view, MS_Frame* frame = nullptr,
                    const MS_ThreadsApi* threads = nullptr);
// Bounds of the elements; none if an element is not finite. If no element is negative, they are the
// minimum and the maximum; else -m and m for the largest magnitude m. Uses threads like
// HoldsNonFinite. REQUIRES: CanScan(view).
std::optional<NumericBounds> BoundsOf(const MS_TensorView& view, MS_Frame* frame = nullptr,
                                      const MS_ThreadsApi* threads = nullptr);

// Statistics of the elements of a tensor. A complex number counts as two.
struct NumericRange {
  int64_t count = 0;
  int64_t nans = 0;
  int64_t infinities = 0;
  double min = 0;  // of the finite elements; 0 if there are none
  double max = 0;

  // "-1.5 to 2, 3 NaN, 1 infinity of 128"; "no numbers" for an empty tensor.
  std::string ToString() const;
};

// REQUIRES: CanScan(view).
NumericRange RangeOf(const MS_TensorView& view);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_NUMERICS_NUMERIC_SCAN_H_
