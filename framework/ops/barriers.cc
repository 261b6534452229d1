// Barriers: elements whose components come from several steps. The ops on references are for
// imported graphs alone (references.cc); the internal ops on handles of the same names, after "_",
// run them.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// References were vectors of two names.
Status ReferenceShape(ShapeContext* context) {
  context->SetOutput(0, PartialShape::Vector(2));
  return absl::OkStatus();
}

Status HandleShape(ShapeContext* context) {
  const bool is_reference = context->op().inputs[0].is_ref;
  return is_reference ? absl::OkStatus() : context->WithRank(0, 0).status();
}

Status InsertShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(context));
  return context->WithRank(1, 1).status();
}

// What is taken has the shape of what was inserted, which the graph does not say.
Status TakeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(context));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  context->SetOutput(0, PartialShape::UnknownOfRank(1));
  context->SetOutput(1, PartialShape::UnknownOfRank(1));
  for (int k = 2; k < context->num_outputs(); ++k) context->SetOutput(k, PartialShape());
  return absl::OkStatus();
}

Status SizeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(context));
  return ScalarShape(context);
}

void ByHandle(OpSpec* spec) { spec->Output("handle: resource").Stateful().Shape(ScalarShape); }
void ByReference(OpSpec* spec) {
  spec->Output("handle: Ref(string)").Stateful().Shape(ReferenceShape);
}
void OnHandle(OpSpec* spec) { spec->Input("handle: resource").Stateful(); }
void OnReference(OpSpec* spec) { spec->Input("handle: Ref(string)"); }

void Barrier(OpSpec* spec) {
  spec->Attr("component_types: list(type) >= 1")
      .Attr("shapes: list(shape) >= 0 = []")
      .Attr("capacity: int = -1")
      .Attr("container: string = \"\"")
      .Attr("shared_name: string = \"\"")
      .Doc(R"(Gives the handle of a barrier, which puts elements together by keys.

An element is complete when it has a component of each of component_types. Complete elements come out
in the order in which their keys were first inserted. capacity must be -1. The barrier lives in the
container, under shared_name or else the node's name.)");
}

void InsertMany(OpSpec* spec) {
  spec->Input("keys: string")
      .Input("values: T")
      .Attr("T: type")
      .Attr("component_index: int")
      .Shape(InsertShape)
      .Doc(R"(Gives the elements of keys a component: the rows of values.

INVALID_ARGUMENT if one has it already. CANCELLED for new keys of a closed barrier.)");
}

void TakeMany(OpSpec* spec) {
  spec->Input("num_elements: int32")
      .Output("indices: int64")
      .Output("keys: string")
      .Output("values: component_types")
      .Attr("component_types: list(type) >= 1")
      .Attr("allow_small_batch: bool = false")
      .Attr("wait_for_incomplete: bool = false")
      .Attr("timeout_ms: int = -1")
      .Shape(TakeShape)
      .Doc(R"(Takes complete elements out of a barrier, and waits until there are num_elements.

indices are numbers of the keys, in the order in which they were first inserted. OUT_OF_RANGE if the
barrier is closed and will not have so many; with allow_small_batch only if it has none. With
wait_for_incomplete, a closed barrier's elements are waited for that are not complete. timeout_ms must
be -1.)");
}

void Close(OpSpec* spec) {
  spec->Attr("cancel_pending_enqueues: bool = false")
      .Shape(HandleShape)
      .Doc(R"(Closes a barrier: new keys are refused.

Elements that are not complete can still be completed, or are removed if cancel_pending_enqueues is
set.)");
}

void ReadySize(OpSpec* spec) {
  spec->Output("size: int32")
      .Shape(SizeShape)
      .Doc(R"(Gives the number of complete elements in a barrier.)");
}

void IncompleteSize(OpSpec* spec) {
  spec->Output("size: int32")
      .Shape(SizeShape)
      .Doc(R"(Gives the number of elements in a barrier that are not complete.)");
}

MILLSTREAM_OP("Barrier").With(ByReference).With(Barrier);
MILLSTREAM_OP("_Barrier").With(ByHandle).With(Barrier);
MILLSTREAM_OP("BarrierInsertMany").With(OnReference).With(InsertMany);
MILLSTREAM_OP("_BarrierInsertMany").With(OnHandle).With(InsertMany);
MILLSTREAM_OP("BarrierTakeMany").With(OnReference).With(TakeMany);
MILLSTREAM_OP("_BarrierTakeMany").With(OnHandle).With(TakeMany);
MILLSTREAM_OP("BarrierClose").With(OnReference).With(Close);
MILLSTREAM_OP("_BarrierClose").With(OnHandle).With(Close);
MILLSTREAM_OP("BarrierReadySize").With(OnReference).With(ReadySize);
MILLSTREAM_OP("_BarrierReadySize").With(OnHandle).With(ReadySize);
MILLSTREAM_OP("BarrierIncompleteSize").With(OnReference).With(IncompleteSize);
MILLSTREAM_OP("_BarrierIncompleteSize").With(OnHandle).With(IncompleteSize);

}  // namespace
}  // namespace millstream
