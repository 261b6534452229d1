#include "kernels/nn/attention_plan.h"

#include <algorithm>
#include <string>

#include "kernels/matmul/window_product.h"

namespace millstream::kernels {
namespace {

// The shape that the op computes with.
ms::Status Ordered(const char* argument, const Permutation& order, const ms::Shape& shape,
                   ms::Shape* ordered) {
  if (shape.rank() != order.size()) {
    return ms::InvalidArgument(argument, " must have rank ", order.size(), ", its shape is ",
                               shape.ToString());
  }
  *ordered = ms::Shape();
  for (const int64_t dim : order) ordered->Append(shape[static_cast<uint32_t>(dim)]);
  return ms::Status();
}

// Where the matrices lie in a tensor of `shape`, as it is in memory.
MatrixLayout LayoutOf(const Permutation& order, const ms::Shape& shape) {
  std::array<int64_t, ms::kMaxRank> steps{};
  int64_t step = 1;
  for (uint32_t i = shape.rank(); i-- > 0;) {
    steps[i] = step;
    step *= shape[i];
  }
  MatrixLayout layout;
  const size_t batch = order.size() - 2;
  for (size_t i = 0; i < batch; ++i) layout.batch_steps[i] = steps[order[i]];
  layout.row_step = steps[order[batch]];
  layout.column_step = steps[order[batch + 1]];
  return layout;
}

// The mask's last dimensions are those of the scores, or 1.
ms::Status LayOutMask(const ms::Shape& mask, AttentionPlan* plan) {
  ms::Shape scores = plan->batch;
  scores.Append(plan->queries);
  scores.Append(plan->keys);
  const uint32_t missing = scores.rank() - std::min(mask.rank(), scores.rank());
  bool fits = mask.rank() <= scores.rank();
  std::array<int64_t, ms::kMaxRank> steps{};
  int64_t step = 1;
  for (uint32_t i = mask.rank(); fits && i-- > 0;) {
    fits = mask[i] == 1 || mask[i] == scores[missing + i];
    if (mask[i] != 1) steps[missing + i] = step;
    step *= mask[i];
  }
  if (!fits) {
    return ms::InvalidArgument("mask must broadcast to the scores ", scores.ToString(),
                               ", its shape is ", mask.ToString());
  }
  const uint32_t batch = plan->batch.rank();
  for (uint32_t i = 0; i < batch; ++i) plan->mask.batch_steps[i] = steps[i];
  plan->mask.row_step = steps[batch];
  plan->mask.column_step = steps[batch + 1];
  return ms::Status();
}

void CutIntoPieces(uint32_t threads, AttentionPlan* plan) {
  // Scores that stay in the first cache, with some of the strips.
  constexpr int64_t kTileFloats = 16384;
  constexpr int64_t kMostRows = 48;
  constexpr int64_t kFewRows = 12;
  const int64_t fitting = kTileFloats / std::max<int64_t>(plan->score_step(), 1);
  plan->tile_rows = std::clamp(fitting / kFewRows * kFewRows, kFewRows, kMostRows);
  plan->tiles = (plan->queries + plan->tile_rows - 1) / plan->tile_rows;
  const int64_t matrices = plan->batch.num_elements();
  const int64_t team = std::max<int64_t>(threads, 1);
  const int64_t fewest = team == 1 ? 1 : 2 * team;
  const int64_t wanted = std::max(fewest, std::min(matrices, 8 * team));
  // Each piece arranges the keys and values of its matrices: these are cut only if there are few.
  plan->unit_tiles = matrices >= wanted ? plan->tiles : 1;
  plan->units = matrices * plan->tiles / std::max<int64_t>(plan->unit_tiles, 1);
  plan->pieces = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(plan->units, 1));
  // 64 operations a nanosecond, and one exponential.
  const int64_t tile_ns =
      plan->tile_rows * plan->keys * (2 * (plan->depth + plan->width) + 64) / 64 + 1;
  plan->piece_nanoseconds =
      static_cast<uint64_t>(tile_ns * plan->unit_tiles * (plan->units / plan->pieces + 1));
}

}  // namespace

