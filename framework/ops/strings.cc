// Ops of strings.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The three inputs are broadcast.
Status SubstrShape(ShapeContext* context) {
  const StatusOr<PartialShape> bounds = context->input(1).MergeWith(context->input(2));
  if (!bounds.ok()) return InputError(*context, 2, bounds.status());
  StatusOr<PartialShape> whole = BroadcastShapes(context->input(0), *bounds);
  if (!whole.ok()) return InputError(*context, 1, whole.status());
  context->SetOutput(0, *std::move(whole));
  return absl::OkStatus();
}

Status StringSplitShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 1).status());
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  context->SetOutput(0, PartialShape::Matrix(kUnknownDim, 2));
  context->SetOutput(1, PartialShape::Vector(kUnknownDim));
  context->SetOutput(2, PartialShape::Vector(2));
  return absl::OkStatus();
}

Status DecodeRawShape(ShapeContext* context) {
  PartialShape shape = context->input(0);
  if (shape.known_rank()) {
    MS_RETURN_IF_ERROR(CheckEntryCount(*context, 0, shape.rank() + int64_t{1}));
    shape.AddDim(kUnknownDim);
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status DecodePaddedRawShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  return DecodeRawShape(context);
}

Status DecodeCompressedShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::string type, context->Attr<std::string>("compression_type"));
  if (type.empty() || type == "ZLIB" || type == "GZIP") return UnchangedShape(context);
  return InvalidAttr(*context, "compression_type", "expected '', ZLIB or GZIP, got '",
                     absl::CEscape(type), "'");
}

