// Queues: tensors that go from step to step. Each op has a first form, on a reference to the name
// of the queue. It is for imported graphs alone, which run the second form (references.cc).
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

// What comes out of a queue has the shape of what was put in, which the graph does not say.
Status DequeueShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(context));
  for (int k = 0; k < context->num_outputs(); ++k) context->SetOutput(k, PartialShape());
  return absl::OkStatus();
}

Status DequeueManyShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  return DequeueShape(context);
}

Status QueueStateShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(context));
  return ScalarShape(context);
}

// ---- What the two forms of an op have in common ----

void ByHandle(OpSpec* spec) { spec->Output("handle: resource").Stateful().Shape(ScalarShape); }
void ByReference(OpSpec* spec) {
  spec->Output("handle: Ref(string)").Stateful().Shape(ReferenceShape);
}
void OnHandle(OpSpec* spec) { spec->Input("handle: resource").Stateful(); }
void OnReference(OpSpec* spec) { spec->Input("handle: Ref(string)"); }

void WhereItLives(OpSpec* spec) {
  spec->Attr("capacity: int = -1")
      .Attr("container: string = \"\"")
      .Attr("shared_name: string = \"\"");
}

void FifoQueue(OpSpec* spec) {
  spec->Attr("component_types: list(type) >= 1")
      .Attr("shapes: list(shape) >= 0 = []")
      .With(WhereItLives)
      .Doc(
          R"(Gives the handle of a queue, whose elements come out in the order in which they went in.

An element is a tuple of tensors of component_types; where shapes are given they are those of
the tensors. The queue holds at most capacity elements, any number when that is negative. It
lives in the container, under shared_name or else the node's name; nodes with the same two
share it.)");
}

void PaddingFifoQueue(OpSpec* spec) {
  spec->Attr("component_types: list(type) >= 1")
      .Attr("shapes: list(shape) >= 0 = []")
      .With(WhereItLives)
      .Doc(R"(Gives the handle of a FIFOQueue whose elements may have different sizes.

shapes has a shape of known rank for each component. The elements that are taken out together are
padded with zeros, or empty strings, to the largest of them. For the other attributes see
FIFOQueue.)");
}

void PriorityQueue(OpSpec* spec) {
  spec->Attr("component_types: list(type) >= 0 = []")
      .Attr("shapes: list(shape) >= 0")
      .With(WhereItLives)
      .Doc(R"(Gives the handle of a queue whose elements come out by priority, the smallest first.

The first component of an element is its priority, a scalar of int64. component_types and shapes
are those of the components after it. Elements of equal priority come out in the order in which
they went in. For the other attributes see FIFOQueue.)");
}

void RandomShuffleQueue(OpSpec* spec) {
  spec->Attr("component_types: list(type) >= 1")
      .Attr("shapes: list(shape) >= 0 = []")
      .Attr("capacity: int = -1")
      .Attr("min_after_dequeue: int = 0")
      .Attr("seed: int = 0")
      .Attr("seed2: int = 0")
      .Attr("container: string = \"\"")
      .Attr("shared_name: string = \"\"")
      .Doc(R"(Gives the handle of a queue whose elements come out in random order.

Until the queue is closed, a dequeue leaves min_after_dequeue elements in it: the more there are, the
better they are mixed. With both seeds 0 the order is another one in every session. For the other
attributes see FIFOQueue.)");
}

void QueueEnqueue(OpSpec* spec) {
  spec->Input("components: Tcomponents")
      .Attr("Tcomponents: list(type) >= 1")
      .Attr("timeout_ms: int = -1")
      .Shape(HandleShape)
      .Doc(R"(Puts one element into a queue, and waits while there is no room.

CANCELLED when the queue is closed. INVALID_ARGUMENT when the components are not those of the
queue. timeout_ms must be -1.)");
}

void QueueEnqueueMany(OpSpec* spec) {
  spec->Input("components: Tcomponents")
      .Attr("Tcomponents: list(type) >= 1")
      .Attr("timeout_ms: int = -1")
      .Shape(HandleShape)
      .Doc(R"(Puts the rows of the components into a queue, one element a row.

The elements go in one by one as there is room; it waits for all of them. Errors are those of
QueueEnqueueV2.)");
}

void QueueDequeue(OpSpec* spec) {
  spec->Output("components: component_types")
      .Attr("component_types: list(type) >= 1")
      .Attr("timeout_ms: int = -1")
      .Shape(DequeueShape)
      .Doc(R"(Takes one element out of a queue, and waits while there is none.

OUT_OF_RANGE when the queue is closed and empty. timeout_ms must be -1.)");
}

