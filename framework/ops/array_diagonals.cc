// Ops on the diagonals of matrices.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// `shape` without its last `count` dimensions. REQUIRES: it has as many.
PartialShape WithoutLast(const PartialShape& shape, int count) {
  return PartialShape(shape.dims().subspan(0, shape.rank() - count));
}

// ---- Diag and DiagPart ----

Status DiagShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape diagonal, context->WithRankAtLeast(0, 1));
  if (!diagonal.known_rank()) {
    context->SetOutput(0, PartialShape());
    return absl::OkStatus();
  }
  MS_RETURN_IF_ERROR(CheckEntryCount(*context, 0, 2 * int64_t{diagonal.rank()}));
  PartialShape output = diagonal;
  for (const int64_t dim : diagonal.dims()) output.AddDim(dim);
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status DiagPartShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRankAtLeast(0, 2));
  context->SetOutput(0, PartialShape());
  if (!input.known_rank()) return absl::OkStatus();
  const int half = input.rank() / 2;
  if (input.rank() % 2 != 0) {
    return InvalidInput(*context, 0, "expected an even rank, got ", input.ToString());
  }
  const StatusOr<PartialShape> merged =
      WithoutLast(input, half).MergeWith(PartialShape(input.dims().subspan(half)));
  if (!merged.ok()) return InputError(*context, 0, merged.status());
  context->SetOutput(0, *merged);
  return absl::OkStatus();
}

// ---- Matrices and one diagonal ----

Status MatrixDiagShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, 1));
  if (shape.known_rank()) {
    MS_RETURN_IF_ERROR(CheckEntryCount(*context, 0, shape.rank() + int64_t{1}));
    shape.AddDim(shape.dim(shape.rank() - 1));
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// The diagonals of matrices that an input k names: see MatrixDiagPartV2.
struct Diagonals {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t count() const { return upper - lower + 1; }
};

// Input i, k; nullopt when it is not known.
StatusOr<std::optional<Diagonals>> ReadDiagonals(const ShapeContext& context, int i) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context.WithRankAtMost(i, 1));
  const int64_t elements = shape.num_elements();
  if (elements != kUnknownDim && elements != 1 && elements != 2) {
    return InvalidInput(context, i, "expected one or two diagonals, got ", elements);
  }
  const std::optional<std::vector<int64_t>> k = KnownIndexElements(context, i);
  if (!k.has_value()) return std::optional<Diagonals>();
  const Diagonals diagonals{k->front(), k->back()};
  if (diagonals.lower > diagonals.upper) {
    return InvalidInput(context, i, "the lower diagonal ", diagonals.lower,
                        " is above the upper one, ", diagonals.upper);
  }
  return std::optional<Diagonals>(diagonals);
}

// The shape of the diagonals of matrices of shape `input`, of known rank. INVALID_ARGUMENT, naming
// input i, if there are no such diagonals.
StatusOr<PartialShape> ShapeOfDiagonals(const ShapeContext& context, int i,
                                        const PartialShape& input, const Diagonals& diagonals) {
  const int64_t rows = input.dim(input.rank() - 2);
  const int64_t columns = input.dim(input.rank() - 1);
  PartialShape shape = WithoutLast(input, 2);
  if (diagonals.count() > 1) shape.AddDim(diagonals.count());
  for (const int64_t diagonal : {diagonals.lower, diagonals.upper}) {
    const bool is_too_low = rows != kUnknownDim && diagonal <= -rows;
    const bool is_too_high = columns != kUnknownDim && diagonal >= columns;
    if (diagonal == 0 || (!is_too_low && !is_too_high)) continue;
    return InvalidInput(context, i, "there is no diagonal ", diagonal, " in matrices of ",
                        input.ToString());
  }
  const bool known = rows != kUnknownDim && columns != kUnknownDim;
  shape.AddDim(known ? std::min(rows + std::min<int64_t>(diagonals.upper, 0),
                                columns - std::max<int64_t>(diagonals.lower, 0))
                     : kUnknownDim);
  return shape;
}

