// Sum, BiasAddGrad. Sums of integers wrap.
#include <complex>
#include <memory>
#include <string>

#include "kernels/reduce/reducers.h"

namespace millstream::kernels {
namespace {

struct BiasGradState : ms::ShapeState {
  ReducePlan plan;
};

// The sum over all dimensions but the channels.
class BiasAddGradKernel {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string format;
    MS_TRY(info.Attr("data_format", &format));
    if (format != "NHWC" && format != "NCHW") {
      return ms::InvalidArgument("BiasAddGrad: attribute data_format must be NHWC or NCHW, is ",
                                 format);
    }
    channels_first_ = format == "NCHW";
    return ms::Status();
  }

  ms::Status Specialize(ms::Specialization& specialization) const {
    auto state = std::make_unique<BiasGradState>();
    MS_TRY(Plan(specialization.input(0), &state->plan));
    specialization.SetScratchBytes(
        static_cast<uint64_t>(state->plan.partial_elements() * functions_.accumulator_bytes));
    specialization.SetState(std::move(state));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View in = frame.input(0);
    const auto* state = frame.shape_state<BiasGradState>();
    if (state != nullptr) {
      return RunReduction(frame, functions_, state->plan, in, frame.scratch());
    }
    ReducePlan plan;
    MS_TRY(Plan(in.shape(), &plan));
    return RunReduction(frame, functions_, plan, in, nullptr);
  }

 protected:
  explicit BiasAddGradKernel(const ReduceFunctions& functions) : functions_(functions) {}

 private:
  ms::Status Plan(const ms::Shape& in, ReducePlan* plan) const {
    if (in.rank() < 2) {
      return ms::InvalidArgument(
          "BiasAddGrad: input out_backprop must have at least 2 dimensions, its shape is ",
          in.ToString());
    }
    const uint32_t channel = channels_first_ ? 1 : in.rank() - 1;
    PlanReduction(in, ~(uint32_t{1} << channel), false, plan);
    return ms::Status();
  }

  const ReduceFunctions& functions_;
  bool channels_first_ = false;
};

template <typename T>
class BiasAddGrad : public BiasAddGradKernel {
 public:
  BiasAddGrad() : BiasAddGradKernel(kReduceFunctions<SumReducer<T>>) {}
};

template <typename T>
ms::Registered RegisterBiasAddGrad(std::vector<MS_DType> dtypes) {
  return ms::Register<BiasAddGrad<T>>("BiasAddGrad",
                                      ms::KernelOptions().Types("T", std::move(dtypes)));
}

const ms::Registered sum = RegisterWrappingReduce<SumReducer>("Sum");
const ms::Registered bias_float32 = RegisterBiasAddGrad<float>({MS_FLOAT32});
const ms::Registered bias_float64 = RegisterBiasAddGrad<double>({MS_FLOAT64});
const ms::Registered bias_float16 = RegisterBiasAddGrad<Float16>({MS_FLOAT16});
const ms::Registered bias_bfloat16 = RegisterBiasAddGrad<BFloat16>({MS_BFLOAT16});
const ms::Registered bias_complex64 = RegisterBiasAddGrad<std::complex<float>>({MS_COMPLEX64});
const ms::Registered bias_complex128 = RegisterBiasAddGrad<std::complex<double>>({MS_COMPLEX128});
const ms::Registered bias_bits8 = RegisterBiasAddGrad<uint8_t>({MS_INT8, MS_UINT8});
const ms::Registered bias_bits16 = RegisterBiasAddGrad<uint16_t>({MS_INT16, MS_UINT16});
const ms::Registered bias_bits32 = RegisterBiasAddGrad<uint32_t>({MS_INT32, MS_UINT32});
const ms::Registered bias_bits64 = RegisterBiasAddGrad<uint64_t>({MS_INT64, MS_UINT64});

}  // namespace
}  // namespace millstream::kernels
