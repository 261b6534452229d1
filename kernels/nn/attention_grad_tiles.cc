// With P = softmax(scale * Q K^T + mask) and O = P V, of which dO is the gradient:
//
//   dP = dO V^T      dS = (dP - rowsum(dP * P)) * P * scale
//   dV = P^T dO      dQ = dS K      dK = dS^T Q
//
// as in T. Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness
// (2022), algorithm 4, but that P is the forward pass's and not computed anew.
#include "kernels/nn/attention_grad_tiles.h"

#include <algorithm>

#include "kernels/matmul/transposed_product.h"
#include "kernels/matmul/window_product.h"
#include "kernels/nn/softmax_rows.h"

namespace millstream::kernels {
namespace {

// Probabilities, their copy in a tile, and a tile of their gradients, which become those of the
// products of queries and keys.
struct GradientRows {
  const float* probabilities;
  float* copy;
  float* gradients;
  int64_t step;  // of the tiles
  int64_t rows;
  int64_t keys;
  float scale;
};

// The sum of the products of two rows: in lanes of 64 bytes within a block, in double over blocks.
template <int kBytes>
float RowDot(const float* x, const float* y, int64_t n) {
  using Lanes = Vector<float, kBytes>;
  constexpr int64_t kEach = kLanes<float, kBytes>;
  constexpr int kVectors = 64 / kBytes;
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kSumBlock) {
    const int64_t end = std::min(n, begin + kSumBlock);
    Lanes sums[kVectors] = {};
    int64_t j = begin;
    for (; j + kVectors * kEach <= end; j += kVectors * kEach) {
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) {
        sums[i] += Load<kBytes>(x + j + i * kEach) * Load<kBytes>(y + j + i * kEach);
      }
    }
    for (int i = 0; i < kVectors && j < end; ++i, j += kEach) {
      const int count = static_cast<int>(std::min<int64_t>(end - j, kEach));
      sums[i] += LoadSome<kBytes>(x + j, count, 0.0f) * LoadSome<kBytes>(y + j, count, 0.0f);
    }
    total += static_cast<double>(SumOfLanes<float, kBytes>(sums));
  }
  return static_cast<float>(total);
}

template <int kBytes>
struct SoftmaxGradLoop {
  static void Run(const GradientRows& tile) {
    for (int64_t i = 0; i < tile.rows; ++i) {
      const float* const y = tile.probabilities + i * tile.keys;
      float* const dy = tile.gradients + i * tile.step;
      const float sum = RowDot<kBytes>(dy, y, tile.keys);
      const float scale = tile.scale;
      float* const copy = tile.copy + i * tile.step;
#pragma GCC ivdep
      for (int64_t j = 0; j < tile.keys; ++j) {
        const float p = y[j];
        copy[j] = p;
        dy[j] = (dy[j] - sum) * p * scale;
      }
    }
  }
};

// Rows that lie in one piece each.
struct TileRows {
  const float* first;
  int64_t step;
  int64_t rows;
  int64_t columns;
};

// Writes the sums of a matrix to their place.
void WriteRows(const float* sums, int64_t rows, int64_t columns, const MatrixLayout& layout,
               float* to) {
  const int64_t step = StripsOf(columns) * kStripColumns;
  if (layout.column_step == 1) {
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(sums + i * step, columns, to + i * layout.row_step);
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      to[i * layout.row_step + j * layout.column_step] = sums[i * step + j];
    }
  }
}

}  // namespace

// The memory of a piece.
struct AttentionGradTiles::Workspace {
  float* value_columns;  // strips of V^T
  float* key_rows;       // strips of K
  float* probabilities;  // a tile of P
  float* gradients;      // a tile: dP, which becomes dS
  float* strips;         // of a tile of Q or dO
  float* dk;             // sums, with room for whole strips
  float* dv;

  // Adds transpose(left) * right to `sums`.
  void AddProduct(const TileRows& left, const TileRows& right, float* sums) const {
    ArrangeStrips({right.first, right.step, 1}, right.rows, right.columns, 0,
                  StripsOf(right.columns), strips);
    AddTransposedProduct({left.first, left.step, left.rows, left.columns, strips, right.columns,
                          sums, StripsOf(right.columns) * kStripColumns});
  }
};

AttentionGradTiles::Workspace AttentionGradTiles::WorkspaceOf(int64_t piece) const {
  const AttentionPlan& sizes = plan_.tensors;
  float* next = scratch_ + piece * plan_.piece_floats();
  const auto take = [&next](int64_t floats) {
    float* const taken = next;
    next += floats;
    return taken;
  };
  Workspace workspace;
  workspace.value_columns = take(StripsSize(sizes.width, sizes.keys));
  workspace.key_rows = take(StripsSize(sizes.keys, sizes.depth));
  workspace.probabilities = take(plan_.tile_rows * plan_.tile_step());
  workspace.gradients = take(plan_.tile_rows * plan_.tile_step());
  workspace.strips = take(StripsSize(plan_.tile_rows, std::max(sizes.depth, sizes.width)));
  workspace.dk = take(StripsSize(sizes.keys, sizes.depth));
  workspace.dv = take(StripsSize(sizes.keys, sizes.width));
  return workspace;
}

