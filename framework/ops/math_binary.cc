// Arithmetic of two tensors, element by element, with broadcasting; and sums of many.
#include <algorithm>
#include <optional>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// What is known of the inputs, and what the attribute says.
Status AccumulateShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(MergeAllInputsShape(context));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context->Attr<PartialShape>("shape"));
  StatusOr<PartialShape> merged = context->output(0).MergeWith(shape);
  if (!merged.ok()) return InputError(*context, 0, merged.status());
  context->SetOutput(0, *std::move(merged));
  return absl::OkStatus();
}

// ---- Values of small integer tensors. nullopt on overflow: what wraps describes no shape. ----

std::optional<int64_t> AddIndices(int64_t x, int64_t y) {
  int64_t z = 0;
  return __builtin_add_overflow(x, y, &z) ? std::nullopt : std::optional<int64_t>(z);
}

std::optional<int64_t> SubtractIndices(int64_t x, int64_t y) {
  int64_t z = 0;
  return __builtin_sub_overflow(x, y, &z) ? std::nullopt : std::optional<int64_t>(z);
}

std::optional<int64_t> MultiplyIndices(int64_t x, int64_t y) {
  int64_t z = 0;
  return __builtin_mul_overflow(x, y, &z) ? std::nullopt : std::optional<int64_t>(z);
}

std::optional<int64_t> FloorDivideIndices(int64_t x, int64_t y) {
  if (y == 0) return std::nullopt;
  if (y == -1) return SubtractIndices(0, x);
  const bool round_down = x % y != 0 && (x < 0) != (y < 0);
  return x / y - (round_down ? 1 : 0);
}

std::optional<int64_t> MaximumIndex(int64_t x, int64_t y) { return std::max(x, y); }
std::optional<int64_t> MinimumIndex(int64_t x, int64_t y) { return std::min(x, y); }

constexpr absl::string_view kArithmeticTypes =
    "{bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, "
    "complex128}";
constexpr absl::string_view kNoNanTypes = "{half, float, double, complex64, complex128}";
constexpr absl::string_view kExtremumTypes = "{bfloat16, half, float, double, int32, int64}";

// A bound is a scalar or has the shape of t.
Status ClipByValueShape(ShapeContext* context) {
  const PartialShape& t = context->input(0);
  for (int i = 1; i < 3; ++i) {
    const PartialShape& bound = context->input(i);
    if (bound.rank() == 0 || !bound.known_rank()) continue;
    const StatusOr<PartialShape> both = context->Merge(t, bound);
    if (!both.ok()) return InputError(*context, i, both.status());
  }
  context->SetOutput(0, t);
  return absl::OkStatus();
}

// ---- Definitions ----

MILLSTREAM_OP("Add")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(
        "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
        "complex128, string}")
    .Elementwise()
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Value(BinaryIndexValue<AddIndices>)
    .Doc(R"(Adds two tensors element by element, with broadcasting; joins strings.)")
    .Example(R"(
>>> tf.add([1.0, 2.0], 0.5).eval()
array([1.5, 2.5], dtype=float32))");

MILLSTREAM_OP("AddV2")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(
        "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
        "complex128}")
    .Commutative()
    .Aggregate()
    .Elementwise()
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Value(BinaryIndexValue<AddIndices>)
    .Doc(R"(Adds two tensors element by element, with broadcasting.

Two sizes go together when they are equal or one of them is 1 or missing at the front;
INVALID_ARGUMENT otherwise. This is so for all elementwise operations of two tensors.)");

MILLSTREAM_OP("Sub")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kArithmeticTypes))
    .Elementwise()
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Value(BinaryIndexValue<SubtractIndices>)
    .Doc(R"(Subtracts y from x element by element, with broadcasting.)")
    .Example(R"(
>>> tf.subtract([3, 4], 1).eval()
array([2, 3], dtype=int32))");

MILLSTREAM_OP("Mul")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kArithmeticTypes))
    .Commutative()
    .Elementwise()
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Value(BinaryIndexValue<MultiplyIndices>)
    .Doc(R"(Multiplies two tensors element by element, with broadcasting.)")
    .Example(R"(
>>> tf.multiply([1.0, 2.0], [3.0, 4.0]).eval()
array([3., 8.], dtype=float32))");

MILLSTREAM_OP("Div")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kArithmeticTypes))
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Divides x by y element by element, with broadcasting; integers as C does.

Integer quotients are cut off towards zero; dividing an integer by zero is INVALID_ARGUMENT.)");

MILLSTREAM_OP("RealDiv")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kArithmeticTypes))
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Divides x by y element by element, with broadcasting.

Meant for real and complex numbers, with infinities and NaNs as IEEE 754 has them.)")
    .Example(R"(
>>> tf.realdiv([1.0, 3.0], 2.0).eval()
array([0.5, 1.5], dtype=float32))");

MILLSTREAM_OP("FloorDiv")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kArithmeticTypes))
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Value(BinaryIndexValue<FloorDivideIndices>)
    .Doc(R"(Divides x by y and rounds down, element by element, with broadcasting.

As Python's //; dividing an integer by zero is INVALID_ARGUMENT.)");

MILLSTREAM_OP("FloorMod")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr("T: {int32, int64, bfloat16, half, float, double}")
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Gives what is left of x after dividing by y and rounding down, with broadcasting.

As Python's %: the result has the sign of y. An integer y of zero is INVALID_ARGUMENT.)")
    .Example(R"(
>>> tf.floormod([5, -5], 3).eval()
array([2, 1], dtype=int32))");

MILLSTREAM_OP("TruncateDiv")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kArithmeticTypes))
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Divides x by y and cuts the quotient off towards zero, with broadcasting.

