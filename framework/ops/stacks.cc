// Stacks of tensors, which live for a step. The ops that take references are those of older graphs.
// An import replaces them by those that take handles.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status HandleShape(ShapeContext* context) { return context->WithRank(0, 0).status(); }

Status StackShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  return ScalarShape(context);
}

Status PushShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(context));
  context->SetOutput(0, context->input(1));
  return absl::OkStatus();
}

// What comes off a stack has the shape of what was pushed, which the graph does not say.
Status PopShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(context));
  context->SetOutput(0, PartialShape());
  return absl::OkStatus();
}

// The name of a stack has two parts.
Status NameShape(ShapeContext* context) {
  context->SetOutput(0, PartialShape::Vector(2));
  return absl::OkStatus();
}

Status PushByNameShape(ShapeContext* context) {
  context->SetOutput(0, context->input(1));
  return absl::OkStatus();
}

Status PopByNameShape(ShapeContext* context) {
  context->SetOutput(0, PartialShape());
  return absl::OkStatus();
}

MILLSTREAM_OP("StackV2")
    .Input("max_size: int32")
    .Output("handle: resource")
    .Attr("elem_type: type")
    .Attr("stack_name: string = \"\"")
    .Stateful()
    .Shape(StackShape)
    .Doc(R"(Gives the handle of a stack of tensors, which is empty when a step begins.

The stack holds at most max_size tensors, any number if that is negative; it must be a constant. In
a loop, all iterations have the same stack. stack_name is for messages.)");

MILLSTREAM_OP("StackPushV2")
    .Input("handle: resource")
    .Input("elem: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("swap_memory: bool = false")
    .Stateful()
    .Shape(PushShape)
    .Doc(R"(Puts a tensor on a stack, and gives it.

INVALID_ARGUMENT if the stack is full or closed, or holds tensors of another type. swap_memory is
ignored: stacks are in host memory.)");

MILLSTREAM_OP("StackPopV2")
    .Input("handle: resource")
    .Output("elem: elem_type")
    .Attr("elem_type: type")
    .Stateful()
    .Shape(PopShape)
    .Doc(R"(Takes the tensor off a stack that was put there last.

INVALID_ARGUMENT if the stack is empty or closed, or holds tensors of another type.)");

MILLSTREAM_OP("StackCloseV2")
    .Input("handle: resource")
    .Stateful()
    .Shape(HandleShape)
    .Doc(R"(Empties a stack; no more tensors can be put on it in the step.)");

MILLSTREAM_OP("Stack")
    .Output("handle: Ref(string)")
    .Attr("elem_type: type")
    .Attr("stack_name: string = \"\"")
    .Stateful()
    .Shape(NameShape)
    .Doc(R"(StackV2 without a limit, in older graphs.)");

MILLSTREAM_OP("StackPush")
    .Input("handle: Ref(string)")
    .Input("elem: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("swap_memory: bool = false")
    .Stateful()
    .Shape(PushByNameShape)
    .Doc(R"(StackPushV2 in older graphs.)");

MILLSTREAM_OP("StackPop")
    .Input("handle: Ref(string)")
    .Output("elem: elem_type")
    .Attr("elem_type: type")
    .Stateful()
    .Shape(PopByNameShape)
    .Doc(R"(StackPopV2 in older graphs.)");

MILLSTREAM_OP("StackClose")
    .Input("handle: Ref(string)")
    .Stateful()
    .Shape(NoOutputs)
    .Doc(R"(StackCloseV2 in older graphs.)");

}  // namespace
}  // namespace millstream
