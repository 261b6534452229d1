// Losses that also output their gradients.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status SoftmaxCrossEntropyShape(ShapeContext* context) {
  for (int i = 0; i < 2; ++i) MS_RETURN_IF_ERROR(context->WithRankAtMost(i, 2).status());
  // Sizes other than 1 are those of the result, whatever the other argument is.
  const auto matrix = [&](int i) {
    const PartialShape& shape = context->input(i);
    return shape.known_rank() ? shape : PartialShape::UnknownOfRank(2);
  };
  StatusOr<PartialShape> broadcast = BroadcastShapes(matrix(0), matrix(1));
  if (!broadcast.ok()) return InputError(*context, 1, broadcast.status());
  PartialShape logits = *std::move(broadcast);
  if (logits.rank() != 2) {
    return InvalidInput(*context, 0, "expected a matrix [batch, classes], got ",
                        context->input(0).ToString(), " with labels ",
                        context->input(1).ToString());
  }
  context->SetOutput(0, PartialShape::Vector(logits.dim(0)));
  context->SetOutput(1, std::move(logits));
  return absl::OkStatus();
}

Status SparseSoftmaxCrossEntropyShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape features, context->WithRank(0, 2));
  StatusOr<PartialShape> labels = context->WithRank(1, 1);
  if (!labels.ok()) return WithContext(labels.status(), "labels must be 1-D");
  const StatusOr<int64_t> batch = context->MergeDim(features.dim(0), labels->dim(0));
  if (!batch.ok()) return InputError(*context, 1, batch.status());
  context->SetOutput(0, PartialShape::Vector(*batch));
  context->SetOutput(1, PartialShape::Matrix(*batch, features.dim(1)));
  return absl::OkStatus();
}

MILLSTREAM_OP("SoftmaxCrossEntropyWithLogits")
    .Input("features: T")
    .Input("labels: T")
    .Output("loss: T")
    .Output("backprop: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Shape(SoftmaxCrossEntropyShape)
    .Doc(R"(Gives the cross-entropy of softmax(features) and labels, and its gradient.

features and labels are matrices [batch, classes] and broadcast. loss is the vector
-sum(labels * log(softmax(features))), and backprop, softmax(features) - labels, its
gradient for features where the labels of a row add up to 1.)");

MILLSTREAM_OP("SparseSoftmaxCrossEntropyWithLogits")
    .Input("features: T")
    .Input("labels: Tlabels")
    .Output("loss: T")
    .Output("backprop: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Attr(TypeAttr("Tlabels", kIndexTypes, " = int64"))
    .Shape(SparseSoftmaxCrossEntropyShape)
    .Doc(R"(Gives the cross-entropy of softmax(features) and given classes, and its gradient.

features is a matrix [batch, classes]; labels is a vector [batch] of classes. loss is the
vector of -log(softmax(features)[row, label]), and backprop its gradient for features.
INVALID_ARGUMENT for a label outside 0 to classes exclusive.)");

}  // namespace
}  // namespace millstream
