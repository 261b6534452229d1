// Functions of one tensor, element by element, and their gradients.
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
    .Shape(UnchangedShape)
    .Doc(R"(Gives the absolute value of each element.)");

MILLSTREAM_OP("Neg")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Gives the negative of each element.)");

MILLSTREAM_OP("Sign")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Gives -1, 0 or 1 as each element is negative, zero or positive.

For complex numbers: x / |x|, and 0 for zero. NaN stays NaN.)");

MILLSTREAM_OP("Square")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Multiplies each element with itself.)");

MILLSTREAM_OP("Sqrt")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Gives the square root of each element; NaN for negative ones.)");

MILLSTREAM_OP("Rsqrt")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Gives 1 over the square root of each element.)");

MILLSTREAM_OP("Reciprocal")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Gives 1 over each element.)");

MILLSTREAM_OP("Inv")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kSignedTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Gives 1 over each element; the older name of Reciprocal.)");

MILLSTREAM_OP("Exp")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Gives e to the power of each element.)");

MILLSTREAM_OP("Log")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Gives the natural logarithm of each element; -inf for zero, NaN below.)");

MILLSTREAM_OP("Tanh")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Gives the hyperbolic tangent of each element.)");

MILLSTREAM_OP("Sigmoid")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Gives 1 / (1 + exp(-x)) for each element.)");

MILLSTREAM_OP("Floor")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Rounds each element down to a whole number.)");

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
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Sqrt from its output: dy * 0.5 / y, with y conjugated if complex.

y is what Sqrt gave and dy the gradient with respect to it, of the same shape. Zero where dy
is.)");

MILLSTREAM_OP("RsqrtGrad")
    .Input("y: T")
    .Input("dy: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
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
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Inv from its output: -dy * y * y, with y conjugated if complex.

y is what Inv gave and dy the gradient with respect to it, of the same shape. Zero where dy
is.)");

MILLSTREAM_OP("TanhGrad")
    .Input("y: T")
    .Input("dy: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Tanh from its output: dy * (1 - y * y).

y is what Tanh gave, to be conjugated before if complex, and dy the gradient with respect to
it, of the same shape.)");

MILLSTREAM_OP("SigmoidGrad")
    .Input("y: T")
    .Input("dy: T")
    .Output("z: T")
    .Attr(TypeAttr("T", kFloatAndComplexTypes))
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
    .Shape(UnchangedShape)
    .Value(ForwardIndexValue)
    .Doc(R"(Converts each element to another type.

Real numbers are cut off towards zero when they become integers; a complex number loses its
imaginary part when it becomes real; anything but zero becomes true. With Truncate,
precision that is lost on the way to a shorter floating-point type is cut off instead of
rounded.)");

}  // namespace
}  // namespace millstream
