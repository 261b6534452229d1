// Ops that choose among functions of the graph's library, or repeat one. An import expands them
// (core/import/lower_control_flow.h).
#include <utility>

#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The nodes that they are expanded to tell the shapes.
Status UnknownShapes(ShapeContext*) { return absl::OkStatus(); }

void IfAttrs(OpSpec* spec) {
  spec->Input("cond: Tcond")
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("Tcond: type")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("then_branch: func")
      .Attr("else_branch: func")
      .Attr("output_shapes: list(shape) = []")
      .Shape(UnknownShapes);
}

void WhileAttrs(OpSpec* spec) {
  spec->Input("input: T")
      .Output("output: T")
      .Attr("T: list(type) >= 0")
      .Attr("cond: func")
      .Attr("body: func")
      .Attr("output_shapes: list(shape) = []")
      .Attr("parallel_iterations: int = 10")
      .Shape(UnknownShapes);
}

MILLSTREAM_OP("If").With(IfAttrs).Stateful().Doc(
    R"(Calls one of two functions of the graph's library.

Both take input, of types Tin, and give results of types Tout. then_branch is called if cond is
true: a scalar that is not zero or an empty text, or another tensor that has elements. The
outputs have the static shapes output_shapes, or unknown ones if there are none.)");

MILLSTREAM_OP("StatelessIf")
    .With(IfAttrs)
    .Doc(R"(Calls one of two functions of the graph's library, which have no effects.

See If.)");

MILLSTREAM_OP("Case")
    .Input("branch_index: int32")
    .Input("input: Tin")
    .Output("output: Tout")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0")
    .Attr("branches: list(func) >= 1")
    .Attr("output_shapes: list(shape) = []")
    .Stateful()
    .Shape(UnknownShapes)
    .Doc(R"(Calls one of several functions of the graph's library.

All take input and give results of types Tout. The function is branches[branch_index], or the
last one if there is none of this index. The outputs have the static shapes output_shapes, or
unknown ones if there are none.)");

MILLSTREAM_OP("While").With(WhileAttrs).Stateful().Doc(R"(Repeats a function of the graph's library.

As long as cond(x) is true, body(x) replaces x, which begins as input. The output is the last x.
What is true says If. The outputs have the static shapes output_shapes, or those of the inputs if
there are none; they must have them when they run. Iterations overlap as in other loops.)");

MILLSTREAM_OP("StatelessWhile")
    .With(WhileAttrs)
    .Doc(R"(Repeats a function of the graph's library that has no effects.

See While.)");

MILLSTREAM_OP("For")
    .Input("start: int32")
    .Input("limit: int32")
    .Input("delta: int32")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: list(type) >= 0")
    .Attr("body: func")
    .Shape(UnknownShapes)
    .Doc(R"(Repeats a function of the graph's library for each of several numbers.

The numbers are start, start + delta and so on, before limit. For each number i, body(i, x)
replaces x, which begins as input. The output is the last x.)");

MILLSTREAM_OP("MapDefun")
    .Input("arguments: Targuments")
    .Input("captured_inputs: Tcaptured")
    .Output("output: output_types")
    .Attr("Targuments: list(type) >= 1")
    .Attr("Tcaptured: list(type) >= 0 = []")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("f: func")
    .Attr("max_intra_op_parallelism: int = 1")
    .Shape(UnknownShapes)
    .Doc(R"(Calls a function of the graph's library for each row of its arguments.

All arguments have as many rows. The function takes a row of each and captured_inputs, and gives a
row of each output, of the static shapes output_shapes. max_intra_op_parallelism is not used.)");

MILLSTREAM_OP("RemoteCall")
    .Input("target: string")
    .Input("args: Tin")
    .Output("output: Tout")
    .Attr("Tin: list(type) >= 1")
    .Attr("Tout: list(type) >= 1")
    .Attr("f: func")
    .Stateful()
    .Shape(UnknownShapes)
    .Doc(R"(Calls a function of the graph's library on a device.

target is a constant: the name of the device.)");

Status FakeParamShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->Attr<PartialShape>("shape"));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

MILLSTREAM_OP("FakeParam")
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("shape: shape")
    .Shape(FakeParamShape)
    .Doc(
        R"(Stands for a tensor that one function gives and another one of the same results does not.

Nobody uses its value. It is zero, and so are sizes of the shape that are not known.)");

Status ToBoolShape(ShapeContext* context) {
  context->SetOutput(0, PartialShape::Scalar());
  return absl::OkStatus();
}

MILLSTREAM_OP("_ToBool")
    .Input("input: T")
    .Output("output: bool")
    .Attr("T: type")
    .Shape(ToBoolShape)
    .Doc(R"(Tells whether a tensor is true.

A scalar is if it is not zero or an empty text, another tensor if it has elements. Made by the
runtime.)");

}  // namespace
}  // namespace millstream
