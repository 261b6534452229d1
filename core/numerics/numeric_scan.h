// Looking for NaN and infinities in tensors: one pass over memory, as fast as it is read.
#ifndef MILLSTREAM_CORE_NUMERICS_NUMERIC_SCAN_H_
#define MILLSTREAM_CORE_NUMERICS_NUMERIC_SCAN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/resources/numeric_bounds.h"
#include "framework/plugin/plugin.h"

namespace millstream {

// Whether there are NaN and infinities among the values of the type.
bool HasNonFinite(MS_DType dtype);
// Whether the view is of such a type and the host can read it.
bool CanScan(const MS_TensorView& view);
// Whether one of them is NaN or an infinity. False for what cannot be scanned. With `threads` in
// parts, as the execution of `frame` may, but for small ones.
bool HoldsNonFinite(const MS_TensorView& view, MS_Frame* frame = nullptr,
                    const MS_ThreadsApi* threads = nullptr);
// Where the numbers lie, in as many parts: from the least to the most when none is negative, else
// as far below zero as above. Nothing when one is not finite. REQUIRES: CanScan(view).
std::optional<NumericBounds> BoundsOf(const MS_TensorView& view, MS_Frame* frame = nullptr,
                                      const MS_ThreadsApi* threads = nullptr);

// What a tensor holds. Complex numbers count as two.
struct NumericRange {
  int64_t count = 0;
  int64_t nans = 0;
  int64_t infinities = 0;
  double min = 0;  // of the finite ones; 0 when there are none
  double max = 0;

  // "-1.5 to 2, 3 NaN, 1 infinity of 128"; "no numbers" for an empty tensor.
  std::string ToString() const;
};

// REQUIRES: CanScan(view).
NumericRange RangeOf(const MS_TensorView& view);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_NUMERICS_NUMERIC_SCAN_H_
