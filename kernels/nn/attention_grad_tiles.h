// The gradients of an attention, a tile of queries at a time.
#ifndef MILLSTREAM_KERNELS_NN_ATTENTION_GRAD_TILES_H_
#define MILLSTREAM_KERNELS_NN_ATTENTION_GRAD_TILES_H_

#include <cstdint>

#include "kernels/nn/attention_grad_plan.h"

namespace millstream::kernels {

// dq lies as q does, dk as k and dv as v.
struct AttentionGradTensors {
  float scale;
  const float* q;
  const float* k;
  const float* v;
  const float* probabilities;
  const float* gradients;  // of the attention's output
  float* dq;
  float* dk;
  float* dv;
};

// One execution. REQUIRES: `plan` outlives it. `scratch` has plan.piece_floats() for each piece.
class AttentionGradTiles {
 public:
  AttentionGradTiles(const AttentionGradPlan& plan, const AttentionGradTensors& tensors,
                     float* scratch)
      : plan_(plan), tensors_(tensors), scratch_(scratch) {}

  // Computes the gradients of the queries of a piece and, where a matrix is one segment, those of
  // its keys and values. Pieces may run at the same time.
  void RunPiece(int64_t piece) const;
  // Writes the gradients of the keys and values of a matrix of more than one segment, once all
  // pieces ran. Matrices may run at the same time.
  void SumSegments(int64_t matrix) const;

 private:
  struct Workspace;

  Workspace WorkspaceOf(int64_t piece) const;
  void Arrange(int64_t matrix, const Workspace& workspace) const;
  void RunTile(int64_t matrix, int64_t first, const Workspace& workspace) const;
  void WriteSums(int64_t matrix, const Workspace& workspace) const;

  const AttentionGradPlan& plan_;
  const AttentionGradTensors tensors_;
  float* const scratch_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_ATTENTION_GRAD_TILES_H_
