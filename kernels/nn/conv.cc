// Conv2D, Conv2DBackpropInput and Conv2DBackpropFilter: float32 and, widened to it, the narrow
// floats by ConvPlan, float64 by definition.
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/matmul/bias_epilogue.h"
#include "kernels/matmul/library_threads.h"
#include "kernels/nn/conv_plan.h"
#include "kernels/nn/conv_reference.h"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {
namespace {

// A shape that comes as the value of an int32 vector.
ms::Status ShapeFromSizes(const ms::View& sizes, const char* name, ms::Shape* shape) {
  if (sizes.rank() != 1 || sizes.size() != 4) {
    return ms::InvalidArgument(name, " must be a vector of 4 sizes, but its shape is ",
                               sizes.shape().ToString());
  }
  *shape = ms::Shape();
  for (int i = 0; i < 4; ++i) shape->Append(sizes.data<int32_t>()[i]);
  return ms::Status();
}

// The arguments of one op, and how they fit together. Resolve gives the problem from shapes that
// are all known (when a plan is built) or from the tensors (when it runs).
struct ForwardOp {
  static constexpr ConvDirection kDirection = ConvDirection::kForward;

  static ms::Status Resolve(const ConvAttributes& attributes, const ms::Specialization& spec,
                            ConvShape* shape) {
    return ResolveConv(attributes, spec.input(0), "input", spec.input(1), "filter", shape);
  }
  static ms::Status Resolve(const ConvAttributes& attributes, const ms::Frame& frame,
                            ConvShape* shape) {
    return ResolveConv(attributes, frame.input(0).shape(), "input", frame.input(1).shape(),
                       "filter", shape);
  }
  static ms::Shape ResultShape(const ConvShape& shape) { return shape.OutputShape(); }
};

struct BackwardInputOp {
  static constexpr ConvDirection kDirection = ConvDirection::kBackwardInput;

  static ms::Status Resolve(const ConvAttributes& attributes, const ms::Specialization& spec,
                            ConvShape* shape) {
    MS_TRY(ResolveConv(attributes, spec.output(0), "input_sizes", spec.input(1), "filter", shape));
    return CheckOutputGradient(*shape, spec.input(2));
  }
  static ms::Status Resolve(const ConvAttributes& attributes, const ms::Frame& frame,
                            ConvShape* shape) {
    ms::Shape input;
    MS_TRY(ShapeFromSizes(frame.input(0), "input_sizes", &input));
    MS_TRY(ResolveConv(attributes, input, "input_sizes", frame.input(1).shape(), "filter", shape));
    return CheckOutputGradient(*shape, frame.input(2).shape());
  }
  static ms::Shape ResultShape(const ConvShape& shape) { return shape.InputShape(); }
};

struct BackwardFilterOp {
  static constexpr ConvDirection kDirection = ConvDirection::kBackwardFilter;

