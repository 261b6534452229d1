// Arrays of tensors, whose elements are written and read in the course of a step.
//
// `flow` is a float without meaning: what takes it runs after what gives it. Ops of the third
// version pass handles on, those of the second one names, which old graphs have. Those of the first
// one pass references to names on. An import replaces them by the second version.
#include <algorithm>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- Shapes ----

PartialShape Joined(const PartialShape& outer, const PartialShape& inner) {
  if (!outer.known_rank() || !inner.known_rank()) return PartialShape();
  PartialShape shape = outer;
  for (const int64_t dim : inner.dims()) shape.AddDim(dim);
  return shape;
}

// A handle is a scalar, a name has two parts.
Status CheckHandle(ShapeContext* context) {
  if (context->input_type(0) == DataType::kResource) return context->WithRank(0, 0).status();
  if (context->input(0).IsCompatibleWith(PartialShape::Vector(2))) return absl::OkStatus();
  return InvalidInput(*context, 0, "expected a name of two parts, got shape ",
                      context->input(0).ToString());
}

// The handle, and a flow as the last input.
Status CheckHandleAndFlow(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckHandle(context));
  return context->WithRank(context->num_inputs() - 1, 0).status();
}

PartialShape ElementShape(const ShapeContext& context) {
  return context.handle(0) == nullptr ? PartialShape() : context.handle(0)->shape;
}

void SetHandleShape(ShapeContext* context) {
  const bool is_name = context->output_type(0) == DataType::kString;
  context->SetOutput(0, is_name ? PartialShape::Vector(2) : PartialShape::Scalar());
  if (context->num_outputs() > 1) context->SetOutput(1, PartialShape::Scalar());
}

Status ArrayShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  SetHandleShape(context);
  HandleInfo handle;
  MS_ASSIGN_OR_RETURN(handle.dtype, context->Attr<DataType>("dtype"));
  MS_ASSIGN_OR_RETURN(handle.shape, context->Attr<PartialShape>("element_shape"));
  const bool is_identical = context->Attr<bool>("identical_element_shapes").value_or(false);
  if (is_identical || handle.shape.IsFullyKnown()) context->SetOutputHandle(0, std::move(handle));
  return absl::OkStatus();
}

Status GradShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckHandle(context));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  SetHandleShape(context);
  if (context->handle(0) != nullptr) context->SetOutputHandle(0, *context->handle(0));
  return absl::OkStatus();
}

Status GradWithShapeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(GradShape(context));
  MS_ASSIGN_OR_RETURN(const PartialShape outer, context->InputAsShape(2));
  if (context->handle(0) == nullptr) return absl::OkStatus();
  context->SetOutputHandle(
      0, HandleInfo{context->handle(0)->dtype, Joined(outer, context->handle(0)->shape)});
  return absl::OkStatus();
}

// A value that is written must fit the array.
Status CheckElement(ShapeContext* context, int value, const PartialShape& element) {
  const StatusOr<PartialShape> merged = ElementShape(*context).MergeWith(element);
  return merged.ok() ? absl::OkStatus() : InputError(*context, value, merged.status());
}

Status WriteShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckHandleAndFlow(context));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  MS_RETURN_IF_ERROR(CheckElement(context, 2, context->input(2)));
  return ScalarShape(context);
}

Status ReadShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckHandleAndFlow(context));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  context->SetOutput(0, ElementShape(*context));
  return absl::OkStatus();
}

Status GatherShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckHandleAndFlow(context));
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRank(1, 1));
  MS_ASSIGN_OR_RETURN(PartialShape element, context->Attr<PartialShape>("element_shape"));
  // Programs know that the array's own shape counts, also where it is not known.
  if (context->handle(0) != nullptr) element = context->handle(0)->shape;
  context->SetOutput(0, Joined(indices, element));
  return absl::OkStatus();
}

Status ScatterShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckHandleAndFlow(context));
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRank(1, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape value, context->WithRankAtLeast(2, 1));
  if (value.known_rank()) {
    const StatusOr<int64_t> count = context->MergeDim(indices.dim(0), value.dim(0));
    if (!count.ok()) return InputError(*context, 1, count.status());
    MS_RETURN_IF_ERROR(CheckElement(context, 2, PartialShape(value.dims().subspan(1))));
  }
  return ScalarShape(context);
}

Status ConcatShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckHandleAndFlow(context));
  MS_ASSIGN_OR_RETURN(const auto rest, context->Attr<PartialShape>("element_shape_except0"));
  context->SetOutput(0, Joined(PartialShape({kUnknownDim}), rest));
  context->SetOutput(1, PartialShape({kUnknownDim}));
  return absl::OkStatus();
}

Status SplitShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckHandleAndFlow(context));
  MS_RETURN_IF_ERROR(context->WithRankAtLeast(1, 1).status());
  MS_RETURN_IF_ERROR(context->WithRank(2, 1).status());
  return ScalarShape(context);
}

Status SizeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckHandleAndFlow(context));
  return ScalarShape(context);
}

