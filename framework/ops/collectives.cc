// Operations of a group of devices, each of which runs a node of its own.
#include <cstdint>
#include <optional>
#include <utility>

#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- Shapes ----

Status GatherShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(const int64_t members, context->Attr<int64_t>("group_size"));
  if (members < 1) {
    return errors::InvalidArgument("attribute 'group_size' must be positive, got ", members);
  }
  if (!shape.known_rank()) {
    context->SetOutput(0, PartialShape());
    return absl::OkStatus();
  }
  int64_t rows = shape.dim(0);
  if (rows != kUnknownDim && __builtin_mul_overflow(rows, members, &rows)) {
    return errors::InvalidArgument("argument 'input' has too many rows for a 'group_size' of ",
                                   members);
  }
  shape.set_dim(0, rows);
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// The group's size is an input, whose value may be known in a step alone.
Status ReduceScatterShape(ShapeContext* context) {
  for (int key = 1; key <= 3; ++key) MS_RETURN_IF_ERROR(context->WithRank(key, 0).status());
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> members, context->InputAsScalar(1));
  if (members && *members < 1) {
    return errors::InvalidArgument("argument 'group_size' must be positive, got ", *members);
  }
  if (shape.known_rank()) {
    const int64_t rows = shape.dim(0);
    const bool is_known = members && rows != kUnknownDim;
    if (is_known && rows % *members != 0) {
      return errors::InvalidArgument("argument 'input' has ", rows,
                                     " rows, which 'group_size' does not divide: it is ", *members);
    }
    shape.set_dim(0, is_known ? rows / *members : kUnknownDim);
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status SendShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context->Attr<PartialShape>("shape"));
  const PartialShape& input = context->input(0);
  if (!shape.IsCompatibleWith(input)) {
    return errors::InvalidArgument("argument 'input' has shape ", input.ToString(),
                                   ", attribute 'shape' says ", shape.ToString());
  }
  MS_ASSIGN_OR_RETURN(PartialShape merged, context->Merge(input, shape));
  context->SetOutput(0, std::move(merged));
  return absl::OkStatus();
}

Status ReceiveShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->Attr<PartialShape>("shape"));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// ---- What the ops have in common ----

void Member(OpSpec* spec) {
  spec->Output("data: T")
      .Attr("T: {float, half, double, int32, int64}")
      .Attr("group_size: int")
      .Attr("group_key: int")
      .Attr("instance_key: int")
      .Stateful();
}

void Hint(OpSpec* spec) { spec->Attr("communication_hint: string = 'auto'"); }

MILLSTREAM_OP("CollectiveReduce")
    .Input("input: T")
    .With(Member)
    .Attr("merge_op: {'Min', 'Max', 'Mul', 'Add'}")
    .Attr("final_op: {'Id', 'Div'}")
    .Attr("subdiv_offsets: list(int)")
    .Attr("wait_for: list(int) = []")
    .With(Hint)
    .Shape(UnchangedShape)
    .Doc(
        R"(Merges the tensors of all members of a group, element by element; each member gets the result.

A member is a device. The operation takes place when `group_size` devices run such a node with
the same `group_key` and `instance_key`; until then each waits. All tensors have one shape. Their
order is that of the devices' names, so that the bits are the same in each run. With `final_op`
Div the result is divided by `group_size`. Neither `subdiv_offsets`, `wait_for` nor
`communication_hint` changes a result: they are not used.)");

MILLSTREAM_OP("CollectiveGather")
    .Input("input: T")
    .With(Member)
    .Attr("shape: shape")
    .With(Hint)
    .Shape(GatherShape)
    .Doc(R"(Joins the tensors of all members of a group along their first dimension.

Each member, a device, gets the rows of all, in the order of the devices' names. See
CollectiveReduce for groups. The attribute `shape` is not used.)");

MILLSTREAM_OP("CollectiveReduceScatterV2")
    .Input("input: T")
    .Input("group_size: int32")
    .Input("group_key: int32")
    .Input("instance_key: int32")
    .Input("ordering_token: Nordering_token * resource")
    .Output("data: T")
    .Attr("T: {bfloat16, float, half, double, int32, int64}")
    .Attr("merge_op: {'Min', 'Max', 'Mul', 'Add'}")
    .Attr("final_op: {'Id', 'Div'}")
    .With(Hint)
    .Attr("timeout_seconds: float = 0")
    .Attr("is_stateless: bool = false")
    .Attr("Nordering_token: int >= 0 = 0")
    .Attr("max_subdivs_per_device: int = -1")
    .Stateful()
    .Shape(ReduceScatterShape)
    .Doc(
        R"(Merges the tensors of all members of a group; each member gets its part of the rows.

All tensors have one shape, whose first dimension `group_size` divides. The rows of the result are
shared out in the order of the devices' names: of n members, the first one gets the first n-th. A
part has the bits of the same rows of a CollectiveReduce. See there for groups and `final_op`.

A member that has waited for `timeout_seconds` gets DEADLINE_EXCEEDED; 0: it waits as long as its
step does. `ordering_token` is an order among nodes, and is not read. `communication_hint`,
`is_stateless` and `max_subdivs_per_device` are not used.)");

MILLSTREAM_OP("CollectiveBcastSend")
    .Input("input: T")
    .With(Member)
    .Attr("shape: shape")
    .With(Hint)
    .Shape(SendShape)
    .Doc(R"(Gives a tensor to all members of a group, and returns it.

The other members run CollectiveBcastRecv. See CollectiveReduce for groups.)");

MILLSTREAM_OP("CollectiveBcastRecv")
    .With(Member)
    .Attr("shape: shape")
    .With(Hint)
    .Shape(ReceiveShape)
    .Doc(R"(Gets the tensor that one member of a group gives by CollectiveBcastSend.

`shape` is that of the tensor. See CollectiveReduce for groups.)");

}  // namespace
}  // namespace millstream
