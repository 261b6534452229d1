#include "kernels/elementwise/broadcast.h"

#include <algorithm>

namespace millstream::kernels {
namespace {

// The dimension of a shape when it is right-aligned to `rank` dimensions.
int64_t AlignedDim(const ms::Shape& shape, uint32_t rank, uint32_t d) {
  const uint32_t missing = rank - shape.rank();
  return d < missing ? 1 : shape[d - missing];
}

}  // namespace

int64_t BroadcastPlan::rows() const {
  int64_t count = 1;
  for (uint32_t d = 0; d + 1 < rank; ++d) count *= dims[d];
  return count;
}

bool CanBroadcast(const ms::Shape& x, const ms::Shape& y) {
  const uint32_t rank = std::max(x.rank(), y.rank());
  for (uint32_t d = 0; d < rank; ++d) {
    const int64_t x_dim = AlignedDim(x, rank, d);
    const int64_t y_dim = AlignedDim(y, rank, d);
    if (x_dim != y_dim && x_dim != 1 && y_dim != 1) return false;
  }
  return true;
}

ms::Status PlanBroadcast(const ms::Shape& x, const ms::Shape& y, BroadcastPlan* plan) {
  const uint32_t rank = std::max(x.rank(), y.rank());
  plan->output = ms::Shape();
  for (uint32_t d = 0; d < rank; ++d) {
    const int64_t x_dim = AlignedDim(x, rank, d);
    const int64_t y_dim = AlignedDim(y, rank, d);
    if (x_dim != y_dim && x_dim != 1 && y_dim != 1) {
      return ms::InvalidArgument("Incompatible shapes: ", x.ToString(), " vs. ", y.ToString(),
                                 ": inputs x and y must broadcast against each other");
    }
    plan->output.Append(x_dim == 1 ? y_dim : x_dim);
  }

  // From the innermost dimension outwards; *_step is the stride an unrepeated dimension would have.
  // The merged dimensions come out in reverse.
  uint32_t merged = 0;
  int64_t x_step = 1;
  int64_t y_step = 1;
  bool x_repeats_before = false;
  bool y_repeats_before = false;
  for (uint32_t d = rank; d-- > 0;) {
    const int64_t dim = plan->output[d];
    if (dim == 1) continue;
    const bool x_repeats = AlignedDim(x, rank, d) == 1;
    const bool y_repeats = AlignedDim(y, rank, d) == 1;
    if (merged > 0 && x_repeats == x_repeats_before && y_repeats == y_repeats_before) {
      plan->dims[merged - 1] *= dim;
    } else {
      plan->dims[merged] = dim;
      plan->x_strides[merged] = x_repeats ? 0 : x_step;
      plan->y_strides[merged] = y_repeats ? 0 : y_step;
      ++merged;
    }
    if (!x_repeats) x_step *= dim;
    if (!y_repeats) y_step *= dim;
    x_repeats_before = x_repeats;
    y_repeats_before = y_repeats;
  }
  if (merged == 0) {
    plan->dims[0] = 1;
    plan->x_strides[0] = plan->y_strides[0] = 1;
    merged = 1;
  }
  plan->rank = merged;
  std::reverse(plan->dims.begin(), plan->dims.begin() + merged);
  std::reverse(plan->x_strides.begin(), plan->x_strides.begin() + merged);
  std::reverse(plan->y_strides.begin(), plan->y_strides.begin() + merged);
  plan->inner = plan->x_strides[merged - 1] == 0   ? BroadcastPlan::Inner::kOnlyY
                : plan->y_strides[merged - 1] == 0 ? BroadcastPlan::Inner::kOnlyX
                                                   : BroadcastPlan::Inner::kBoth;
  plan->size = plan->output.num_elements();
  plan->x_fills = x.num_elements() == plan->size;
  plan->y_fills = y.num_elements() == plan->size;
  return ms::Status();
}

}  // namespace millstream::kernels
