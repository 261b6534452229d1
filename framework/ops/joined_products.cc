// Several products of matrices as one, in recurrent networks that are unrolled. Only the runtime
// makes such nodes.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

void PartAttrs(OpSpec* spec) {
  (*spec).Attr("first_row: int >= 0").Attr("num_rows: int >= 0").Attr("transpose_b: bool = false");
}

// The product of matrix `a` and the part of matrix `b`. `b_input` is the number of its input.
StatusOr<PartialShape> PartProduct(ShapeContext* context, int a_input, int b_input) {
  MS_ASSIGN_OR_RETURN(const PartialShape a, context->WithRank(a_input, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape b, context->WithRank(b_input, 2));
  MS_ASSIGN_OR_RETURN(const int64_t first, context->Attr<int64_t>("first_row"));
  MS_ASSIGN_OR_RETURN(const int64_t rows, context->Attr<int64_t>("num_rows"));
  MS_ASSIGN_OR_RETURN(const bool transpose, context->Attr<bool>("transpose_b"));
  if (b.dim(0) != kUnknownDim && (first > b.dim(0) || rows > b.dim(0) - first)) {
    return InvalidInput(*context, b_input, "expected rows ", first, " to ", first + rows, ", got ",
                        b.ToString());
  }
  const int64_t inner = transpose ? b.dim(1) : rows;
  if (!context->MergeDim(a.dim(1), inner).ok()) {
    return InvalidInput(*context, a_input, "expected ", inner, " columns, got ", a.ToString());
  }
  return PartialShape::Matrix(a.dim(0), transpose ? rows : b.dim(1));
}

Status JoinedMatMulShape(ShapeContext* context) {
  const int count = context->num_inputs() - 1;
  for (int i = 0; i < count; ++i) {
    MS_ASSIGN_OR_RETURN(PartialShape product, PartProduct(context, i, count));
    context->SetOutput(i, std::move(product));
  }
  return absl::OkStatus();
}

Status PartMatMulShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape product, PartProduct(context, 0, 1));
  context->SetOutput(0, std::move(product));
  return absl::OkStatus();
}

// The columns of a strip.
constexpr int64_t kStripColumns = 16;

int64_t StripsOf(int64_t columns) {
  if (columns == kUnknownDim) return kUnknownDim;
  return (columns + kStripColumns - 1) / kStripColumns;
}

Status WeightStripsShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape b, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(const int64_t first, context->Attr<int64_t>("first_row"));
  MS_ASSIGN_OR_RETURN(const int64_t rows, context->Attr<int64_t>("num_rows"));
  MS_ASSIGN_OR_RETURN(const bool transpose, context->Attr<bool>("transpose_b"));
  if (b.dim(0) != kUnknownDim && (first > b.dim(0) || rows > b.dim(0) - first)) {
    return InvalidInput(*context, 0, "expected rows ", first, " to ", first + rows, ", got ",
                        b.ToString());
  }
  const int64_t depth = transpose ? b.dim(1) : rows;
  context->SetOutput(0,
                     PartialShape({StripsOf(transpose ? rows : b.dim(1)), depth, kStripColumns}));
  return absl::OkStatus();
}

Status StripMatMulShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape a, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape strips, context->WithRank(1, 3));
  MS_ASSIGN_OR_RETURN(const int64_t columns, context->Attr<int64_t>("num_columns"));
  if (!context->MergeDim(strips.dim(0), StripsOf(columns)).ok() ||
      !context->MergeDim(strips.dim(2), kStripColumns).ok()) {
    return InvalidInput(*context, 1, "expected ", StripsOf(columns), " strips of ", kStripColumns,
                        " columns, got ", strips.ToString());
  }
  if (!context->MergeDim(a.dim(1), strips.dim(1)).ok()) {
    return InvalidInput(*context, 0, "expected ", strips.dim(1), " columns, got ", a.ToString());
  }
  context->SetOutput(0, PartialShape::Matrix(a.dim(0), columns));
  return absl::OkStatus();
}

