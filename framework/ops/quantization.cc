// Quantization: numbers as levels of a range, and training as if they were.
#include <string>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/quantized_shapes.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- Shapes ----

// The attributes of fake quantization.
Status CheckFakeLevels(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const int64_t bits, context.Attr<int64_t>("num_bits"));
  if (bits < 2 || bits > 16) {
    return InvalidAttr(context, "num_bits", "num_bits must be between 2 and 16, inclusive, got ",
                       bits);
  }
  if (FindAttr(context.attrs(), "min") == nullptr) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(const float min, context.Attr<float>("min"));
  MS_ASSIGN_OR_RETURN(const float max, context.Attr<float>("max"));
  if (min < max) return absl::OkStatus();
  return InvalidAttr(context, "min", "min has to be smaller than max, was: ", min, " >= ", max);
}

// The common shape of gradients and inputs, or that of the inputs of an op that has no gradients.
StatusOr<PartialShape> FakeShape(const ShapeContext& context, int count) {
  PartialShape shape = context.input(0);
  if (count == 1) return shape;
  StatusOr<PartialShape> merged = context.Merge(shape, context.input(1));
  if (!merged.ok()) return InputError(context, 1, merged.status());
  return merged;
}

// Inputs: `count` tensors of one shape, and the ends of their range.
template <int count>
Status FakeQuantShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckFakeLevels(*context));
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, count));
  MS_ASSIGN_OR_RETURN(PartialShape shape, FakeShape(*context, count));
  SetQuantizedOutput(context, std::move(shape));
  return absl::OkStatus();
}

// Merges the last dimension of `shape` with the vectors `first` and `first` + 1. Returns it.
StatusOr<int64_t> MergeChannels(const ShapeContext& context, int first, PartialShape* shape) {
  int64_t channels = shape->known_rank() ? shape->dim(-1) : kUnknownDim;
  for (int i = first; i < first + 2; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape vector, context.WithRank(i, 1));
    const StatusOr<int64_t> merged = context.MergeDim(channels, vector.dim(0));
    if (!merged.ok()) return InputError(context, i, merged.status());
    channels = *merged;
  }
  if (shape->known_rank()) shape->set_dim(-1, channels);
  return channels;
}

// The same with a range for each channel, the last dimension.
template <int count>
Status FakeQuantChannelsShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckFakeLevels(*context));
  for (int i = 0; i < count; ++i) MS_RETURN_IF_ERROR(context->WithRankAtLeast(i, 1).status());
  MS_ASSIGN_OR_RETURN(PartialShape shape, FakeShape(*context, count));
  MS_ASSIGN_OR_RETURN(const int64_t channels, MergeChannels(*context, count, &shape));
  context->SetOutput(0, std::move(shape));
  for (int i = 1; i < context->num_outputs(); ++i) {
    context->SetOutput(i, PartialShape::Vector(channels));
  }
  return absl::OkStatus();
}

Status QuantizeAndDequantizeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 1));
  MS_ASSIGN_OR_RETURN(const bool is_given, context->Attr<bool>("range_given"));
  if (FindAttr(context->attrs(), "num_bits") != nullptr) {
    MS_ASSIGN_OR_RETURN(const int64_t bits, context->Attr<int64_t>("num_bits"));
    MS_ASSIGN_OR_RETURN(const bool is_signed, context->Attr<bool>("signed_input"));
    const int64_t end = is_signed ? 62 : 63;
    if (bits <= 0 || bits >= end) {
      return InvalidAttr(*context, "num_bits", "num_bits is out of range: ", bits,
                         " is not in [1, ", end, ")");
    }
  }
  if (is_given && FindAttr(context->attrs(), "input_min") != nullptr) {
    MS_ASSIGN_OR_RETURN(const float min, context->Attr<float>("input_min"));
    MS_ASSIGN_OR_RETURN(const float max, context->Attr<float>("input_max"));
    if (!(min <= max)) {
      return InvalidAttr(*context, "input_min", "Invalid range: input_min ", min, " > input_max ",
                         max);
    }
  }
  return UnchangedShape(context);
}

Status QuantizeShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::string mode, context->Attr<std::string>("mode"));
  MS_ASSIGN_OR_RETURN(const std::string round_mode, context->Attr<std::string>("round_mode"));
  if (round_mode == "HALF_TO_EVEN" && mode != "SCALED") {
    return InvalidAttr(*context, "round_mode",
                       "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '",
                       mode, "'");
  }
  return QuantizedUnchangedShape(context);
}

