#include "kernels/nn/attention_grad_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/matmul/window_product.h"

namespace millstream::kernels {
namespace {

// The order of `rank` dimensions, of which the last two may have changed places.
Permutation OrderOf(uint32_t rank, bool transposed) {
  Permutation order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (transposed) std::swap(order[rank - 2], order[rank - 1]);
  return order;
}

void CutIntoPieces(uint32_t threads, AttentionGradPlan* plan) {
  // Two tiles share the second cache with the strips of keys and values. Each number of these is
  // read once a tile, and each sum read and written: many rows make that rare.
  constexpr int64_t kTileFloats = 49152;
  constexpr int64_t kMostRows = 48;
  constexpr int64_t kFewRows = 12;
  // Enough segments for as many threads where there are few matrices.
  constexpr int64_t kFewestSegments = 8;
  const AttentionPlan& sizes = plan->tensors;
  const int64_t fitting = kTileFloats / std::max<int64_t>(sizes.score_step(), 1);
  plan->tile_rows = std::clamp(fitting / kFewRows * kFewRows, kFewRows, kMostRows);
  plan->tiles = (sizes.queries + plan->tile_rows - 1) / plan->tile_rows;
  plan->matrices = sizes.batch.num_elements();
  const int64_t matrices = std::max<int64_t>(plan->matrices, 1);
  plan->segments = std::clamp<int64_t>((kFewestSegments + matrices - 1) / matrices, 1,
                                       std::max<int64_t>(plan->tiles, 1));
  const int64_t team = std::max<int64_t>(threads, 1);
  const int64_t units = plan->matrices * plan->segments;
  const int64_t wanted = plan->segments > 1 ? units : std::min(units, team == 1 ? 1 : 2 * team);
  plan->pieces = std::max<int64_t>(wanted, 1);
  // 64 operations a nanosecond.
  const int64_t matrix_ns = sizes.queries * sizes.keys * (sizes.depth + sizes.width + 16) / 16;
  const int64_t unit_ns = matrix_ns / plan->segments + 1;
  plan->piece_nanoseconds = static_cast<uint64_t>(unit_ns * (units / plan->pieces + 1));
  plan->sum_nanoseconds = static_cast<uint64_t>(plan->segments * plan->sum_floats() + 1);
}

}  // namespace

// Columns of a tile are read. Rows that are a multiple of 1024 numbers apart would share places of
// the first cache.
int64_t AttentionGradPlan::tile_step() const { return tensors.score_step() + kStripColumns; }

int64_t AttentionGradPlan::sum_floats() const {
  return StripsSize(tensors.keys, tensors.depth) + StripsSize(tensors.keys, tensors.width);
}

int64_t AttentionGradPlan::piece_floats() const {
  return StripsSize(tensors.width, tensors.keys) + StripsSize(tensors.keys, tensors.depth) +
         StripsSize(tile_rows, std::max(tensors.depth, tensors.width)) +
         2 * tile_rows * tile_step() + sum_floats();
}

ms::Status PlanAttentionGrad(const AttentionGradForm& form, const std::vector<ms::Shape>& inputs,
                             uint32_t threads, AttentionGradPlan* plan) {
  const uint32_t rank = inputs[0].rank();
  if (rank < 2) {
    return ms::InvalidArgument("q must be a batch of matrices, its shape is ",
                               inputs[0].ToString());
  }
  const Permutation plain = OrderOf(rank, false);
  const AttentionOrders orders = {plain, OrderOf(rank, form.transpose_k),
                                  OrderOf(rank, form.transpose_v), plain};
  MS_TRY(PlanAttention(orders, {inputs[0], inputs[1], inputs[2]}, threads, &plan->tensors));
  const AttentionPlan& sizes = plan->tensors;
  ms::Shape scores = sizes.batch;
  scores.Append(sizes.queries);
  scores.Append(sizes.keys);
  if (inputs[3] != scores) {
    return ms::InvalidArgument("probabilities must have the shape of the scores ",
                               scores.ToString(), ", their shape is ", inputs[3].ToString());
  }
  if (inputs[4] != sizes.output) {
    return ms::InvalidArgument("gradients must have the shape of the attention's output ",
                               sizes.output.ToString(), ", their shape is ", inputs[4].ToString());
  }
  CutIntoPieces(threads, plan);
  return ms::Status();
}

}  // namespace millstream::kernels
