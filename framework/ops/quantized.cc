// Arithmetic on quantized tensors. Each comes with its range as two scalars, and so do results.
#include <utility>

#include "framework/dtype.h"
#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/pool_windows.h"
#include "framework/ops/quantized_shapes.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/window_arithmetic.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- Shapes ----

Status BroadcastShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 2));
  MS_RETURN_IF_ERROR(BroadcastBinaryShape(context));
  SetQuantizedOutput(context, context->output(0));
  return absl::OkStatus();
}

Status BiasAddShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 2));
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRankAtLeast(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape bias, context->WithRank(1, 1));
  if (input.known_rank()) {
    const StatusOr<int64_t> channels = context->MergeDim(input.dim(-1), bias.dim(0));
    if (!channels.ok()) return InputError(*context, 1, channels.status());
    input.set_dim(-1, *channels);
  }
  SetQuantizedOutput(context, std::move(input));
  return absl::OkStatus();
}

Status ReluShape(ShapeContext* context) {
  if (context->input_type(0) != context->output_type(0)) {
    return errors::Unimplemented("attribute 'out_type' of ", context->op().name,
                                 ": only the type of the input is implemented, ",
                                 DataTypeName(context->input_type(0)), ", got ",
                                 DataTypeName(context->output_type(0)));
  }
  return QuantizedUnchangedShape(context);
}

Status MatMulShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape a, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape b, context->WithRank(1, 2));
  MS_ASSIGN_OR_RETURN(const bool transpose_a, context->Attr<bool>("transpose_a"));
  MS_ASSIGN_OR_RETURN(const bool transpose_b, context->Attr<bool>("transpose_b"));
  const int64_t a_inner = a.dim(transpose_a ? 0 : 1);
  const int64_t b_inner = b.dim(transpose_b ? 1 : 0);
  if (!context->MergeDim(a_inner, b_inner).ok()) {
    return InvalidInput(*context, 1, UnequalDims(a_inner, b_inner), "expected ", a_inner,
                        " to go with argument 'a' ", a.ToString(), ", got ", b.ToString());
  }
  SetQuantizedOutput(context,
                     PartialShape::Matrix(a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)));
  return absl::OkStatus();
}

Status ConvolutionOutputShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRank(0, kImageRank));
  MS_ASSIGN_OR_RETURN(const PartialShape filter, context->WithRank(1, kImageRank));
  MS_ASSIGN_OR_RETURN(const ImageWindow window, ConvolutionWindow(*context));
  if (!context->MergeDim(input.dim(3), filter.dim(2)).ok()) {
    return InvalidInput(*context, 1, UnequalDims(input.dim(3), filter.dim(2)),
                        "expected the channels of 'input' ", input.ToString(), ", got ",
                        filter.ToString());
  }
  StatusOr<PartialShape> output = ConvolutionShape(window, input, filter);
  if (!output.ok()) return InputError(*context, 1, output.status());
  SetQuantizedOutput(context, *std::move(output));
  return absl::OkStatus();
}

Status PoolShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 1));
  MS_ASSIGN_OR_RETURN(const PoolWindows windows, PoolWindowsOf(*context));
  if (windows.OverChannels()) {
    return errors::Unimplemented("attribute 'ksize' of ", context->op().name,
                                 ": pooling over channels is not implemented");
  }
  MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRank(0, windows.rank));
  StatusOr<PartialShape> output = PooledShape(windows, input);
  if (!output.ok()) return InputError(*context, 0, output.status());
  SetQuantizedOutput(context, *std::move(output));
  return absl::OkStatus();
}

