// Two-dimensional convolutions, of all channels or of each alone, and their gradients.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/fused_product.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_cost.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/window_arithmetic.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// How the shape of an output follows from those of input and filter.
using OutputShape = StatusOr<PartialShape> (*)(const ImageWindow& window, const PartialShape& input,
                                               const PartialShape& filter);

template <OutputShape kOutputShape>
Status ForwardShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRank(0, kImageRank));
  MS_ASSIGN_OR_RETURN(PartialShape filter, context->WithRank(1, kImageRank));
  MS_ASSIGN_OR_RETURN(ImageWindow window, ConvolutionWindow(*context));
  StatusOr<PartialShape> output = kOutputShape(window, input, filter);
  if (!output.ok()) return InputError(*context, 1, output.status());
  context->SetOutput(0, *std::move(output));
  return absl::OkStatus();
}

Status FusedConv2DShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(ForwardShape<ConvolutionShape>(context));
  MS_ASSIGN_OR_RETURN(const PartialShape filter, context->WithRank(1, kImageRank));
  return CheckFusedArgs(*context, 2, filter.dim(3));
}

// Images, filters and biases, as many of each.
Status JoinedConv2DShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const ImageWindow window, ConvolutionWindow(*context));
  MS_ASSIGN_OR_RETURN(const auto ops, context->Attr<std::vector<std::string>>("fused_ops"));
  if (!AreFusedSteps(ops)) {
    return InvalidAttr(*context, "fused_ops",
                       "expected BiasAdd, with or without Relu or Relu6 after it");
  }
  const int channels = window.layout.channels;
  const int count = context->num_inputs() / 3;
  PartialShape output = PartialShape::UnknownOfRank(kImageRank);
  int64_t joined = 0;  // channels; kUnknownDim once those of a part are not known
  for (int i = 0; i < count; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRank(i, kImageRank));
    MS_ASSIGN_OR_RETURN(const PartialShape filter, context->WithRank(count + i, kImageRank));
    MS_ASSIGN_OR_RETURN(const PartialShape bias, context->WithRank(2 * count + i, 1));
    StatusOr<PartialShape> part = ConvolutionShape(window, input, filter);
    if (!part.ok()) return InputError(*context, count + i, part.status());
    const StatusOr<int64_t> size = context->MergeDim(filter.dim(3), bias.dim(0));
    if (!size.ok()) return InputError(*context, 2 * count + i, size.status());
    if (joined == kUnknownDim || *size == kUnknownDim ||
        __builtin_add_overflow(joined, *size, &joined)) {
      joined = kUnknownDim;
    }
    part->set_dim(channels, kUnknownDim);
    StatusOr<PartialShape> merged = output.MergeWith(*part);
    if (!merged.ok()) return InputError(*context, i, merged.status());
    output = *std::move(merged);
  }
  output.set_dim(channels, joined);
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status FusedDepthwiseShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(ForwardShape<DepthwiseShape>(context));
  MS_ASSIGN_OR_RETURN(const PartialShape filter, context->WithRank(1, kImageRank));
  const bool is_known = filter.dim(2) != kUnknownDim && filter.dim(3) != kUnknownDim;
  return CheckFusedArgs(*context, 2, is_known ? filter.dim(2) * filter.dim(3) : kUnknownDim);
}

template <OutputShape kOutputShape>
Status BackpropInputShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(ImageWindow window, ConvolutionWindow(*context));
  MS_ASSIGN_OR_RETURN(PartialShape input, ShapeFromSizesOfRank(*context, 0, kImageRank));
  MS_ASSIGN_OR_RETURN(PartialShape filter, context->WithRank(1, kImageRank));
  MS_ASSIGN_OR_RETURN(PartialShape gradient,
                      MergeOutputGradient(*context, 0, kOutputShape(window, input, filter)));
  const ImageLayout& layout = window.layout;
  if (input.dim(layout.batch) == kUnknownDim) {
    input.set_dim(layout.batch, gradient.dim(layout.batch));
  }
  // The channels do not follow from the filter's: there may be any number of groups.
  context->SetOutput(0, std::move(input));
  return absl::OkStatus();
}

