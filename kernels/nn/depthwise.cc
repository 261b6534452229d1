// DepthwiseConv2dNative, _FusedDepthwiseConv2dNative, DepthwiseConv2dNativeBackpropInput,
// DepthwiseConv2dNativeBackpropFilter: convolutions of each channel alone. They are bound by
// memory, so that each tensor is read as it lies there; only with channels first, or with a
// multiplier, are there copies.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/matmul/bias_epilogue.h"
#include "kernels/nn/conv_operands.h"
#include "kernels/nn/depthwise_layout.h"
#include "kernels/nn/depthwise_loops.h"

namespace millstream::kernels {
namespace {

constexpr uint32_t kRank = 4;

// The problem as a convolution of as many groups as the input has channels. The filters of the op,
// [height, width, channels, multiplier], lie in memory as those of that.
ms::Status Resolve(ConvDirection direction, const ConvAttributes& attributes,
                   const ConvShapes& shapes, ConvShape* shape) {
  const ms::Shape& filter = shapes.filter;
  if (filter.rank() != kRank) {
    return ms::InvalidArgument(shapes.filter_name, " must have 4 dimensions, but is ",
                               filter.ToString());
  }
  int64_t outputs = 0;
  if (filter[2] < 0 || filter[3] < 0 || __builtin_mul_overflow(filter[2], filter[3], &outputs)) {
    return ms::InvalidArgument(shapes.filter_name, " has impossible sizes: ", filter.ToString());
  }
  const ms::Shape& input = shapes.input;
  if (input.rank() == kRank && input[attributes.ChannelDim()] != filter[2]) {
    return ms::InvalidArgument(shapes.input_name, " ", input.ToString(), " and ",
                               shapes.filter_name, " ", filter.ToString(),
                               " must have the same number of channels");
  }
  MS_TRY(ResolveConv(attributes, input, shapes.input_name, {filter[0], filter[1], 1, outputs},
                     shapes.filter_name, shape));
  if (direction == ConvDirection::kForward) return ms::Status();
  return CheckOutputGradient(*shape, shapes.gradient);
}

// What a problem's shapes say, of which there is one for a plan of known shapes.
struct DepthwisePlan : ms::ShapeState {
  ms::Status Init(ConvDirection direction, const ConvAttributes& attributes,
                  const ConvShapes& shapes) {
    MS_TRY(Resolve(direction, attributes, shapes, &shape));
    const bool to_filter = direction == ConvDirection::kBackwardFilter;
    result = to_filter ? shapes.filter : shape.ResultShape(direction);
    if (!to_filter && !shape.HasNoProducts()) taps.emplace(shape, direction);
    return ms::Status();
  }

  ConvShape shape;
  ms::Shape result;
  std::optional<TapPlan> taps;  // none where there are no products, and for the filter's gradient
};

// Products of a row of the output, at about a nanosecond for 8.
uint64_t RowCost(const ConvShape& shape) {
  return static_cast<uint64_t>(shape.output[1] * shape.out_channels * shape.filter[0] *
                               shape.filter[1]) /
             8 +
         1;
}

// One instance serves all types that are computed as Number.
template <typename Number>
class DepthwiseLoops {
 public:
  // `epilogue` is for the output of float32 with channels last. REQUIRES: the problem has products.
  static ms::Status Run(ms::Frame& frame, const DepthwisePlan& plan, ConvDirection direction,
                        const Operands<Number>& operands, const ProductEpilogue& epilogue) {
    const ConvShape& shape = plan.shape;
    const DepthwiseLayout input = DepthwiseLayout::OfInput(shape);
    const DepthwiseLayout output = DepthwiseLayout::OfOutput(shape);
    const Number* x = nullptr;
    const Number* dy = nullptr;
    if (direction != ConvDirection::kBackwardInput) {
      MS_TRY(Arrange(frame, input, operands.input, &x));
    }
    if (direction != ConvDirection::kForward) {
      MS_TRY(Arrange(frame, output, operands.output, &dy));
    }
    if (direction == ConvDirection::kBackwardFilter) {
      return SumOverPixels(frame, shape, x, dy, operands.filter);
    }
    const bool forward = direction == ConvDirection::kForward;
    const DepthwiseLayout& layout = forward ? output : input;
    Number* const result = forward ? operands.output : operands.input;
    Number* sums = result;
    if (!layout.IsPlain()) {
      ms::View temp;
      MS_TRY(frame.Temp(static_cast<uint64_t>(layout.size()) * sizeof(Number), &temp));
      sums = temp.data<Number>();
    }
    MS_TRY(Sum(frame, plan, forward ? x : dy, operands.filter, epilogue, sums));
    return Gather(frame, layout, sums, result);
  }

