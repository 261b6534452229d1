// Gradients of tensor lists. The gradient of a list is a list of as many elements, each the
// gradient of the element at its place.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Status PushBackGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  MS_ASSIGN_OR_RETURN(const DataType dtype, context->Attr<DataType>("element_dtype"));
  const Output shape = ShapeVector(builder, context->input(1));
  const Node* const popped =
      builder->NodeOf("TensorListPopBack", {context->dy(0), shape}, {{"element_dtype", dtype}});
  if (popped == nullptr) return builder->status();
  context->SetDx(0, popped->output(0));
  context->SetDx(1, popped->output(1));
  return absl::OkStatus();
}

Status PopBackGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const DataType dtype, context->Attr<DataType>("element_dtype"));
  context->SetDx(0, context->builder()->Op("TensorListPushBack", {context->dy(0), context->dy(1)},
                                           {{"element_dtype", dtype}}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("TensorListPushBack", PushBackGradient);
MILLSTREAM_GRADIENT("TensorListPopBack", PopBackGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("EmptyTensorList");

}  // namespace
}  // namespace millstream
