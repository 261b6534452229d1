// Accumulators: sums of gradients that steps bring, which another step takes. The ops on references
// are for imported graphs alone (references.cc); those that sparse gradients have are run by the
// internal ops on handles of the same names, after "_". _AccumulatorCounts is our own.
#include "framework/op_registry.h"
#include "framework/ops/type_sets.h"
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

// The input after the handle is a scalar.
Status NumberShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(context));
  return context->WithRank(1, 0).status();
}

Status CountShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(context));
  return ScalarShape(context);
}

// What is taken has the shape of what was added, which the graph does not say.
Status TakeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(NumberShape(context));
  context->SetOutput(0, PartialShape());
  return absl::OkStatus();
}

Status TakeSparseShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(NumberShape(context));
  context->SetOutput(0, PartialShape::UnknownOfRank(1));
  context->SetOutput(1, PartialShape());
  context->SetOutput(2, PartialShape::UnknownOfRank(1));
  return absl::OkStatus();
}

void ByHandle(OpSpec* spec) { spec->Output("handle: resource").Stateful().Shape(ScalarShape); }
void ByReference(OpSpec* spec) {
  spec->Output("handle: Ref(string)").Stateful().Shape(ReferenceShape);
}
void OnHandle(OpSpec* spec) { spec->Input("handle: resource").Stateful(); }
void OnReference(OpSpec* spec) { spec->Input("handle: Ref(string)"); }

void Accumulator(OpSpec* spec) {
  spec->Attr(TypeAttr("dtype", kNumberTypes))
      .Attr("shape: shape")
      .Attr("container: string = \"\"")
      .Attr("shared_name: string = \"\"")
      .Attr("reduction_type: {'MEAN', 'SUM'} = 'MEAN'");
}

void DenseAccumulator(OpSpec* spec) {
  spec->With(Accumulator)
      .Doc(R"(Gives the handle of an accumulator, which adds up gradients of one type and shape.

It gives their mean or their sum. It counts steps: each take begins the next one, and gradients of
earlier steps are dropped. It lives in the container, under shared_name or else the node's name.)");
}

void SparseAccumulator(OpSpec* spec) {
  spec->With(Accumulator)
      .Doc(R"(Gives the handle of an accumulator, which adds up gradients of rows of a tensor.

shape is that of the tensor. The mean of a row is that of the gradients that have the row. For the
rest see ResourceConditionalAccumulator.)");
}

void ApplyGradient(OpSpec* spec) {
  spec->Input("local_step: int64")
      .Input("gradient: dtype")
      .Attr(TypeAttr("dtype", kNumberTypes))
      .Shape(NumberShape)
      .Doc(R"(Adds a gradient to an accumulator, unless local_step is before the accumulator's step.

INVALID_ARGUMENT for a gradient of another type or shape.)");
}

void ApplySparseGradient(OpSpec* spec) {
  spec->Input("local_step: int64")
      .Input("gradient_indices: int64")
      .Input("gradient_values: dtype")
      .Input("gradient_shape: int64")
      .Attr(TypeAttr("dtype", kNumberTypes))
      .Attr("has_known_shape: bool")
      .Shape(NumberShape)
      .Doc(R"(Adds a gradient of some rows to an accumulator, unless local_step is before its step.

gradient_values has a row for each of gradient_indices. gradient_shape is the shape of the whole
tensor, and counts only with has_known_shape. INVALID_ARGUMENT for rows that do not fit.)");
}

void TakeGradient(OpSpec* spec) {
  spec->Input("num_required: int32")
      .Output("average: dtype")
      .Attr(TypeAttr("dtype", kNumberTypes))
      .Shape(TakeShape)
      .Doc(R"(Takes what an accumulator has added up, and waits until there are enough gradients.

It takes all gradients, when there are at least num_required, and begins the accumulator's next
step.)");
}

void TakeSparseGradient(OpSpec* spec) {
  spec->Input("num_required: int32")
      .Output("indices: int64")
      .Output("values: dtype")
      .Output("shape: int64")
      .Attr(TypeAttr("dtype", kNumberTypes))
      .Shape(TakeSparseShape)
      .Doc(R"(Takes the rows that an accumulator has added up, and waits for enough gradients.

The indices are in ascending order. The first size of shape is -1 if the accumulator does not know
it. For the rest see ResourceAccumulatorTakeGradient.)");
}

void NumAccumulated(OpSpec* spec) {
  spec->Output("num_accumulated: int32")
      .Shape(CountShape)
      .Doc(R"(Gives the number of gradients that an accumulator has added up.)");
}

void Counts(OpSpec* spec) {
  spec->Output("applied: int64")
      .Output("dropped: int64")
      .Shape(CountShape)
      .Doc(R"(Gives how many gradients an accumulator has added up since it began, and dropped.

Those are dropped whose step is before the accumulator's. Takes do not change the numbers.)");
}

void SetGlobalStep(OpSpec* spec) {
  spec->Input("new_global_step: int64")
      .Shape(NumberShape)
      .Doc(R"(Sets the step of an accumulator. Gradients of earlier steps will be dropped.)");
}

MILLSTREAM_OP("ConditionalAccumulator").With(ByReference).With(DenseAccumulator);
MILLSTREAM_OP("ResourceConditionalAccumulator").With(ByHandle).With(DenseAccumulator);
MILLSTREAM_OP("SparseConditionalAccumulator").With(ByReference).With(SparseAccumulator);
MILLSTREAM_OP("_SparseConditionalAccumulator").With(ByHandle).With(SparseAccumulator);
MILLSTREAM_OP("AccumulatorApplyGradient").With(OnReference).With(ApplyGradient);
MILLSTREAM_OP("ResourceAccumulatorApplyGradient").With(OnHandle).With(ApplyGradient);
MILLSTREAM_OP("SparseAccumulatorApplyGradient").With(OnReference).With(ApplySparseGradient);
MILLSTREAM_OP("_SparseAccumulatorApplyGradient").With(OnHandle).With(ApplySparseGradient);
MILLSTREAM_OP("AccumulatorTakeGradient").With(OnReference).With(TakeGradient);
MILLSTREAM_OP("ResourceAccumulatorTakeGradient").With(OnHandle).With(TakeGradient);
MILLSTREAM_OP("SparseAccumulatorTakeGradient").With(OnReference).With(TakeSparseGradient);
MILLSTREAM_OP("_SparseAccumulatorTakeGradient").With(OnHandle).With(TakeSparseGradient);
MILLSTREAM_OP("AccumulatorNumAccumulated").With(OnReference).With(NumAccumulated);
MILLSTREAM_OP("ResourceAccumulatorNumAccumulated").With(OnHandle).With(NumAccumulated);
MILLSTREAM_OP("_AccumulatorCounts").With(OnHandle).With(Counts);
MILLSTREAM_OP("AccumulatorSetGlobalStep").With(OnReference).With(SetGlobalStep);
MILLSTREAM_OP("ResourceAccumulatorSetGlobalStep").With(OnHandle).With(SetGlobalStep);

}  // namespace
}  // namespace millstream