// Inputs: images, and four vectors with an element for each channel; each with its range.
Status GlobalBatchNormShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape images, context->WithRank(0, kImageRank));
  for (int i = 1; i < context->num_inputs(); ++i) {
    const bool is_vector = i % 3 == 0;
    MS_ASSIGN_OR_RETURN(const PartialShape shape, context->WithRank(i, is_vector ? 1 : 0));
    if (!is_vector) continue;
    const StatusOr<int64_t> channels = context->MergeDim(images.dim(3), shape.dim(0));
    if (!channels.ok()) return InputError(*context, i, channels.status());
    images.set_dim(3, *channels);
  }
  SetQuantizedOutput(context, std::move(images));
  return absl::OkStatus();
}

Status InstanceNormShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 1));
  MS_ASSIGN_OR_RETURN(const bool is_given, context->Attr<bool>("output_range_given"));
  MS_ASSIGN_OR_RETURN(const float min, context->Attr<float>("given_y_min"));
  MS_ASSIGN_OR_RETURN(const float max, context->Attr<float>("given_y_max"));
  if (is_given && !(min < max)) {
    return InvalidAttr(*context, "given_y_min", "expected less than given_y_max, ", max, ", got ",
                       min);
  }
  MS_ASSIGN_OR_RETURN(PartialShape x, context->WithRank(0, kImageRank));
  SetQuantizedOutput(context, std::move(x));
  return absl::OkStatus();
}

Status ResizeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 2));
  MS_ASSIGN_OR_RETURN(const bool corners, context->Attr<bool>("align_corners"));
  MS_ASSIGN_OR_RETURN(const bool centers, context->Attr<bool>("half_pixel_centers"));
  if (corners && centers) {
    return InvalidAttr(*context, "half_pixel_centers",
                       "If half_pixel_centers is True, align_corners must be False.");
  }
  MS_ASSIGN_OR_RETURN(PartialShape images, context->WithRank(0, kImageRank));
  MS_ASSIGN_OR_RETURN(const PartialShape size, ShapeFromSizesOfRank(*context, 1, 2));
  for (int i = 0; i < 2; ++i) {
    if (images.dim(1 + i) == 0) return InvalidInput(*context, 0, "there is no pixel to resize");
    if (size.dim(i) == 0) {
      return InvalidInput(*context, 1, "output dimensions must be positive, got ", size.ToString());
    }
    images.set_dim(1 + i, size.dim(i));
  }
  SetQuantizedOutput(context, std::move(images));
  return absl::OkStatus();
}

// ---- Definitions ----

void BinaryArguments(OpSpec* spec) {
  (*spec)
      .Input("x: T1")
      .Input("y: T2")
      .Input("min_x: float")
      .Input("max_x: float")
      .Input("min_y: float")
      .Input("max_y: float")
      .Output("z: Toutput")
      .Output("min_z: float")
      .Output("max_z: float")
      .Attr(TypeAttr("T1", kQuantizedTypes))
      .Attr(TypeAttr("T2", kQuantizedTypes))
      .Attr(TypeAttr("Toutput", kQuantizedTypes, " = qint32"))
      .Shape(BroadcastShape);
}

void OutputRange(OpSpec* spec) { (*spec).Output("min_output: float").Output("max_output: float"); }

MILLSTREAM_OP("QuantizedAdd").With(BinaryArguments).Doc(R"(Adds quantized tensors, which broadcast.

The range of z is symmetric, and 2^14 times as wide as the numbers of x and y reach.)");

MILLSTREAM_OP("QuantizedMul")
    .With(BinaryArguments)
    .Doc(R"(Multiplies quantized tensors, which broadcast.

A level of z is the product of a level of x and one of y, both less the level of zero.)");

MILLSTREAM_OP("QuantizedBiasAdd")
    .Input("input: T1")
    .Input("bias: T2")
    .Input("min_input: float")
    .Input("max_input: float")
    .Input("min_bias: float")
    .Input("max_bias: float")
    .Output("output: out_type")
    .Output("min_out: float")
    .Output("max_out: float")
    .Attr(TypeAttr("T1", kQuantizedTypes))
    .Attr(TypeAttr("T2", kQuantizedTypes))
    .Attr(TypeAttr("out_type", kQuantizedTypes))
    .Shape(BiasAddShape)
    .Doc(R"(Adds a quantized vector to the channels of a quantized tensor, its last dimension.

The range of the output is symmetric, and 2^17 times as wide as the numbers of both reach.)");

