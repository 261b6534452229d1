// Tensors and sparse tensors as messages in strings.
#include <cstdint>
#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/sparse_inputs.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// A serialized sparse tensor is three strings: those of its indices, its values and its shape.
constexpr int64_t kParts = 3;

Status SerializeSparseShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(SparseInputShape(*context, 0).status());
  context->SetOutput(0, PartialShape::Vector(kParts));
  return absl::OkStatus();
}

Status SerializeManySparseShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, SparseInputShape(*context, 0));
  if (shape.known_rank() && shape.rank() < 2) {
    return InvalidInput(*context, 2,
                        "Rank of input SparseTensor should be > 1, but saw rank: ", shape.rank());
  }
  // The number of rows follows from the shape's first element, which the step reads.
  context->SetOutput(0, PartialShape::Matrix(kUnknownDim, kParts));
  return absl::OkStatus();
}

Status CheckParts(const ShapeContext& context, const PartialShape& serialized) {
  const int64_t parts = serialized.known_rank() ? serialized.dim(-1) : kUnknownDim;
  if (parts == kUnknownDim || parts == kParts) return absl::OkStatus();
  return InvalidInput(context, 0, "Serialized sparse should have 3 as the last dimension, got ",
                      serialized.ToString());
}

Status DeserializeSparseShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape serialized, context->WithRankAtLeast(0, 1));
  MS_RETURN_IF_ERROR(CheckParts(*context, serialized));
  SetSparseOutput(context, 0, kUnknownDim);
  return absl::OkStatus();
}

Status DeserializeManySparseShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape serialized, context->WithRank(0, 2));
  MS_RETURN_IF_ERROR(CheckParts(*context, serialized));
  SetSparseOutput(context, 0, kUnknownDim);
  return absl::OkStatus();
}

Status UnknownShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  context->SetOutput(0, PartialShape());
  return absl::OkStatus();
}

void OfSparse(OpSpec* spec) {
  spec->Input("sparse_indices: int64")
      .Input("sparse_values: T")
      .Input("sparse_shape: int64")
      .Output("serialized_sparse: out_type")
      .Attr("T: type")
      .Attr("out_type: {string, variant} = string");
}

void ToSparse(OpSpec* spec) {
  spec->Output("sparse_indices: int64")
      .Output("sparse_values: dtype")
      .Output("sparse_shape: int64")
      .Attr("dtype: type");
}

MILLSTREAM_OP("SerializeTensor")
    .Input("tensor: T")
    .Output("serialized: string")
    .Attr("T: type")
    .Shape(ScalarShape)
    .Doc(R"(Writes a tensor into a string, as a TensorProto message.)")
    .Example(R"(
>>> text = tf.serialize_tensor([1.0, 2.0])
>>> tf.parse_tensor(text, tf.float32).eval().tolist()
[1.0, 2.0])");

MILLSTREAM_OP("ParseTensor")
    .Input("serialized: string")
    .Output("output: out_type")
    .Attr("out_type: type")
    .Shape(UnknownShape)
    .Doc(R"(Reads a tensor from a string that has a TensorProto message.

INVALID_ARGUMENT if it is no such message, or of another type.)")
    .Example(R"(
>>> tf.parse_tensor(tf.serialize_tensor([[1, 2]]), tf.int32).eval().tolist()
[[1, 2]])");

MILLSTREAM_OP("SerializeSparse")
    .With(OfSparse)
    .Shape(SerializeSparseShape)
    .Doc(R"(Writes a sparse tensor into three strings: indices, values and shape.)");

MILLSTREAM_OP("SerializeManySparse")
    .With(OfSparse)
    .Shape(SerializeManySparseShape)
    .Doc(R"(Writes each row of a sparse tensor into three strings: indices, values and shape.

A row is a sparse tensor without the first dimension.)");

MILLSTREAM_OP("DeserializeSparse")
    .Input("serialized_sparse: Tserialized")
    .With(ToSparse)
    .Attr("Tserialized: {string, variant} = string")
    .Shape(DeserializeSparseShape)
    .Doc(R"(Reads sparse tensors from strings, three for each, into one sparse tensor.

The last dimension of the input, the three strings, becomes the dimensions of the sparse tensors,
which have one rank. Their sizes are those of the largest.)");

MILLSTREAM_OP("DeserializeManySparse")
    .Input("serialized_sparse: string")
    .With(ToSparse)
    .Shape(DeserializeManySparseShape)
    .Doc(R"(Reads a batch of sparse tensors from strings, three in each row, into one sparse tensor.

They have one rank. Their sizes are those of the largest.)");

MILLSTREAM_OP("DecodeJSONExample")
    .Input("json_examples: string")
    .Output("binary_examples: string")
    .Shape(UnchangedShape)
    .Doc(R"(Reads Example messages in JSON, and writes them in binary.)")
    .Example(R"(
>>> text = '{"features": {"feature": {"n": {"int64List": {"value": ["3"]}}}}}'
>>> tf.train.Example.FromString(tf.decode_json_example(text).eval()).features.feature["n"]
int64_list {
  value: 3
}
<BLANKLINE>)");

}  // namespace
}  // namespace millstream
