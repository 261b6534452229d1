// Functions that the C library computes, and special functions, element by element.
#include "framework/attr_value.h"
#include "framework/op_registry.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// For functions that are finite on real numbers, and not on all complex ones.
bool IsReal(const AttrMap& attrs) {
  const AttrValue* const type = FindAttr(attrs, "T");
  const DataType* const dtype = type == nullptr ? nullptr : type->get<DataType>();
  return dtype != nullptr && !IsComplex(*dtype);
}

MILLSTREAM_OP("Sin")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .KeepsFinite(IsReal)
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the sine of each element, an angle in radians.)")
    .Example(R"(
>>> tf.sin([0.0, 1.0]).eval().round(3).tolist()
[0.0, 0.8410000205039978])");

MILLSTREAM_OP("Cos")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .KeepsFinite(IsReal)
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the cosine of each element, an angle in radians.)")
    .Example(R"(
>>> tf.cos([0.0, 1.0]).eval().round(3).tolist()
[1.0, 0.5400000214576721])");

MILLSTREAM_OP("Tan")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the tangent of each element, an angle in radians.)")
    .Example(R"(
>>> tf.tan([1.0]).eval().round(3)
array([1.557], dtype=float32))");

MILLSTREAM_OP("Asin")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the angle in radians whose sine is each element, between -pi/2 and pi/2.

NaN for real numbers beyond 1 and -1.)")
    .Example(R"(
>>> tf.asin([1.0]).eval().round(3)
array([1.571], dtype=float32))");

MILLSTREAM_OP("Acos")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the angle in radians whose cosine is each element, between 0 and pi.

NaN for real numbers beyond 1 and -1.)")
    .Example(R"(
>>> tf.acos([0.0]).eval().round(3)
array([1.571], dtype=float32))");

MILLSTREAM_OP("Atan")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Elementwise()
    .KeepsFinite(IsReal)
    .Shape(UnchangedShape)
    .Doc(R"(Gives the angle in radians whose tangent is each element, between -pi/2 and pi/2.)")
    .Example(R"(
>>> tf.atan([1.0]).eval().round(3)
array([0.785], dtype=float32))");

MILLSTREAM_OP("Sinh")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the hyperbolic sine of each element.)")
    .Example(R"(
>>> tf.sinh([1.0]).eval().round(3)
array([1.175], dtype=float32))");

MILLSTREAM_OP("Cosh")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the hyperbolic cosine of each element.)")
    .Example(R"(
>>> tf.cosh([1.0]).eval().round(3)
array([1.543], dtype=float32))");

MILLSTREAM_OP("Asinh")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the number whose hyperbolic sine is each element.)")
    .Example(R"(
>>> tf.asinh([1.0]).eval().round(3)
array([0.881], dtype=float32))");

MILLSTREAM_OP("Acosh")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the number, not below 0, whose hyperbolic cosine is each element.

NaN for real numbers below 1.)")
    .Example(R"(
>>> tf.acosh([2.0]).eval().round(3)
array([1.317], dtype=float32))");

MILLSTREAM_OP("Atanh")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the number whose hyperbolic tangent is each element.

Of real numbers, infinity for 1 and -1, and NaN beyond them.)")
    .Example(R"(
>>> tf.atanh([0.5]).eval().round(3)
array([0.549], dtype=float32))");

MILLSTREAM_OP("Log1p")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives log(1 + x) for each element x, precisely also where x is near 0.

Of real numbers, -inf for -1 and NaN below.)")
    .Example(R"(
>>> tf.math.log1p([0.0, 1e-10]).eval()
array([0.e+00, 1.e-10], dtype=float32))");

MILLSTREAM_OP("Expm1")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives exp(x) - 1 for each element x, precisely also where x is near 0.)")
    .Example(R"(
>>> tf.math.expm1([0.0, 1e-10]).eval()
array([0.e+00, 1.e-10], dtype=float32))");

MILLSTREAM_OP("Erf")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.)")
    .Example(R"(
>>> tf.math.erf([1.0]).eval().round(3)
array([0.843], dtype=float32))");

MILLSTREAM_OP("Erfc")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(UnchangedShape)
    .Doc(R"(Gives 1 - erf(x) for each element x, precisely also where x is large.)")
    .Example(R"(
>>> tf.math.erfc([1.0]).eval().round(3)
array([0.157], dtype=float32))");

MILLSTREAM_OP("Lgamma")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the logarithm of the absolute value of the gamma function of each element.

Infinite at the poles, which are 0 and the negative whole numbers.)")
    .Example(R"(
>>> tf.math.lgamma([5.0]).eval().round(3)
array([3.178], dtype=float32))");

MILLSTREAM_OP("Digamma")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the derivative of Lgamma at each element.

Infinite at the poles, which are 0 and the negative whole numbers.)")
    .Example(R"(
>>> tf.math.digamma([1.0]).eval().round(3)
array([-0.577], dtype=float32))");

MILLSTREAM_OP("Polygamma")
    .Input("a: T")
    .Input("x: T")
    .Output("z: T")
    .Attr("T: {float, double}")
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Gives the derivative of order a of Digamma at x, element by element, with broadcasting.

NaN where a is not a whole number from 0 on.)")
    .Example(R"(
>>> tf.math.polygamma(1.0, [1.0]).eval().round(3)
array([1.645], dtype=float32))");

MILLSTREAM_OP("Zeta")
    .Input("x: T")
    .Input("q: T")
    .Output("z: T")
    .Attr("T: {float, double}")
    .Elementwise()
    .Shape(BroadcastBinaryShape)
    .Doc(
        R"(Gives the sum of (q + k)^-x over k = 0, 1, 2, ..., element by element, with broadcasting.

This is the Hurwitz zeta function. Infinite where x is 1 or q is 0 or a negative whole number;
NaN where x is below 1, and where q is negative and x is not a whole number.)")
    .Example(R"(
>>> tf.math.zeta(2.0, [1.0]).eval().round(3)
array([1.645], dtype=float32))");

}  // namespace
}  // namespace millstream
