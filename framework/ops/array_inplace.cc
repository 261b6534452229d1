// Empty, and ops that change rows of a tensor, in its memory where nobody else reads it.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status EmptyShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 0));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// v has a row of x for each element of i.
Status InplaceShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape x, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape rows, context->WithRank(1, 1));
  MS_ASSIGN_OR_RETURN(PartialShape v, context->WithRankAtLeast(2, 1));
  PartialShape expected = x;
  if (x.known_rank()) expected.set_dim(0, rows.dim(0));
  const StatusOr<PartialShape> merged = v.MergeWith(expected);
  if (!merged.ok()) return InputError(*context, 2, merged.status());
  if (x.known_rank() && x.dim(0) == 0 && rows.dim(0) > 0) {
    return InvalidInput(*context, 1, "x has no row that it could name");
  }
  context->SetOutput(0, std::move(x));
  return absl::OkStatus();
}

MILLSTREAM_OP("Empty")
    .Input("shape: int32")
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("init: bool = false")
    .Stateful()
    .KeepsFinite()
    .Shape(EmptyShape)
    .Doc(R"(Makes a tensor of shape `shape`, whose elements are to be set later.

They are zeros, whatever init says.)");

void ChangesRows(OpSpec* spec) {
  spec->Input("x: T")
      .Input("i: int32")
      .Input("v: T")
      .Output("y: T")
      .Attr("T: type")
      .Shape(InplaceShape);
}

MILLSTREAM_OP("InplaceUpdate").With(ChangesRows).KeepsFinite().Doc(R"(Replaces rows of a tensor.

Row i[k] of y is row k of v; the other rows are those of x. An index beyond the rows of x counts
modulo their number.)");

MILLSTREAM_OP("InplaceAdd").With(ChangesRows).Doc(R"(Adds to rows of a tensor.

Row k of v is added to row i[k] of x. An index beyond the rows of x counts modulo their number.)");

MILLSTREAM_OP("InplaceSub").With(ChangesRows).Doc(R"(Subtracts from rows of a tensor.

Row k of v is subtracted from row i[k] of x. An index beyond the rows of x counts modulo their
number.)");

}  // namespace
}  // namespace millstream
