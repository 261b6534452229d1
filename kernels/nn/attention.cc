// _Attention: the softmax of the products of queries and keys, times values, without more of it in
// memory than a tile for each thread. A row of scores is whole before its softmax is taken, and the
// softmax is that of the op Softmax. The bits do not depend on the cuts (window_product.h).
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/matmul/window_product.h"
#include "kernels/nn/attention_plan.h"
#include "kernels/nn/softmax_rows.h"

namespace millstream::kernels {
namespace {

// Threads that are reckoned with where no plan says how many there are.
constexpr uint32_t kUnplannedThreads = 8;

// What is added where there is no mask: the one number that changes no score, not even a negative
// zero.
constexpr float kNoMask = -0.0f;

// Rows of scores.
struct Scores {
  float* first;
  int64_t step;
  int64_t rows;
  int64_t keys;
  float scale;
  const float* mask;  // of the first element
  int64_t mask_row_step;
  int64_t mask_column_step;  // 0 or 1
};

// Scales the scores of a row and adds the mask, in one pass. Gives the largest that is no NaN, or
// -infinity. `mask` is the row's, an element for each score or one for all.
template <int kBytes, bool kOneForAll>
float FinishScores(const Scores& scores, const float* mask, float* row) {
  using Lanes = Vector<float, kBytes>;
  const Lanes scale = Broadcast<kBytes>(scores.scale);
  const Lanes for_all = Broadcast<kBytes>(kOneForAll ? *mask : 0.0f);
  float most = -std::numeric_limits<float>::infinity();
  Lanes largest = Broadcast<kBytes>(most);
  ForEachVector<float, kBytes>(
      0, scores.keys,
      [&](int64_t j) {
        const Lanes addend = kOneForAll ? for_all : Load<kBytes>(mask + j);
        const Lanes score = Load<kBytes>(row + j) * scale + addend;
        Store(score, row + j);
        largest = score > largest ? score : largest;
      },
      [&](int64_t j, int count) {
        for (int64_t i = j; i < j + count; ++i) {
          row[i] = row[i] * scores.scale + mask[kOneForAll ? 0 : i];
          if (row[i] > most) most = row[i];
        }
      });
  for (int lane = 0; lane < kLanes<float, kBytes>; ++lane) {
    most = std::max(most, float(largest[lane]));
  }
  return most;
}

// Makes probabilities of scores.
template <int kBytes>
struct ProbabilityLoop {
  static void Run(const Scores& scores) {
    const bool is_one = scores.mask_column_step == 0;
    for (int64_t i = 0; i < scores.rows; ++i) {
      float* const row = scores.first + i * scores.step;
      const float* const mask = scores.mask + i * scores.mask_row_step;
      const float largest = is_one ? FinishScores<kBytes, true>(scores, mask, row)
                                   : FinishScores<kBytes, false>(scores, mask, row);
      const double sum = RowExpSum<kBytes>(row, largest, scores.keys, row);
      const float factor = static_cast<float>(1 / sum);
      for (int64_t j = 0; j < scores.keys; ++j) row[j] *= factor;
    }
  }
};

// One execution.
class AttentionExecution {
 public:
  AttentionExecution(const AttentionPlan& plan, float scale, const ms::Frame& frame, float* output,
                     float* scratch)
      : plan_(plan),
        scale_(scale),
        q_(frame.input(0).data<float>()),
        k_(frame.input(1).data<float>()),
        v_(frame.input(2).data<float>()),
        mask_(frame.num_inputs() > 3 ? frame.input(3).data<float>() : nullptr),
        output_(output),
        scratch_(scratch) {}

  void RunPiece(int64_t piece) const {
    const int64_t each = plan_.units / plan_.pieces;
    const int64_t longer = plan_.units % plan_.pieces;  // pieces that have one unit more
    const int64_t first = piece * each + std::min(piece, longer);
    const int64_t begin = first * plan_.unit_tiles;
    const int64_t end = begin + (each + (piece < longer ? 1 : 0)) * plan_.unit_tiles;
    float* const keys = scratch_ + piece * plan_.piece_floats();
    float* const values = keys + plan_.key_floats();
    float* const scores = values + plan_.value_floats();
    int64_t arranged = -1;
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t matrix = tile / plan_.tiles;
      if (matrix != arranged) {
        const MatrixLayout& k = plan_.k;
        ArrangeStrips({k_ + plan_.OffsetOf(k, matrix), k.column_step, k.row_step}, plan_.depth,
                      plan_.keys, 0, StripsOf(plan_.keys), keys);
        const MatrixLayout& v = plan_.v;
        ArrangeStrips({v_ + plan_.OffsetOf(v, matrix), v.row_step, v.column_step}, plan_.keys,
                      plan_.width, 0, StripsOf(plan_.width), values);
        arranged = matrix;
      }
      RunTile(matrix, tile % plan_.tiles * plan_.tile_rows, keys, values, scores);
    }
  }