Status MatrixDiagPartShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRankAtLeast(0, 2));
  context->SetOutput(0, PartialShape());
  if (!input.known_rank()) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeOfDiagonals(*context, 0, input, Diagonals()));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// The output is input 0, of which input 1 replaces the diagonals.
Status SetDiagonals(ShapeContext* context, const Diagonals& diagonals, int k_input) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRankAtLeast(0, 2));
  const int own = diagonals.count() > 1 ? 2 : 1;
  MS_ASSIGN_OR_RETURN(const PartialShape diagonal, context->WithRankAtLeast(1, own));
  if (!input.known_rank() && diagonal.known_rank()) {
    input = WithoutLast(diagonal, own);
    input.AddDim(kUnknownDim);
    input.AddDim(kUnknownDim);
  }
  if (input.known_rank()) {
    MS_ASSIGN_OR_RETURN(const PartialShape expected,
                        ShapeOfDiagonals(*context, k_input, input, diagonals));
    const StatusOr<PartialShape> merged = diagonal.MergeWith(expected);
    if (!merged.ok()) return InputError(*context, 1, merged.status());
    PartialShape output = WithoutLast(*merged, own);
    for (const int i : {2, 1}) output.AddDim(input.dim(input.rank() - i));
    input = std::move(output);
  }
  context->SetOutput(0, std::move(input));
  return absl::OkStatus();
}

Status MatrixSetDiagShape(ShapeContext* context) { return SetDiagonals(context, Diagonals(), 0); }

// ---- Matrices and several diagonals ----

// The sizes of matrices around diagonals of length `width` as far as they are known, -1 asking for
// the smallest.
Status AddMatrixSizes(ShapeContext* context, const Diagonals& diagonals, int64_t width,
                      PartialShape* shape) {
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> num_rows, IndexScalar(*context, 2));
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> num_cols, IndexScalar(*context, 3));
  if (width == kUnknownDim || !num_rows.has_value() || !num_cols.has_value()) {
    shape->AddDim(num_rows.value_or(kUnknownDim) < 0 ? kUnknownDim : *num_rows);
    shape->AddDim(num_cols.value_or(kUnknownDim) < 0 ? kUnknownDim : *num_cols);
    return absl::OkStatus();
  }
  const int64_t least_rows = width - std::min<int64_t>(diagonals.upper, 0);
  const int64_t least_columns = width + std::max<int64_t>(diagonals.lower, 0);
  const bool square = *num_rows == -1 && *num_cols == -1;
  const int64_t side = std::max(least_rows, least_columns);
  const int64_t rows = square ? side : *num_rows == -1 ? least_rows : *num_rows;
  const int64_t columns = square ? side : *num_cols == -1 ? least_columns : *num_cols;
  if (rows < least_rows || columns < least_columns) {
    return InvalidInput(*context, rows < least_rows ? 2 : 3, "diagonals of length ", width,
                        " need ", least_rows, " rows and ", least_columns, " columns, got ", rows,
                        " and ", columns);
  }
  if (rows != least_rows && columns != least_columns) {
    return InvalidInput(*context, 2, rows, " rows and ", columns,
                        " columns make diagonals longer than ", width);
  }
  shape->AddDim(rows);
  shape->AddDim(columns);
  return absl::OkStatus();
}

