// Connectionist temporal classification: the loss, and decoders.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The shape of `inputs`, [time, batch, classes], where the batch is known from the lengths too.
StatusOr<PartialShape> CtcInputs(const ShapeContext& context, int lengths_input) {
  MS_ASSIGN_OR_RETURN(PartialShape inputs, context.WithRank(0, 3));
  MS_ASSIGN_OR_RETURN(const PartialShape lengths, context.WithRank(lengths_input, 1));
  const StatusOr<int64_t> batch = context.MergeDim(inputs.dim(1), lengths.dim(0));
  if (!batch.ok()) return InputError(context, lengths_input, batch.status());
  inputs.set_dim(1, *batch);
  return inputs;
}

Status CtcLossShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape inputs, CtcInputs(*context, 3));
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRank(1, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape values, context->WithRank(2, 1));
  if (indices.dim(1) != kUnknownDim && indices.dim(1) != 2) {
    return InvalidInput(*context, 1, "expected pairs, got the shape ", indices.ToString());
  }
  const StatusOr<int64_t> count = context->MergeDim(indices.dim(0), values.dim(0));
  if (!count.ok()) return InputError(*context, 2, count.status());
  context->SetOutput(0, PartialShape({inputs.dim(1)}));
  context->SetOutput(1, std::move(inputs));
  return absl::OkStatus();
}

// Sets the shapes of `paths` sparse tensors and of their log probabilities.
Status SetDecodedShapes(ShapeContext* context, int64_t paths) {
  MS_ASSIGN_OR_RETURN(const PartialShape inputs, CtcInputs(*context, 1));
  const int count = static_cast<int>(paths);
  for (int i = 0; i < count; ++i) {
    context->SetOutput(i, PartialShape({kUnknownDim, 2}));
    context->SetOutput(count + i, PartialShape({kUnknownDim}));
    context->SetOutput(2 * count + i, PartialShape({2}));
  }
  context->SetOutput(3 * count, PartialShape({inputs.dim(1), paths}));
  return absl::OkStatus();
}

Status GreedyDecoderShape(ShapeContext* context) { return SetDecodedShapes(context, 1); }

Status BeamSearchDecoderShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t width, context->Attr<int64_t>("beam_width"));
  MS_ASSIGN_OR_RETURN(const int64_t paths, context->Attr<int64_t>("top_paths"));
  if (paths > width) {
    return InvalidAttr(*context, "top_paths", "expected beam_width, ", width, ", at most, got ",
                       paths);
  }
  return SetDecodedShapes(context, paths);
}

constexpr absl::string_view kTypes = "{float, double}";

MILLSTREAM_OP("CTCLoss")
    .Input("inputs: T")
    .Input("labels_indices: int64")
    .Input("labels_values: int32")
    .Input("sequence_length: int32")
    .Output("loss: T")
    .Output("gradient: T")
    .Attr("preprocess_collapse_repeated: bool = false")
    .Attr("ctc_merge_repeated: bool = true")
    .Attr("ignore_longer_outputs_than_inputs: bool = false")
    .Attr(TypeAttr("T", kTypes, " = float"))
    .Shape(CtcLossShape)
    .Doc(R"(Gives the loss of connectionist temporal classification, and its gradient for inputs.

inputs has logits of the shape [time, batch, classes], of which the last class is the blank.
labels_indices and labels_values are a sparse matrix with the labels of each sequence of the
batch, in order; sequence_length has the number of time steps of each. loss is the negative
logarithm of the probability of all paths that give the labels.
preprocess_collapse_repeated makes one of equal labels that follow each other. Without
ctc_merge_repeated each label takes exactly one time step. Sequences of fewer steps than labels
are an error, or give 0 with ignore_longer_outputs_than_inputs.)");

MILLSTREAM_OP("CTCGreedyDecoder")
    .Input("inputs: T")
    .Input("sequence_length: int32")
    .Output("decoded_indices: int64")
    .Output("decoded_values: int64")
    .Output("decoded_shape: int64")
    .Output("log_probability: T")
    .Attr("merge_repeated: bool = false")
    .Attr(TypeAttr("T", kTypes, " = float"))
    .Shape(GreedyDecoderShape)
    .Doc(R"(Takes the best class at each time step, and leaves blanks out.

inputs and sequence_length are CTCLoss's. The decoded labels are a sparse matrix of the shape
[batch, longest]. merge_repeated takes equal classes that follow each other for one.
log_probability is the negative sum of the logits that were taken.)");

MILLSTREAM_OP("CTCBeamSearchDecoder")
    .Input("inputs: T")
    .Input("sequence_length: int32")
    .Output("decoded_indices: top_paths * int64")
    .Output("decoded_values: top_paths * int64")
    .Output("decoded_shape: top_paths * int64")
    .Output("log_probability: T")
    .Attr("beam_width: int >= 1")
    .Attr("top_paths: int >= 1")
    .Attr("merge_repeated: bool = true")
    .Attr(TypeAttr("T", kTypes, " = float"))
    .Shape(BeamSearchDecoderShape)
    .Doc(R"(Searches for the label sequences with the largest probabilities.

inputs and sequence_length are CTCLoss's. At each time step the beam_width best beginnings are
kept. The top_paths best sequences are sparse matrices of the shape [batch, longest], the best
one first, with the logarithms of their probabilities. merge_repeated takes equal labels that
follow each other for one in what is given.)");

}  // namespace
}  // namespace millstream
