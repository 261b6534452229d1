// Mutexes, which one step holds at a time.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status LockShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  return ScalarShape(context);
}

Status ConsumeShape(ShapeContext* context) { return context->WithRank(0, 0).status(); }

MILLSTREAM_OP("MutexV2")
    .Output("resource: resource")
    .Attr("container: string = \"\"")
    .Attr("shared_name: string = \"\"")
    .Stateful()
    .Shape(ScalarShape)
    .Doc(R"(Gives the handle of a mutex, which one step holds at a time.

The mutex lives in the container, under shared_name or else the node's name.)");

MILLSTREAM_OP("MutexLock")
    .Input("mutex: resource")
    .Output("mutex_lock: variant")
    .Stateful()
    .Shape(LockShape)
    .Doc(R"(Takes a mutex, and waits while another step, or another node, has it.

Who waits gets it in turn. ConsumeMutexLock gives it back; so does the end of the step.)");

MILLSTREAM_OP("ConsumeMutexLock")
    .Input("mutex_lock: variant")
    .Stateful()
    .Shape(ConsumeShape)
    .Doc(R"(Gives a mutex back.

mutex_lock is what MutexLock gave. INVALID_ARGUMENT if it was consumed before.)");

}  // namespace
}  // namespace millstream