template <OutputShape kOutputShape>
Status BackpropFilterShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(ImageWindow window, ConvolutionWindow(*context));
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRank(0, kImageRank));
  MS_ASSIGN_OR_RETURN(PartialShape filter, ShapeFromSizesOfRank(*context, 1, kImageRank));
  MS_ASSIGN_OR_RETURN(PartialShape gradient,
                      MergeOutputGradient(*context, 1, kOutputShape(window, input, filter)));
  if (kOutputShape == ConvolutionShape && filter.dim(3) == kUnknownDim) {
    filter.set_dim(3, gradient.dim(window.layout.channels));
  }
  context->SetOutput(0, std::move(filter));
  return absl::OkStatus();
}

// Each output is a sum over one channel: filters are [height, width, channels, multiplier].
double DepthwiseOperations(const PartialShape& pixels, const PartialShape& filter) {
  if (!filter.known_rank()) return EstimateElements(pixels);
  return 2 * EstimateElements(pixels) *
         EstimateElements(PartialShape({filter.dim(0), filter.dim(1)}));
}

double DepthwiseForwardOperations(absl::Span<const PartialShape> inputs,
                                  absl::Span<const PartialShape> outputs) {
  return DepthwiseOperations(outputs[0], inputs[1]);
}

double DepthwiseInputGradientOperations(absl::Span<const PartialShape> inputs,
                                        absl::Span<const PartialShape>) {
  return DepthwiseOperations(inputs[2], inputs[1]);
}

double DepthwiseFilterGradientOperations(absl::Span<const PartialShape> inputs,
                                         absl::Span<const PartialShape> outputs) {
  return DepthwiseOperations(inputs[2], outputs[0]);
}