Status CloseShape(ShapeContext* context) { return CheckHandle(context); }

// ---- What both versions have in common, after the handle ----

void MakesArray(OpSpec* op) { op->Stateful().Shape(ArrayShape); }

void MakesGradient(OpSpec* op) { op->Attr("source: string").Stateful().Shape(GradShape); }

void Writes(OpSpec* op) {
  op->Input("index: int32")
      .Input("value: T")
      .Input("flow_in: float")
      .Output("flow_out: float")
      .Attr("T: type")
      .Stateful()
      .Shape(WriteShape);
}

void Reads(OpSpec* op) {
  op->Input("index: int32")
      .Input("flow_in: float")
      .Output("value: dtype")
      .Attr("dtype: type")
      .Stateful()
      .Shape(ReadShape);
}

void Gathers(OpSpec* op) {
  op->Input("indices: int32")
      .Input("flow_in: float")
      .Output("value: dtype")
      .Attr("dtype: type")
      .Attr("element_shape: shape = { unknown_rank: true }")
      .Stateful()
      .Shape(GatherShape);
}

void Scatters(OpSpec* op) {
  op->Input("indices: int32")
      .Input("value: T")
      .Input("flow_in: float")
      .Output("flow_out: float")
      .Attr("T: type")
      .Stateful()
      .Shape(ScatterShape);
}

void Concatenates(OpSpec* op) {
  op->Input("flow_in: float")
      .Output("value: dtype")
      .Output("lengths: int64")
      .Attr("dtype: type")
      .Attr("element_shape_except0: shape = { unknown_rank: true }")
      .Stateful()
      .Shape(ConcatShape);
}

void Splits(OpSpec* op) {
  op->Input("value: T")
      .Input("lengths: int64")
      .Input("flow_in: float")
      .Output("flow_out: float")
      .Attr("T: type")
      .Stateful()
      .Shape(SplitShape);
}

void GivesSize(OpSpec* op) {
  op->Input("flow_in: float").Output("size: int32").Stateful().Shape(SizeShape);
}

void Closes(OpSpec* op) { op->Stateful().Shape(CloseShape); }

// ---- The third version ----

MILLSTREAM_OP("TensorArrayV3")
    .Input("size: int32")
    .Output("handle: resource")
    .Output("flow: float")
    .Attr("dtype: type")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Attr("dynamic_size: bool = false")
    .Attr("clear_after_read: bool = true")
    .Attr("identical_element_shapes: bool = false")
    .Attr("tensor_array_name: string = \"\"")
    .With(MakesArray)
    .Doc(R"(Makes an array of size tensors of dtype, which ends with the step.

An element is written once. With clear_after_read it is read once as well, which releases it.
With dynamic_size a write beyond the end makes the array larger. With identical_element_shapes the
first write decides the shape of all elements.)");

MILLSTREAM_OP("TensorArrayGradV3")
    .Input("handle: resource")
    .Input("flow_in: float")
    .Output("grad_handle: resource")
    .Output("flow_out: float")
    .With(MakesGradient)
    .Doc(R"(Gives the array for the gradients of an array, which is made once for each source.

It has the same size. Writes to one of its elements are added up.)");

MILLSTREAM_OP("TensorArrayGradWithShape")
    .Input("handle: resource")
    .Input("flow_in: float")
    .Input("shape_to_prepend: int32")
    .Output("grad_handle: resource")
    .Output("flow_out: float")
    .Attr("source: string")
    .Stateful()
    .Shape(GradWithShapeShape)
    .Doc(R"(Gives an array for gradients that have further dimensions before those of the elements.

It is that of TensorArrayGradV3 otherwise.)");

MILLSTREAM_OP("TensorArrayWriteV3")
    .Input("handle: resource")
    .With(Writes)
    .Doc(R"(Writes an element of an array.

INVALID_ARGUMENT if index is out of range, if the element was written or read before, or if value
has another type or shape than the array allows.)");

MILLSTREAM_OP("TensorArrayReadV3")
    .Input("handle: resource")
    .With(Reads)
    .SharesOutputs()
    .Doc(R"(Reads an element of an array.

An element that was not written is zero if its shape is known. INVALID_ARGUMENT if it is not, if
index is out of range, or if the element was cleared by a read.)");

MILLSTREAM_OP("TensorArrayGatherV3")
    .Input("handle: resource")
    .With(Gathers)
    .Doc(R"(Reads the elements with these indices, which become the rows of value.)");

MILLSTREAM_OP("TensorArrayScatterV3")
    .Input("handle: resource")
    .With(Scatters)
    .Doc(R"(Writes the rows of value to the elements with these indices.)");

MILLSTREAM_OP("TensorArrayConcatV3")
    .Input("handle: resource")
    .With(Concatenates)
    .Doc(R"(Reads all elements and joins them along their first dimension.

lengths has the size of this dimension for each element.)");

MILLSTREAM_OP("TensorArraySplitV3")
    .Input("handle: resource")
    .With(Splits)
    .Doc(R"(Writes all elements: element i is the next lengths[i] rows of value.)");

