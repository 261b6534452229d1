// How _AttentionGrad runs on tensors of known shapes.
#ifndef MILLSTREAM_KERNELS_NN_ATTENTION_GRAD_PLAN_H_
#define MILLSTREAM_KERNELS_NN_ATTENTION_GRAD_PLAN_H_

#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/nn/attention_plan.h"

namespace millstream::kernels {

// Which operands, and so their gradients, have their matrices transposed: keys or values are
// columns.
struct AttentionGradForm {
  bool transpose_k = false;
  bool transpose_v = false;
};

// The queries of a matrix are cut into tiles, and the tiles into segments. The tiles of a segment
// follow each other in one thread, which adds what they give the gradients of keys and values; then
// the sums of a matrix's segments are added in their order. Both cuts depend on the shapes alone,
// and so do the bits. Pieces of the work have memory of their own, and are rows of segments.
struct AttentionGradPlan : ms::ShapeState {
  AttentionPlan tensors;  // of all but the probabilities; its tiles are not used

  int64_t tile_rows = 0;
  int64_t tiles = 0;     // of one matrix
  int64_t segments = 0;  // of one matrix
  int64_t matrices = 0;
  int64_t pieces = 0;  // each is one segment where a matrix has more than one
  uint64_t piece_nanoseconds = 0;
  uint64_t sum_nanoseconds = 0;  // to add the segments of one matrix and write the gradients

  // From row to row of a tile, which has a column for each key.
  int64_t tile_step() const;
  // The floats of the gradients of a matrix's keys and values.
  int64_t sum_floats() const;
  // Of a piece.
  int64_t piece_floats() const;
  uint64_t scratch_bytes() const {
    return static_cast<uint64_t>(pieces * piece_floats()) * sizeof(float);
  }
};

// `inputs` are q, k, v, the probabilities and the gradient of the attention's output.
// INVALID_ARGUMENT when they do not go together.
ms::Status PlanAttentionGrad(const AttentionGradForm& form, const std::vector<ms::Shape>& inputs,
                             uint32_t threads, AttentionGradPlan* plan);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_ATTENTION_GRAD_PLAN_H_
