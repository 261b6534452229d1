// Complex numbers and their parts, element by element.
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// INVALID_ARGUMENT unless the one type is that of the parts of the other.
Status CheckParts(const ShapeContext& context, absl::string_view real, absl::string_view complex) {
  MS_ASSIGN_OR_RETURN(const DataType part, context.Attr<DataType>(real));
  MS_ASSIGN_OR_RETURN(const DataType whole, context.Attr<DataType>(complex));
  if ((part == DataType::kDouble) == (whole == DataType::kComplex128)) return absl::OkStatus();
  return InvalidAttr(context, "Tout", "T and Tout must be float and complex64, or double and ",
                     "complex128, got ", DataTypeName(part), " and ", DataTypeName(whole));
}

Status PartShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckParts(*context, "Tout", "T"));
  return UnchangedShape(context);
}

Status ComplexShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckParts(*context, "T", "Tout"));
  return BroadcastBinaryShape(context);
}

void PartOfComplex(OpSpec* spec) {
  (*spec)
      .Attr("T: {complex64, complex128} = complex64")
      .Attr("Tout: {float, double} = float")
      .Shape(PartShape);
}

MILLSTREAM_OP("Real")
    .Input("input: T")
    .Output("output: Tout")
    .With(PartOfComplex)
    .KeepsFinite()
    .Doc(R"(Gives the real part of each complex number.)");

MILLSTREAM_OP("Imag")
    .Input("input: T")
    .Output("output: Tout")
    .With(PartOfComplex)
    .KeepsFinite()
    .Doc(R"(Gives the imaginary part of each complex number.)");

MILLSTREAM_OP("Angle")
    .Input("input: T")
    .Output("output: Tout")
    .With(PartOfComplex)
    .KeepsFinite()
    .Doc(R"(Gives the angle in radians of each complex number, between -pi and pi.)");

MILLSTREAM_OP("ComplexAbs")
    .Input("x: T")
    .Output("y: Tout")
    .With(PartOfComplex)
    .Doc(R"(Gives the absolute value of each complex number.)");

MILLSTREAM_OP("Complex")
    .Input("real: T")
    .Input("imag: T")
    .Output("out: Tout")
    .Attr("T: {float, double} = float")
    .Attr("Tout: {complex64, complex128} = complex64")
    .KeepsFinite()
    .Shape(ComplexShape)
    .Doc(R"(Makes complex numbers of their real and imaginary parts, with broadcasting.)");

}  // namespace
}  // namespace millstream
