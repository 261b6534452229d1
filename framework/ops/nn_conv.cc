// Two-dimensional convolution and its gradients.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/fused_product.h"
#include "framework/ops/op_cost.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/window_arithmetic.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status Conv2DShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRank(0, kImageRank));
  MS_ASSIGN_OR_RETURN(PartialShape filter, context->WithRank(1, kImageRank));
  MS_ASSIGN_OR_RETURN(ImageWindow window, ConvolutionWindow(*context));
  StatusOr<PartialShape> output = ConvolutionShape(window, input, filter);
  if (!output.ok()) return InputError(*context, 1, output.status());
  context->SetOutput(0, *std::move(output));
  return absl::OkStatus();
}

// Input i, the gradient of a convolution's output, must have the output's shape, which follows from
// the sizes that another input gives. Returns what both know of it.
StatusOr<PartialShape> MergeOutputGradient(const ShapeContext& context, int i, int sizes,
                                           const StatusOr<PartialShape>& output) {
  if (!output.ok()) return InputError(context, sizes, output.status());
  MS_ASSIGN_OR_RETURN(PartialShape gradient, context.WithRank(i, kImageRank));
  StatusOr<PartialShape> merged = output->MergeWith(gradient);
  if (merged.ok()) return merged;
  return InvalidInput(context, i, "expected the shape of the output, ", output->ToString(),
                      ", got ", gradient.ToString());
}

Status FusedConv2DShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(Conv2DShape(context));
  MS_ASSIGN_OR_RETURN(const PartialShape filter, context->WithRank(1, kImageRank));
  return CheckFusedBias(*context, 2, filter.dim(3));
}

Status Conv2DBackpropInputShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(ImageWindow window, ConvolutionWindow(*context));
  MS_ASSIGN_OR_RETURN(PartialShape input, ImageShapeFromSizes(*context, 0));
  MS_ASSIGN_OR_RETURN(PartialShape filter, context->WithRank(1, kImageRank));
  MS_ASSIGN_OR_RETURN(PartialShape gradient,
                      MergeOutputGradient(*context, 2, 0, ConvolutionShape(window, input, filter)));
  const ImageLayout& layout = window.layout;
  if (input.dim(layout.batch) == kUnknownDim) {
    input.set_dim(layout.batch, gradient.dim(layout.batch));
  }
  // The channels do not follow from the filter's: there may be any number of groups.
  context->SetOutput(0, std::move(input));
  return absl::OkStatus();
}

Status Conv2DBackpropFilterShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(ImageWindow window, ConvolutionWindow(*context));
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRank(0, kImageRank));
  MS_ASSIGN_OR_RETURN(PartialShape filter, ImageShapeFromSizes(*context, 1));
  MS_ASSIGN_OR_RETURN(PartialShape gradient,
                      MergeOutputGradient(*context, 2, 1, ConvolutionShape(window, input, filter)));
  if (filter.dim(3) == kUnknownDim) filter.set_dim(3, gradient.dim(window.layout.channels));
  context->SetOutput(0, std::move(filter));
  return absl::OkStatus();
}

double ForwardOperations(absl::Span<const PartialShape> inputs,
                         absl::Span<const PartialShape> outputs) {
  return ConvolutionOperations(outputs[0], inputs[1]);
}

// Of the gradient for the input; input 2 is the gradient with respect to the convolution's output.
double InputGradientOperations(absl::Span<const PartialShape> inputs,
                               absl::Span<const PartialShape>) {
  return ConvolutionOperations(inputs[2], inputs[1]);
}

double FilterGradientOperations(absl::Span<const PartialShape> inputs,
                                absl::Span<const PartialShape> outputs) {
  return ConvolutionOperations(inputs[2], outputs[0]);
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
    .Cost(ForwardOperations)
    .Shape(Conv2DShape)
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

fused_ops is BiasAdd, which takes its vector from args, with or without Relu after it. Made by
the runtime.)");

MILLSTREAM_OP("Conv2DBackpropInput")
    .Input("input_sizes: int32")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(ConvolutionAttrs)
    .Cost(InputGradientOperations)
    .Shape(Conv2DBackpropInputShape)
    .Doc(R"(Gives the gradient of Conv2D for its input; also the transposed convolution.

input_sizes is the shape of that input, and of the output here; out_backprop is the gradient
for what Conv2D gave, and has its shape. The attributes are Conv2D's.)");

MILLSTREAM_OP("Conv2DBackpropFilter")
    .Input("input: T")
    .Input("filter_sizes: int32")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(ConvolutionAttrs)
    .Cost(FilterGradientOperations)
    .Shape(Conv2DBackpropFilterShape)
    .Doc(R"(Gives the gradient of Conv2D for its filter.

filter_sizes is the shape of that filter, and of the output here; out_backprop is the
gradient for what Conv2D gave, and has its shape. The attributes are Conv2D's.)");

}  // namespace
}  // namespace millstream
