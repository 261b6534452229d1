// Gradients of tensor lists. The gradient of a list is a list of as many elements, each the
// gradient of the element at its place.
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// A list op on elements of the dtype of the differentiated op.
Output ListOp(GradientContext* context, const char* op, const std::vector<Output>& inputs) {
  const StatusOr<DataType> dtype = context->Attr<DataType>("element_dtype");
  context->builder()->UpdateStatus(dtype.status());
  if (!dtype.ok()) return Output();
  return context->builder()->Op(op, inputs, {{"element_dtype", *dtype}});
}

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
  context->SetDx(0, ListOp(context, "TensorListPushBack", {context->dy(0), context->dy(1)}));
  return absl::OkStatus();
}

// The shape of a tensor's rows, a vector.
Output RowShape(GraphBuilder* builder, Output tensor) {
  const PartialShape shape = builder->ShapeOf(tensor);
  if (shape.IsFullyKnown() && shape.rank() > 0) {
    return builder->Int32Vector(std::vector<int32_t>(shape.dims().begin() + 1, shape.dims().end()));
  }
  return builder->Op("Slice", {builder->Op("Shape", {tensor}), builder->Int32Vector({1}),
                               builder->Int32Vector({-1})});
}

Output LengthOf(GradientContext* context, Output list) {
  return context->builder()->Op("TensorListLength", {list});
}

// The element shape of a list of gradients. It says nothing: elements of a list may differ in
// shape, and what reads an unset one says which shape it has.
Output AnyShape(GradientContext* context) { return context->builder()->Int32(-1); }

// ---- Single elements ----

// Elements that no op read have no gradient: they stay unset.
Output UnsetLike(GradientContext* context, Output list) {
  // Lists of lists: what reads an element expects a list.
  const StatusOr<DataType> dtype = context->Attr<DataType>("element_dtype");
  if (dtype.ok() && *dtype == DataType::kVariant) {
    return context->builder()->Op("ZerosLike", {list});
  }
  return ListOp(context, "TensorListReserve", {AnyShape(context), LengthOf(context, list)});
}

Status GetItemGradient(GradientContext* context) {
  const Output zeros = UnsetLike(context, context->input(0));
  context->SetDx(0,
                 ListOp(context, "TensorListSetItem", {zeros, context->input(1), context->dy(0)}));
  return absl::OkStatus();
}

// What was replaced has no influence.
Status SetItemGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  const Output index = context->input(1);
  const Output item = context->input(2);
  const Output dlist = context->dy(0);
  context->SetDx(
      0, ListOp(context, "TensorListSetItem", {dlist, index, builder->Op("ZerosLike", {item})}));
  context->SetDx(2,
                 ListOp(context, "TensorListGetItem", {dlist, index, ShapeVector(builder, item)}));
  return absl::OkStatus();
}

Status ResizeGradient(GradientContext* context) {
  context->SetDx(0, context->builder()->Op("TensorListResize",
                                           {context->dy(0), LengthOf(context, context->input(0))}));
  return absl::OkStatus();
}

// ---- Rows ----

Status FromTensorGradient(GradientContext* context) {
  const Output shape = RowShape(context->builder(), context->input(0));
  context->SetDx(0, ListOp(context, "TensorListStack", {context->dy(0), shape}));
  return absl::OkStatus();
}

Status StackGradient(GradientContext* context) {
  context->SetDx(0, ListOp(context, "TensorListFromTensor", {context->dy(0), AnyShape(context)}));
  return absl::OkStatus();
}

// Of several rows of one element, the gradient of the last one counts: graph programs expect no
// sum.
Status GatherGradient(GradientContext* context) {
  const Output length = LengthOf(context, context->input(0));
  context->SetDx(0, ListOp(context, "TensorListScatterV2",
                           {context->dy(0), context->input(1), AnyShape(context), length}));
  return absl::OkStatus();
}

// The rows that indices name. Graph programs know no exception for rows that a later one replaced.
Output GatheredRows(GradientContext* context, Output dlist, Output indices, Output tensor) {
  return ListOp(context, "TensorListGather",
                {dlist, indices, RowShape(context->builder(), tensor)});
}

Status ScatterGradient(GradientContext* context) {
  context->SetDx(0, GatheredRows(context, context->dy(0), context->input(1), context->input(0)));
  return absl::OkStatus();
}

Status ScatterIntoGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  const Output tensor = context->input(1);
  const Output indices = context->input(2);
  const Output zeros = builder->Op("ZerosLike", {tensor});
  const Output dlist =
      ListOp(context, "TensorListScatterIntoExistingList", {context->dy(0), zeros, indices});
  context->SetDx(0, builder->Op("TensorListResize", {dlist, LengthOf(context, context->input(0))}));
  context->SetDx(1, GatheredRows(context, context->dy(0), indices, tensor));
  return absl::OkStatus();
}

// Output 1 has the lengths of the pieces.
Status ConcatGradient(GradientContext* context) {
  context->SetDx(0, ListOp(context, "TensorListSplit",
                           {context->dy(0), AnyShape(context), context->output(1)}));
  return absl::OkStatus();
}

Status SplitGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  const Output shape =
      ConcatVectors(builder, {builder->Int32Vector({-1}), RowShape(builder, context->input(0))});
  context->SetDx(0,
                 ListOp(context, "TensorListConcatV2", {context->dy(0), shape, context->input(2)}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("TensorListPushBack", PushBackGradient);
MILLSTREAM_GRADIENT("TensorListPopBack", PopBackGradient);
MILLSTREAM_GRADIENT("TensorListGetItem", GetItemGradient);
MILLSTREAM_GRADIENT("TensorListSetItem", SetItemGradient);
MILLSTREAM_GRADIENT("TensorListResize", ResizeGradient);
MILLSTREAM_GRADIENT("TensorListFromTensor", FromTensorGradient);
MILLSTREAM_GRADIENT("TensorListStack", StackGradient);
MILLSTREAM_GRADIENT("TensorListGather", GatherGradient);
MILLSTREAM_GRADIENT("TensorListScatter", ScatterGradient);
MILLSTREAM_GRADIENT("TensorListScatterV2", ScatterGradient);
MILLSTREAM_GRADIENT("TensorListScatterIntoExistingList", ScatterIntoGradient);
MILLSTREAM_GRADIENT("TensorListConcat", ConcatGradient);
MILLSTREAM_GRADIENT("TensorListConcatV2", ConcatGradient);
MILLSTREAM_GRADIENT("TensorListSplit", SplitGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("EmptyTensorList");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorListReserve");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorListLength");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorListElementShape");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorListConcatLists");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorListPushBackBatch");

}  // namespace
}  // namespace millstream