MILLSTREAM_OP("QuantizedMatMul")
    .Input("a: T1")
    .Input("b: T2")
    .Input("min_a: float")
    .Input("max_a: float")
    .Input("min_b: float")
    .Input("max_b: float")
    .Output("out: Toutput")
    .Output("min_out: float")
    .Output("max_out: float")
    .Attr(TypeAttr("T1", kQuantizedTypes))
    .Attr(TypeAttr("T2", kQuantizedTypes))
    .Attr(TypeAttr("Toutput", kQuantizedTypes, " = qint32"))
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr(TypeAttr("Tactivation", kQuantizedTypes, " = quint8"))
    .Shape(MatMulShape)
    .Doc(R"(Multiplies quantized matrices, each transposed first if its attribute says so.

Levels of the output are sums of products of levels, less the levels of zero. Tactivation has no effect.)");

MILLSTREAM_OP("QuantizedConv2D")
    .Input("input: Tinput")
    .Input("filter: Tfilter")
    .Input("min_input: float")
    .Input("max_input: float")
    .Input("min_filter: float")
    .Input("max_filter: float")
    .Output("output: out_type")
    .With(OutputRange)
    .Attr(TypeAttr("Tinput", kQuantizedTypes))
    .Attr(TypeAttr("Tfilter", kQuantizedTypes))
    .Attr(TypeAttr("out_type", kQuantizedTypes, " = qint32"))
    .Attr("strides: list(int)")
    .Attr("padding: {\"SAME\", \"VALID\"}")
    .Attr("dilations: list(int) = [1, 1, 1, 1]")
    .Shape(ConvolutionOutputShape)
    .Doc(R"(Slides a quantized filter over quantized images and sums the products, as Conv2D.

Levels of the output are sums of products of levels, less the levels of zero.)")
    .Example(R"(
>>> x = tf.bitcast(tf.constant([[[[3], [7]]]], tf.uint8), tf.quint8)
>>> y, low, high = tf.nn.quantized_conv2d(x, x[:, :, :1], 0.0, 255.0, 0.0, 255.0, [1, 1, 1, 1], "VALID")
>>> tf.bitcast(y, tf.int32).eval().ravel().tolist()
[9, 21])");

void ReluOutputs(OpSpec* spec) {
  (*spec)
      .Input("min_features: float")
      .Input("max_features: float")
      .Output("activations: out_type")
      .Output("min_activations: float")
      .Output("max_activations: float")
      .Attr(TypeAttr("Tinput", kQuantizedTypes))
      .Attr(TypeAttr("out_type", kQuantizedTypes, " = quint8"))
      .Shape(ReluShape);
}

MILLSTREAM_OP("QuantizedRelu")
    .Input("features: Tinput")
    .With(ReluOutputs)
    .Doc(R"(Gives each level, or that of zero for lower ones. The range stays the same.)");

MILLSTREAM_OP("QuantizedRelu6")
    .Input("features: Tinput")
    .With(ReluOutputs)
    .Doc(R"(Gives each level, between those of zero and six. The range stays the same.)");

MILLSTREAM_OP("QuantizedReluX")
    .Input("features: Tinput")
    .Input("max_value: float")
    .With(ReluOutputs)
    .Doc(R"(Gives each level, between those of zero and max_value. The range stays the same.)")
    .Example(R"(
>>> x = tf.bitcast(tf.constant([10, 20, 30], tf.uint8), tf.quint8)
>>> y, low, high = tf.nn.quantized_relu_x(x, 25.0, 0.0, 255.0)
>>> tf.bitcast(y, tf.uint8).eval().tolist()
[10, 20, 25])");

