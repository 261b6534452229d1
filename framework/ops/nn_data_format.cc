// From one order of the dimensions of images to another.
#include <string>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status CheckFormats(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(std::string from, context.Attr<std::string>("src_format"));
  MS_ASSIGN_OR_RETURN(std::string to, context.Attr<std::string>("dst_format"));
  if (from.size() != 4) {
    return InvalidAttr(context, "src_format", "expected 4 letters, got ", from);
  }
  std::string letters = to;
  for (const char letter : from) {
    const size_t place = letters.find(letter);
    if (place == std::string::npos) {
      return InvalidAttr(context, "dst_format", "expected the letters of ", from, " in any order, ",
                         "got ", to);
    }
    letters.erase(place, 1);
  }
  if (!letters.empty()) return InvalidAttr(context, "dst_format", "expected 4 letters, got ", to);
  for (size_t i = 0; i < from.size(); ++i) {
    if (from.find(from[i]) != i) {
      return InvalidAttr(context, "src_format", "expected different letters, got ", from);
    }
  }
  return absl::OkStatus();
}

Status DimMapShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckFormats(*context));
  return UnchangedShape(context);
}

Status VecPermuteShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckFormats(*context));
  MS_ASSIGN_OR_RETURN(PartialShape x, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(x, context->WithRankAtMost(0, 2));
  if (x.known_rank()) {
    for (int i = 0; i < x.rank(); ++i) {
      const int64_t expected = i == 0 ? 4 : 2;
      if (x.dim(i) != kUnknownDim && x.dim(i) != expected) {
        return InvalidInput(*context, 0, "expected 4 elements or 4 pairs, got the shape ",
                            x.ToString());
      }
      x.set_dim(i, expected);
    }
  }
  context->SetOutput(0, std::move(x));
  return absl::OkStatus();
}

void BetweenFormats(OpSpec* spec) {
  (*spec)
      .Input("x: T")
      .Output("y: T")
      .Attr(TypeAttr("T", kIndexTypes, " = int32"))
      .Attr("src_format: string = 'NHWC'")
      .Attr("dst_format: string = 'NCHW'");
}

MILLSTREAM_OP("DataFormatDimMap")
    .With(BetweenFormats)
    .Shape(DimMapShape)
    .Doc(R"(Gives the numbers that dimensions have in another order.

x has dimensions of an image in the order src_format, which count from the end if negative; y
has their places in dst_format.)");

MILLSTREAM_OP("DataFormatVecPermute")
    .With(BetweenFormats)
    .Shape(VecPermuteShape)
    .Doc(R"(Puts the four elements of a vector, or pairs, into another order of dimensions.

x has one for each dimension in the order src_format, and y in the order dst_format.)");

}  // namespace
}  // namespace millstream
