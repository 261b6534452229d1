// Ops on references to variables, which old graphs have. They are imported, checked and exported,
// but never run: the import replaces them by ops on handles (core/import/import_refs.h). Those of
// optimizers are in training.cc, those that change rows and slices in variable_parts.cc.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/variable_handles.h"
#include "framework/ops/variable_updates.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status VariableShapeAttr(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->Attr<PartialShape>("shape"));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// The first version of the op wrote an unknown shape as that of a scalar.
Status FirstVariableShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->Attr<PartialShape>("shape"));
  context->SetOutput(0, shape.rank() == 0 ? PartialShape() : std::move(shape));
  return absl::OkStatus();
}

// The value fits the variable.
Status UpdateShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, MergeWithVariable(*context, 1, context->input(0)));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status AssignShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const bool validate_shape, context->Attr<bool>("validate_shape"));
  if (validate_shape) return UpdateShape(context);
  context->SetOutput(0, context->input(1));
  return absl::OkStatus();
}

Status CountShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context->Attr<DataType>("T"));
  return CountUpToShape(context, dtype);
}

Status RefSwitchShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  context->SetOutput(0, context->input(0));
  context->SetOutput(1, context->input(0));
  return absl::OkStatus();
}

Status RefMergeShape(ShapeContext* context) {
  PartialShape common = context->input(0);
  for (int i = 1; i < context->num_inputs(); ++i) common = common.CommonWith(context->input(i));
  context->SetOutput(0, std::move(common));
  context->SetOutput(1, PartialShape::Scalar());
  return absl::OkStatus();
}

Status RefSelectShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  PartialShape common = context->input(1);
  for (int i = 2; i < context->num_inputs(); ++i) common = common.CommonWith(context->input(i));
  context->SetOutput(0, std::move(common));
  return absl::OkStatus();
}

Status SelectHandleShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  context->SetOutput(0, PartialShape::Scalar());
  return absl::OkStatus();
}

MILLSTREAM_OP("VariableV2")
    .Output("ref: Ref(dtype)")
    .Attr("shape: shape")
    .Attr("dtype: type")
    .Attr("container: string = \"\"")
    .Attr("shared_name: string = \"\"")
    .Stateful()
    .Shape(VariableShapeAttr)
    .Doc(R"(Gives a reference to a variable, in imported graphs.

The variable lives in the container, under shared_name or else the node's name. It has no value
until one is assigned.)");

MILLSTREAM_OP("Variable")
    .Output("ref: Ref(dtype)")
    .Attr("shape: shape")
    .Attr("dtype: type")
    .Attr("container: string = \"\"")
    .Attr("shared_name: string = \"\"")
    .Stateful()
    .Shape(FirstVariableShape)
    .Doc(R"(Gives a reference to a variable, in imported graphs.

The first version of VariableV2: the shape of a scalar stands for an unknown one.)");

MILLSTREAM_OP("IsVariableInitialized")
    .Input("ref: Ref(dtype)")
    .Output("is_initialized: bool")
    .Attr("dtype: type")
    .AllowsUninitializedInput()
    .Shape(ScalarShape)
    .Doc(R"(Tells whether a variable has a value, in imported graphs.)");

MILLSTREAM_OP("RefIdentity")
    .Input("input: Ref(T)")
    .Output("output: Ref(T)")
    .Attr("T: type")
    .AllowsUninitializedInput()
    .Shape(UnchangedShape)
    .Doc(R"(Passes a reference on, in imported graphs.)");

MILLSTREAM_OP("Assign")
    .Input("ref: Ref(T)")
    .Input("value: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: type")
    .Attr("validate_shape: bool = true")
    .Attr("use_locking: bool = true")
    .AllowsUninitializedInput()
    .Shape(AssignShape)
    .Doc(R"(Gives a variable a new value, in imported graphs.

The value has the variable's shape, unless validate_shape is false. The output is the variable
after the assignment.)");

MILLSTREAM_OP("AssignAdd")
    .Input("ref: Ref(T)")
    .Input("value: T")
    .Output("output_ref: Ref(T)")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(UpdateShape)
    .Doc(R"(Adds a tensor of the same shape to a variable, in imported graphs.

The output is the variable after the addition.)");

