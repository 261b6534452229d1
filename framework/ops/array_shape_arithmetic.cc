// Integer arithmetic on shapes that gradients need.
#include <algorithm>
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

// The dimensions over which the gradients of two broadcast operands are summed.
struct ReducedDimensions {
  std::vector<int64_t> of_x, of_y;
};

// Equal shapes reduce nothing; otherwise a dimension in which both operands have size 1, or are
// missing one, is among both.
StatusOr<ReducedDimensions> BroadcastReductions(const std::vector<int64_t>& x,
                                                const std::vector<int64_t>& y) {
  ReducedDimensions reduced;
  if (x == y) return reduced;
  const int rank = static_cast<int>(std::max(x.size(), y.size()));
  const auto size_at = [rank](const std::vector<int64_t>& shape, int i) {
    const int missing = rank - static_cast<int>(shape.size());
    return i < missing ? 1 : shape[i - missing];
  };
  for (int i = 0; i < rank; ++i) {
    const int64_t x_size = size_at(x, i);
    const int64_t y_size = size_at(y, i);
    if (x_size != y_size && x_size != 1 && y_size != 1) {
      return errors::InvalidArgument("shapes do not broadcast: sizes ", x_size, " and ", y_size,
                                     " in dimension ", i, " of ", rank);
    }
    if (x_size == 1) reduced.of_x.push_back(i);
    if (y_size == 1) reduced.of_y.push_back(i);
  }
  return reduced;
}

Status BroadcastGradientArgsShape(ShapeContext* context) {
  for (int i = 0; i < 2; ++i) {
    MS_RETURN_IF_ERROR(context->WithRank(i, 1).status());
    context->SetOutput(i, PartialShape::Vector(kUnknownDim));
  }
  const std::optional<std::vector<int64_t>> x = KnownIndexElements(*context, 0);
  const std::optional<std::vector<int64_t>> y = KnownIndexElements(*context, 1);
  if (!x.has_value() || !y.has_value()) return absl::OkStatus();
  const StatusOr<ReducedDimensions> reduced = BroadcastReductions(*x, *y);
  if (!reduced.ok()) return InputError(*context, 1, reduced.status());
  context->SetOutput(0, PartialShape::Vector(reduced->of_x.size()));
  context->SetOutput(1, PartialShape::Vector(reduced->of_y.size()));
  return absl::OkStatus();
}

void BroadcastGradientArgsValue(ShapeContext* context) {
  const std::optional<std::vector<int64_t>> x = KnownIndexElements(*context, 0);
  const std::optional<std::vector<int64_t>> y = KnownIndexElements(*context, 1);
  if (!x.has_value() || !y.has_value()) return;
  const StatusOr<ReducedDimensions> reduced = BroadcastReductions(*x, *y);
  if (!reduced.ok()) return;
  SetIndexValue(context, 0, PartialValue(reduced->of_x.begin(), reduced->of_x.end()));
  SetIndexValue(context, 1, PartialValue(reduced->of_y.begin(), reduced->of_y.end()));
}

// The broadcast of two shapes as far as it is known; nullopt when not even its rank is. A size
// other than 1 hides an unknown one: where they do not broadcast, the kernel fails.
StatusOr<std::optional<PartialValue>> BroadcastSizes(const ShapeContext& context) {
  const std::optional<PartialValue> x = IndexElements(context, 0);
  const std::optional<PartialValue> y = IndexElements(context, 1);
  if (!x.has_value() || !y.has_value()) return std::optional<PartialValue>();
  const size_t rank = std::max(x->size(), y->size());
  PartialValue sizes(rank);
  for (size_t i = 0; i < rank; ++i) {
    const std::optional<int64_t> one = 1;
    const std::optional<int64_t> a = i + x->size() < rank ? one : (*x)[i + x->size() - rank];
    const std::optional<int64_t> b = i + y->size() < rank ? one : (*y)[i + y->size() - rank];
    if (a.has_value() && b.has_value() && *a != *b && *a != 1 && *b != 1) {
      return InvalidInput(context, 1, "shapes do not broadcast: sizes ", *a, " and ", *b,
                          " in dimension ", i, " of ", rank);
    }
    if (a.has_value() && b.has_value()) sizes[i] = *a == 1 ? *b : *a;
  }
  return std::optional<PartialValue>(std::move(sizes));
}

Status BroadcastArgsShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape x, context->WithRank(0, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape y, context->WithRank(1, 1));
  MS_RETURN_IF_ERROR(BroadcastSizes(*context).status());
  const bool known = x.dim(0) != kUnknownDim && y.dim(0) != kUnknownDim;
  context->SetOutput(0, PartialShape::Vector(known ? std::max(x.dim(0), y.dim(0)) : kUnknownDim));
  return absl::OkStatus();
}