void AttentionGradTiles::RunPiece(int64_t piece) const {
  const int64_t units = plan_.matrices * plan_.segments;
  const int64_t first = piece * units / plan_.pieces;
  const int64_t last = (piece + 1) * units / plan_.pieces;
  const Workspace workspace = WorkspaceOf(piece);
  for (int64_t unit = first; unit < last; ++unit) {
    const int64_t matrix = unit / plan_.segments;
    const int64_t segment = unit % plan_.segments;
    Arrange(matrix, workspace);
    std::fill_n(workspace.dk, plan_.sum_floats(), 0.0f);
    const int64_t begin = segment * plan_.tiles / plan_.segments;
    const int64_t end = (segment + 1) * plan_.tiles / plan_.segments;
    for (int64_t tile = begin; tile < end; ++tile) {
      RunTile(matrix, tile * plan_.tile_rows, workspace);
    }
    if (plan_.segments == 1) WriteSums(matrix, workspace);
  }
}

void AttentionGradTiles::Arrange(int64_t matrix, const Workspace& workspace) const {
  const AttentionPlan& sizes = plan_.tensors;
  const float* const k = tensors_.k + sizes.OffsetOf(sizes.k, matrix);
  const float* const v = tensors_.v + sizes.OffsetOf(sizes.v, matrix);
  const int64_t strips = StripsOf(sizes.keys);
  ArrangeStrips({v, sizes.v.column_step, sizes.v.row_step}, sizes.width, sizes.keys, 0, strips,
                workspace.value_columns);
  ArrangeStrips({k, sizes.k.row_step, sizes.k.column_step}, sizes.keys, sizes.depth, 0,
                StripsOf(sizes.depth), workspace.key_rows);
}

void AttentionGradTiles::RunTile(int64_t matrix, int64_t first, const Workspace& workspace) const {
  const AttentionPlan& sizes = plan_.tensors;
  const int64_t rows = std::min(plan_.tile_rows, sizes.queries - first);
  const int64_t step = plan_.tile_step();
  const TileRows q{tensors_.q + sizes.OffsetOf(sizes.q, matrix) + first * sizes.q.row_step,
                   sizes.q.row_step, rows, sizes.depth};
  const TileRows d_output{
      tensors_.gradients + sizes.OffsetOf(sizes.out, matrix) + first * sizes.out.row_step,
      sizes.out.row_step, rows, sizes.width};
  const TileRows probabilities{workspace.probabilities, step, rows, sizes.keys};
  const TileRows gradients{workspace.gradients, step, rows, sizes.keys};
  MultiplyStrips({d_output.first, d_output.step, rows, workspace.value_columns, sizes.width,
                  sizes.keys, workspace.gradients, step});
  const float* const given = tensors_.probabilities + (matrix * sizes.queries + first) * sizes.keys;
  RunVectorLoop<SoftmaxGradLoop>(GradientRows{given, workspace.probabilities, workspace.gradients,
                                              step, rows, sizes.keys, tensors_.scale});
  workspace.AddProduct(probabilities, d_output, workspace.dv);
  MultiplyStrips({workspace.gradients, step, rows, workspace.key_rows, sizes.keys, sizes.depth,
                  tensors_.dq + sizes.OffsetOf(sizes.q, matrix) + first * sizes.q.row_step,
                  sizes.q.row_step});
  workspace.AddProduct(gradients, q, workspace.dk);
}

void AttentionGradTiles::WriteSums(int64_t matrix, const Workspace& workspace) const {
  const AttentionPlan& sizes = plan_.tensors;
  WriteRows(workspace.dk, sizes.keys, sizes.depth, sizes.k,
            tensors_.dk + sizes.OffsetOf(sizes.k, matrix));
  WriteRows(workspace.dv, sizes.keys, sizes.width, sizes.v,
            tensors_.dv + sizes.OffsetOf(sizes.v, matrix));
}

void AttentionGradTiles::SumSegments(int64_t matrix) const {
  const Workspace total = WorkspaceOf(matrix * plan_.segments);
  for (int64_t segment = 1; segment < plan_.segments; ++segment) {
    const Workspace part = WorkspaceOf(matrix * plan_.segments + segment);
    for (int64_t i = 0; i < plan_.sum_floats(); ++i) total.dk[i] += part.dk[i];
  }
  WriteSums(matrix, total);
}

}  // namespace millstream::kernels
