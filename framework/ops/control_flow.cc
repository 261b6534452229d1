// Control flow ops, which the executor runs itself.
//
// Every tensor of a step is live or dead. A node with a dead data or control input does not run,
// and its outputs are dead. Merge is the exception.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

void PassOn(ShapeContext* context, int output) {
  context->SetOutput(output, context->input(0));
  if (context->handle(0) != nullptr) context->SetOutputHandle(output, *context->handle(0));
}

Status PassedOnShape(ShapeContext* context) {
  PassOn(context, 0);
  return absl::OkStatus();
}

Status SwitchShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  PassOn(context, 0);
  PassOn(context, 1);
  return absl::OkStatus();
}

// What all inputs have in common, since any of them may come.
Status MergeShape(ShapeContext* context) {
  PartialShape common = context->input(0);
  const HandleInfo* handle = context->handle(0);
  for (int i = 1; i < context->num_inputs(); ++i) {
    common = common.CommonWith(context->input(i));
    const HandleInfo* other = context->handle(i);
    if (handle == nullptr || other == nullptr || other->dtype != handle->dtype ||
        other->shape != handle->shape) {
      handle = nullptr;
    }
  }
  if (handle != nullptr) context->SetOutputHandle(0, *handle);
  context->SetOutput(0, std::move(common));
  context->SetOutput(1, PartialShape::Scalar());
  return absl::OkStatus();
}

// What enters a loop may change its shape from one iteration to the next, unless it is constant. So
// may the elements of a list; a handle stays that of one resource.
Status EnterShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const bool is_constant, context->Attr<bool>("is_constant"));
  if (is_constant || context->input_type(0) == DataType::kResource) PassOn(context, 0);
  if (!is_constant) context->SetOutput(0, PartialShape());
  return absl::OkStatus();
}

Status LoopCondShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRank(0, 0));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

MILLSTREAM_OP("Switch")
    .Input("data: T")
    .Input("pred: bool")
    .Output("output_false: T")
    .Output("output_true: T")
    .Attr("T: type")
    .Shape(SwitchShape)
    .Doc(R"(Passes data on to one of two outputs, as the scalar pred says.

The other output is dead: what depends on it does not run.)");

MILLSTREAM_OP("Merge")
    .Input("inputs: N * T")
    .Output("output: T")
    .Output("value_index: int32")
    .Attr("T: type")
    .Attr("N: int >= 1")
    .Shape(MergeShape)
    .Doc(R"(Passes the first live one of its inputs on, without waiting for the others.

value_index is the position of that input. When all inputs are dead, so are the outputs. Where a
loop begins, one input comes from Enter and another one from NextIteration.)");

MILLSTREAM_OP("Enter")
    .Input("data: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("frame_name: string")
    .Attr("is_constant: bool = false")
    .Attr("parallel_iterations: int = 10")
    .Shape(EnterShape)
    .Doc(R"(Passes data into a loop: into the first iteration of the frame called frame_name.

With is_constant, data is there in every iteration. At most parallel_iterations iterations of the
frame are in flight at the same time.)");

MILLSTREAM_OP("Exit")
    .Input("data: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(PassedOnShape)
    .Doc(R"(Passes data out of a loop, to the frame around it.

The output is dead when data was dead in every iteration.)");

MILLSTREAM_OP("NextIteration")
    .Input("data: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(PassedOnShape)
    .Doc(R"(Passes data to the next iteration of its loop.

Dead data makes no iteration.)");

MILLSTREAM_OP("LoopCond")
    .Input("input: bool")
    .Output("output: bool")
    .Shape(LoopCondShape)
    .Doc(R"(Gives its input back, and marks it as what decides whether a loop goes on.

The Switches of the loop take their pred from it.)");

// What leaves a loop or a conditional follows from its graphs, which the op does not see.
Status InnerShape(ShapeContext*) { return absl::OkStatus(); }

MILLSTREAM_OP("_Loop")
    .Input("input: Tin")
    .Output("output: Tout")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0")
    .Attr("frame_name: string")
    .Stateful()
    .Shape(InnerShape)
    .Doc(R"(Stands for a loop whose iterations run as plans.

Only the runtime adds it, in place of the nodes of the frame called frame_name.)");

MILLSTREAM_OP("_Branch")
    .Input("predicate: bool")
    .Input("input: Tin")
    .Output("output: Tout")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0")
    .Stateful()
    .Shape(InnerShape)
    .Doc(R"(Stands for a conditional whose branches run as plans.

Only the runtime adds it, in place of the Switches and Merges of one predicate.)");

MILLSTREAM_OP("ControlTrigger")
    .Shape(NoOutputs)
    .Doc(R"(Does nothing, after all that it waits for has run or turned out to be dead.

Its own control edges are live in either case.)");

}  // namespace
}  // namespace millstream
