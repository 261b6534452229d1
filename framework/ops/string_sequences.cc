// Ops of strings by the case of letters, and of sequences of strings.
#include <optional>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- Letters ----

void LetterCase(OpSpec* spec) {
  (*spec)
      .Input("input: string")
      .Output("output: string")
      .Attr("encoding: string = \"\"")
      .Shape(UnchangedShape);
}

MILLSTREAM_OP("StringLower")
    .With(LetterCase)
    .Doc(R"(Makes the letters of each string small.

Those of ASCII alone, or with the encoding "utf-8" those of all scripts.)")
    .Example(R"(
>>> tf.strings.lower(["Abc"]).eval().tolist()
[b'abc'])");

MILLSTREAM_OP("StringUpper")
    .With(LetterCase)
    .Doc(R"(Makes the letters of each string capital.

Those of ASCII alone, or with the encoding "utf-8" those of all scripts.)")
    .Example(R"(
>>> tf.strings.upper(["Abc"]).eval().tolist()
[b'ABC'])");

// ---- Sequences ----

Status NgramsShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 1).status());
  MS_ASSIGN_OR_RETURN(PartialShape splits, context->WithRank(1, 1));
  context->SetOutput(0, PartialShape::Vector(kUnknownDim));
  context->SetOutput(1, std::move(splits));
  return absl::OkStatus();
}

MILLSTREAM_OP("StringNGrams")
    .Input("data: string")
    .Input("data_splits: Tsplits")
    .Output("ngrams: string")
    .Output("ngrams_splits: Tsplits")
    .Attr("separator: string")
    .Attr("ngram_widths: list(int) >= 0")
    .Attr("left_pad: string")
    .Attr("right_pad: string")
    .Attr("pad_width: int")
    .Attr("preserve_short_sequences: bool")
    .Attr(TypeAttr("Tsplits", kIndexTypes, " = int64"))
    .Shape(NgramsShape)
    .Doc(R"(Joins each few neighbours of sequences of strings.

Row i of the ragged tensor is data[data_splits[i]] to data[data_splits[i + 1] - 1]; the output has the
rows of its joined runs of each of ngram_widths strings. Rows are padded by pad_width strings on either
side, at most width - 1, and by as many if it is negative. With preserve_short_sequences a row that is
too short for any gives one of all that it has. Data of no strings give none, whatever the paddings;
without splits each of the data gives an empty string.)");

// One dimension for the segments in place of those of the ids.
Status SegmentJoinShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> count, IndexScalar(*context, 2));
  if (count.has_value() && *count < 0) {
    return InvalidInput(*context, 2, "expected a number that is not negative, got ", *count);
  }
  const PartialShape& inputs = context->input(0);
  const PartialShape& ids = context->input(1);
  if (!inputs.known_rank() || !ids.known_rank()) return absl::OkStatus();
  PartialShape output = PartialShape::Vector(count.value_or(kUnknownDim));
  for (int i = 0; i < inputs.rank(); ++i) {
    if (i >= ids.rank()) output.AddDim(inputs.dim(i));
  }
  for (int i = 0; i < ids.rank(); ++i) {
    if (i < inputs.rank() && context->MergeDim(inputs.dim(i), ids.dim(i)).ok()) continue;
    return InvalidInput(*context, 1, "expected a shape that begins that of 'inputs' ",
                        inputs.ToString(), ", got ", ids.ToString());
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

MILLSTREAM_OP("UnsortedSegmentJoin")
    .Input("inputs: string")
    .Input("segment_ids: Tindices")
    .Input("num_segments: Tnumsegments")
    .Output("output: string")
    .Attr("separator: string = \"\"")
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr(TypeAttr("Tnumsegments", kIndexTypes, " = int32"))
    .Shape(SegmentJoinShape)
    .Doc(R"(Joins the strings of each segment, with separator between them.

The shape of segment_ids begins that of inputs. INVALID_ARGUMENT for an id outside 0 to num_segments
exclusive; a segment without strings is empty.)")
    .Example(R"(
>>> tf.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, ":").eval().tolist()
[b'b', b'a:c'])");

Status FactShape(ShapeContext* context) {
  context->SetOutput(0, PartialShape());
  return absl::OkStatus();
}

MILLSTREAM_OP("Fact")
    .Output("fact: string")
    .Shape(FactShape)
    .Doc(R"(Gives a fact about factorials, a scalar.)");

}  // namespace
}  // namespace millstream