  static ms::Status Resolve(const ConvAttributes& attributes, const ms::Specialization& spec,
                            ConvShape* shape) {
    MS_TRY(ResolveConv(attributes, spec.input(0), "input", spec.output(0), "filter_sizes", shape));
    return CheckOutputGradient(*shape, spec.input(2));
  }
  static ms::Status Resolve(const ConvAttributes& attributes, const ms::Frame& frame,
                            ConvShape* shape) {
    ms::Shape filter;
    MS_TRY(ShapeFromSizes(frame.input(1), "filter_sizes", &filter));
    MS_TRY(ResolveConv(attributes, frame.input(0).shape(), "input", filter, "filter_sizes", shape));
    return CheckOutputGradient(*shape, frame.input(2).shape());
  }
  static ms::Shape ResultShape(const ConvShape& shape) { return shape.FilterShape(); }
};

// The three tensors of a problem, whichever of them is computed, in the type of the computation.
template <typename Compute>
struct Operands {
  Compute* input;
  Compute* filter;
  Compute* output;
};

template <typename Op, typename T, typename Compute = ComputeTypeOf<T>>
ms::Status FindOperands(ms::Frame& frame, Compute* computed, Operands<Compute>* operands) {
  *operands = {computed, computed, computed};
  if (Op::kDirection != ConvDirection::kBackwardInput) {
    MS_TRY(WideInput<T>(frame, 0, &operands->input));
  }
  if (Op::kDirection != ConvDirection::kBackwardFilter) {
    MS_TRY(WideInput<T>(frame, 1, &operands->filter));
  }
  if (Op::kDirection != ConvDirection::kForward) {
    MS_TRY(WideInput<T>(frame, 2, &operands->output));
  }
  return ms::Status();
}

template <typename Op, typename T>
class LibraryConv {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Specialize(ms::Specialization& spec) const {
    ConvShape shape;
    MS_TRY(Op::Resolve(attributes_, spec, &shape));
    auto plan =
        std::make_unique<ConvPlan>(shape, Op::kDirection, static_cast<int>(spec.num_threads()));
    if constexpr (Op::kDirection != ConvDirection::kBackwardFilter && std::is_same_v<T, float>) {
      if (!spec.constant(1).is_null()) plan->KeepFilter(spec.constant(1).template data<float>());
    }
    spec.SetScratchBytes(plan->scratch_bytes());
    spec.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (const ConvPlan* plan = frame.shape_state<ConvPlan>()) {
      return Run(frame, *plan, frame.scratch());
    }
    ConvShape shape;
    MS_TRY(Op::Resolve(attributes_, frame, &shape));
    const auto plan = plans_.Get(shape, Op::kDirection, LibraryThreadCount(frame));
    ms::View scratch;
    if (plan->scratch_bytes() > 0) MS_TRY(frame.Temp(plan->scratch_bytes(), &scratch));
    return Run(frame, *plan, scratch.raw());
  }

 private:
  static ms::Status Run(ms::Frame& frame, const ConvPlan& plan, void* scratch) {
    ms::View output;
    MS_TRY(frame.Output(0, Op::ResultShape(plan.shape()), &output));
    WideOutput<T> result;
    MS_TRY(result.Init(frame, output));
    Operands<float> operands{};
    MS_TRY((FindOperands<Op, T>(frame, result.data(), &operands)));
    MS_TRY(plan.Run(frame, operands.input, operands.filter, operands.output, scratch));
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
  ms::Status Compute(ms::Frame& frame) const {
    MS_TRY(convolution_.Compute(frame));
    return epilogue_.Run(frame);
  }

 private:
  LibraryConv<ForwardOp, float> convolution_;
  BiasEpilogue epilogue_;
};

template <typename Op, typename T>
class ReferenceConv {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    ConvShape shape;
    MS_TRY(Op::Resolve(attributes_, frame, &shape));
    ms::View result;
    MS_TRY(frame.Output(0, Op::ResultShape(shape), &result));
    Operands<T> operands{};
    MS_TRY((FindOperands<Op, T>(frame, result.data<T>(), &operands)));
    const auto [input, filter, output] = operands;
    const ReferenceConvolution<T> convolution(shape);
    if constexpr (Op::kDirection == ConvDirection::kForward) {
      return convolution.Forward(frame, input, filter, output);
    } else if constexpr (Op::kDirection == ConvDirection::kBackwardInput) {
      return convolution.BackwardInput(frame, filter, output, input);
    } else {
      return convolution.BackwardFilter(frame, input, output, filter);
    }
  }

 private:
  ConvAttributes attributes_;
};

template <typename Op>
struct ConvOf {
  template <typename T>
  using Library = LibraryConv<Op, T>;
};

template <typename Op>
ms::Registered RegisterConv(const char* op, const ms::KernelOptions& options) {
  ms::RegisterForTypes<ConvOf<Op>::template Library, float, Float16, BFloat16>(op, "T", options);
  return ms::Register<ReferenceConv<Op, double>>(op, ms::KernelOptions(options).Type<double>("T"));
}

const ms::Registered conv = RegisterConv<ForwardOp>("Conv2D", ms::KernelOptions());
const ms::Registered fused_conv =
    ms::Register<FusedConv>("_FusedConv2D", ms::KernelOptions().Type<float>("T"));
const ms::Registered conv_backprop_input = RegisterConv<BackwardInputOp>(
    "Conv2DBackpropInput", ms::KernelOptions().HostArg("input_sizes"));
const ms::Registered conv_backprop_filter = RegisterConv<BackwardFilterOp>(
    "Conv2DBackpropFilter", ms::KernelOptions().HostArg("filter_sizes"));

}  // namespace
}  // namespace millstream::kernels