MILLSTREAM_OP("AssignSub")
    .Input("ref: Ref(T)")
    .Input("value: T")
    .Output("output_ref: Ref(T)")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(UpdateShape)
    .Doc(R"(Subtracts a tensor of the same shape from a variable, in imported graphs.

The output is the variable after the subtraction.)");

MILLSTREAM_OP("CountUpTo")
    .Input("ref: Ref(T)")
    .Output("output: T")
    .Attr("limit: int")
    .Attr(TypeAttr("T", kIndexTypes))
    .Shape(CountShape)
    .Doc(R"(Gives the value of a variable and adds one to it, in imported graphs.

As ResourceCountUpTo.)");

MILLSTREAM_OP("TemporaryVariable")
    .Output("ref: Ref(dtype)")
    .Attr("shape: shape")
    .Attr("dtype: type")
    .Attr("var_name: string = \"\"")
    .Stateful()
    .Shape(VariableShapeAttr)
    .Doc(R"(Gives a reference to a variable that lives for one step, in imported graphs.

It has no value until one is assigned, and is destroyed by the DestroyTemporaryVariable of its
name, which is var_name or else the node's.)");

MILLSTREAM_OP("DestroyTemporaryVariable")
    .Input("ref: Ref(T)")
    .Output("value: T")
    .Attr("T: type")
    .Attr("var_name: string")
    .Shape(UnchangedShape)
    .Doc(R"(Gives the value of a temporary variable and destroys it, in imported graphs.)");

MILLSTREAM_OP("RefSwitch")
    .Input("data: Ref(T)")
    .Input("pred: bool")
    .Output("output_false: Ref(T)")
    .Output("output_true: Ref(T)")
    .Attr("T: type")
    .AllowsUninitializedInput()
    .Shape(RefSwitchShape)
    .Doc(R"(Passes a reference on to one of two outputs, in imported graphs.

As Switch does with tensors.)");

MILLSTREAM_OP("RefMerge")
    .Input("inputs: N * Ref(T)")
    .Output("output: Ref(T)")
    .Output("value_index: int32")
    .Attr("T: type")
    .Attr("N: int >= 1")
    .Shape(RefMergeShape)
    .Doc(R"(Passes the first reference on that comes, in imported graphs.

As Merge does with tensors.)");

MILLSTREAM_OP("RefEnter")
    .Input("data: Ref(T)")
    .Output("output: Ref(T)")
    .Attr("T: type")
    .Attr("frame_name: string")
    .Attr("is_constant: bool = false")
    .Attr("parallel_iterations: int = 10")
    .Shape(UnchangedShape)
    .Doc(R"(Passes a reference into a loop, in imported graphs.

As Enter does with tensors.)");

MILLSTREAM_OP("RefNextIteration")
    .Input("data: Ref(T)")
    .Output("output: Ref(T)")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Doc(R"(Passes a reference to the next iteration of a loop, in imported graphs.

As NextIteration does with tensors.)");

MILLSTREAM_OP("RefSelect")
    .Input("index: int32")
    .Input("inputs: N * Ref(T)")
    .Output("output: Ref(T)")
    .Attr("T: type")
    .Attr("N: int >= 1")
    .Shape(RefSelectShape)
    .Doc(R"(Passes one of several references on, in imported graphs.

index is a scalar. INVALID_ARGUMENT if there is no such input.)");

MILLSTREAM_OP("_SelectHandle")
    .Input("index: int32")
    .Input("handles: N * resource")
    .Output("handle: resource")
    .Attr("N: int >= 1")
    .Shape(SelectHandleShape)
    .Doc(R"(Gives one of several handles. Made by the runtime for RefSelect.

index is a scalar. INVALID_ARGUMENT if there is no such input.)");

MILLSTREAM_OP("RefExit")
    .Input("data: Ref(T)")
    .Output("output: Ref(T)")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Doc(R"(Passes a reference out of a loop, in imported graphs.

As Exit does with tensors.)");

}  // namespace
}  // namespace millstream
