// BiasAdd and BiasAddV1: adds a vector along the channel dimension, which is the last one (NHWC) or
// the second one (NCHW). Integers wrap.
#include <memory>
#include <string>

#include "kernels/elementwise/shared_tables.h"

namespace millstream::kernels {
namespace {

struct BiasState : ms::ShapeState {
  BroadcastPlan plan;
};

class BiasAdd {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string format = "NHWC";
    if (info.HasAttr("data_format")) MS_TRY(info.Attr("data_format", &format));
    if (format != "NHWC" && format != "NCHW") {
      return ms::InvalidArgument("BiasAdd: attribute data_format must be NHWC or NCHW, is ",
                                 format);
    }
    channels_first_ = format == "NCHW";
    return call_.Init(kSumTable, info.input_dtype(0), info.output_dtype(0));
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
    return RunBinary(frame, call_, plan, value.raw(), bias.raw(), out.raw());
  }

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

  BinaryCall call_;
  bool channels_first_ = false;
};

ms::KernelOptions Options() {
  return ms::KernelOptions().Types("T", TypesIn(kAllNumberTypes)).InPlace(0, 0);
}
const ms::Registered bias_add = ms::Register<BiasAdd>("BiasAdd", Options());
const ms::Registered bias_add_v1 = ms::Register<BiasAdd>("BiasAddV1", Options());

}  // namespace
}  // namespace millstream::kernels
