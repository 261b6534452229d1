// Gradients of convolutions, and of dilation, whose windows slide likewise.
#include <cstdint>
#include <string>
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/image_windows.h"
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

Output Cast(GraphBuilder* builder, Output tensor, DataType dtype) {
  return tensor.dtype() == dtype ? tensor : builder->Op("Cast", {tensor}, {{"DstT", dtype}});
}

// A filter of a dilation [height, width, channels] as [taps, channels].
Output TapsOf(GraphBuilder* builder, Output filter) {
  const Output shape = ShapeVector(builder, filter);
  const Output count =
      builder->Op("Mul", {ElementOf(builder, shape, 0), ElementOf(builder, shape, 1)});
  const Output channels = ElementOf(builder, shape, 2);
  return builder->Op("Reshape", {filter, ConcatVectors(builder, {count, channels})});
}

// A convolution of images with mirrored margins, which may have been resized before. Both are made
// again; images are resized in float32, as by ResizeBilinear.
Status FusedPadConv2DGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output input = context->input(0);
  const int last = context->num_inputs() - 1;
  const Output paddings = context->input(last - 1);
  const Output filter = context->input(last);
  const bool resizes = last == 3;
  bool align_corners = false;
  if (resizes) {
    MS_ASSIGN_OR_RETURN(align_corners, context->Attr<bool>("resize_align_corners"));
  }
  const auto cast = [&](Output tensor, DataType dtype) {
    return input.dtype() == DataType::kFloat ? tensor
                                             : builder->Op("Cast", {tensor}, {{"DstT", dtype}});
  };
  Output images = input;
  if (resizes) {
    const Output resized = builder->Op("ResizeBilinear", {input, context->input(1)},
                                       {{"align_corners", align_corners}});
    images = cast(resized, input.dtype());
  }
  const auto mirror = [&](const char* op, Output tensor) {
    return builder->OpWithAttrs(op, {tensor, paddings}, context->attrs(), {"mode"});
  };
  const Output padded = mirror("MirrorPad", images);
  const Output dy = context->dy(0);
  Output dx = mirror("MirrorPadGrad", InputGradient(context, Conv2D(), padded, filter, dy));
  if (resizes) {
    dx = builder->Op("ResizeBilinearGrad", {cast(dx, DataType::kFloat), input},
                     {{"align_corners", align_corners}});
  }
  context->SetDx(0, dx);
  context->SetDx(last, FilterGradient(context, Conv2D(), padded, filter, dy));
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

// The windows of a dilation, with the sums of pixel and tap of which each takes the greatest. What
// has 16 bits is computed in float, as by the kernels.
struct DilationWindows {
  ImageWindows windows;
  Output first_greatest;
};
StatusOr<DilationWindows> WindowsOfDilation(GradientContext* context, DataType wide) {
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> strides,
                      context->Attr<std::vector<int64_t>>("strides"));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> rates,
                      context->Attr<std::vector<int64_t>>("rates"));
  MS_ASSIGN_OR_RETURN(const std::string padding, context->Attr<std::string>("padding"));
  GraphBuilder* builder = context->builder();
  WindowPlaces along[2];
  for (int i = 0; i < 2; ++i) {
    const Output count = SizeAt(builder, context->input(2), 1 + i);
    const Output taps = SizeAt(builder, context->input(1), i);
    const Output size = SizeAt(builder, context->input(0), 1 + i);
    const WindowSteps steps = {strides[1 + i], rates[1 + i], padding == "SAME"};
    along[i] = SlidingPlaces(builder, count, taps, size, steps);
  }
  const ImageWindows windows(builder, along[0], along[1]);
  const Output pixels = windows.ElementsOf(Cast(builder, context->input(0), wide));
  const Output taps = TapsOf(builder, Cast(builder, context->input(1), wide));
  return DilationWindows{windows, windows.FirstGreatest(builder->Op("AddV2", {pixels, taps}))};
}

// A window's gradient goes to the pixel and the tap of its first greatest sum: so the gradient of
// that gradient is what this pixel, or this tap, of dy is.
template <bool kOfFilter>
Status GradientOfDilationGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const DataType dtype = context->input(0).dtype();
  const DataType wide = dtype == DataType::kDouble ? dtype : DataType::kFloat;
  MS_ASSIGN_OR_RETURN(const DilationWindows dilation, WindowsOfDilation(context, wide));
  const Output dy = Cast(builder, context->dy(0), wide);
  const Output chosen_of = kOfFilter ? TapsOf(builder, dy) : dilation.windows.ElementsOf(dy);
  const Output chosen = builder->Op("Mul", {dilation.first_greatest, chosen_of});
  context->SetDx(2, Cast(builder, dilation.windows.SumOverTaps(chosen), dtype));
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
MILLSTREAM_GRADIENT("FusedPadConv2D", FusedPadConv2DGradient);
MILLSTREAM_GRADIENT("FusedResizeAndPadConv2D", FusedPadConv2DGradient);
MILLSTREAM_GRADIENT("Dilation2D", Dilation2DGradient);
MILLSTREAM_GRADIENT("Dilation2DBackpropInput", GradientOfDilationGradient<false>);
MILLSTREAM_GRADIENT("Dilation2DBackpropFilter", GradientOfDilationGradient<true>);

}  // namespace
}  // namespace millstream
