// _JoinedConv2D: convolutions, each with a bias and an activation, whose outputs lie side by side
// as the channels of one tensor. Each writes its channels where they belong, so that nothing is
// copied.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/input_shapes.h"
#include "kernels/matmul/bias_epilogue.h"
#include "kernels/matmul/library_threads.h"
#include "kernels/nn/conv_plan.h"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {
namespace {

constexpr uint32_t kImageRank = 4;
constexpr uint32_t kChannels = 3;  // dimension
constexpr uint32_t kLists = 3;     // inputs, filters and biases, as many of each

struct JoinedPlan : ms::ShapeState {
  // They run one after the other, with the same scratch.
  uint64_t scratch_bytes() const {
    uint64_t most = 0;
    for (const auto& part : parts) most = std::max(most, part->apart_scratch_bytes());
    return most;
  }

  std::vector<std::unique_ptr<ConvPlan>> parts;
  ms::Shape output;
};

class JoinedConv {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string format;
    MS_TRY(info.Attr("data_format", &format));
    if (format != "NHWC") {
      return ms::Unimplemented(info.op(), ": attribute data_format must be NHWC, is ", format);
    }
    MS_TRY(epilogue_.Init(info));
    if (epilogue_.adds()) {
      return ms::InvalidArgument(info.op(), ": attribute fused_ops must be without Add");
    }
    return attributes_.Init(info);
  }

  ms::Status Specialize(ms::Specialization& spec) const {
    auto plan = std::make_unique<JoinedPlan>();
    MS_TRY(Resolve(spec, static_cast<int>(spec.num_threads()), plan.get()));
    const auto count = static_cast<uint32_t>(plan->parts.size());
    for (uint32_t i = 0; i < count; ++i) {
      const ms::View filter = spec.constant(count + i);
      if (!filter.is_null()) plan->parts[i]->KeepFilter(filter.data<float>());
    }
    spec.SetScratchBytes(plan->scratch_bytes());
    spec.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (const auto* plan = frame.shape_state<JoinedPlan>()) {
      return Run(frame, *plan, frame.scratch());
    }
    JoinedPlan plan;
    MS_TRY(Resolve(InputShapes{frame}, LibraryThreadCount(frame), &plan));
    ms::View scratch;
    if (plan.scratch_bytes() > 0) MS_TRY(frame.Temp(plan.scratch_bytes(), &scratch));
    return Run(frame, plan, scratch.raw());
  }

 private:
  template <typename Inputs>
  ms::Status Resolve(const Inputs& inputs, int threads, JoinedPlan* plan) const {
    const uint32_t count = inputs.num_inputs() / kLists;
    for (uint32_t i = 0; i < count; ++i) {
      ConvShape shape;
      MS_TRY(ResolveConv(attributes_, inputs.input(i), "inputs", inputs.input(count + i), "filters",
                         &shape));
      const ms::Shape bias = inputs.input(2 * count + i);
      if (bias != ms::Shape{shape.out_channels}) {
        return ms::InvalidArgument("biases[", i, "] must be a vector of ", shape.out_channels,
                                   ", its shape is ", bias.ToString());
      }
      MS_TRY(AddPart(i, shape.OutputShape(), &plan->output));
      plan->parts.push_back(std::make_unique<ConvPlan>(shape, ConvDirection::kForward, threads));
    }
    return ms::Status();
  }

  // Puts the channels of a part behind those of the parts before it.
  static ms::Status AddPart(uint32_t i, const ms::Shape& part, ms::Shape* output) {
    if (i == 0) {
      *output = part;
      return ms::Status();
    }
    for (uint32_t d = 0; d < kImageRank; ++d) {
      if (d == kChannels || part[d] == (*output)[d]) continue;
      return ms::InvalidArgument("outputs must agree in all dimensions but the channels: that of ",
                                 "inputs[0] has ", (*output)[d], " in dimension ", d,
                                 ", that of inputs[", i, "] has the shape ", part.ToString());
    }
    (*output)[kChannels] += part[kChannels];
    return ms::Status();
  }

  ms::Status Run(ms::Frame& frame, const JoinedPlan& plan, void* scratch) const {
    ms::View output;
    MS_TRY(frame.Output(0, plan.output, &output));
    if (output.size() == 0) return ms::Status();
    ConvOutput place{output.data<float>(), plan.output[kChannels]};
    const auto count = static_cast<uint32_t>(plan.parts.size());
    for (uint32_t i = 0; i < count; ++i) {
      if (i > 0) MS_TRY(frame.CheckCancelled());
      const ConvPlan& part = *plan.parts[i];
      ProductEpilogue epilogue = epilogue_.limits();
      epilogue.bias = frame.input(2 * count + i).data<float>();
      MS_TRY(part.RunApart(frame, frame.input(i).data<float>(),
                           frame.input(count + i).data<float>(), epilogue, place, scratch));
      place.pixels += part.shape().out_channels;
    }
    return ms::Status();
  }

  ConvAttributes attributes_;
  BiasEpilogue epilogue_;
};

const ms::Registered joined_conv =
    ms::Register<JoinedConv>("_JoinedConv2D", ms::KernelOptions().Type<float>("T"));

}  // namespace
}  // namespace millstream::kernels