Status MatrixDiagV2Shape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape diagonal, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(const std::optional<Diagonals> diagonals, ReadDiagonals(*context, 1));
  for (int i = 2; i < 5; ++i) MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  context->SetOutput(0, PartialShape());
  if (!diagonals.has_value() || !diagonal.known_rank()) return absl::OkStatus();
  const int own = diagonals->count() > 1 ? 2 : 1;
  MS_RETURN_IF_ERROR(context->WithRankAtLeast(0, own).status());
  if (own == 2) {
    const int64_t rows = diagonal.dim(diagonal.rank() - 2);
    const StatusOr<int64_t> count = context->MergeDim(rows, diagonals->count());
    if (!count.ok()) return InputError(*context, 0, count.status());
  }
  PartialShape shape = WithoutLast(diagonal, own);
  MS_RETURN_IF_ERROR(CheckEntryCount(*context, 0, shape.rank() + int64_t{2}));
  MS_RETURN_IF_ERROR(
      AddMatrixSizes(context, *diagonals, diagonal.dim(diagonal.rank() - 1), &shape));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status MatrixDiagPartV2Shape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRankAtLeast(0, 2));
  MS_ASSIGN_OR_RETURN(const std::optional<Diagonals> diagonals, ReadDiagonals(*context, 1));
  MS_RETURN_IF_ERROR(context->WithRank(2, 0).status());
  context->SetOutput(0, PartialShape());
  if (!diagonals.has_value() || !input.known_rank()) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeOfDiagonals(*context, 1, input, *diagonals));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status MatrixSetDiagV2Shape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::optional<Diagonals> diagonals, ReadDiagonals(*context, 2));
  if (diagonals.has_value()) return SetDiagonals(context, *diagonals, 2);
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRankAtLeast(0, 2));
  MS_RETURN_IF_ERROR(context->WithRankAtLeast(1, 1).status());
  context->SetOutput(0, std::move(input));
  return absl::OkStatus();
}

// ---- MatrixBandPart ----

Status MatrixBandPartShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRankAtLeast(0, 2));
  for (int i = 1; i < 3; ++i) {
    MS_ASSIGN_OR_RETURN(const std::optional<int64_t> kept, IndexScalar(*context, i));
    if (!kept.has_value() || !input.known_rank()) continue;
    const int64_t size = input.dim(input.rank() - 3 + i);
    if (size == kUnknownDim || *kept <= size) continue;
    return InvalidInput(*context, i, "expected ", size, " at most for matrices of ",
                        input.ToString(), ", got ", *kept);
  }
  context->SetOutput(0, std::move(input));
  return absl::OkStatus();
}

// ---- Definitions ----

// The ops of old graphs tell nothing of their shapes, as there.
Status UnknownShape(ShapeContext* context) {
  context->SetOutput(0, PartialShape());
  return absl::OkStatus();
}

constexpr absl::string_view kDiagTypes =
    "{bfloat16, half, float, double, int32, int64, complex64, complex128}";