Status RangeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 1));
  return ScalarShape(context);
}

Status RangeOfChannelsShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRankAtLeast(0, 1));
  MS_RETURN_IF_ERROR(MergeChannels(*context, 1, &input).status());
  return ScalarShape(context);
}

Status RequantizeChannelsShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRankAtLeast(0, 1));
  MS_RETURN_IF_ERROR(MergeChannels(*context, 1, &input).status());
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 3));
  SetQuantizedOutput(context, std::move(input));
  return absl::OkStatus();
}

Status BitpackShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRankAtLeast(0, 1));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  if (input.known_rank() && input.dim(-1) != kUnknownDim) {
    if (input.dim(-1) % 8 != 0) {
      return InvalidInput(*context, 0, "expected a multiple of 8 as the last dimension, got ",
                          input.ToString());
    }
    input.set_dim(-1, input.dim(-1) / 8);
  }
  context->SetOutput(0, std::move(input));
  return absl::OkStatus();
}

// ---- Fake quantization ----

void FakeLevels(OpSpec* spec) {
  (*spec).Attr("num_bits: int = 8").Attr("narrow_range: bool = false");
}

void FakeRange(OpSpec* spec) { (*spec).Attr("min: float = -6").Attr("max: float = 6"); }

void FakeGradientOutputs(OpSpec* spec) {
  (*spec)
      .Input("gradients: float")
      .Input("inputs: float")
      .Input("min: float")
      .Input("max: float")
      .Output("backprops_wrt_input: float")
      .Output("backprop_wrt_min: float")
      .Output("backprop_wrt_max: float")
      .With(FakeLevels);
}

MILLSTREAM_OP("FakeQuantWithMinMaxArgs")
    .Input("inputs: float")
    .Output("outputs: float")
    .With(FakeRange)
    .With(FakeLevels)
    .Shape(FakeQuantShape<1>)
    .Doc(R"(Rounds numbers to the levels that a quantized tensor of a range has.

There are 2^num_bits levels from min to max, one less with narrow_range. The range is moved so that zero is a
level. Numbers outside of it become its ends. num_bits is from 2 to 16.)")
    .Example(R"(
>>> tf.quantization.fake_quant_with_min_max_args([-7.0, 0.5, 1.9], num_bits=2).eval().tolist()
[-8.0, 0.0, 0.0])");

MILLSTREAM_OP("FakeQuantWithMinMaxArgsGradient")
    .Input("gradients: float")
    .Input("inputs: float")
    .Output("backprops: float")
    .With(FakeRange)
    .With(FakeLevels)
    .Shape(FakeQuantShape<2>)
    .Doc(R"(Gives the gradient of FakeQuantWithMinMaxArgs for its inputs.

It is that of the outputs where an input is in the range, else 0.)")
    .Example(R"(
>>> tf.quantization.fake_quant_with_min_max_args_gradient([5.0, 6.0], [1.0, 9.0]).eval().tolist()
[5.0, 0.0])");

MILLSTREAM_OP("FakeQuantWithMinMaxVars")
    .Input("inputs: float")
    .Input("min: float")
    .Input("max: float")
    .Output("outputs: float")
    .With(FakeLevels)
    .Shape(FakeQuantShape<1>)
    .Doc(R"(Rounds numbers to the levels that a quantized tensor of a range has.

As FakeQuantWithMinMaxArgs, with a range that can be trained. If min and max are 0, so are all outputs.)")
    .Example(R"(
>>> tf.quantization.fake_quant_with_min_max_vars([0.2, 2.4, 9.0], 0.0, 3.0, num_bits=2).eval().tolist()
[0.0, 2.0, 3.0])");

MILLSTREAM_OP("FakeQuantWithMinMaxVarsGradient")
    .With(FakeGradientOutputs)
    .Shape(FakeQuantShape<2>)
    .Doc(R"(Gives the gradients of FakeQuantWithMinMaxVars for its inputs and its range.

The gradient of an output goes to the input where that is in the range, else to the end of the range that it
is beyond.)")
    .Example(R"(
>>> gradients = tf.quantization.fake_quant_with_min_max_vars_gradient([5.0, 6.0], [1.0, 9.0], 0.0, 3.0)
>>> [gradient.eval().tolist() for gradient in gradients]
[[5.0, 0.0], 0.0, 6.0])");