 private:
  void RunTile(int64_t matrix, int64_t first, const float* keys, const float* values,
               float* scores) const {
    const int64_t rows = std::min(plan_.tile_rows, plan_.queries - first);
    const int64_t step = plan_.score_step();
    MultiplyStrips({q_ + plan_.OffsetOf(plan_.q, matrix) + first * plan_.q.row_step,
                    plan_.q.row_step, rows, keys, plan_.depth, plan_.keys, scores, step});
    Scores tile{scores, step, rows, plan_.keys, scale_, &kNoMask, 0, 0};
    if (mask_ != nullptr) {
      tile.mask = mask_ + plan_.OffsetOf(plan_.mask, matrix) + first * plan_.mask.row_step;
      tile.mask_row_step = plan_.mask.row_step;
      tile.mask_column_step = plan_.mask.column_step;
    }
    RunVectorLoop<ProbabilityLoop>(tile);
    MultiplyStrips({scores, step, rows, values, plan_.keys, plan_.width,
                    output_ + plan_.OffsetOf(plan_.out, matrix) + first * plan_.out.row_step,
                    plan_.out.row_step});
  }

  const AttentionPlan& plan_;
  const float scale_;
  const float* const q_;
  const float* const k_;
  const float* const v_;
  const float* const mask_;
  float* const output_;
  float* const scratch_;
};

class Attention {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("scale", &scale_));
    MS_TRY(ReadPermutation(info, "q_perm", &orders_.q));
    MS_TRY(ReadPermutation(info, "k_perm", &orders_.k));
    MS_TRY(ReadPermutation(info, "v_perm", &orders_.v));
    MS_TRY(ReadPermutation(info, "output_perm", &orders_.output));
    if (info.num_inputs() <= 4) return ms::Status();
    return ms::InvalidArgument("attribute 'num_masks' of _Attention must be 0 or 1");
  }

  ms::Status Specialize(ms::Specialization& specialization) const {
    std::vector<ms::Shape> inputs;
    for (uint32_t i = 0; i < specialization.num_inputs(); ++i) {
      inputs.push_back(specialization.input(i));
    }
    auto plan = std::make_unique<AttentionPlan>();
    MS_TRY(PlanAttention(orders_, inputs, specialization.num_threads(), plan.get()));
    specialization.SetScratchBytes(plan->scratch_bytes());
    specialization.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (const auto* plan = frame.shape_state<AttentionPlan>()) {
      return Run(frame, *plan, frame.scratch());
    }
    std::vector<ms::Shape> inputs;
    for (uint32_t i = 0; i < frame.num_inputs(); ++i) inputs.push_back(frame.input(i).shape());
    AttentionPlan plan;
    MS_TRY(PlanAttention(orders_, inputs, kUnplannedThreads, &plan));
    ms::View scratch;
    if (plan.scratch_bytes() > 0) MS_TRY(frame.Temp(plan.scratch_bytes(), &scratch));
    return Run(frame, plan, scratch.raw());
  }

 private:
  ms::Status Run(ms::Frame& frame, const AttentionPlan& plan, void* scratch) const {
    ms::View output;
    MS_TRY(frame.Output(0, plan.output, &output));
    if (output.size() == 0) return ms::Status();
    const AttentionExecution execution(plan, scale_, frame, output.data<float>(),
                                       static_cast<float*>(scratch));
    return StoppableFor(frame, static_cast<uint64_t>(plan.pieces), plan.piece_nanoseconds,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t piece = begin; piece < end; ++piece) {
                            execution.RunPiece(piece);
                          }
                        });
  }

  float scale_ = 1;
  AttentionOrders orders_;
};

const ms::Registered attention =
    ms::Register<Attention>("_Attention", ms::KernelOptions().Type<float>("T"));

}  // namespace
}  // namespace millstream::kernels
