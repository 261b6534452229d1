// _AttentionGrad: the gradients of an attention's queries, keys and values, of which no more is in
// memory than tiles besides the probabilities. The bits do not depend on the number of threads.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/nn/attention_grad_plan.h"
#include "kernels/nn/attention_grad_tiles.h"

namespace millstream::kernels {
namespace {

// Threads that are reckoned with where no plan says how many there are.
constexpr uint32_t kUnplannedThreads = 8;

class AttentionGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("scale", &scale_));
    MS_TRY(info.Attr("transpose_k", &form_.transpose_k));
    return info.Attr("transpose_v", &form_.transpose_v);
  }

  ms::Status Specialize(ms::Specialization& specialization) const {
    std::vector<ms::Shape> inputs;
    for (uint32_t i = 0; i < specialization.num_inputs(); ++i) {
      inputs.push_back(specialization.input(i));
    }
    auto plan = std::make_unique<AttentionGradPlan>();
    MS_TRY(PlanAttentionGrad(form_, inputs, specialization.num_threads(), plan.get()));
    specialization.SetScratchBytes(plan->scratch_bytes());
    specialization.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (const auto* plan = frame.shape_state<AttentionGradPlan>()) {
      return Run(frame, *plan, frame.scratch());
    }
    std::vector<ms::Shape> inputs;
    for (uint32_t i = 0; i < frame.num_inputs(); ++i) inputs.push_back(frame.input(i).shape());
    AttentionGradPlan plan;
    MS_TRY(PlanAttentionGrad(form_, inputs, kUnplannedThreads, &plan));
    ms::View scratch;
    if (plan.scratch_bytes() > 0) MS_TRY(frame.Temp(plan.scratch_bytes(), &scratch));
    return Run(frame, plan, scratch.raw());
  }

 private:
  ms::Status Run(ms::Frame& frame, const AttentionGradPlan& plan, void* scratch) const {
    ms::View dq;
    ms::View dk;
    ms::View dv;
    MS_TRY(frame.Output(0, frame.input(0).shape(), &dq));
    MS_TRY(frame.Output(1, frame.input(1).shape(), &dk));
    MS_TRY(frame.Output(2, frame.input(2).shape(), &dv));
    if (plan.matrices == 0) return ms::Status();
    const AttentionGradTensors tensors = {scale_,
                                          frame.input(0).data<float>(),
                                          frame.input(1).data<float>(),
                                          frame.input(2).data<float>(),
                                          frame.input(3).data<float>(),
                                          frame.input(4).data<float>(),
                                          dq.data<float>(),
                                          dk.data<float>(),
                                          dv.data<float>()};
    const AttentionGradTiles tiles(plan, tensors, static_cast<float*>(scratch));
    MS_TRY(StoppableFor(frame, static_cast<uint64_t>(plan.pieces), plan.piece_nanoseconds,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t piece = begin; piece < end; ++piece) tiles.RunPiece(piece);
                        }));
    if (plan.segments == 1) return ms::Status();
    return StoppableFor(frame, static_cast<uint64_t>(plan.matrices), plan.sum_nanoseconds,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) tiles.SumSegments(i);
                        });
  }

  float scale_ = 1;
  AttentionGradForm form_;
};

const ms::Registered attention_grad =
    ms::Register<AttentionGrad>("_AttentionGrad", ms::KernelOptions().Type<float>("T"));

}  // namespace
}  // namespace millstream::kernels
