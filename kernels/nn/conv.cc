// Conv2D and Conv3D, and their gradients for the input and for the filter: float32 and, widened to
// it, the narrow floats by ConvPlan, float64 by definition.
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/narrow_float.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/matmul/bias_epilogue.h"
#include "kernels/matmul/library_threads.h"
#include "kernels/nn/conv_operands.h"
#include "kernels/nn/conv_plan.h"
#include "kernels/nn/conv_reference.h"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {
namespace {

ms::Status Resolve(ConvDirection direction, const ConvAttributes& attributes,
                   const ConvShapes& shapes, ConvShape* shape) {
  MS_TRY(ResolveConv(attributes, shapes.input, shapes.input_name, shapes.filter, shapes.filter_name,
                     shape));
  if (direction == ConvDirection::kForward) return ms::Status();
  return CheckOutputGradient(*shape, shapes.gradient);
}

// From the tensors.
ms::Status Resolve(ConvDirection direction, const ConvAttributes& attributes,
                   const ms::Frame& frame, ConvShape* shape) {
  ConvShapes shapes;
  MS_TRY(ShapesOf(direction, frame, attributes.rank(), &shapes));
  return Resolve(direction, attributes, shapes, shape);
}

template <ConvDirection kDirection, typename T>
class LibraryConv {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Specialize(ms::Specialization& spec) const {
    ConvShape shape;
    MS_TRY(Resolve(kDirection, attributes_, ShapesOf(kDirection, spec), &shape));
    auto plan = std::make_unique<ConvPlan>(shape, kDirection, static_cast<int>(spec.num_threads()));
    if constexpr (kDirection != ConvDirection::kBackwardFilter && std::is_same_v<T, float>) {
      if (!spec.constant(1).is_null()) plan->KeepFilter(spec.constant(1).template data<float>());
    }
    spec.SetScratchBytes(plan->scratch_bytes());
    spec.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const { return Compute(frame, nullptr); }

  // The convolution, and then what `epilogue` says, unless it is null.
  ms::Status Compute(ms::Frame& frame, const BiasEpilogue* epilogue) const {
    if (const ConvPlan* plan = frame.shape_state<ConvPlan>()) {
      return Run(frame, *plan, epilogue, frame.scratch());
    }
    ConvShape shape;
    MS_TRY(Resolve(kDirection, attributes_, frame, &shape));
    const auto plan = plans_.Get(shape, kDirection, LibraryThreadCount(frame));
    ms::View scratch;
    if (plan->scratch_bytes() > 0) MS_TRY(frame.Temp(plan->scratch_bytes(), &scratch));
    return Run(frame, *plan, epilogue, scratch.raw());
  }

 private:
  static ms::Status Run(ms::Frame& frame, const ConvPlan& plan, const BiasEpilogue* epilogue,
                        void* scratch) {
    ms::View output;
    MS_TRY(frame.Output(0, plan.shape().ResultShape(kDirection), &output));
    WideOutput<T> result;
    MS_TRY(result.Init(frame, output));
    Operands<float> operands{};
    MS_TRY(FindOperands<T>(kDirection, frame, result.data(), &operands));
    ProductEpilogue follows;
    if (epilogue != nullptr) MS_TRY(epilogue->Find(frame, &follows));
    MS_TRY(plan.Run(frame, operands.input, operands.filter, operands.output, scratch, follows));
    if (epilogue != nullptr && !plan.TakesEpilogue()) return epilogue->Run(frame);
    return result.Finish(frame);
  }

  ConvAttributes attributes_;
  mutable ConvPlanCache plans_;
};

// _FusedConv2D
class FusedConv {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string format;
    MS_TRY(info.Attr("data_format", &format));
    if (format != "NHWC") {
      return ms::Unimplemented("_FusedConv2D: attribute data_format must be NHWC, is ", format);
    }
    MS_TRY(epilogue_.Init(info));
    return convolution_.Init(info);
  }
  ms::Status Specialize(ms::Specialization& spec) const { return convolution_.Specialize(spec); }
  ms::Status Compute(ms::Frame& frame) const { return convolution_.Compute(frame, &epilogue_); }

 private:
  LibraryConv<ConvDirection::kForward, float> convolution_;
  BiasEpilogue epilogue_;
};

template <ConvDirection kDirection, typename T>
class ReferenceConv {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    ConvShape shape;
    MS_TRY(Resolve(kDirection, attributes_, frame, &shape));
    ms::View result;
    MS_TRY(frame.Output(0, shape.ResultShape(kDirection), &result));
    Operands<T> operands{};
    MS_TRY(FindOperands<T>(kDirection, frame, result.data<T>(), &operands));
    const auto [input, filter, output] = operands;
    const ReferenceConvolution<T> convolution(shape);
    if constexpr (kDirection == ConvDirection::kForward) {
      return convolution.Forward(frame, input, filter, output);
    } else if constexpr (kDirection == ConvDirection::kBackwardInput) {
      return convolution.BackwardInput(frame, filter, output, input);
    } else {
      return convolution.BackwardFilter(frame, input, output, filter);
    }
  }

 private:
  ConvAttributes attributes_;
};

template <ConvDirection kDirection>
struct ConvOf {
  template <typename T>
  using Library = LibraryConv<kDirection, T>;
};

template <ConvDirection kDirection>
ms::Registered RegisterConv(const char* op, const ms::KernelOptions& options) {
  ms::RegisterForTypes<ConvOf<kDirection>::template Library, float, Float16, BFloat16>(op, "T",
                                                                                       options);
  return ms::Register<ReferenceConv<kDirection, double>>(
      op, ms::KernelOptions(options).Type<double>("T"));
}

const ms::Registered conv = RegisterConv<ConvDirection::kForward>("Conv2D", ms::KernelOptions());
const ms::Registered fused_conv =
    ms::Register<FusedConv>("_FusedConv2D", ms::KernelOptions().Type<float>("T"));
const ms::Registered conv_backprop_input = RegisterConv<ConvDirection::kBackwardInput>(
    "Conv2DBackpropInput", ms::KernelOptions().HostArg("input_sizes"));
const ms::Registered conv_backprop_filter = RegisterConv<ConvDirection::kBackwardFilter>(
    "Conv2DBackpropFilter", ms::KernelOptions().HostArg("filter_sizes"));

const ms::Registered conv_3d = RegisterConv<ConvDirection::kForward>("Conv3D", ms::KernelOptions());
const ms::Registered conv_3d_backprop_input = RegisterConv<ConvDirection::kBackwardInput>(
    "Conv3DBackpropInputV2",
    ms::KernelOptions().HostArg("input_sizes").Types("Tshape", IndexTypes()));
const ms::Registered conv_3d_backprop_filter = RegisterConv<ConvDirection::kBackwardFilter>(
    "Conv3DBackpropFilterV2", ms::KernelOptions().HostArg("filter_sizes"));

// The first versions of the gradients take a tensor in the place of its sizes, and no bfloat16.
template <ConvDirection kDirection>
ms::Registered RegisterFirstVersion(const char* op) {
  ms::RegisterForTypes<ConvOf<kDirection>::template Library, float, Float16>(op, "T");
  return ms::Register<ReferenceConv<kDirection, double>>(op, ms::KernelOptions().Type<double>("T"));
}

const ms::Registered conv_3d_backprop_input_of_tensor =
    RegisterFirstVersion<ConvDirection::kBackwardInput>("Conv3DBackpropInput");
const ms::Registered conv_3d_backprop_filter_of_tensor =
    RegisterFirstVersion<ConvDirection::kBackwardFilter>("Conv3DBackpropFilter");

}  // namespace
}  // namespace millstream::kernels