void QueueDequeueMany(OpSpec* spec) {
  spec->Input("n: int32")
      .Output("components: component_types")
      .Attr("component_types: list(type) >= 1")
      .Attr("timeout_ms: int = -1")
      .Shape(DequeueManyShape)
      .Doc(R"(Takes n elements out of a queue, and gives them as the rows of its outputs.

It waits until there have been n. OUT_OF_RANGE when the queue is closed and holds fewer, which
stay in it. The queue's shapes must be known.)");
}

void QueueDequeueUpTo(OpSpec* spec) {
  spec->Input("n: int32")
      .Output("components: component_types")
      .Attr("component_types: list(type) >= 1")
      .Attr("timeout_ms: int = -1")
      .Shape(DequeueManyShape)
      .Doc(R"(Takes n elements out of a queue, or those that a closed queue still has.

As QueueDequeueManyV2, but a closed queue with fewer than n elements gives them all. OUT_OF_RANGE
when it has none.)");
}

void QueueClose(OpSpec* spec) {
  spec->Attr("cancel_pending_enqueues: bool = false")
      .Shape(HandleShape)
      .Doc(R"(Closes a queue: what is in it can be taken out, but nothing is put in any more.

Enqueues that wait are done first, or end with CANCELLED when cancel_pending_enqueues is set.
CANCELLED when the queue is closed already.)");
}

void QueueSize(OpSpec* spec) {
  spec->Output("size: int32")
      .Shape(QueueStateShape)
      .Doc(R"(Gives the number of elements in a queue.)");
}

void QueueIsClosed(OpSpec* spec) {
  spec->Output("is_closed: bool").Shape(QueueStateShape).Doc(R"(Tells whether a queue is closed.)");
}

// ---- The ops ----

MILLSTREAM_OP("FIFOQueue").With(ByReference).With(FifoQueue);
MILLSTREAM_OP("FIFOQueueV2").With(ByHandle).With(FifoQueue);
MILLSTREAM_OP("PaddingFIFOQueue").With(ByReference).With(PaddingFifoQueue);
MILLSTREAM_OP("PaddingFIFOQueueV2").With(ByHandle).With(PaddingFifoQueue);
MILLSTREAM_OP("PriorityQueue").With(ByReference).With(PriorityQueue);
MILLSTREAM_OP("PriorityQueueV2").With(ByHandle).With(PriorityQueue);
MILLSTREAM_OP("RandomShuffleQueue").With(ByReference).With(RandomShuffleQueue);
MILLSTREAM_OP("RandomShuffleQueueV2").With(ByHandle).With(RandomShuffleQueue);
MILLSTREAM_OP("QueueEnqueue").With(OnReference).With(QueueEnqueue);
MILLSTREAM_OP("QueueEnqueueV2").With(OnHandle).With(QueueEnqueue);
MILLSTREAM_OP("QueueEnqueueMany").With(OnReference).With(QueueEnqueueMany);
MILLSTREAM_OP("QueueEnqueueManyV2").With(OnHandle).With(QueueEnqueueMany);
MILLSTREAM_OP("QueueDequeue").With(OnReference).With(QueueDequeue);
MILLSTREAM_OP("QueueDequeueV2").With(OnHandle).With(QueueDequeue);
MILLSTREAM_OP("QueueDequeueMany").With(OnReference).With(QueueDequeueMany);
MILLSTREAM_OP("QueueDequeueManyV2").With(OnHandle).With(QueueDequeueMany);
MILLSTREAM_OP("QueueDequeueUpTo").With(OnReference).With(QueueDequeueUpTo);
MILLSTREAM_OP("QueueDequeueUpToV2").With(OnHandle).With(QueueDequeueUpTo);
MILLSTREAM_OP("QueueClose").With(OnReference).With(QueueClose);
MILLSTREAM_OP("QueueCloseV2").With(OnHandle).With(QueueClose);
MILLSTREAM_OP("QueueSize").With(OnReference).With(QueueSize);
MILLSTREAM_OP("QueueSizeV2").With(OnHandle).With(QueueSize);
MILLSTREAM_OP("QueueIsClosed").With(OnReference).With(QueueIsClosed);
MILLSTREAM_OP("QueueIsClosedV2").With(OnHandle).With(QueueIsClosed);

MILLSTREAM_OP("FakeQueue")
    .Input("resource: resource")
    .Output("handle: Ref(string)")
    .Stateful()
    .Shape(ReferenceShape)
    .Doc(R"(Gives a reference to a queue that has a handle, in imported graphs.)");

}  // namespace
}  // namespace millstream