Dividing integers by zero is INVALID_ARGUMENT.)")
    .Example(R"(
>>> tf.truncatediv([7, -7], 2).eval()
array([ 3, -3], dtype=int32))");

MILLSTREAM_OP("Mod")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr("T: {int32, int64, half, half, bfloat16, float, double}")
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(
        R"(Gives what is left of x after dividing by y and cutting off towards zero, with broadcasting.

As C's % and fmod: the result has the sign of x. An integer y of zero is INVALID_ARGUMENT.)");

MILLSTREAM_OP("TruncateMod")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr("T: {int32, int64, bfloat16, half, float, double}")
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(
        R"(Gives what is left of x after dividing by y and cutting off towards zero, with broadcasting.

As C's % and fmod: the result has the sign of x. An integer y of zero is INVALID_ARGUMENT.)")
    .Example(R"(
>>> tf.truncatemod([5, -5], 3).eval()
array([ 2, -2], dtype=int32))");

MILLSTREAM_OP("DivNoNan")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kNoNanTypes))
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Divides x by y element by element, with broadcasting; 0 where y is.)")
    .Example(R"(
>>> tf.div_no_nan([1.0, 3.0], [0.0, 2.0]).eval()
array([0. , 1.5], dtype=float32))");

MILLSTREAM_OP("MulNoNan")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kNoNanTypes))
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Multiplies x by y element by element, with broadcasting; 0 where y is.

So it is also where x is infinite or NaN.)")
    .Example(R"(
>>> tf.math.multiply_no_nan([float("nan"), 3.0], [0.0, 2.0]).eval()
array([0., 6.], dtype=float32))");

MILLSTREAM_OP("Xdivy")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kNoNanTypes))
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Divides x by y element by element, with broadcasting; 0 where x is.)")
    .Example(R"(
>>> tf.math.xdivy([0.0, 3.0], [0.0, 2.0]).eval()
array([0. , 1.5], dtype=float32))");

MILLSTREAM_OP("Xlogy")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kNoNanTypes))
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Gives x * log(y) element by element, with broadcasting; 0 where x is.)")
    .Example(R"(
>>> tf.math.xlogy([0.0, 3.0], [0.0, 1.0]).eval()
array([0., 0.], dtype=float32))");

MILLSTREAM_OP("Atan2")
    .Input("y: T")
    .Input("x: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Gives the angle in radians from the x axis to the point (x, y), with broadcasting.

It is between -pi and pi.)")
    .Example(R"(
>>> tf.atan2([1.0], [-1.0]).eval().round(3)
array([2.356], dtype=float32))");

MILLSTREAM_OP("NextAfter")
    .Input("x1: T")
    .Input("x2: T")
    .Output("output: T")
    .Attr("T: {double, float} = float")
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Gives the next number of the type after x1 in the direction of x2, with broadcasting.)")
    .Example(R"(
>>> tf.math.nextafter([1.0], [2.0]).eval()
array([1.0000001], dtype=float32))");

MILLSTREAM_OP("Maximum")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kExtremumTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Value(BinaryIndexValue<MaximumIndex>)
    .Doc(R"(Gives the larger of x and y element by element, with broadcasting.)")
    .Example(R"(
>>> tf.maximum([1, 5], 3).eval()
array([3, 5], dtype=int32))");

MILLSTREAM_OP("Minimum")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kExtremumTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Value(BinaryIndexValue<MinimumIndex>)
    .Doc(R"(Gives the smaller of x and y element by element, with broadcasting.)")
    .Example(R"(
>>> tf.minimum([1, 5], 3).eval()
array([1, 3], dtype=int32))");

MILLSTREAM_OP("ClipByValue")
    .Input("t: T")
    .Input("clip_value_min: T")
    .Input("clip_value_max: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .KeepsFinite()
    .Shape(ClipByValueShape)
    .Doc(R"(Gives each element of t, or the bound that it is beyond.

Each bound is a scalar or has the shape of t.)");

MILLSTREAM_OP("Pow")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr("T: {bfloat16, float, half, double, int32, int64, complex64, complex128}")
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Raises x to the power y element by element, with broadcasting.

An integer to a negative power is INVALID_ARGUMENT.)");

MILLSTREAM_OP("SquaredDifference")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
    .Commutative()
    .Elementwise()
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Gives (x - y) * (x - y) element by element, with broadcasting.

For complex numbers the first factor is conjugated.)")
    .Example(R"(
>>> tf.squared_difference([1.0, 5.0], 3.0).eval()
array([4., 4.], dtype=float32))");

MILLSTREAM_OP("AddN")
    .Input("inputs: N * T")
    .Output("sum: T")
    .Attr("N: int >= 1")
    .Attr(
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
        "bfloat16, uint16, complex128, half, uint32, uint64, variant}")
    .Commutative()
    .Aggregate()
    .Speculatable()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Adds N tensors of one shape, element by element, without broadcasting.)");

MILLSTREAM_OP("AccumulateNV2")
    .Input("inputs: N * T")
    .Output("sum: T")
    .Attr("N: int >= 1")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("shape: shape")
    .Commutative()
    .Aggregate()
    .Shape(AccumulateShape)
    .Doc(R"(Adds N tensors of one shape, element by element, without broadcasting.

The attribute shape says what is known of their shape.)");

}  // namespace
}  // namespace millstream
