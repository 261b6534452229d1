// Incomplete gamma and beta functions, and modified Bessel functions.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Scalars go with tensors of the one shape that the others have.
Status BetaincShape(ShapeContext* context) {
  PartialShape shape;
  int scalars = 0;
  for (int i = 0; i < 3; ++i) {
    const PartialShape& input = context->input(i);
    if (input.rank() == 0) {
      ++scalars;
      continue;
    }
    if (!input.known_rank()) continue;
    StatusOr<PartialShape> merged = shape.MergeWith(input);
    if (!merged.ok()) return InputError(*context, i, merged.status());
    shape = *std::move(merged);
  }
  context->SetOutput(0, scalars == 3 ? PartialShape::Scalar() : std::move(shape));
  return absl::OkStatus();
}

void IncompleteGamma(OpSpec* spec) {
  spec->Input("a: T")
      .Input("x: T")
      .Output("z: T")
      .Attr("T: {float, double}")
      .Elementwise()
      .Shape(BroadcastBinaryShape);
}

MILLSTREAM_OP("Igamma")
    .With(IncompleteGamma)
    .Doc(R"(Gives the lower regularized incomplete gamma function, with broadcasting.

It is the integral of t^(a - 1) e^-t from 0 to x, divided by that to infinity. NaN where a is not
positive or x is negative.)")
    .Example(R"(
>>> tf.igamma(1.0, [1.0]).eval().round(3)
array([0.632], dtype=float32))");

MILLSTREAM_OP("Igammac")
    .With(IncompleteGamma)
    .Doc(R"(Gives the upper regularized incomplete gamma function, with broadcasting.

It is 1 less Igamma. NaN where a is not positive or x is negative.)")
    .Example(R"(
>>> tf.igammac(1.0, [1.0]).eval().round(3)
array([0.368], dtype=float32))");

MILLSTREAM_OP("IgammaGradA")
    .With(IncompleteGamma)
    .Doc(R"(Gives the derivative of Igamma by a, element by element, with broadcasting.)");

MILLSTREAM_OP("Betainc")
    .Input("a: T")
    .Input("b: T")
    .Input("x: T")
    .Output("z: T")
    .Attr("T: {float, double}")
    .Shape(BetaincShape)
    .Doc(R"(Gives the regularized incomplete beta function, element by element.

It is the integral of t^(a - 1) (1 - t)^(b - 1) from 0 to x, divided by that to 1. NaN where a or b
is not positive or x is not between 0 and 1. The inputs have one shape, or are scalars.)")
    .Example(R"(
>>> tf.betainc(1.0, 2.0, [0.5]).eval().round(3)
array([0.75], dtype=float32))");

void ScaledBessel(OpSpec* spec) {
  spec->Input("x: T")
      .Output("y: T")
      .Attr(TypeAttr("T", kRealFloatTypes))
      .Elementwise()
      .Shape(UnchangedShape);
}

MILLSTREAM_OP("BesselI0e")
    .With(ScaledBessel)
    .Doc(R"(Gives exp(-|x|) times the modified Bessel function of order 0, element by element.)")
    .Example(R"(
>>> tf.math.bessel_i0e([1.0]).eval().round(3)
array([0.466], dtype=float32))");

MILLSTREAM_OP("BesselI1e")
    .With(ScaledBessel)
    .Doc(R"(Gives exp(-|x|) times the modified Bessel function of order 1, element by element.)")
    .Example(R"(
>>> tf.math.bessel_i1e([1.0]).eval().round(3)
array([0.208], dtype=float32))");

}  // namespace
}  // namespace millstream