Status ReduceJoinShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRankAtMost(1, 1).status());
  MS_ASSIGN_OR_RETURN(const bool keep_dims, context->Attr<bool>("keep_dims"));
  const PartialShape& inputs = context->input(0);
  const std::optional<std::vector<int64_t>> axes = KnownIndexElements(*context, 1);
  context->SetOutput(0, PartialShape());
  if (!inputs.known_rank()) return absl::OkStatus();
  if (!axes.has_value()) {
    if (keep_dims) context->SetOutput(0, PartialShape::UnknownOfRank(inputs.rank()));
    return absl::OkStatus();
  }
  std::vector<bool> joined(inputs.rank(), false);
  for (const int64_t element : *axes) {
    const StatusOr<int> axis = NormalizeAxis(element, inputs.rank());
    if (!axis.ok()) {
      return errors::OutOfRange(ArgumentName(*context, 1), ": ", axis.status().message());
    }
    if (joined[*axis]) return InvalidInput(*context, 1, "names dimension ", *axis, " twice");
    joined[*axis] = true;
  }
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i < inputs.rank(); ++i) {
    if (!joined[i]) {
      output.AddDim(inputs.dim(i));
    } else if (keep_dims) {
      output.AddDim(1);
    }
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// All inputs that are no scalars have one shape.
Status StringJoinShape(ShapeContext* context) {
  PartialShape shape = PartialShape::Scalar();
  bool may_be_scalar = true;
  for (int i = 0; i < context->num_inputs(); ++i) {
    const PartialShape& input = context->input(i);
    if (input.rank() == 0) continue;
    if (!input.known_rank()) {
      if (may_be_scalar) shape = PartialShape();
      continue;
    }
    const StatusOr<PartialShape> merged =
        may_be_scalar ? input : StatusOr<PartialShape>(shape.MergeWith(input));
    if (!merged.ok()) return InputError(*context, i, merged.status());
    shape = *merged;
    may_be_scalar = false;
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

MILLSTREAM_OP("StringStrip")
    .Input("input: string")
    .Output("output: string")
    .Shape(UnchangedShape)
    .Doc(R"(Removes space at both ends of each string.)")
    .Example(R"(
>>> tf.strings.strip([" a b "]).eval().tolist()
[b'a b'])");

MILLSTREAM_OP("StringLength")
    .Input("input: string")
    .Output("output: int32")
    .Attr("unit: {\"BYTE\", \"UTF8_CHAR\"} = \"BYTE\"")
    .Shape(UnchangedShape)
    .Doc(R"(Counts the bytes of each string, or its characters in UTF-8, as unit says.)")
    .Example(R"(
>>> tf.strings.length(["abc", ""]).eval()
array([3, 0], dtype=int32))");

MILLSTREAM_OP("Substr")
    .Input("input: string")
    .Input("pos: T")
    .Input("len: T")
    .Output("output: string")
    .Attr(TypeAttr("T", kIndexTypes))
    .Attr("unit: {\"BYTE\", \"UTF8_CHAR\"} = \"BYTE\"")
    .Shape(SubstrShape)
    .Doc(R"(Takes a part of each string.

It begins at pos, which counts from the end if negative, and has len bytes, or characters in UTF-8,
as unit says, or as many as there are. pos and len have one shape, which is broadcast with that of
input. A negative len takes the rest of the bytes, or no characters. INVALID_ARGUMENT for a pos
beyond the string, and for a negative len of characters with a negative pos.)")
    .Example(R"(
>>> tf.strings.substr(["hello", "world"], 1, 3).eval().tolist()
[b'ell', b'orl'])");

MILLSTREAM_OP("StringToNumber")
    .Input("string_tensor: string")
    .Output("output: out_type")
    .Attr("out_type: {float, double, int32, int64} = float")
    .Shape(UnchangedShape)
    .Doc(R"(Reads the number in each string.

INVALID_ARGUMENT for what is no number of out_type. Space around it is allowed.)")
    .Example(R"(
>>> tf.strings.to_number(["1.5", "-2"]).eval()
array([ 1.5, -2. ], dtype=float32))");

MILLSTREAM_OP("AsString")
    .Input("input: T")
    .Output("output: string")
    .Attr("T: {int8, int16, int32, int64, complex64, complex128, float, double, bool}")
    .Attr("precision: int = -1")
    .Attr("scientific: bool = false")
    .Attr("shortest: bool = false")
    .Attr("width: int = -1")
    .Attr("fill: string = \"\"")
    .Shape(UnchangedShape)
    .Doc(R"(Writes each number as text.

precision is the number of digits behind the point, width the least number of characters, and fill
one of printf's flags ("+", "-", " ", "0", "#"). scientific writes an exponent, shortest whatever is
shorter.)")
    .Example(R"(
>>> tf.as_string([1.5, -2.0], precision=2).eval().tolist()
[b'1.50', b'-2.00'])");

MILLSTREAM_OP("StringSplit")
    .Input("input: string")
    .Input("delimiter: string")
    .Output("indices: int64")
    .Output("values: string")
    .Output("shape: int64")
    .Attr("skip_empty: bool = true")
    .Shape(StringSplitShape)
    .Doc(R"(Splits each string of a vector at any of several characters.

The outputs are a sparse matrix that has a row for each string. Each byte of delimiter splits; every
byte is a part where it is empty. Empty parts are left out if skip_empty is set. An empty string has
no parts.)");

MILLSTREAM_OP("StringSplitV2")
    .Input("input: string")
    .Input("sep: string")
    .Output("indices: int64")
    .Output("values: string")
    .Output("shape: int64")
    .Attr("maxsplit: int = -1")
    .Shape(StringSplitShape)
    .Doc(R"(Splits each string of a vector at a text, or at space if that is empty.

The outputs are a sparse matrix that has a row for each string. Unless maxsplit is negative, no string
is split more often.)");

MILLSTREAM_OP("DecodeRaw")
    .Input("bytes: string")
    .Output("output: out_type")
    .Attr(
        "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, "
        "complex128, bool}")
    .Attr("little_endian: bool = true")
    .Shape(DecodeRawShape)
    .Doc(R"(Takes the bytes of strings for numbers.

All strings have one length, a multiple of the size of out_type. The output has one more dimension,
for the numbers of a string. little_endian says in which order their bytes are.)")
    .Example(R"(
>>> tf.decode_raw(["ab"], tf.uint8).eval().tolist()
[[97, 98]])");

MILLSTREAM_OP("DecodePaddedRaw")
    .Input("input_bytes: string")
    .Input("fixed_length: int32")
    .Output("output: out_type")
    .Attr("out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64}")
    .Attr("little_endian: bool = true")
    .Shape(DecodePaddedRawShape)
    .Doc(R"(Takes the bytes of strings for numbers.

Each string is cut, or padded with zero bytes, to fixed_length bytes, a multiple of the size of
out_type. The output has one more dimension, for the numbers of a string. little_endian says in
which order their bytes are.)");

MILLSTREAM_OP("DecodeCompressed")
    .Input("bytes: string")
    .Output("output: string")
    .Attr("compression_type: string = ''")
    .Shape(DecodeCompressedShape)
    .Doc(R"(Unpacks strings.

compression_type is ZLIB, GZIP, or "" for strings that are not packed. INVALID_ARGUMENT for a string that is not
packed so, that ends too early, or that becomes 2 GiB or more.)")
    .Example(R"(
>>> import zlib
>>> tf.io.decode_compressed([zlib.compress(b"text")], "ZLIB").eval().tolist()
[b'text'])");

MILLSTREAM_OP("EncodeBase64")
    .Input("input: string")
    .Output("output: string")
    .Attr("pad: bool = false")
    .Shape(UnchangedShape)
    .Doc(R"(Writes the bytes of each string in web-safe base64, padded by "=" if pad is set.)")
    .Example(R"(
>>> tf.encode_base64(["ab"], pad=True).eval().tolist()
[b'YWI='])");

MILLSTREAM_OP("DecodeBase64")
    .Input("input: string")
    .Output("output: string")
    .Shape(UnchangedShape)
    .Doc(R"(Reads the bytes of each string in web-safe base64.

The padding may be missing. INVALID_ARGUMENT for anything else.)")
    .Example(R"(
>>> tf.decode_base64(["YWI"]).eval().tolist()
[b'ab'])");

MILLSTREAM_OP("ReduceJoin")
    .Input("inputs: string")
    .Input("reduction_indices: int32")
    .Output("output: string")
    .Attr("keep_dims: bool = false")
    .Attr("separator: string = \"\"")
    .Shape(ReduceJoinShape)
    .Doc(R"(Joins strings along some dimensions, with separator between them.

They are joined in the order of reduction_indices, the first dimension of which changes first. These
dimensions are dropped, or stay with size 1 if keep_dims is set.)")
    .Example(R"(
>>> tf.reduce_join([["a", "b"], ["c", "d"]], 1, separator="-").eval().tolist()
[b'a-b', b'c-d'])");

MILLSTREAM_OP("StringJoin")
    .Input("inputs: N * string")
    .Output("output: string")
    .Attr("N: int >= 1")
    .Attr("separator: string = \"\"")
    .Shape(StringJoinShape)
    .Doc(R"(Joins texts, element by element, with separator between them.

The inputs have one shape, but for scalars, which are joined to every element.)")
    .Example(R"(
>>> tf.string_join([["a", "b"], "c"], separator="-").eval().tolist()
[b'a-c', b'b-c'])");

}  // namespace
}  // namespace millstream
