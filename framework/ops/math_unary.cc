// Functions of one tensor, element by element, and their gradients. Those that the C library
// computes are in math_functions.cc.
#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

MILLSTREAM_OP("Abs")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {bfloat16, half, float, double, int32, int64}")
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the absolute value of each element.)");

MILLSTREAM_OP("Neg")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the negative of each element.)")
    .Example(R"(
>>> tf.negative([1, -2]).eval()
array([-1,  2], dtype=int32))");

MILLSTREAM_OP("Sign")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives -1, 0 or 1 as each element is negative, zero or positive.

For complex numbers: x / |x|, and 0 for zero. NaN stays NaN.)")
    .Example(R"(
>>> tf.sign([-3.0, 0.0, 2.0]).eval()
array([-1.,  0.,  1.], dtype=float32))");

MILLSTREAM_OP("Square")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Elementwise()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Multiplies each element with itself.)")
    .Example(R"(
>>> tf.square([2, -3]).eval()
array([4, 9], dtype=int32))");

MILLSTREAM_OP("Sqrt")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the square root of each element; NaN for negative ones.)")
    .Example(R"(
>>> tf.sqrt([4.0, 9.0]).eval()
array([2., 3.], dtype=float32))");

MILLSTREAM_OP("Rsqrt")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives 1 over the square root of each element.)")
    .Example(R"(
>>> tf.rsqrt([4.0, 16.0]).eval()
array([0.5 , 0.25], dtype=float32))");

MILLSTREAM_OP("Reciprocal")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives 1 over each element.)")
    .Example(R"(
>>> tf.reciprocal([2.0, 4.0]).eval()
array([0.5 , 0.25], dtype=float32))");

MILLSTREAM_OP("Inv")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives 1 over each element; the older name of Reciprocal.)")
    .Example(R"(
>>> tf.inv([2.0, 4.0]).eval()
array([0.5 , 0.25], dtype=float32))");

MILLSTREAM_OP("Exp")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives e to the power of each element.)")
    .Example(R"(
>>> tf.exp([0.0, 1.0]).eval().round(3).tolist()
[1.0, 2.7179999351501465])");

MILLSTREAM_OP("Log")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the natural logarithm of each element; -inf for zero, NaN below.)")
    .Example(R"(
>>> tf.log([1.0, 10.0]).eval().round(2).tolist()
[0.0, 2.299999952316284])");

MILLSTREAM_OP("Tanh")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the hyperbolic tangent of each element.)")
    .Example(R"(
>>> tf.tanh([0.0]).eval()
array([0.], dtype=float32))");

MILLSTREAM_OP("Sigmoid")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives 1 / (1 + exp(-x)) for each element.)")
    .Example(R"(
>>> tf.sigmoid([0.0]).eval()
array([0.5], dtype=float32))");

MILLSTREAM_OP("Floor")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(UnchangedShape)
    .Doc(R"(Rounds each element down to a whole number.)")
    .Example(R"(
>>> tf.floor([1.5, -1.5]).eval()
array([ 1., -2.], dtype=float32))");

MILLSTREAM_OP("Ceil")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(UnchangedShape)
    .Doc(R"(Rounds each element up to a whole number.)")
    .Example(R"(
>>> tf.ceil([1.5, -1.5]).eval()
array([ 2., -1.], dtype=float32))");

MILLSTREAM_OP("Rint")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(UnchangedShape)
    .Doc(R"(Rounds each element to the nearest whole number, halves to the even one.)")
    .Example(R"(
>>> tf.rint([1.5, 2.5, -1.2]).eval()
array([ 2.,  2., -1.], dtype=float32))");

MILLSTREAM_OP("Round")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(UnchangedShape)
    .Doc(R"(Rounds each element to the nearest whole number, halves to the even one.

Integers become 0, as in the reference. tf.round returns them as they are.)")
    .Example(R"(
>>> tf.round([1.5, 2.5, -1.2]).eval()
array([ 2.,  2., -1.], dtype=float32))");

MILLSTREAM_OP("Conj")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {complex64, complex128, variant} = complex64")
    .Shape(UnchangedShape)
    .Doc(R"(Gives the complex conjugate of each element.)");

MILLSTREAM_OP("SqrtGrad")
    .Input("y: T")
    .Input("dy: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Sqrt from its output: dy * 0.5 / y, with y conjugated if complex.

y is what Sqrt gave and dy the gradient with respect to it, of the same shape. Zero where dy
is.)");

MILLSTREAM_OP("RsqrtGrad")
    .Input("y: T")
    .Input("dy: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(MergeAllInputsShape)
    .Doc(
        R"(Gives the gradient of Rsqrt from its output: dy * -0.5 * y^3, with y conjugated if complex.

y is what Rsqrt gave and dy the gradient with respect to it, of the same shape. Zero where dy
is.)");

MILLSTREAM_OP("ReciprocalGrad")
    .Input("y: T")
    .Input("dy: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(MergeAllInputsShape)
    .Doc(
        R"(Gives the gradient of Reciprocal from its output: -dy * y * y, with y conjugated if complex.

y is what Reciprocal gave and dy the gradient with respect to it, of the same shape. Zero
where dy is.)");

MILLSTREAM_OP("InvGrad")
    .Input("y: T")
    .Input("dy: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Inv from its output: -dy * y * y, with y conjugated if complex.

y is what Inv gave and dy the gradient with respect to it, of the same shape. Zero where dy
is.)");

MILLSTREAM_OP("TanhGrad")
    .Input("y: T")
    .Input("dy: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Tanh from its output: dy * (1 - y * y).

y is what Tanh gave, to be conjugated before if complex, and dy the gradient with respect to
it, of the same shape.)");

MILLSTREAM_OP("SigmoidGrad")
    .Input("y: T")
    .Input("dy: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Elementwise()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Sigmoid from its output: dy * y * (1 - y).

y is what Sigmoid gave, to be conjugated before if complex, and dy the gradient with respect
to it, of the same shape.)");

MILLSTREAM_OP("Cast")
    .Input("x: SrcT")
    .Output("y: DstT")
    .Attr("SrcT: type")
    .Attr("DstT: type")
    .Attr("Truncate: bool = false")
    .Speculatable()
    .Shape(UnchangedShape)
    .Value(ForwardIndexValue)
    .Doc(R"(Converts each element to another type.

Real numbers are cut off towards zero when they become integers; a complex number loses its
imaginary part when it becomes real; anything but zero becomes true. With Truncate,
precision that is lost on the way to a shorter floating-point type is cut off instead of
rounded.)");

}  // namespace
}  // namespace millstream