 private:
  // The output of `source`, the input, or the input's gradient of `source`, the output's. All have
  // their channels last, as many as the output has.
  static ms::Status Sum(ms::Frame& frame, const DepthwisePlan& problem, const Number* source,
                        const Number* filter, const ProductEpilogue& epilogue, Number* result) {
    const TapPlan& plan = *problem.taps;
    const auto rows_of_image = static_cast<int64_t>(plan.rows.size());
    const int64_t rows = problem.shape.batch * rows_of_image;
    const uint64_t products = RowCost(problem.shape) * problem.shape.output[0];
    const uint64_t cost = products / static_cast<uint64_t>(rows_of_image) + 1;
    return StoppableFor(frame, rows, cost, [&](int64_t begin, int64_t end) {
      RunVectorLoopUpTo<kWidestSet<Number>, Sums>(plan, source, filter, epilogue, result, begin,
                                                  end);
    });
  }

  // The rows of the output are summed in pieces that depend on the problem alone, and these in
  // their order: the bits are the same for any number of threads.
  static ms::Status SumOverPixels(ms::Frame& frame, const ConvShape& shape, const Number* input,
                                  const Number* gradient, Number* result) {
    constexpr int64_t kMostTogether = 16;
    constexpr uint64_t kFewestNanoseconds = 50000;  // of a piece
    constexpr uint64_t kMostNanoseconds = 20 * 1000 * 1000;
    const int64_t rows = shape.batch * shape.output[0];
    const uint64_t cost = RowCost(shape);
    const int64_t even = (rows + kMostTogether - 1) / kMostTogether;
    const int64_t piece = std::clamp(even, static_cast<int64_t>(kFewestNanoseconds / cost + 1),
                                     static_cast<int64_t>(kMostNanoseconds / cost + 1));
    const int64_t size = shape.FilterShape().num_elements();
    const int64_t together = std::min(kMostTogether, (rows + piece - 1) / piece);
    ms::View partial;
    MS_TRY(frame.Temp(static_cast<uint64_t>(together * size) * sizeof(Number), &partial));
    Number* const sums = partial.data<Number>();
    std::fill_n(result, size, Number(0));
    for (int64_t first = 0; first < rows; first += together * piece) {
      if (first > 0) MS_TRY(frame.CheckCancelled());
      const int64_t count = std::min(together, (rows - first + piece - 1) / piece);
      frame.ParallelFor(count, cost * piece, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const int64_t row = first + k * piece;
          Number* const own = sums + k * size;
          std::fill_n(own, size, Number(0));
          RunVectorLoopUpTo<kWidestSet<Number>, Gradients>(shape, input, gradient, own, row,
                                                           std::min(rows, row + piece));
        }
      });
      for (int64_t k = 0; k < count; ++k) {
        for (int64_t i = 0; i < size; ++i) result[i] += sums[k * size + i];
      }
    }
    return ms::Status();
  }

  // The activation as the loops take it: itself, or a copy.
  static ms::Status Arrange(ms::Frame& frame, const DepthwiseLayout& layout, const Number* from,
                            const Number** arranged) {
    *arranged = from;
    if (layout.IsPlain()) return ms::Status();
    ms::View copy;
    MS_TRY(frame.Temp(static_cast<uint64_t>(layout.size()) * sizeof(Number), &copy));
    *arranged = copy.data<Number>();
    return layout.Spread(frame, sizeof(Number), from, copy.raw());
  }

  // The reverse of Arrange for a result; what copies of a channel have is added.
  static ms::Status Gather(ms::Frame& frame, DepthwiseLayout layout, Number* from, Number* result) {
    if (layout.copies > 1) {
      const int64_t copies = layout.copies;
      layout.copies = 1;
      Number* const sums = layout.IsPlain() ? result : from;
      // Not in parallel where it is in place.
      const auto add = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Number sum = from[i * copies];
          for (int64_t m = 1; m < copies; ++m) sum += from[i * copies + m];
          sums[i] = sum;
        }
      };
      if (sums == from) {
        add(0, layout.size());
      } else {
        constexpr int64_t kPicoseconds = 500;
        MS_TRY(ParallelRows(frame, layout.size(), copies, kPicoseconds, add));
      }
    }
    if (layout.IsPlain()) return ms::Status();
    return layout.Return(frame, sizeof(Number), from, result);
  }

  template <int kBytes>
  using Sums = TapSums<Number, kBytes>;
  template <int kBytes>
  using Gradients = TapGradients<Number, kBytes>;
};