MILLSTREAM_OP("TensorArraySizeV3")
    .Input("handle: resource")
    .With(GivesSize)
    .Doc(R"(Gives the number of elements of an array.)");

MILLSTREAM_OP("TensorArrayCloseV3")
    .Input("handle: resource")
    .With(Closes)
    .Doc(R"(Releases all elements of an array, which cannot be used any more.)");

// ---- The second version ----

MILLSTREAM_OP("TensorArrayV2")
    .Input("size: int32")
    .Output("handle: string")
    .Attr("dtype: type")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Attr("dynamic_size: bool = false")
    .Attr("clear_after_read: bool = true")
    .Attr("tensor_array_name: string = \"\"")
    .With(MakesArray)
    .Doc(R"(Makes an array as TensorArrayV3 does, and gives its name.)");

MILLSTREAM_OP("TensorArrayGradV2")
    .Input("handle: string")
    .Input("flow_in: float")
    .Output("grad_handle: string")
    .With(MakesGradient)
    .Doc(R"(TensorArrayGradV3 for an array of TensorArrayV2.)");

MILLSTREAM_OP("TensorArrayWriteV2")
    .Input("handle: string")
    .With(Writes)
    .Doc(R"(TensorArrayWriteV3 for an array of TensorArrayV2.)");

MILLSTREAM_OP("TensorArrayReadV2")
    .Input("handle: string")
    .With(Reads)
    .SharesOutputs()
    .Doc(R"(TensorArrayReadV3 for an array of TensorArrayV2.)");

MILLSTREAM_OP("TensorArrayGatherV2")
    .Input("handle: string")
    .With(Gathers)
    .Doc(R"(TensorArrayGatherV3 for an array of TensorArrayV2.)");

MILLSTREAM_OP("TensorArrayScatterV2")
    .Input("handle: string")
    .With(Scatters)
    .Doc(R"(TensorArrayScatterV3 for an array of TensorArrayV2.)");

MILLSTREAM_OP("TensorArrayConcatV2")
    .Input("handle: string")
    .With(Concatenates)
    .Doc(R"(TensorArrayConcatV3 for an array of TensorArrayV2.)");

MILLSTREAM_OP("TensorArraySplitV2")
    .Input("handle: string")
    .With(Splits)
    .Doc(R"(TensorArraySplitV3 for an array of TensorArrayV2.)");

MILLSTREAM_OP("TensorArraySizeV2")
    .Input("handle: string")
    .With(GivesSize)
    .Doc(R"(TensorArraySizeV3 for an array of TensorArrayV2.)");

MILLSTREAM_OP("TensorArrayCloseV2")
    .Input("handle: string")
    .With(Closes)
    .Doc(R"(TensorArrayCloseV3 for an array of TensorArrayV2.)");

// ---- The first version ----

MILLSTREAM_OP("TensorArray")
    .Input("size: int32")
    .Output("handle: Ref(string)")
    .Attr("dtype: type")
    .Attr("dynamic_size: bool = false")
    .Attr("clear_after_read: bool = true")
    .Attr("tensor_array_name: string = \"\"")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .With(MakesArray)
    .Doc(R"(TensorArrayV2 in older graphs.)");

MILLSTREAM_OP("TensorArrayGrad")
    .Input("handle: string")
    .Input("flow_in: float")
    .Output("grad_handle: Ref(string)")
    .With(MakesGradient)
    .Doc(R"(TensorArrayGradV2 in older graphs.)");

MILLSTREAM_OP("TensorArrayWrite")
    .Input("handle: Ref(string)")
    .With(Writes)
    .Doc(R"(TensorArrayWriteV2 in older graphs.)");

MILLSTREAM_OP("TensorArrayRead")
    .Input("handle: Ref(string)")
    .With(Reads)
    .Doc(R"(TensorArrayReadV2 in older graphs.)");

MILLSTREAM_OP("TensorArrayGather")
    .Input("handle: Ref(string)")
    .With(Gathers)
    .Doc(R"(TensorArrayGatherV2 in older graphs.)");

MILLSTREAM_OP("TensorArrayScatter")
    .Input("handle: Ref(string)")
    .With(Scatters)
    .Doc(R"(TensorArrayScatterV2 in older graphs.)");

MILLSTREAM_OP("TensorArrayConcat")
    .Input("handle: Ref(string)")
    .With(Concatenates)
    .Doc(R"(TensorArrayConcatV2 in older graphs.)");

MILLSTREAM_OP("TensorArraySplit")
    .Input("handle: Ref(string)")
    .With(Splits)
    .Doc(R"(TensorArraySplitV2 in older graphs.)");

MILLSTREAM_OP("TensorArraySize")
    .Input("handle: Ref(string)")
    .With(GivesSize)
    .Doc(R"(TensorArraySizeV2 in older graphs.)");

MILLSTREAM_OP("TensorArrayClose")
    .Input("handle: Ref(string)")
    .With(Closes)
    .Doc(R"(TensorArrayCloseV2 in older graphs.)");

}  // namespace
}  // namespace millstream