Status SummedMatMulShape(ShapeContext* context) {
  const int count = context->num_inputs() / 2;
  PartialShape sum = PartialShape::Matrix(kUnknownDim, kUnknownDim);
  for (int i = 0; i < count; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape a, context->WithRank(i, 2));
    MS_ASSIGN_OR_RETURN(const PartialShape b, context->WithRank(count + i, 2));
    if (!context->MergeDim(a.dim(0), b.dim(0)).ok()) {
      return InvalidInput(*context, count + i, UnequalDims(a.dim(0), b.dim(0)), "expected ",
                          a.dim(0), " rows to go with argument 'a' ", a.ToString(), ", got ",
                          b.ToString());
    }
    StatusOr<PartialShape> merged = sum.MergeWith(PartialShape::Matrix(a.dim(1), b.dim(1)));
    if (!merged.ok()) {
      return InvalidInput(*context, i, "expected products of one shape, ", sum.ToString(),
                          ", got one of ", PartialShape::Matrix(a.dim(1), b.dim(1)).ToString());
    }
    sum = *std::move(merged);
  }
  context->SetOutput(0, std::move(sum));
  return absl::OkStatus();
}

MILLSTREAM_OP("_JoinedMatMul")
    .Input("a: num * T")
    .Input("b: T")
    .Output("products: num * T")
    .Attr("num: int >= 1")
    .Attr("T: {float}")
    .Attr("in_strips: bool = false")
    .With(PartAttrs)
    .Shape(JoinedMatMulShape)
    .Doc(R"(Multiplies several matrices of one shape with the same rows of another matrix.

Product i is a[i] times rows first_row to first_row + num_rows of b, which are transposed first
if transpose_b says so. If in_strips says so, b is the same in every step and is arranged in
strips; each sum is then taken in the order of its terms. Made by the runtime.)");

MILLSTREAM_OP("_PartMatMul")
    .Input("a: T")
    .Input("b: T")
    .Input("addends: num_addends * T")
    .Output("product: T")
    .Attr("num_addends: int >= 0")
    .Attr("T: {float}")
    .With(PartAttrs)
    .Shape(PartMatMulShape)
    .Doc(R"(Multiplies a with some rows of b and adds what addends says to the product.

The rows are first_row to first_row + num_rows, transposed first if transpose_b says so. An
addend is a matrix of the product's shape or a vector that is added to each of its rows. Made
by the runtime.)");

MILLSTREAM_OP("_WeightStrips")
    .Input("b: T")
    .Output("strips: T")
    .Attr("T: {float}")
    .With(PartAttrs)
    .Shape(WeightStripsShape)
    .Doc(R"(Arranges some rows of b for products with several matrices.

The rows are first_row to first_row + num_rows, transposed first if transpose_b says so. A strip
has 16 columns of them, row after row; zeros fill up the last one. Made by the runtime.)");

MILLSTREAM_OP("_StripMatMul")
    .Input("a: T")
    .Input("strips: T")
    .Input("addends: num_addends * T")
    .Output("product: T")
    .Attr("num_addends: int >= 0")
    .Attr("num_columns: int >= 0")
    .Attr("T: {float}")
    .Shape(StripMatMulShape)
    .Doc(R"(Multiplies a with a matrix that _WeightStrips arranged and adds what addends says.

The matrix has num_columns columns. An addend is a matrix of the product's shape or a vector that
is added to each of its rows. Made by the runtime.)");

MILLSTREAM_OP("_SummedMatMul")
    .Input("a: num * T")
    .Input("b: num * T")
    .Output("sum: T")
    .Attr("num: int >= 1")
    .Attr("T: {float}")
    .Shape(SummedMatMulShape)
    .Doc(R"(Adds the products transpose(a[i]) * b[i]. Made by the runtime.)");

}  // namespace
}  // namespace millstream
