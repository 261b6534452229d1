// How _Attention runs on tensors of known shapes.
#ifndef MILLSTREAM_KERNELS_NN_ATTENTION_PLAN_H_
#define MILLSTREAM_KERNELS_NN_ATTENTION_PLAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// The order of a tensor's dimensions in memory: dimension i of what the op computes with is
// dimension [i] of the tensor.
using Permutation = std::vector<int64_t>;

// INVALID_ARGUMENT, naming the attribute, unless it is a permutation of at least two dimensions.
ms::Status ReadPermutation(const ms::KernelInfo& info, const char* attr, Permutation* permutation);

// Where the matrices of a batch lie in a tensor.
struct MatrixLayout {
  std::array<int64_t, ms::kMaxRank> batch_steps{};
  int64_t row_step = 0;
  int64_t column_step = 0;
};

struct AttentionOrders {
  Permutation q;
  Permutation k;
  Permutation v;
  Permutation output;
};

// The queries of a matrix are cut into tiles. The scores of a tile, a row for each query, and the
// keys and values of the matrix in strips, belong to one thread at a time. Pieces of the work have
// memory for these of their own, and are rows of units.
struct AttentionPlan : ms::ShapeState {
  ms::Shape output;  // as it lies in memory
  ms::Shape batch;   // the dimensions before the matrices
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t depth = 0;  // of queries and keys
  int64_t width = 0;  // of values
  MatrixLayout q;
  MatrixLayout k;
  MatrixLayout v;
  MatrixLayout out;
  MatrixLayout mask;  // steps of 0 where it repeats

  int64_t tile_rows = 0;
  int64_t tiles = 0;       // of one matrix
  int64_t unit_tiles = 0;  // that no piece divides: one, or those of a matrix
  int64_t units = 0;       // of all matrices
  int64_t pieces = 0;
  uint64_t piece_nanoseconds = 0;

  int64_t score_step() const;
  // A piece's memory in floats, and the parts of it.
  int64_t key_floats() const;
  int64_t value_floats() const;
  int64_t piece_floats() const { return key_floats() + value_floats() + tile_rows * score_step(); }
  uint64_t scratch_bytes() const {
    return static_cast<uint64_t>(pieces * piece_floats()) * sizeof(float);
  }
  // The offset of matrix `number` of the batch.
  int64_t OffsetOf(const MatrixLayout& layout, int64_t number) const;
};

// `inputs` are q, k, v and perhaps a mask. INVALID_ARGUMENT when they do not go together.
ms::Status PlanAttention(const AttentionOrders& orders, const std::vector<ms::Shape>& inputs,
                         uint32_t threads, AttentionPlan* plan);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_ATTENTION_PLAN_H_