ms::Status ReadPermutation(const ms::KernelInfo& info, const char* attr, Permutation* permutation) {
  MS_TRY(info.Attr(attr, permutation));
  std::vector<bool> seen(permutation->size());
  bool is_valid = permutation->size() >= 2 && permutation->size() <= ms::kMaxRank;
  for (const int64_t dim : *permutation) {
    is_valid = is_valid && dim >= 0 && dim < static_cast<int64_t>(seen.size()) && !seen[dim];
    if (is_valid) seen[dim] = true;
  }
  if (is_valid) return ms::Status();
  return ms::InvalidArgument("attribute '", attr, "' of _Attention must be a permutation of 2 to ",
                             ms::kMaxRank, " dimensions");
}

int64_t AttentionPlan::score_step() const { return StripsOf(keys) * kStripColumns; }
int64_t AttentionPlan::key_floats() const { return StripsSize(depth, keys); }
int64_t AttentionPlan::value_floats() const { return StripsSize(keys, width); }

int64_t AttentionPlan::OffsetOf(const MatrixLayout& layout, int64_t number) const {
  int64_t offset = 0;
  for (uint32_t i = batch.rank(); i-- > 0;) {
    offset += number % batch[i] * layout.batch_steps[i];
    number /= batch[i];
  }
  return offset;
}

ms::Status PlanAttention(const AttentionOrders& orders, const std::vector<ms::Shape>& inputs,
                         uint32_t threads, AttentionPlan* plan) {
  ms::Shape q;
  ms::Shape k;
  ms::Shape v;
  MS_TRY(Ordered("q", orders.q, inputs[0], &q));
  MS_TRY(Ordered("k", orders.k, inputs[1], &k));
  MS_TRY(Ordered("v", orders.v, inputs[2], &v));
  const uint32_t rank = q.rank();
  bool go_together = k.rank() == rank && v.rank() == rank && orders.output.size() == rank;
  for (uint32_t i = 0; go_together && i < rank - 2; ++i) {
    go_together = k[i] == q[i] && v[i] == q[i];
    plan->batch.Append(q[i]);
  }
  if (!go_together || k[rank - 1] != q[rank - 1] || v[rank - 2] != k[rank - 2]) {
    return ms::InvalidArgument("q, k and v must be batches of matrices that can be multiplied, ",
                               "their shapes are ", q.ToString(), ", ", k.ToString(), " and ",
                               v.ToString());
  }
  plan->queries = q[rank - 2];
  plan->keys = k[rank - 2];
  plan->depth = q[rank - 1];
  plan->width = v[rank - 1];
  ms::Shape result = plan->batch;
  result.Append(plan->queries);
  result.Append(plan->width);
  plan->output = result;
  for (uint32_t i = 0; i < rank; ++i) {
    plan->output[i] = result[static_cast<uint32_t>(orders.output[i])];
  }
  // The output's order says where its dimensions come from; a layout, where they go.
  Permutation places(rank);
  for (uint32_t i = 0; i < rank; ++i) places[orders.output[i]] = i;
  plan->q = LayoutOf(orders.q, inputs[0]);
  plan->k = LayoutOf(orders.k, inputs[1]);
  plan->v = LayoutOf(orders.v, inputs[2]);
  plan->out = LayoutOf(places, plan->output);
  if (orders.q.back() != rank - 1 || orders.output.back() != rank - 1) {
    return ms::InvalidArgument("q_perm and output_perm must leave the last dimension the last one");
  }
  if (inputs.size() > 3) MS_TRY(LayOutMask(inputs[3], plan));
  CutIntoPieces(threads, plan);
  return ms::Status();
}

}  // namespace millstream::kernels
