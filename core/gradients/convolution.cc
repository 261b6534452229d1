// Gradients of convolutions, and of dilation, whose windows slide likewise.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// A convolution, the gradients for its input and its filter, and the attributes of all three.
struct Convolution {
  const char* forward;
  const char* input_gradient;
  const char* filter_gradient;
  std::vector<const char*> attrs;
};

const Convolution& Conv2D() {
  static const auto* const convolution = new Convolution{
      "Conv2D",
      "Conv2DBackpropInput",
      "Conv2DBackpropFilter",
      {"strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu"}};
  return *convolution;
}

const Convolution& Depthwise() {
  static const auto* const convolution =
      new Convolution{"DepthwiseConv2dNative",
                      "DepthwiseConv2dNativeBackpropInput",
                      "DepthwiseConv2dNativeBackpropFilter",
                      {"strides", "padding", "data_format", "dilations"}};
  return *convolution;
}

const Convolution& Conv3D() {
  static const auto* const convolution =
      new Convolution{"Conv3D",
                      "Conv3DBackpropInputV2",
                      "Conv3DBackpropFilterV2",
                      {"strides", "padding", "data_format", "dilations"}};
  return *convolution;
}

using GetConvolution = const Convolution& (*)();

Output Build(GradientContext* context, const Convolution& convolution, const char* op,
             const std::vector<Output>& inputs) {
  return context->builder()->OpWithAttrs(op, inputs, context->attrs(), convolution.attrs);
}

Output InputGradient(GradientContext* context, const Convolution& convolution, Output like,
                     Output filter, Output dy) {
  return Build(context, convolution, convolution.input_gradient,
               {ShapeVector(context->builder(), like), filter, dy});
}

Output FilterGradient(GradientContext* context, const Convolution& convolution, Output input,
                      Output like, Output dy) {
  return Build(context, convolution, convolution.filter_gradient,
               {input, ShapeVector(context->builder(), like), dy});
}

template <GetConvolution kConvolution>
Status ConvolutionGradient(GradientContext* context) {
  const Output x = context->input(0);
  const Output w = context->input(1);
  context->SetDx(0, InputGradient(context, kConvolution(), x, w, context->dy(0)));
  context->SetDx(1, FilterGradient(context, kConvolution(), x, w, context->dy(0)));
  return absl::OkStatus();
}

// The three convolutions are linear in each argument; the gradient of one is made of the others.
template <GetConvolution kConvolution>
Status InputGradientGradient(GradientContext* context) {
  const Output g = context->dy(0);
  const Output w = context->input(1);
  context->SetDx(1, FilterGradient(context, kConvolution(), g, w, context->input(2)));
  context->SetDx(2, Build(context, kConvolution(), kConvolution().forward, {g, w}));
  return absl::OkStatus();
}

template <GetConvolution kConvolution>
Status FilterGradientGradient(GradientContext* context) {
  const Output g = context->dy(0);
  const Output x = context->input(0);
  context->SetDx(0, InputGradient(context, kConvolution(), x, g, context->input(2)));
  context->SetDx(2, Build(context, kConvolution(), kConvolution().forward, {x, g}));
  return absl::OkStatus();
}

Status Dilation2DGradient(GradientContext* context) {
  const std::vector<Output> inputs = {context->input(0), context->input(1), context->dy(0)};
  const std::vector<const char*> attrs = {"strides", "rates", "padding"};
  const char* const ops[] = {"Dilation2DBackpropInput", "Dilation2DBackpropFilter"};
  for (int i = 0; i < 2; ++i) {
    context->SetDx(i, context->builder()->OpWithAttrs(ops[i], inputs, context->attrs(), attrs));
  }
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Conv2D", ConvolutionGradient<Conv2D>);
MILLSTREAM_GRADIENT("Conv2DBackpropInput", InputGradientGradient<Conv2D>);
MILLSTREAM_GRADIENT("Conv2DBackpropFilter", FilterGradientGradient<Conv2D>);
MILLSTREAM_GRADIENT("DepthwiseConv2dNative", ConvolutionGradient<Depthwise>);
MILLSTREAM_GRADIENT("DepthwiseConv2dNativeBackpropInput", InputGradientGradient<Depthwise>);
MILLSTREAM_GRADIENT("DepthwiseConv2dNativeBackpropFilter", FilterGradientGradient<Depthwise>);
MILLSTREAM_GRADIENT("Conv3D", ConvolutionGradient<Conv3D>);
MILLSTREAM_GRADIENT("Conv3DBackpropInputV2", InputGradientGradient<Conv3D>);
MILLSTREAM_GRADIENT("Conv3DBackpropFilterV2", FilterGradientGradient<Conv3D>);
MILLSTREAM_GRADIENT("Dilation2D", Dilation2DGradient);

}  // namespace
}  // namespace millstream
