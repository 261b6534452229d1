// Queues: tensors that go from step to step.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status HandleShape(ShapeContext* context) { return context->WithRank(0, 0).status(); }

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

MILLSTREAM_OP("FIFOQueueV2")
    .Output("handle: resource")
    .Attr("component_types: list(type) >= 1")
    .Attr("shapes: list(shape) >= 0 = []")
    .Attr("capacity: int = -1")
    .Attr("container: string = \"\"")
    .Attr("shared_name: string = \"\"")
    .Stateful()
    .Shape(ScalarShape)
    .Doc(R"(Gives the handle of a queue, whose elements come out in the order in which they went in.

An element is a tuple of tensors of component_types; where shapes are given they are those of
the tensors. The queue holds at most capacity elements, any number when that is negative. It
lives in the container, under shared_name or else the node's name; nodes with the same two
share it.)");

MILLSTREAM_OP("QueueEnqueueV2")
    .Input("handle: resource")
    .Input("components: Tcomponents")
    .Attr("Tcomponents: list(type) >= 1")
    .Attr("timeout_ms: int = -1")
    .Stateful()
    .Shape(HandleShape)
    .Doc(R"(Puts one element into a queue, and waits while there is no room.

CANCELLED when the queue is closed. INVALID_ARGUMENT when the components are not those of the
queue. timeout_ms must be -1.)");

MILLSTREAM_OP("QueueEnqueueManyV2")
    .Input("handle: resource")
    .Input("components: Tcomponents")
    .Attr("Tcomponents: list(type) >= 1")
    .Attr("timeout_ms: int = -1")
    .Stateful()
    .Shape(HandleShape)
    .Doc(R"(Puts the rows of the components into a queue, one element a row.

The elements go in one by one as there is room; it waits for all of them. Errors are those of
QueueEnqueueV2.)");

MILLSTREAM_OP("QueueDequeueV2")
    .Input("handle: resource")
    .Output("components: component_types")
    .Attr("component_types: list(type) >= 1")
    .Attr("timeout_ms: int = -1")
    .Stateful()
    .Shape(DequeueShape)
    .Doc(R"(Takes one element out of a queue, and waits while there is none.

OUT_OF_RANGE when the queue is closed and empty. timeout_ms must be -1.)");

MILLSTREAM_OP("QueueDequeueManyV2")
    .Input("handle: resource")
    .Input("n: int32")
    .Output("components: component_types")
    .Attr("component_types: list(type) >= 1")
    .Attr("timeout_ms: int = -1")
    .Stateful()
    .Shape(DequeueManyShape)
    .Doc(R"(Takes n elements out of a queue, and gives them as the rows of its outputs.

It waits until there have been n. OUT_OF_RANGE when the queue is closed and holds fewer, which
stay in it. The queue's shapes must be known.)");

MILLSTREAM_OP("QueueCloseV2")
    .Input("handle: resource")
    .Attr("cancel_pending_enqueues: bool = false")
    .Stateful()
    .Shape(HandleShape)
    .Doc(R"(Closes a queue: what is in it can be taken out, but nothing is put in any more.

Enqueues that wait are done first, or end with CANCELLED when cancel_pending_enqueues is set.
CANCELLED when the queue is closed already.)");

MILLSTREAM_OP("QueueSizeV2")
    .Input("handle: resource")
    .Output("size: int32")
    .Stateful()
    .Shape(QueueStateShape)
    .Doc(R"(Gives the number of elements in a queue.)");

MILLSTREAM_OP("QueueIsClosedV2")
    .Input("handle: resource")
    .Output("is_closed: bool")
    .Stateful()
    .Shape(QueueStateShape)
    .Doc(R"(Tells whether a queue is closed.)");

}  // namespace
}  // namespace millstream