// The ops differ by what they compute.
struct DepthwiseOp {
  ConvDirection direction;
};

template <typename T>
class Depthwise {
 public:
  using Row = DepthwiseOp;

  explicit Depthwise(const Row& row) : direction_(row.direction) {}
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Specialize(ms::Specialization& spec) const {
    auto plan = std::make_unique<DepthwisePlan>();
    MS_TRY(plan->Init(direction_, attributes_, ShapesOf(direction_, spec)));
    spec.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const { return Compute(frame, nullptr); }

  // What the op gives, and then what `epilogue` says, unless it is null.
  ms::Status Compute(ms::Frame& frame, const BiasEpilogue* epilogue) const {
    if (const auto* plan = frame.shape_state<DepthwisePlan>()) return Run(frame, *plan, epilogue);
    ConvShapes shapes;
    MS_TRY(ShapesOf(direction_, frame, kRank, &shapes));
    DepthwisePlan plan;
    MS_TRY(plan.Init(direction_, attributes_, shapes));
    return Run(frame, plan, epilogue);
  }

 private:
  using Number = ComputeTypeOf<T>;

  ms::Status Run(ms::Frame& frame, const DepthwisePlan& plan, const BiasEpilogue* epilogue) const {
    ms::View output;
    MS_TRY(frame.Output(0, plan.result, &output));
    ProductEpilogue follows;
    if (epilogue != nullptr) MS_TRY(epilogue->Find(frame, &follows));
    if (output.size() == 0) return ms::Status();
    WideOutput<T> result;
    MS_TRY(result.Init(frame, output));
    if (plan.shape.HasNoProducts()) {
      std::fill_n(result.data(), output.size(), Number(0));
      return epilogue == nullptr ? result.Finish(frame) : epilogue->Run(frame);
    }
    Operands<Number> operands{};
    MS_TRY(FindOperands<T>(direction_, frame, result.data(), &operands));
    MS_TRY(DepthwiseLoops<Number>::Run(frame, plan, direction_, operands, follows));
    return result.Finish(frame);
  }

  ConvDirection direction_;
  ConvAttributes attributes_;
};

// _FusedDepthwiseConv2dNative
class FusedDepthwise {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string format;
    MS_TRY(info.Attr("data_format", &format));
    if (format != "NHWC") {
      return ms::Unimplemented(info.op(), ": attribute data_format must be NHWC, is ", format);
    }
    MS_TRY(epilogue_.Init(info));
    return convolution_.Init(info);
  }
  ms::Status Specialize(ms::Specialization& spec) const { return convolution_.Specialize(spec); }
  ms::Status Compute(ms::Frame& frame) const { return convolution_.Compute(frame, &epilogue_); }

 private:
  Depthwise<float> convolution_{DepthwiseOp{ConvDirection::kForward}};
  BiasEpilogue epilogue_;
};

template <typename T>
void RegisterFor(const char* op, const DepthwiseOp& row, const ms::KernelOptions& options) {
  ms::RegisterRow<Depthwise<T>>(op, row, ms::KernelOptions(options).Type<T>("T"));
}

ms::Registered RegisterDepthwise(const char* op, const DepthwiseOp& row,
                                 const ms::KernelOptions& options) {
  RegisterFor<float>(op, row, options);
  RegisterFor<double>(op, row, options);
  RegisterFor<Float16>(op, row, options);
  RegisterFor<BFloat16>(op, row, options);
  return ms::Registered();
}

const DepthwiseOp kForward = {ConvDirection::kForward};
const DepthwiseOp kBackwardInput = {ConvDirection::kBackwardInput};
const DepthwiseOp kBackwardFilter = {ConvDirection::kBackwardFilter};

const ms::Registered depthwise =
    RegisterDepthwise("DepthwiseConv2dNative", kForward, ms::KernelOptions());
const ms::Registered fused_depthwise = ms::Register<FusedDepthwise>(
    "_FusedDepthwiseConv2dNative", ms::KernelOptions().Type<float>("T"));
const ms::Registered depthwise_backprop_input =
    RegisterDepthwise("DepthwiseConv2dNativeBackpropInput", kBackwardInput,
                      ms::KernelOptions().HostArg("input_sizes"));
const ms::Registered depthwise_backprop_filter =
    RegisterDepthwise("DepthwiseConv2dNativeBackpropFilter", kBackwardFilter,
                      ms::KernelOptions().HostArg("filter_sizes"));

}  // namespace
}  // namespace millstream::kernels
