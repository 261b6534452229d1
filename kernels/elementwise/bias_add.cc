// BiasAdd: adds a vector along the channel dimension, which is the last one (NHWC) or the second
// one (NCHW). Integers wrap.
#include <complex>
#include <memory>
#include <string>

#include "kernels/elementwise/binary.h"

namespace millstream::kernels {
namespace {

struct BiasSum {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingSum(x, y);
  }
};

struct BiasState : ms::ShapeState {
  BroadcastPlan plan;
};

class BiasAddKernel {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string format;
    MS_TRY(info.Attr("data_format", &format));
    if (format != "NHWC" && format != "NCHW") {
      return ms::InvalidArgument("BiasAdd: attribute data_format must be NHWC or NCHW, is ",
                                 format);
    }
    channels_first_ = format == "NCHW";
    return ms::Status();
  }

  ms::Status Specialize(ms::Specialization& specialization) const {
    auto state = std::make_unique<BiasState>();
    MS_TRY(Plan(specialization.input(0), specialization.input(1), &state->plan));
    specialization.SetState(std::move(state));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View value = frame.input(0);
    const ms::View bias = frame.input(1);
    const auto* state = frame.shape_state<BiasState>();
    BroadcastPlan fresh;
    if (state == nullptr) MS_TRY(Plan(value.shape(), bias.shape(), &fresh));
    const BroadcastPlan& plan = state == nullptr ? fresh : state->plan;
    ms::View out;
    MS_TRY(frame.ForwardOrOutput(0, 0, plan.output, &out));
    if (out.size() == 0) return ms::Status();
    return RunBinary(frame, functions_, plan, value.raw(), bias.raw(), out.raw());
  }

 protected:
  explicit BiasAddKernel(const BinaryFunctions& functions) : functions_(functions) {}

 private:
  ms::Status Plan(const ms::Shape& value, const ms::Shape& bias, BroadcastPlan* plan) const {
    if (value.rank() < 2) {
      return ms::InvalidArgument(
          "BiasAdd: input value must have at least 2 dimensions, its shape "
          "is ",
          value.ToString());
    }
    const uint32_t channel = channels_first_ ? 1 : value.rank() - 1;
    if (bias.rank() != 1 || bias[0] != value[channel]) {
      return ms::InvalidArgument("BiasAdd: input bias must be a vector of ", value[channel],
                                 " elements, as input value of shape ", value.ToString(),
                                 " has channels; its shape is ", bias.ToString());
    }
    ms::Shape aligned = bias;
    for (uint32_t d = channel + 1; d < value.rank(); ++d) aligned.Append(1);
    return PlanBroadcast(value, aligned, plan);
  }

  const BinaryFunctions& functions_;
  bool channels_first_ = false;
};

template <typename T>
class BiasAdd : public BiasAddKernel {
 public:
  BiasAdd() : BiasAddKernel(kBinaryFunctions<BiasSum, T>) {}
};

template <typename T>
ms::Registered RegisterBiasAdd(std::vector<MS_DType> dtypes) {
  return ms::Register<BiasAdd<T>>("BiasAdd",
                                  ms::KernelOptions().Types("T", std::move(dtypes)).InPlace(0, 0));
}

const ms::Registered float32 = RegisterBiasAdd<float>({MS_FLOAT32});
const ms::Registered float64 = RegisterBiasAdd<double>({MS_FLOAT64});
const ms::Registered float16 = RegisterBiasAdd<Float16>({MS_FLOAT16});
const ms::Registered bfloat16 = RegisterBiasAdd<BFloat16>({MS_BFLOAT16});
const ms::Registered complex64 = RegisterBiasAdd<std::complex<float>>({MS_COMPLEX64});
const ms::Registered complex128 = RegisterBiasAdd<std::complex<double>>({MS_COMPLEX128});
const ms::Registered bits8 = RegisterBiasAdd<uint8_t>({MS_INT8, MS_UINT8});
const ms::Registered bits16 = RegisterBiasAdd<uint16_t>({MS_INT16, MS_UINT16});
const ms::Registered bits32 = RegisterBiasAdd<uint32_t>({MS_INT32, MS_UINT32});
const ms::Registered bits64 = RegisterBiasAdd<uint64_t>({MS_INT64, MS_UINT64});

}  // namespace
}  // namespace millstream::kernels
