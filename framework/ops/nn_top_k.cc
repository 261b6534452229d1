// Ops that order the elements along the last dimension.
#include <optional>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The outputs' shape: k replaces the last dimension of the input. An unknown k is nullopt.
Status SetTopKShape(ShapeContext* context, std::optional<int64_t> k) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, 1));
  if (shape.known_rank()) {
    const int last = shape.rank() - 1;
    if (k.has_value() && shape.dim(last) != kUnknownDim && shape.dim(last) < *k) {
      return InvalidInput(*context, 0, "input must have last dimension >= k = ", *k, " but is ",
                          shape.dim(last), ": the shape is ", shape.ToString());
    }
    shape.set_dim(last, k.value_or(kUnknownDim));
  }
  context->SetOutput(0, shape);
  context->SetOutput(1, std::move(shape));
  return absl::OkStatus();
}

Status TopKShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t k, context->Attr<int64_t>("k"));
  return SetTopKShape(context, k);
}

Status TopKV2Shape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(std::optional<int64_t> k, IndexScalar(*context, 1));
  if (k.has_value() && *k < 0) {
    return InvalidInput(*context, 1, "Need k >= 0, got ", *k);
  }
  return SetTopKShape(context, k);
}

Status NthElementShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(std::optional<int64_t> n, IndexScalar(*context, 1));
  if (n.has_value() && *n < 0) {
    return InvalidInput(*context, 1, "Need n >= 0, got ", *n);
  }
  context->SetOutput(0, PartialShape());
  if (!shape.known_rank()) return absl::OkStatus();
  const int64_t size = shape.dim(shape.rank() - 1);
  if (n.has_value() && size != kUnknownDim && size <= *n) {
    return InvalidInput(*context, 0, "Input must have last dimension > n = ", *n, " but is ", size,
                        ": the shape is ", shape.ToString());
  }
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i + 1 < shape.rank(); ++i) output.AddDim(shape.dim(i));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status InTopKShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape predictions, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(PartialShape targets, context->WithRank(1, 1));
  const StatusOr<int64_t> batch = context->MergeDim(predictions.dim(0), targets.dim(0));
  if (!batch.ok()) return InputError(*context, 1, batch.status());
  context->SetOutput(0, PartialShape::Vector(*batch));
  return absl::OkStatus();
}

Status InTopKV2Shape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(2, 0).status());
  return InTopKShape(context);
}

void TopKOutputs(OpSpec* spec) {
  (*spec)
      .Output("values: T")
      .Output("indices: int32")
      .Attr("sorted: bool = true")
      .Attr(TypeAttr("T", kRealTypes))
      .KeepsFinite();
}

MILLSTREAM_OP("TopK")
    .Input("input: T")
    .Attr("k: int >= 0")
    .With(TopKOutputs)
    .Shape(TopKShape)
    .Doc(R"(Finds the k largest elements along the last dimension.

See TopKV2, whose k is an input.)");

MILLSTREAM_OP("TopKV2")
    .Input("input: T")
    .Input("k: int32")
    .With(TopKOutputs)
    .Shape(TopKV2Shape)
    .Doc(R"(Finds the k largest elements along the last dimension.

values has them in descending order, and indices their places. Of equal elements the one of
the lower index comes first; a NaN comes after all numbers. k is a scalar. If sorted is
false, any order is allowed; it is the same here. INVALID_ARGUMENT if k is negative or
larger than the last dimension.)");

MILLSTREAM_OP("NthElement")
    .Input("input: T")
    .Input("n: int32")
    .Output("values: T")
    .Attr("reverse: bool = false")
    .Attr(TypeAttr("T", kRealTypes))
    .KeepsFinite()
    .Shape(NthElementShape)
    .Doc(R"(Finds the n-th smallest element along the last dimension, counted from 0.

The output has no last dimension. n is a scalar. With reverse it is the n-th largest element.
A NaN is below all numbers. INVALID_ARGUMENT unless n is in [0, last dimension).)");

MILLSTREAM_OP("InTopK")
    .Input("predictions: float")
    .Input("targets: T")
    .Output("precision: bool")
    .Attr("k: int")
    .Attr(TypeAttr("T", kIndexTypes, " = int32"))
    .Shape(InTopKShape)
    .Doc(R"(Says whether targets are among the k classes with the largest predictions.

See InTopKV2, whose k is an input.)");

MILLSTREAM_OP("InTopKV2")
    .Input("predictions: float")
    .Input("targets: T")
    .Input("k: T")
    .Output("precision: bool")
    .Attr(TypeAttr("T", kIndexTypes, " = int32"))
    .Shape(InTopKV2Shape)
    .Doc(R"(Says whether targets are among the k classes with the largest predictions.

predictions is a matrix [batch, classes], targets a vector [batch] of classes, and k a
scalar. Element i of the output is true if fewer than k predictions of row i are larger than
that of class targets[i], so that all classes of equal predictions are in or out. It is
false if the row has a prediction that is not finite, or if there is no such class.)");

}  // namespace
}  // namespace millstream