MILLSTREAM_OP("Diag")
    .Input("diagonal: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kDiagTypes))
    .KeepsFinite()
    .Shape(DiagShape)
    .Doc(R"(Makes a tensor with a given diagonal and zeros elsewhere.

Its shape is that of diagonal, twice: output[i, i] = diagonal[i], where i stands for all indices.)")
    .Example(R"(
>>> tf.diag([1, 2]).eval().tolist()
[[1, 0], [0, 2]])");

MILLSTREAM_OP("DiagPart")
    .Input("input: T")
    .Output("diagonal: T")
    .Attr(TypeAttr("T", kDiagTypes))
    .KeepsFinite()
    .Shape(DiagPartShape)
    .Doc(R"(Takes the diagonal out of a tensor whose shape is one of two equal halves.

diagonal[i] = input[i, i], where i stands for all indices of a half.)")
    .Example(R"(
>>> tf.diag_part([[1, 2], [3, 4]]).eval()
array([1, 4], dtype=int32))");

void MakesMatrices(OpSpec* spec) {
  spec->Input("diagonal: T").Output("output: T").Attr("T: type").KeepsFinite();
}
void TakesDiagonals(OpSpec* spec) {
  spec->Input("input: T").Output("diagonal: T").Attr("T: type").KeepsFinite();
}
void SetsDiagonals(OpSpec* spec) {
  spec->Input("input: T").Input("diagonal: T").Output("output: T").Attr("T: type").KeepsFinite();
}

MILLSTREAM_OP("MatrixDiag")
    .With(MakesMatrices)
    .Shape(MatrixDiagShape)
    .Doc(R"(Makes square matrices with given diagonals and zeros elsewhere.

The last dimension of diagonal is one of them.)");

MILLSTREAM_OP("BatchMatrixDiag")
    .With(MakesMatrices)
    .Shape(UnknownShape)
    .Doc(R"(Makes square matrices with given diagonals, as MatrixDiag does, in old graphs.)");

MILLSTREAM_OP("MatrixDiagV2")
    .Input("diagonal: T")
    .Input("k: int32")
    .Input("num_rows: int32")
    .Input("num_cols: int32")
    .Input("padding_value: T")
    .Output("output: T")
    .Attr("T: type")
    .KeepsFinite()
    .Shape(MatrixDiagV2Shape)
    .Doc(R"(Makes matrices with given diagonals and padding_value elsewhere.

k names the diagonals as in MatrixDiagPartV2, whose output has the shape of diagonal. num_rows and
num_cols are the sizes of the matrices; -1 stands for the smallest that hold the diagonals, and
twice for a square.)");

MILLSTREAM_OP("MatrixDiagPart")
    .With(TakesDiagonals)
    .Shape(MatrixDiagPartShape)
    .Doc(R"(Takes the main diagonals out of matrices, the last two dimensions of input.)");

MILLSTREAM_OP("BatchMatrixDiagPart")
    .With(TakesDiagonals)
    .Shape(UnknownShape)
    .Doc(R"(Takes the main diagonals out of matrices, as MatrixDiagPart does, in old graphs.)");

MILLSTREAM_OP("MatrixDiagPartV2")
    .Input("input: T")
    .Input("k: int32")
    .Input("padding_value: T")
    .Output("diagonal: T")
    .Attr("T: type")
    .KeepsFinite()
    .Shape(MatrixDiagPartV2Shape)
    .Doc(R"(Takes diagonals out of matrices, the last two dimensions of input.

k is one diagonal, or the lowest and the highest of several: 0 is the main diagonal, 1 the one above
it, -1 the one below. Several diagonals are rows of equal length, the highest first; the shorter
ones end with padding_value.)");

MILLSTREAM_OP("MatrixSetDiag")
    .With(SetsDiagonals)
    .Shape(MatrixSetDiagShape)
    .Doc(R"(Replaces the main diagonals of matrices, the last two dimensions of input.)");

MILLSTREAM_OP("BatchMatrixSetDiag")
    .With(SetsDiagonals)
    .Shape(UnknownShape)
    .Doc(R"(Replaces the main diagonals of matrices, as MatrixSetDiag does, in old graphs.)");

MILLSTREAM_OP("MatrixSetDiagV2")
    .Input("input: T")
    .Input("diagonal: T")
    .Input("k: int32")
    .Output("output: T")
    .Attr("T: type")
    .KeepsFinite()
    .Shape(MatrixSetDiagV2Shape)
    .Doc(R"(Replaces diagonals of matrices, the last two dimensions of input.

k names the diagonals as in MatrixDiagPartV2, whose output has the shape of diagonal.)");

MILLSTREAM_OP("MatrixBandPart")
    .Input("input: T")
    .Input("num_lower: Tindex")
    .Input("num_upper: Tindex")
    .Output("band: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tindex", kIndexTypes, " = int64"))
    .KeepsFinite()
    .Shape(MatrixBandPartShape)
    .Doc(R"(Keeps a band of matrices, the last two dimensions of input, and makes the rest zero.

The band is the main diagonal with num_lower diagonals below and num_upper above it, all where the
number is negative.)")
    .Example(R"(
>>> tf.matrix_band_part([[1, 2], [3, 4]], 0, -1).eval().tolist()
[[1, 2], [0, 4]])");

MILLSTREAM_OP("BatchMatrixBandPart")
    .Input("input: T")
    .Input("num_lower: int64")
    .Input("num_upper: int64")
    .Output("band: T")
    .Attr("T: type")
    .KeepsFinite()
    .Shape(UnknownShape)
    .Doc(R"(Keeps a band of matrices, as MatrixBandPart does, in old graphs.)");

}  // namespace
}  // namespace millstream
