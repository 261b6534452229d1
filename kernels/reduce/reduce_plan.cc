#include "kernels/reduce/reduce_plan.h"

#include <algorithm>

namespace millstream::kernels {
namespace {

// Below this many elements a reduction is not worth cutting, and no group is smaller than a
// quarter.
constexpr int64_t kElementsToCut = 128 * 1024;
// Enough tasks to keep the threads of a large machine busy.
constexpr int64_t kWantedTasks = 64;

bool IsReduced(uint32_t reduced, uint32_t d) { return ((reduced >> d) & 1) != 0; }

// Merges neighbouring dimensions and sorts them into kept and reduced ones.
void MergeDimensions(const ms::Shape& input, uint32_t reduced, ReducePlan* plan) {
  struct Merged {
    int64_t size;
    int64_t stride;
    bool is_reduced;
  };
  std::array<Merged, ms::kMaxRank> merged;  // innermost first
  uint32_t rank = 0;
  int64_t stride = 1;
  for (uint32_t d = input.rank(); d-- > 0;) {
    if (input[d] == 1) continue;
    if (rank > 0 && merged[rank - 1].is_reduced == IsReduced(reduced, d)) {
      merged[rank - 1].size *= input[d];
    } else {
      merged[rank++] = {input[d], stride, IsReduced(reduced, d)};
    }
    stride *= input[d];
  }
  plan->kept_rank = plan->reduced_rank = 0;
  plan->outer = plan->items = plan->inner = 1;
  plan->inner_reduced = false;
  if (rank == 0) return;
  plan->inner = merged[0].size;
  plan->inner_reduced = merged[0].is_reduced;
  for (uint32_t i = rank; i-- > 1;) {
    if (merged[i].is_reduced) {
      plan->reduced_dims[plan->reduced_rank] = merged[i].size;
      plan->reduced_strides[plan->reduced_rank++] = merged[i].stride;
      plan->items *= merged[i].size;
    } else {
      plan->kept_dims[plan->kept_rank] = merged[i].size;
      plan->kept_strides[plan->kept_rank++] = merged[i].stride;
      plan->outer *= merged[i].size;
    }
  }
}

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void PlanReduction(const ms::Shape& input, uint32_t reduced, bool keep_dims, ReducePlan* plan) {
  plan->output = ms::Shape();
  plan->outputs = plan->count = 1;
  for (uint32_t d = 0; d < input.rank(); ++d) {
    if (IsReduced(reduced, d)) {
      plan->count *= input[d];
      if (keep_dims) plan->output.Append(1);
    } else {
      plan->outputs *= input[d];
      plan->output.Append(input[d]);
    }
  }
  plan->runs_per_row = plan->tiles = plan->groups = 1;
  if (plan->outputs == 0 || plan->count == 0) return;
  MergeDimensions(input, reduced, plan);
  if (plan->inner_reduced) {
    plan->runs_per_row = DivideUp(plan->inner, ReducePlan::kRunLength);
    plan->items *= plan->runs_per_row;
  } else {
    plan->tiles = DivideUp(plan->inner, ReducePlan::kTile);
  }
  const int64_t elements = plan->outputs * plan->count;
  if (elements >= kElementsToCut) {
    const int64_t wanted = kWantedTasks / (plan->outer * plan->tiles);
    const int64_t most = std::min(plan->items, elements / (kElementsToCut / 4));
    plan->groups = std::max<int64_t>(1, std::min(wanted, most));
  }
}

ms::Status ReadAxes(const ms::View& axes, uint32_t input_rank, uint32_t* reduced) {
  *reduced = 0;
  const int64_t rank = input_rank;
  for (int64_t i = 0; i < axes.size(); ++i) {
    const int64_t axis =
        axes.dtype() == MS_INT64 ? axes.data<int64_t>()[i] : int64_t{axes.data<int32_t>()[i]};
    if (axis < -rank || axis >= rank) {
      return ms::InvalidArgument("Invalid reduction dimension (", axis, " for input with ", rank,
                                 " dimension(s)): input reduction_indices must lie in [", -rank,
                                 ", ", rank, ")");
    }
    const int64_t dimension = axis < 0 ? axis + rank : axis;
    const uint32_t bit = uint32_t{1} << static_cast<uint32_t>(dimension);
    if ((*reduced & bit) != 0) {
      return ms::InvalidArgument("Invalid reduction arguments: Axes contains duplicate dimension: ",
                                 dimension, " stands twice in input reduction_indices");
    }
    *reduced |= bit;
  }
  return ms::Status();
}

}  // namespace millstream::kernels
