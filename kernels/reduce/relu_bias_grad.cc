// _ReluGradBiasAddGrad: the gradient of a Relu and, of that, the sum over all but the last
// dimension, in one pass. The bits are those of ReluGrad and BiasAddGrad.
#include <memory>

#include "kernels/common/parallel.h"
#include "kernels/reduce/reducers.h"

namespace millstream::kernels {
namespace {

using Loops = ReduceLoops<SumReducer<float>>;

constexpr int64_t kProductPicoseconds = 350;  // see ParallelElements
constexpr int64_t kSumPicoseconds = 300;

constexpr int64_t kPicoseconds = kProductPicoseconds + kSumPicoseconds;

// The products of one step. As in ReluGrad, the gradient is multiplied by zero where the feature is
// not positive, so that NaN and infinity stay seen.
struct Products {
  // Makes those in [product, product + n), and a copy of them: a source for Loops::RunTilesOf.
  template <int kBytes>
  void Make(const float* product, int64_t n, float* copy) const {
    using Lanes = Vector<float, kBytes>;
    constexpr int64_t kStep = kLanes<float, kBytes>;
    const float* const dy = gradients + (product - products);
    const float* const x = features + (product - products);
    float* const dx = products + (product - products);
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
      const Lanes zero = {};
      const Lanes is_positive = Load<kBytes>(x + i) > zero ? Broadcast<kBytes>(1.0f) : zero;
      const Lanes lanes = Load<kBytes>(dy + i) * is_positive;
      Store(lanes, dx + i);
      Store(lanes, copy + i);
    }
    for (; i < n; ++i) copy[i] = dx[i] = dy[i] * (x[i] > 0 ? 1.0f : 0.0f);
  }
  // Makes those in [begin, end).
  static void MakeRange(const Products& source, int64_t begin, int64_t end) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) {
      source.products[i] = source.gradients[i] * (source.features[i] > 0 ? 1.0f : 0.0f);
    }
  }

  const float* gradients;
  const float* features;
  float* products;  // may be the memory of gradients or features
};

class ReluBiasGrad {
 public:
  ms::Status Specialize(ms::Specialization& specialization) const {
    auto state = std::make_unique<State>();
    MS_TRY(Plan(specialization.input(0), specialization.input(1), &state->plan));
    specialization.SetScratchBytes(PartialBytes(state->plan));
    specialization.SetState(std::move(state));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (const auto* state = frame.shape_state<State>()) {
      return Run(frame, state->plan, static_cast<float*>(frame.scratch()));
    }
    ReducePlan plan;
    MS_TRY(Plan(frame.input(0).shape(), frame.input(1).shape(), &plan));
    ms::View partial;
    if (plan.groups > 1) MS_TRY(frame.Temp(PartialBytes(plan), &partial));
    return Run(frame, plan, static_cast<float*>(partial.raw()));
  }

 private:
  struct State : ms::ShapeState {
    ReducePlan plan;
  };

  static uint64_t PartialBytes(const ReducePlan& plan) {
    return static_cast<uint64_t>(plan.partial_elements()) * sizeof(float);
  }

  static ms::Status Plan(const ms::Shape& gradients, const ms::Shape& features, ReducePlan* plan) {
    if (gradients != features) {
      return ms::InvalidArgument(
          "_ReluGradBiasAddGrad: inputs gradients and features must have the same shape, got ",
          gradients.ToString(), " and ", features.ToString());
    }
    if (gradients.rank() < 2) {
      return ms::InvalidArgument(
          "_ReluGradBiasAddGrad: input gradients must have at least 2 dimensions, its shape is ",
          gradients.ToString());
    }
    PlanReduction(gradients, ~(uint32_t{1} << (gradients.rank() - 1)), false, plan);
    return ms::Status();
  }

  static ms::Status Run(ms::Frame& frame, const ReducePlan& plan, float* partial) {
    const ms::View gradients = frame.input(0);
    ms::View products;
    MS_TRY(frame.ForwardOrOutput(0, 0, gradients.shape(), &products));
    ms::View sums;
    MS_TRY(frame.Output(1, plan.output, &sums));
    if (gradients.size() == 0) {
      Loops::FillEmpty(plan, sums.raw());
      return ms::Status();
    }
    const Products source = {gradients.data<float>(), frame.input(1).data<float>(),
                             products.data<float>()};
    if (!plan.inner_reduced) {
      MS_TRY(ParallelRows(frame, plan.tasks(), plan.elements_per_task(), kPicoseconds,
                          [&](int64_t begin, int64_t end) {
                            Loops::RunTilesOf(source, plan, source.products, sums.data<float>(),
                                              partial, begin, end);
                          }));
    } else {
      MS_TRY(ParallelElements(
          frame, gradients.size(), kProductPicoseconds,
          [&](int64_t begin, int64_t end) { RunLoop<&Products::MakeRange>(source, begin, end); }));
      MS_TRY(ParallelRows(frame, plan.tasks(), plan.elements_per_task(), kSumPicoseconds,
                          [&](int64_t begin, int64_t end) {
                            Loops::RunTasks(plan, source.products, sums.raw(), partial, begin, end);
                          }));
    }
    if (plan.groups > 1) Loops::CombineGroups(plan, partial, sums.raw());
    return ms::Status();
  }
};

const ms::Registered relu_bias_grad = ms::Register<ReluBiasGrad>(
    "_ReluGradBiasAddGrad", ms::KernelOptions().Type<float>("T").InPlace(0, 0).InPlace(0, 1));

}  // namespace
}  // namespace millstream::kernels
