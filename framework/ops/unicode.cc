// Ops of strings as characters of Unicode.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The rows of a ragged tensor: one for each string, and characters that are counted in the step.
Status DecodeShape(ShapeContext* context) {
  const int64_t strings = context->input(0).num_elements();
  context->SetOutput(0, PartialShape::Vector(strings == kUnknownDim ? kUnknownDim : strings + 1));
  for (int i = 1; i < context->num_outputs(); ++i) {
    context->SetOutput(i, PartialShape::Vector(kUnknownDim));
  }
  return absl::OkStatus();
}

Status EncodeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 1).status());
  MS_ASSIGN_OR_RETURN(const PartialShape splits, context->WithRank(1, 1));
  if (splits.dim(0) == 0) return InvalidInput(*context, 1, "expected at least one element, got 0");
  const int64_t rows = splits.dim(0) == kUnknownDim ? kUnknownDim : splits.dim(0) - 1;
  context->SetOutput(0, PartialShape::Vector(rows));
  return absl::OkStatus();
}

void DecodeAttrs(OpSpec* spec) {
  (*spec)
      .Attr("input_encoding: string")
      .Attr("errors: {\"strict\", \"replace\", \"ignore\"} = \"replace\"")
      .Attr("replacement_char: int = 65533")
      .Attr("replace_control_characters: bool = false")
      .Attr(TypeAttr("Tsplits", kIndexTypes, " = int64"))
      .Shape(DecodeShape);
}

MILLSTREAM_OP("UnicodeDecode")
    .Input("input: string")
    .Output("row_splits: Tsplits")
    .Output("char_values: int32")
    .With(DecodeAttrs)
    .Doc(R"(Decodes strings to code points.

char_values has those of all strings, and those of string i are from row_splits[i] to row_splits[i + 1].
input_encoding is a name such as "UTF-8", "UTF-16-BE" or "ISO-8859-1". "UTF-16" and "UTF-32" have the
byte order that a mark at the beginning tells, or are big-endian. Bytes that are no character are
replacement_char, or are left out, or are INVALID_ARGUMENT, as errors says. With
replace_control_characters so are those below 32, which are never INVALID_ARGUMENT.)");

MILLSTREAM_OP("UnicodeDecodeWithOffsets")
    .Input("input: string")
    .Output("row_splits: Tsplits")
    .Output("char_values: int32")
    .Output("char_to_byte_starts: int64")
    .With(DecodeAttrs)
    .Doc(R"(Decodes strings to code points and the places where they begin.

As UnicodeDecode. char_to_byte_starts has the first byte of each character in its string.)");

MILLSTREAM_OP("UnicodeEncode")
    .Input("input_values: int32")
    .Input("input_splits: Tsplits")
    .Output("output: string")
    .Attr("errors: {\"ignore\", \"replace\", \"strict\"} = \"replace\"")
    .Attr("output_encoding: {\"UTF-8\", \"UTF-16-BE\", \"UTF-32-BE\"}")
    .Attr("replacement_char: int = 65533")
    .Attr(TypeAttr("Tsplits", kIndexTypes, " = int64"))
    .Shape(EncodeShape)
    .Doc(R"(Encodes rows of code points as strings.

Row i is input_values[input_splits[i]] to input_values[input_splits[i + 1] - 1]. What is no code point is
replacement_char, or is left out, or is INVALID_ARGUMENT, as errors says.)");

MILLSTREAM_OP("UnicodeTranscode")
    .Input("input: string")
    .Output("output: string")
    .Attr("input_encoding: string")
    .Attr("output_encoding: {\"UTF-8\", \"UTF-16-BE\", \"UTF-32-BE\"}")
    .Attr("errors: {\"strict\", \"replace\", \"ignore\"} = \"replace\"")
    .Attr("replacement_char: int = 65533")
    .Attr("replace_control_characters: bool = false")
    .Shape(UnchangedShape)
    .Doc(R"(Encodes strings anew.

Bytes that are no character are handled as in UnicodeDecode, but control characters that
replace_control_characters replaces are INVALID_ARGUMENT where errors is "strict".)");

MILLSTREAM_OP("UnicodeScript")
    .Input("input: int32")
    .Output("output: int32")
    .Shape(UnchangedShape)
    .Doc(R"(Gives the script of each code point, as a number of ICU's UScriptCode.

It is 103 where no character is assigned, and -1 for what is no code point.)")
    .Example(R"(
>>> tf.strings.unicode_script([ord("a"), ord("1"), 0x3b1]).eval().tolist()
[25, 0, 14])");

}  // namespace
}  // namespace millstream