void BroadcastArgsValue(ShapeContext* context) {
  StatusOr<std::optional<PartialValue>> sizes = BroadcastSizes(*context);
  if (sizes.ok() && sizes->has_value()) SetIndexValue(context, 0, **std::move(sizes));
}

// Shapes to be concatenated must agree but for the axis.
Status CheckConcatOffsetShapes(const ShapeContext& context, std::optional<int> axis) {
  const std::optional<PartialValue> first = IndexElements(context, 1);
  if (!first.has_value() || !axis.has_value()) return absl::OkStatus();
  for (int i = 2; i < context.num_inputs(); ++i) {
    const std::optional<PartialValue> shape = IndexElements(context, i);
    if (!shape.has_value()) continue;
    for (int d = 0; d < static_cast<int>(first->size()); ++d) {
      const std::optional<int64_t> want = (*first)[d];
      const std::optional<int64_t> got = (*shape)[d];
      if (d != *axis && want.has_value() && got.has_value() && *want != *got) {
        return InvalidInput(context, i, "size ", d, " must be ", *want,
                            " as in the first shape, got ", *got);
      }
    }
  }
  return absl::OkStatus();
}

Status ConcatOffsetShape(ShapeContext* context) {
  PartialShape shape = PartialShape::UnknownOfRank(1);
  for (int i = 1; i < context->num_inputs(); ++i) {
    MS_RETURN_IF_ERROR(context->WithRank(i, 1).status());
    StatusOr<PartialShape> merged = shape.MergeWith(context->input(i));
    if (!merged.ok()) return InputError(*context, i, merged.status());
    shape = *std::move(merged);
  }
  const int64_t rank = shape.dim(0);
  MS_RETURN_IF_ERROR(CheckEntryCount(*context, 1, rank));
  MS_ASSIGN_OR_RETURN(std::optional<int> axis,
                      AxisInput(*context, 0, rank == kUnknownDim ? -1 : static_cast<int>(rank)));
  MS_RETURN_IF_ERROR(CheckConcatOffsetShapes(*context, axis));
  for (int i = 0; i < context->num_outputs(); ++i) context->SetOutput(i, shape);
  return absl::OkStatus();
}

void ConcatOffsetValue(ShapeContext* context) {
  const int64_t rank = context->output(0).dim(0);
  if (rank == kUnknownDim || rank > kMaxFollowedElements) return;
  const StatusOr<std::optional<int>> axis = AxisInput(*context, 0, static_cast<int>(rank));
  if (!axis.ok() || !axis->has_value()) return;
  std::optional<int64_t> offset = 0;
  for (int i = 0; i < context->num_outputs(); ++i) {
    PartialValue value(rank, 0);
    value[**axis] = offset;
    SetIndexValue(context, i, std::move(value));
    const std::optional<PartialValue> shape = IndexElements(*context, i + 1);
    const std::optional<int64_t> size = shape.has_value() ? (*shape)[**axis] : std::nullopt;
    offset = offset.has_value() && size.has_value() ? std::optional<int64_t>(*offset + *size)
                                                    : std::nullopt;
  }
}

MILLSTREAM_OP("BroadcastGradientArgs")
    .Input("s0: T")
    .Input("s1: T")
    .Output("r0: T")
    .Output("r1: T")
    .Attr(TypeAttr("T", kIndexTypes, " = int32"))
    .Shape(BroadcastGradientArgsShape)
    .Value(BroadcastGradientArgsValue)
    .Doc(R"(Tells over which dimensions the gradients of a broadcast operation are summed.

s0 and s1 are the shapes of the operands. r0 and r1 list, in ascending order, the dimensions
of the result along which the operand was repeated; both are empty for equal shapes.
INVALID_ARGUMENT when the shapes do not broadcast.)");

MILLSTREAM_OP("BroadcastArgs")
    .Input("s0: T")
    .Input("s1: T")
    .Output("r0: T")
    .Attr(TypeAttr("T", kIndexTypes, " = int32"))
    .Shape(BroadcastArgsShape)
    .Value(BroadcastArgsValue)
    .Doc(R"(Gives the shape that two shapes broadcast to.

INVALID_ARGUMENT when they do not broadcast.)")
    .Example(R"(
>>> tf.broadcast_dynamic_shape([2, 1], [3]).eval()
array([2, 3], dtype=int32))");

MILLSTREAM_OP("ConcatOffset")
    .Input("concat_dim: int32")
    .Input("shape: N * int32")
    .Output("offset: N * int32")
    .Attr("N: int >= 2")
    .Shape(ConcatOffsetShape)
    .Value(ConcatOffsetValue)
    .Doc(R"(Tells where each of N tensors begins in their concatenation.

shape holds the shapes of the tensors, which must agree but for concat_dim. Each offset is a
vector, zero everywhere but at concat_dim.)");

}  // namespace
}  // namespace millstream