MILLSTREAM_OP("FakeQuantWithMinMaxVarsPerChannel")
    .Input("inputs: float")
    .Input("min: float")
    .Input("max: float")
    .Output("outputs: float")
    .With(FakeLevels)
    .Shape(FakeQuantChannelsShape<1>)
    .Doc(R"(Rounds numbers to the levels that quantized channels have, each with a range of its own.

As FakeQuantWithMinMaxVars. min and max are vectors as long as the last dimension of inputs.)")
    .Example(R"(
>>> x = [[0.2, 2.4], [9.0, 9.0]]
>>> tf.fake_quant_with_min_max_vars_per_channel(x, [0.0, 0.0], [3.0, 6.0], num_bits=2).eval().tolist()
[[0.0, 2.0], [3.0, 6.0]])");

MILLSTREAM_OP("FakeQuantWithMinMaxVarsPerChannelGradient")
    .With(FakeGradientOutputs)
    .Shape(FakeQuantChannelsShape<2>)
    .Doc(R"(Gives the gradients of FakeQuantWithMinMaxVarsPerChannel for its inputs and its ranges.

As FakeQuantWithMinMaxVarsGradient, for each channel.)")
    .Example(R"(
>>> dx, dmin, dmax = tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient(
...     [[5.0, 6.0]], [[1.0, 9.0]], [0.0, 0.0], [3.0, 6.0])
>>> dx.eval().tolist(), dmax.eval().tolist()
([[5.0, 0.0]], [0.0, 6.0]))");

constexpr absl::string_view kRoundedTypes = "{bfloat16, half, float, double}";

MILLSTREAM_OP("QuantizeAndDequantize")
    .Input("input: T")
    .Output("output: T")
    .Attr("signed_input: bool = true")
    .Attr("num_bits: int = 8")
    .Attr("range_given: bool = false")
    .Attr("input_min: float = 0")
    .Attr("input_max: float = 0")
    .Attr(TypeAttr("T", kRoundedTypes))
    .Shape(QuantizeAndDequantizeShape)
    .Doc(R"(Rounds numbers to the levels of a range, as QuantizeAndDequantizeV2.

The range is given by attributes.)");

MILLSTREAM_OP("QuantizeAndDequantizeV2")
    .Input("input: T")
    .Input("input_min: T")
    .Input("input_max: T")
    .Output("output: T")
    .Attr("signed_input: bool = true")
    .Attr("num_bits: int = 8")
    .Attr("range_given: bool = false")
    .Attr(TypeAttr("T", kRoundedTypes))
    .Attr("round_mode: {\"HALF_TO_EVEN\", \"HALF_UP\"} = \"HALF_TO_EVEN\"")
    .Attr("narrow_range: bool = false")
    .Shape(QuantizeAndDequantizeShape)
    .Doc(R"(Rounds numbers to the levels of a range.

Levels are whole numbers of num_bits, signed with signed_input; narrow_range leaves out the least one. They are
multiples of one number, so that zero is a level: the smallest for which they reach from input_min to
input_max, or over all of input without range_given. With range_given, numbers beyond the levels become the
last ones. A number between two levels becomes the even one, or the upper one, as round_mode says.)");

MILLSTREAM_OP("QuantizeAndDequantizeV3")
    .Input("input: T")
    .Input("input_min: T")
    .Input("input_max: T")
    .Input("num_bits: int32")
    .Output("output: T")
    .Attr("signed_input: bool = true")
    .Attr("range_given: bool = true")
    .Attr(TypeAttr("T", kRoundedTypes))
    .Attr("narrow_range: bool = false")
    .Shape(QuantizeAndDequantizeShape)
    .Doc(R"(Rounds numbers to the levels of a range, as QuantizeAndDequantizeV2.

num_bits is an input. Between two levels the even one is taken.)");

// ---- Levels of numbers, and of levels ----

MILLSTREAM_OP("QuantizeV2")
    .Input("input: float")
    .Input("min_range: float")
    .Input("max_range: float")
    .Output("output: T")
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr(TypeAttr("T", kQuantizedTypes))
    .Attr("mode: {\"MIN_COMBINED\", \"MIN_FIRST\", \"SCALED\"} = \"MIN_COMBINED\"")
    .Attr("round_mode: {\"HALF_AWAY_FROM_ZERO\", \"HALF_TO_EVEN\"} = \"HALF_AWAY_FROM_ZERO\"")
    .Shape(QuantizeShape)
    .Doc(R"(Quantizes numbers: gives the levels of a type that are nearest to them.

The levels of T are spread over the range from min_range to max_range, which is widened to include zero and not
to be tiny. output_min and output_max are its ends then. MIN_COMBINED begins at the least number, MIN_FIRST at the
least number rounded to a level, and with SCALED levels are multiples of one number, for which the range is
widened. HALF_TO_EVEN is for SCALED only.)")
    .Example(R"(
>>> levels, low, high = tf.quantization.quantize([-1.0, 0.5, 1.0], -1.0, 1.0, tf.qint8, mode="SCALED")
>>> tf.bitcast(levels, tf.int8).eval().tolist(), float(high.eval())
([-127, 64, 127], 1.0))");

