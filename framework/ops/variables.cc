// Variables: ops for handles, and ops that read and write whole variables or rows.
#include <optional>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/gather_shape.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/update_bounds.h"
#include "framework/ops/variable_handles.h"
#include "framework/ops/variable_updates.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status VarHandleShape(ShapeContext* context) {
  HandleInfo handle;
  MS_ASSIGN_OR_RETURN(handle.dtype, context->Attr<DataType>("dtype"));
  MS_ASSIGN_OR_RETURN(handle.shape, context->Attr<PartialShape>("shape"));
  context->SetOutput(0, PartialShape::Scalar());
  context->SetOutputHandle(0, std::move(handle));
  return absl::OkStatus();
}

// The shape of the variable of input 0, which must be of the attribute dtype.
StatusOr<PartialShape> TypedVariableShape(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context.Attr<DataType>("dtype"));
  return VariableShape(context, 0, dtype);
}

Status ReadVariableShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape variable, TypedVariableShape(*context));
  context->SetOutput(0, std::move(variable));
  return absl::OkStatus();
}

Status AssignVariableShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape variable, TypedVariableShape(*context));
  return MergeWithVariable(*context, 1, variable).status();
}

Status HandleOnlyShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  for (int i = 0; i < context->num_outputs(); ++i) context->SetOutput(i, PartialShape::Scalar());
  return absl::OkStatus();
}

// A variable that has rows, or of unknown rank.
StatusOr<PartialShape> VariableWithRows(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context.Attr<DataType>("dtype"));
  return VariableShapeWithRows(context, dtype);
}

Status ResourceGatherShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape variable, VariableWithRows(*context));
  MS_ASSIGN_OR_RETURN(std::optional<int> batch_dims, GatherBatchDims(*context));
  const PartialShape& indices = context->input(1);
  context->SetOutput(0, PartialShape());
  if (!variable.known_rank() || !indices.known_rank() || !batch_dims.has_value()) {
    return absl::OkStatus();
  }
  if (*batch_dims >= variable.rank()) {
    return InvalidAttr(*context, "batch_dims", "must be below the variable's rank, ",
                       variable.rank(), ", got ", *batch_dims);
  }
  MS_ASSIGN_OR_RETURN(PartialShape output,
                      GatheredShape(*context, variable, indices, *batch_dims, *batch_dims));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status ResourceCountUpToShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context->Attr<DataType>("T"));
  return CountUpToShape(context, dtype);
}

// A vector, with an element for each dimension.
Status ShapeOfVariableShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  const HandleInfo* handle = context->handle(0);
  const bool is_known = handle != nullptr && handle->shape.known_rank();
  context->SetOutput(0, PartialShape::Vector(is_known ? handle->shape.rank() : kUnknownDim));
  return absl::OkStatus();
}

// ---- Definitions ----

MILLSTREAM_OP("VarHandleOp")
    .Output("resource: resource")
    .Attr("container: string = \"\"")
    .Attr("shared_name: string = \"\"")
    .Attr("dtype: type")
    .Attr("shape: shape")
    .Stateful()
    .Shape(VarHandleShape)
    .Doc(R"(Gives the handle of a variable, by which other ops read and change it.

The variable is of dtype and shape and lives in the container, under shared_name or else the
node's name; nodes with the same two share it. It has no value until one is assigned.)");

MILLSTREAM_OP("ReadVariableOp")
    .Input("resource: resource")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .Speculatable()
    .SharesOutputs()
    .CostsNothing()
    .Shape(ReadVariableShape)
    .Doc(R"(Gives the value of a variable.

The value is that of the moment of reading: later changes do not show in it.
FAILED_PRECONDITION when nothing was assigned yet.)");

MILLSTREAM_OP("AssignVariableOp")
    .Input("resource: resource")
    .Input("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .KeepsFinite()
    .Shape(AssignVariableShape)
    .Doc(R"(Gives a variable a new value.

The value must have the variable's type and agree with its shape.)");

MILLSTREAM_OP("AssignAddVariableOp")
    .Input("resource: resource")
    .Input("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .UpdateBounds(AssignmentBounds)
    .Shape(AssignVariableShape)
    .Doc(R"(Adds a tensor of the same shape to a variable.

The variable must have a value.)");

MILLSTREAM_OP("AssignSubVariableOp")
    .Input("resource: resource")
    .Input("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .UpdateBounds(AssignmentBounds)
    .Shape(AssignVariableShape)
    .Doc(R"(Subtracts a tensor of the same shape from a variable.

The variable must have a value.)");

MILLSTREAM_OP("VarIsInitializedOp")
    .Input("resource: resource")
    .Output("is_initialized: bool")
    .Stateful()
    .Shape(HandleOnlyShape)
    .Doc(R"(Tells whether a variable has a value.)");

MILLSTREAM_OP("ResourceGather")
    .Input("resource: resource")
    .Input("indices: Tindices")
    .Output("output: dtype")
    .Attr("batch_dims: int = 0")
    .Attr("validate_indices: bool = true")
    .Attr("dtype: type")
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Stateful()
    .KeepsFinite()
    .Shape(ResourceGatherShape)
    .Doc(R"(Takes rows of a variable in the order of indices, without reading it whole.

In the output's shape that of indices replaces the variable's first dimension, or its
dimension batch_dims after as many that both have. INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OP("ResourceCountUpTo")
    .Input("resource: resource")
    .Output("output: T")
    .Attr("limit: int")
    .Attr(TypeAttr("T", kIndexTypes))
    .Stateful()
    .Shape(ResourceCountUpToShape)
    .Doc(R"(Gives the value of a scalar variable and adds one to it, until it reaches a limit.

OUT_OF_RANGE when the value is the limit or more.)");

MILLSTREAM_OP("VariableShape")
    .Input("input: resource")
    .Output("output: out_type")
    .Attr(TypeAttr("out_type", kIndexTypes, " = int32"))
    .Stateful()
    .Shape(ShapeOfVariableShape)
    .Doc(R"(Gives the shape of the value of a variable.

NOT_FOUND when nothing was assigned yet.)");

MILLSTREAM_OP("_TakeVariable")
    .Input("resource: resource")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .Shape(ReadVariableShape)
    .Doc(R"(Gives the value of a variable and makes it uninitialized.

The import of a graph makes it of DestroyTemporaryVariable.)");

MILLSTREAM_OP("DestroyResourceOp")
    .Input("resource: resource")
    .Attr("ignore_lookup_error: bool = true")
    .Stateful()
    .Shape(HandleOnlyShape)
    .Doc(R"(Deletes what a handle stands for.

Where there is nothing, NOT_FOUND unless ignore_lookup_error is set.)");

}  // namespace
}  // namespace millstream
