// Comparisons, logic and kinds of numbers, element by element.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// With incompatible_shape_error unset, shapes that do not broadcast are no error: the tensors
// differ, which is one truth value.
Status EqualityShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(bool incompatible_shape_error,
                      context->Attr<bool>("incompatible_shape_error"));
  if (incompatible_shape_error) return BroadcastBinaryShape(context);
  StatusOr<PartialShape> shape = BroadcastShapes(context->input(0), context->input(1));
  if (!shape.ok()) {
    context->SetOutput(0, PartialShape::Scalar());
    return absl::OkStatus();
  }
  // Sizes that are not known may turn out not to broadcast.
  const bool certain = context->input(0).IsFullyKnown() && context->input(1).IsFullyKnown();
  context->SetOutput(0, certain ? *std::move(shape) : PartialShape());
  return absl::OkStatus();
}

constexpr absl::string_view kEqualityTypes =
    "{bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, quint8, qint8, "
    "qint32, string, bool, complex128}";

MILLSTREAM_OP("Equal")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr(TypeAttr("T", kEqualityTypes))
    .Attr("incompatible_shape_error: bool = true")
    .Commutative()
    .Speculatable()
    .Shape(EqualityShape)
    .Doc(R"(Tells where x and y are equal, with broadcasting. A NaN equals nothing.

Without incompatible_shape_error, shapes that do not broadcast give the scalar false instead
of an error.)");

MILLSTREAM_OP("NotEqual")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr(TypeAttr("T", kEqualityTypes))
    .Attr("incompatible_shape_error: bool = true")
    .Commutative()
    .Shape(EqualityShape)
    .Doc(R"(Tells where x and y differ, with broadcasting. A NaN differs from everything.

Without incompatible_shape_error, shapes that do not broadcast give the scalar true instead
of an error.)");

MILLSTREAM_OP("ApproximateEqual")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("tolerance: float = 1e-05")
    .Commutative()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Tells where |x - y| is at most tolerance. Both have one shape.)");

MILLSTREAM_OP("Less")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr(TypeAttr("T", kRealTypes))
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Tells where x < y, with broadcasting. False where one is NaN.)")
    .Example(R"(
>>> tf.less([1, 2, 3], 2).eval()
array([ True, False, False]))");

MILLSTREAM_OP("LessEqual")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr(TypeAttr("T", kRealTypes))
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Tells where x <= y, with broadcasting. False where one is NaN.)")
    .Example(R"(
>>> tf.less_equal([1, 2, 3], 2).eval()
array([ True,  True, False]))");

MILLSTREAM_OP("Greater")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr(TypeAttr("T", kRealTypes))
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Tells where x > y, with broadcasting. False where one is NaN.)")
    .Example(R"(
>>> tf.greater([1, 2, 3], 2).eval()
array([False, False,  True]))");

MILLSTREAM_OP("GreaterEqual")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr(TypeAttr("T", kRealTypes))
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Tells where x >= y, with broadcasting. False where one is NaN.)")
    .Example(R"(
>>> tf.greater_equal([1, 2, 3], 2).eval()
array([False,  True,  True]))");

MILLSTREAM_OP("LogicalAnd")
    .Input("x: bool")
    .Input("y: bool")
    .Output("z: bool")
    .Commutative()
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Tells where both x and y are true, with broadcasting.)")
    .Example(R"(
>>> tf.logical_and([True, True], [True, False]).eval()
array([ True, False]))");

MILLSTREAM_OP("LogicalOr")
    .Input("x: bool")
    .Input("y: bool")
    .Output("z: bool")
    .Commutative()
    .Speculatable()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Tells where x or y or both are true, with broadcasting.)")
    .Example(R"(
>>> tf.logical_or([False, True], [False, False]).eval()
array([False,  True]))");

MILLSTREAM_OP("LogicalNot")
    .Input("x: bool")
    .Output("y: bool")
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Tells where x is false.)")
    .Example(R"(
>>> tf.logical_not([True, False]).eval()
array([False,  True]))");

MILLSTREAM_OP("IsNan")
    .Input("x: T")
    .Output("y: bool")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Tells where x is NaN.)")
    .Example(R"(
>>> tf.math.is_nan([1.0, float("nan"), float("inf")]).eval()
array([False,  True, False]))");

MILLSTREAM_OP("IsInf")
    .Input("x: T")
    .Output("y: bool")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Tells where x is infinite, positive or negative.)")
    .Example(R"(
>>> tf.math.is_inf([1.0, float("nan"), float("inf")]).eval()
array([False, False,  True]))");

MILLSTREAM_OP("IsFinite")
    .Input("x: T")
    .Output("y: bool")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Tells where x is a number and not infinite.)")
    .Example(R"(
>>> tf.math.is_finite([1.0, float("nan"), float("inf")]).eval()
array([ True, False, False]))");

}  // namespace
}  // namespace millstream