MILLSTREAM_OP("Dequantize")
    .Input("input: T")
    .Input("min_range: float")
    .Input("max_range: float")
    .Output("output: float")
    .Attr(TypeAttr("T", kQuantizedTypes))
    .Attr("mode: {\"MIN_COMBINED\", \"MIN_FIRST\", \"SCALED\"} = \"MIN_COMBINED\"")
    .Shape(QuantizedUnchangedShape)
    .Doc(R"(Gives the numbers that levels stand for.

min_range and max_range are the ends of the range, and mode is that of QuantizeV2.)")
    .Example(R"(
>>> levels = tf.bitcast(tf.constant([0, 51, 255], tf.uint8), tf.quint8)
>>> tf.quantization.dequantize(levels, 0.0, 5.0).eval().tolist()
[0.0, 1.0, 5.0])");

void RequantizedOutputs(OpSpec* spec) {
  (*spec).Output("output: out_type").Output("output_min: float").Output("output_max: float");
}

void InputRange(OpSpec* spec) { (*spec).Input("input_min: float").Input("input_max: float"); }

void RequantizeTypes(OpSpec* spec) {
  (*spec).Attr(TypeAttr("Tinput", kQuantizedTypes)).Attr(TypeAttr("out_type", kQuantizedTypes));
}

void RequestedRange(OpSpec* spec) {
  (*spec).Input("requested_output_min: float").Input("requested_output_max: float");
}

MILLSTREAM_OP("RequantizationRange")
    .Input("input: Tinput")
    .With(InputRange)
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr(TypeAttr("Tinput", kQuantizedTypes))
    .Shape(RangeShape)
    .Doc(R"(Gives the range of the numbers that the levels of a tensor stand for.

It is the least one that has them all, and begins at zero or below.)");

MILLSTREAM_OP("Requantize")
    .Input("input: Tinput")
    .With(InputRange)
    .With(RequestedRange)
    .With(RequantizedOutputs)
    .With(RequantizeTypes)
    .Shape(QuantizedUnchangedShape)
    .Doc(R"(Gives the levels of another type and range.

Numbers beyond the requested range become its ends. INVALID_ARGUMENT if requested_output_min is above zero or
above requested_output_max.)");

MILLSTREAM_OP("QuantizeDownAndShrinkRange")
    .Input("input: Tinput")
    .With(InputRange)
    .With(RequantizedOutputs)
    .With(RequantizeTypes)
    .Shape(QuantizedUnchangedShape)
    .Doc(R"(Gives the levels of another type, for the range that RequantizationRange gives.)");

MILLSTREAM_OP("RequantizationRangePerChannel")
    .Input("input: T")
    .With(InputRange)
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr(TypeAttr("T", kQuantizedTypes, " = qint32"))
    .Attr("clip_value_max: float")
    .Shape(RangeOfChannelsShape)
    .Doc(R"(Gives the range of the numbers that the levels of a tensor stand for.

input_min and input_max are vectors with the range of each channel, the last dimension of input: a level is its
share of 2^31 of the range's larger end. The result is symmetric, or begins at zero if no level is negative, and
no end is above clip_value_max.)");

MILLSTREAM_OP("RequantizePerChannel")
    .Input("input: T")
    .With(InputRange)
    .With(RequestedRange)
    .With(RequantizedOutputs)
    .Attr(TypeAttr("T", kQuantizedTypes, " = qint32"))
    .Attr(TypeAttr("out_type", kQuantizedTypes, " = quint8"))
    .Shape(RequantizeChannelsShape)
    .Doc(R"(Gives the levels of another type and range, of channels with ranges of their own.

See RequantizationRangePerChannel. The largest level of out_type is the larger end of the requested range.)");

MILLSTREAM_OP("CompareAndBitpack")
    .Input("input: T")
    .Input("threshold: T")
    .Output("output: uint8")
    .Attr("T: {bool, half, float, double, int8, int16, int32, int64}")
    .Shape(BitpackShape)
    .Doc(R"(Gives bits that say which elements are above a threshold.

A byte of the output has eight neighbours of the last dimension, the first one as its highest bit.)");

}  // namespace
}  // namespace millstream
