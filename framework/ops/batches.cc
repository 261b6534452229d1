// Batches of the tensors of several steps. Nodes with the same container and shared_name have the
// same batches.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The shape with any number of rows.
StatusOr<PartialShape> AnyRows(ShapeContext* context, int i) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(i, 1));
  if (shape.known_rank()) shape.set_dim(0, kUnknownDim);
  return shape;
}

Status BatchShape(ShapeContext* context) {
  const int count = context->num_inputs();
  for (int i = 0; i < count; ++i) {
    MS_ASSIGN_OR_RETURN(PartialShape shape, AnyRows(context, i));
    context->SetOutput(i, std::move(shape));
  }
  context->SetOutput(count, PartialShape::Matrix(kUnknownDim, 3));
  context->SetOutput(count + 1, PartialShape::Scalar());
  return absl::OkStatus();
}

// `index` and `id` are the positions of these inputs.
Status CheckPlace(ShapeContext* context, int index, int id) {
  MS_ASSIGN_OR_RETURN(const PartialShape parts, context->WithRank(index, 2));
  if (!parts.IsCompatibleWith(PartialShape::Matrix(kUnknownDim, 3))) {
    return errors::InvalidArgument("argument 'batch_index' must have shape [?,3], got ",
                                   parts.ToString());
  }
  return context->WithRank(id, 0).status();
}

Status UnbatchShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckPlace(context, 1, 2));
  MS_ASSIGN_OR_RETURN(PartialShape shape, AnyRows(context, 0));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status UnbatchGradShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckPlace(context, 1, 3));
  MS_RETURN_IF_ERROR(context->WithRankAtLeast(0, 1).status());
  MS_ASSIGN_OR_RETURN(PartialShape shape, AnyRows(context, 2));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// The call tells the shapes, once it is expanded.
Status UnknownShapes(ShapeContext*) { return absl::OkStatus(); }

void Names(OpSpec* spec) {
  spec->Attr("container: string = \"\"").Attr("shared_name: string = \"\"");
}

MILLSTREAM_OP("Batch")
    .Input("in_tensors: T")
    .Output("batched_tensors: T")
    .Output("batch_index: int64")
    .Output("id: int64")
    .Attr("num_batch_threads: int")
    .Attr("max_batch_size: int")
    .Attr("max_enqueued_batches: int = 10")
    .Attr("batch_timeout_micros: int")
    .Attr("allowed_batch_sizes: list(int) = []")
    .Attr("grad_timeout_micros: int")
    .With(Names)
    .Attr("batching_queue: string = \"\"")
    .Attr("T: list(type) >= 1")
    .Shape(BatchShape)
    .Doc(R"(Puts tensors of several steps together, one below the other.

A step waits until the batch has max_batch_size rows, no more step fits into it, or
batch_timeout_micros have passed since it began. Then one of its steps gets all rows in
batched_tensors, and in batch_index a row for each step: id, first row, end. The others get
tensors without rows. If there are allowed_batch_sizes, the first row is repeated up to one of
them. Each batching_queue has batches of its own. UNAVAILABLE if max_enqueued_batches wait.
Unbatch is the way back, also of the gradient; that waits for grad_timeout_micros.)");

MILLSTREAM_OP("Unbatch")
    .Input("batched_tensor: T")
    .Input("batch_index: int64")
    .Input("id: int64")
    .Output("unbatched_tensor: T")
    .Attr("timeout_micros: int")
    .With(Names)
    .Attr("T: type")
    .Shape(UnbatchShape)
    .Doc(R"(Gives each step its rows of a tensor that one step computed of the batch of several.

batch_index and id are those of Batch. The step with a batch_index that is not empty gives the
others their rows; these wait, DEADLINE_EXCEEDED after timeout_micros. ABORTED if that step ends
before.)");

MILLSTREAM_OP("UnbatchGrad")
    .Input("original_input: T")
    .Input("batch_index: int64")
    .Input("grad: T")
    .Input("id: int64")
    .Output("batched_grad: T")
    .With(Names)
    .Attr("T: type")
    .Shape(UnbatchGradShape)
    .Doc(
        R"(Gives the gradient of Unbatch: the gradients of all steps of a batch, one below another.

The step with a batch_index that is not empty waits for those of the others, which get a tensor
without rows. original_input, batch_index and id are the inputs of Unbatch.)");

MILLSTREAM_OP("BatchFunction")
    .Input("in_tensors: Tin")
    .Input("captured_tensors: Tcaptured")
    .Output("out_tensors: Tout")
    .Attr("f: func")
    .Attr("num_batch_threads: int")
    .Attr("max_batch_size: int")
    .Attr("batch_timeout_micros: int")
    .Attr("max_enqueued_batches: int = 10")
    .Attr("allowed_batch_sizes: list(int) = []")
    .With(Names)
    .Attr("batching_queue: string = \"\"")
    .Attr("Tin: list(type) >= 1")
    .Attr("Tcaptured: list(type) >= 0")
    .Attr("Tout: list(type) >= 1")
    .Shape(UnknownShapes)
    .Doc(R"(Calls a function of the graph's library on the tensors of several steps, put together.

The function takes in_tensors of all steps of a batch, one below the other (see Batch), and
captured_tensors of one of them. It is called once for a batch, at most num_batch_threads times at
once. Each step gets its rows of the results. An import expands the call.)");

}  // namespace
}  // namespace millstream
