// _ReluGradBiasAddGrad: the gradient of a Relu and, of that, the sum over all but the last
// dimension, in one pass. The bits are those of ReluGrad and BiasAddGrad.
#include <cstdint>

#include "kernels/common/parallel.h"
#include "kernels/reduce/planned_reduction.h"
#include "kernels/reduce/reduce_loops.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kProductPicoseconds = 350;  // see ParallelElements
constexpr int64_t kPicoseconds = kProductPicoseconds + kReducePicoseconds;

// The products of one step. As in ReluGrad, the gradient is multiplied by zero where the feature is
// not positive, so that NaN and infinity stay seen.
struct Products {
  // Makes those in [begin, begin + n), and a copy of them.
  template <int kBytes>
  struct MakeAndCopy {
    static void Run(const Products& source, int64_t begin, int64_t n, float* copy) {
      using Lanes = Vector<float, kBytes>;
      constexpr int64_t kStep = kLanes<float, kBytes>;
      const float* const dy = source.gradients + begin;
      const float* const x = source.features + begin;
      float* const dx = source.products + begin;
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
  };
  // The same, for a Reduction.
  static void Make(const void* source, int64_t begin, int64_t n, void* made) {
    RunVectorLoop<MakeAndCopy>(*static_cast<const Products*>(source), begin, n,
                               static_cast<float*>(made));
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

constexpr ReduceFunctions kSumsOfMade = {MS_FLOAT32, &kSumLoops.float32, &Products::Make, nullptr};
constexpr ReduceFunctions kSumsOfStored = {MS_FLOAT32, &kSumLoops.float32, nullptr, nullptr};

class ReluBiasGrad : public PlannedReduction<ReluBiasGrad, 0, 1> {
 public:
  static uint64_t ScratchBytes(const ReducePlan& plan) {
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

  static ms::Status Run(ms::Frame& frame, const ReducePlan& plan, void* partial) {
    const ms::View gradients = frame.input(0);
    ms::View products;
    MS_TRY(frame.ForwardOrOutput(0, 0, gradients.shape(), &products));
    ms::View sums;
    MS_TRY(frame.Output(1, plan.output, &sums));
    if (gradients.size() == 0) {
      Reduction(plan, kSumsOfStored, nullptr, sums.raw(), partial).FillEmpty();
      return ms::Status();
    }
    const Products source = {gradients.data<float>(), frame.input(1).data<float>(),
                             products.data<float>()};
    const bool made = !plan.inner_reduced;
    if (!made) {
      MS_TRY(ParallelElements(
          frame, gradients.size(), kProductPicoseconds,
          [&](int64_t begin, int64_t end) { RunLoop<&Products::MakeRange>(source, begin, end); }));
    }
    const Reduction reduction =
        made ? Reduction(plan, kSumsOfMade, &source, sums.raw(), partial)
             : Reduction(plan, kSumsOfStored, source.products, sums.raw(), partial);
    MS_TRY(ParallelRows(frame, plan.tasks(), plan.elements_per_task(),
                        made ? kPicoseconds : kReducePicoseconds,
                        [&](int64_t begin, int64_t end) { reduction.RunTasks(begin, end); }));
    if (plan.groups > 1) reduction.CombineGroups();
    return ms::Status();
  }
};

const ms::Registered relu_bias_grad = ms::Register<ReluBiasGrad>(
    "_ReluGradBiasAddGrad", ms::KernelOptions().Type<float>("T").InPlace(0, 0).InPlace(0, 1));

}  // namespace
}  // namespace millstream::kernels