void PoolArguments(OpSpec* spec) {
  (*spec)
      .Input("input: T")
      .Input("min_input: float")
      .Input("max_input: float")
      .Output("output: T")
      .With(OutputRange)
      .Attr(TypeAttr("T", kQuantizedTypes))
      .Attr("ksize: list(int)")
      .Attr("strides: list(int)")
      .Attr("padding: {\"SAME\", \"VALID\"}")
      .Shape(PoolShape);
}

MILLSTREAM_OP("QuantizedAvgPool")
    .With(PoolArguments)
    .Doc(R"(Gives the average level of each window of quantized images, as AvgPool.

Averages are rounded toward zero. The range stays the same.)")
    .Example(R"(
>>> x = tf.bitcast(tf.constant([[[[3], [7]]]], tf.uint8), tf.quint8)
>>> y, low, high = tf.nn.quantized_avg_pool(x, 0.0, 255.0, [1, 1, 2, 1], [1, 1, 1, 1], "VALID")
>>> tf.bitcast(y, tf.uint8).eval().ravel().tolist()
[5])");

MILLSTREAM_OP("QuantizedMaxPool")
    .With(PoolArguments)
    .Doc(R"(Gives the largest level of each window of quantized images, as MaxPool.

The range stays the same.)")
    .Example(R"(
>>> x = tf.bitcast(tf.constant([[[[3], [7]]]], tf.uint8), tf.quint8)
>>> y, low, high = tf.nn.quantized_max_pool(x, 0.0, 255.0, [1, 1, 2, 1], [1, 1, 1, 1], "VALID")
>>> tf.bitcast(y, tf.uint8).eval().ravel().tolist()
[7])");

MILLSTREAM_OP("QuantizedBatchNormWithGlobalNormalization")
    .Input("t: Tinput")
    .Input("t_min: float")
    .Input("t_max: float")
    .Input("m: Tinput")
    .Input("m_min: float")
    .Input("m_max: float")
    .Input("v: Tinput")
    .Input("v_min: float")
    .Input("v_max: float")
    .Input("beta: Tinput")
    .Input("beta_min: float")
    .Input("beta_max: float")
    .Input("gamma: Tinput")
    .Input("gamma_min: float")
    .Input("gamma_max: float")
    .Output("result: out_type")
    .Output("result_min: float")
    .Output("result_max: float")
    .Attr(TypeAttr("Tinput", kQuantizedTypes))
    .Attr(TypeAttr("out_type", kQuantizedTypes))
    .Attr("variance_epsilon: float")
    .Attr("scale_after_normalization: bool")
    .Shape(GlobalBatchNormShape)
    .Doc(R"(Normalizes quantized images, as BatchNormWithGlobalNormalization.

m, v, beta and gamma have the means, variances, offsets and scales of the channels. The range of the result is
from -2^20 to 2^20.)");

MILLSTREAM_OP("QuantizedInstanceNorm")
    .Input("x: T")
    .Input("x_min: float")
    .Input("x_max: float")
    .Output("y: T")
    .Output("y_min: float")
    .Output("y_max: float")
    .Attr(TypeAttr("T", kQuantizedTypes))
    .Attr("output_range_given: bool = false")
    .Attr("given_y_min: float = 0")
    .Attr("given_y_max: float = 0")
    .Attr("variance_epsilon: float = 1e-05")
    .Attr("min_separation: float = 0.001")
    .Shape(InstanceNormShape)
    .Doc(R"(Gives each channel of each quantized image mean 0 and variance 1.

The range of y is that of the results, at least min_separation wide, or with output_range_given that of the
attributes.)");

MILLSTREAM_OP("QuantizedResizeBilinear")
    .Input("images: T")
    .Input("size: int32")
    .Input("min: float")
    .Input("max: float")
    .Output("resized_images: T")
    .Output("out_min: float")
    .Output("out_max: float")
    .Attr("T: {quint8, qint32, float}")
    .Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .Shape(ResizeShape)
    .Doc(R"(Resizes quantized images, as ResizeBilinear.

The range stays the same.)");

}  // namespace
}  // namespace millstream