void DepthwiseAttrs(OpSpec* spec) {
  (*spec)
      .Attr(TypeAttr("T", kNnTypes))
      .Attr("strides: list(int)")
      .Attr("padding: {\"SAME\", \"VALID\"}")
      .Attr("data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"")
      .Attr("dilations: list(int) = [1, 1, 1, 1]");
}

void ConvolutionAttrs(OpSpec* spec) {
  (*spec)
      .Attr(TypeAttr("T", kNnTypes))
      .Attr("strides: list(int)")
      .Attr("use_cudnn_on_gpu: bool = true")
      .Attr("padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}")
      .Attr("explicit_paddings: list(int) = []")
      .Attr("data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"")
      .Attr("dilations: list(int) = [1, 1, 1, 1]");
}

MILLSTREAM_OP("Conv2D")
    .Input("input: T")
    .Input("filter: T")
    .Output("output: T")
    .With(ConvolutionAttrs)
    .Cost(ConvolutionOutputOperations)
    .Shape(ForwardShape<ConvolutionShape>)
    .Doc(R"(Slides a filter over images and sums the products.

input is a batch of images in the order of data_format; filter is [height, width, input
channels, output channels]. strides and dilations have one value a dimension of input, 1 for
batch and channels. SAME pads with zeros so that the output is ceil(input / stride) high and
wide, VALID does not pad, and EXPLICIT pads by explicit_paddings: before and after, for each
dimension. With more channels in input than in filter, they form groups of as many as filter has:
each group has its share of the output channels, and only that is summed over it.
INVALID_ARGUMENT when the channels, or the output channels, cannot be divided so, or when the
filter is larger than the padded image.)");

MILLSTREAM_OP("_FusedConv2D")
    .Input("input: T")
    .Input("filter: T")
    .Input("args: num_args * T")
    .Output("output: T")
    .With(ConvolutionAttrs)
    .With(FusedProductAttrs)
    .Shape(FusedConv2DShape)
    .Doc(R"(Gives what Conv2D and then the ops named in fused_ops would give.

fused_ops is BiasAdd, which takes its vector from args, with or without Add, which takes a tensor
of the output's shape from args, and with or without Relu or Relu6 after it. Made by the
runtime.)");

MILLSTREAM_OP("_JoinedConv2D")
    .Input("inputs: N * T")
    .Input("filters: N * T")
    .Input("biases: N * T")
    .Output("output: T")
    .With(ConvolutionAttrs)
    .Attr("N: int >= 1")
    .Attr("fused_ops: list({\"BiasAdd\", \"Relu\", \"Relu6\"}) >= 1")
    .Shape(JoinedConv2DShape)
    .Doc(R"(Joins along the channels what _FusedConv2D gives for each of the inputs.

Each input has a filter and a bias of its own; the attributes are those of all. fused_ops is
BiasAdd, with or without Relu or Relu6 after it. Made by the runtime.)");

MILLSTREAM_OP("Conv2DBackpropInput")
    .Input("input_sizes: int32")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(ConvolutionAttrs)
    .Cost(ConvolutionInputGradientOperations)
    .Shape(BackpropInputShape<ConvolutionShape>)
    .Doc(R"(Gives the gradient of Conv2D for its input; also the transposed convolution.

input_sizes is the shape of that input, and of the output here; out_backprop is the gradient
for what Conv2D gave, and has its shape. The attributes are Conv2D's.)");

MILLSTREAM_OP("Conv2DBackpropFilter")
    .Input("input: T")
    .Input("filter_sizes: int32")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(ConvolutionAttrs)
    .Cost(ConvolutionFilterGradientOperations)
    .Shape(BackpropFilterShape<ConvolutionShape>)
    .Doc(R"(Gives the gradient of Conv2D for its filter.

filter_sizes is the shape of that filter, and of the output here; out_backprop is the
gradient for what Conv2D gave, and has its shape. The attributes are Conv2D's.)");

MILLSTREAM_OP("DepthwiseConv2dNative")
    .Input("input: T")
    .Input("filter: T")
    .Output("output: T")
    .With(DepthwiseAttrs)
    .Cost(DepthwiseForwardOperations)
    .Shape(ForwardShape<DepthwiseShape>)
    .Doc(R"(Convolves each channel of images with filters of its own.

input is a batch of images in the order of data_format; filter is [height, width, channels,
multiplier]. Each channel is convolved with as many filters as the multiplier says, and the results
lie side by side: output channel c * multiplier + m is channel c convolved with filter[:, :, c, m].
strides and dilations have one value a dimension of input, 1 for batch and channels; the strides of
height and width are equal. padding is as for Conv2D. INVALID_ARGUMENT when the channels of input
and filter differ.)")
    .Example(R"(
>>> images, filters = tf.ones([1, 5, 5, 3]), tf.ones([3, 3, 3, 2])
>>> tf.nn.depthwise_conv2d_native(images, filters, [1, 1, 1, 1], "VALID").shape.as_list()
[1, 3, 3, 6])");

MILLSTREAM_OP("_FusedDepthwiseConv2dNative")
    .Input("input: T")
    .Input("filter: T")
    .Input("args: num_args * T")
    .Output("output: T")
    .With(DepthwiseAttrs)
    .With(FusedProductAttrs)
    .Shape(FusedDepthwiseShape)
    .Doc(R"(Gives what DepthwiseConv2dNative and then the ops named in fused_ops would give.

fused_ops is BiasAdd, which takes its vector from args, with or without Add, which takes a tensor
of the output's shape from args, and with or without Relu or Relu6 after it. Made by the
runtime.)");

MILLSTREAM_OP("DepthwiseConv2dNativeBackpropInput")
    .Input("input_sizes: int32")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(DepthwiseAttrs)
    .Cost(DepthwiseInputGradientOperations)
    .Shape(BackpropInputShape<DepthwiseShape>)
    .Doc(R"(Gives the gradient of DepthwiseConv2dNative for its input.

input_sizes is the shape of that input, and of the output here; out_backprop is the gradient
for what DepthwiseConv2dNative gave, and has its shape. The attributes are those of
DepthwiseConv2dNative.)")
    .Example(R"(
>>> filters, gradient = tf.ones([3, 3, 3, 2]), tf.ones([1, 3, 3, 6])
>>> tf.nn.depthwise_conv2d_native_backprop_input(
...     [1, 5, 5, 3], filters, gradient, [1, 1, 1, 1], "VALID").shape.as_list()
[1, 5, 5, 3])");

MILLSTREAM_OP("DepthwiseConv2dNativeBackpropFilter")
    .Input("input: T")
    .Input("filter_sizes: int32")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(DepthwiseAttrs)
    .Cost(DepthwiseFilterGradientOperations)
    .Shape(BackpropFilterShape<DepthwiseShape>)
    .Doc(R"(Gives the gradient of DepthwiseConv2dNative for its filter.

filter_sizes is the shape of that filter, and of the output here; out_backprop is the
gradient for what DepthwiseConv2dNative gave, and has its shape. The attributes are those of
DepthwiseConv2dNative.)")
    .Example(R"(
>>> images, gradient = tf.ones([1, 5, 5, 3]), tf.ones([1, 3, 3, 6])
>>> tf.nn.depthwise_conv2d_native_backprop_filter(
...     images, [3, 3, 3, 2], gradient, [1, 1, 1, 1], "VALID").shape.as_list()
[3, 3, 3, 2])");

}  // namespace
}  // namespace millstream
