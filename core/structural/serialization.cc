// Tensors and sparse tensors in strings, as TensorProto messages, and examples in JSON.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/structural/host_kernel.h"
#include "core/structural/sparse_parts.h"
#include "core/structural/structural.h"
#include "framework/message.h"
#include "framework/proto_conversion.h"
#include "google/protobuf/util/json_util.h"
#include "millstream/framework/protos/example.pb.h"

namespace millstream {
namespace {

constexpr int64_t kParts = 3;  // indices, values and shape of a sparse tensor

// ---- One tensor ----

// The message with the elements as bytes, whatever they are; strings one by one.
StatusOr<std::string> Serialized(const Tensor& tensor) {
  proto::TensorProto message;
  message.set_dtype(DataTypeToProto(tensor.dtype()));
  ShapeToProto(tensor.shape(), message.mutable_tensor_shape());
  if (tensor.dtype() == DataType::kString) {
    for (const std::string& text : tensor.flat<std::string>()) message.add_string_val(text);
  } else if (IsPlainData(tensor.dtype())) {
    if (tensor.bytes() > 0) message.set_tensor_content(tensor.raw(), tensor.bytes());
  } else {
    return errors::Unimplemented("a tensor of type ", DataTypeName(tensor.dtype()),
                                 " has no bytes to serialize");
  }
  return ToBinary(message);
}

StatusOr<Tensor> Parsed(const std::string& bytes) {
  MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseBinary("TensorProto", bytes));
  return TensorFromProto(static_cast<const proto::TensorProto&>(*message));
}

Status SerializeTensor(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(std::string text, Serialized(frame->BorrowInput(0)));
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
  *output.data<std::string>() = std::move(text);
  return absl::OkStatus();
}

Status ParseTensor(StructuralFrame* frame) {
  const Tensor serialized = frame->BorrowInput(0);
  if (serialized.shape().rank() != 0) {
    return errors::InvalidArgument("argument 'serialized' must be a scalar, got shape ",
                                   serialized.shape().ToString());
  }
  const StatusOr<Tensor> tensor = Parsed(*serialized.data<std::string>());
  if (!tensor.ok()) return WithContext(tensor.status(), "argument 'serialized'");
  const DataType dtype = frame->call().output_type(0);
  if (tensor->dtype() == dtype) return frame->SetOutput(0, *tensor);
  return errors::InvalidArgument("argument 'serialized': Type mismatch between parsed tensor (",
                                 DataTypeName(tensor->dtype()), ") and dtype (",
                                 DataTypeName(dtype), ")");
}

// ---- Sparse tensors ----

StatusOr<SparseParts> SerializedInput(const StructuralFrame& frame) {
  if (frame.call().output_type(0) == DataType::kString) return SparseInput(frame);
  return errors::Unimplemented("attribute 'out_type': sparse tensors are serialized as strings ",
                               "alone, got ", DataTypeName(frame.call().output_type(0)));
}

// Writes the three strings from `to` on.
Status WriteParts(const SparseParts& parts, std::string* to) {
  for (const Tensor* const part : {&parts.indices, &parts.values, &parts.shape}) {
    MS_ASSIGN_OR_RETURN(*to++, Serialized(*part));
  }
  return absl::OkStatus();
}

Status SerializeSparse(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const SparseParts parts, SerializedInput(*frame));
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape({kParts})));
  return WriteParts(parts, output.data<std::string>());
}

Status SerializeManySparse(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const SparseParts parts, SerializedInput(*frame));
  MS_ASSIGN_OR_RETURN(const int64_t rows, SparseRowCount(parts));
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape({rows, kParts})));
  return ForEachSparseRow(parts, [&](int64_t row, const SparseParts& part) {
    return WriteParts(part, output.data<std::string>() + row * kParts);
  });
}

// Of three strings.
StatusOr<SparseParts> ParsedSparse(const std::string* texts, DataType dtype) {
  SparseParts parts;
  for (Tensor* const part : {&parts.indices, &parts.values, &parts.shape}) {
    MS_ASSIGN_OR_RETURN(*part, Parsed(*texts++));
    const DataType expected = part == &parts.values ? dtype : DataType::kInt64;
    if (part->dtype() == expected) continue;
    return errors::InvalidArgument("Requested SparseTensor of type ", DataTypeName(expected),
                                   " but the string has a tensor of type ",
                                   DataTypeName(part->dtype()));
  }
  MS_RETURN_IF_ERROR(CheckSparseParts(parts));
  return parts;
}

StatusOr<std::vector<SparseParts>> ParsedInput(const StructuralFrame& frame) {
  const Tensor serialized = frame.BorrowInput(0);
  const Shape& shape = serialized.shape();
  if (serialized.dtype() != DataType::kString) {
    return errors::Unimplemented("attribute 'Tserialized': sparse tensors are serialized as ",
                                 "strings alone, got ", DataTypeName(serialized.dtype()));
  }
  if (shape.rank() == 0 || shape.dim(shape.rank() - 1) != kParts) {
    return errors::InvalidArgument("argument 'serialized_sparse': Serialized sparse should have 3 ",
                                   "as the last dimension, got shape ", shape.ToString());
  }
  if (serialized.num_elements() == 0) {
    return errors::InvalidArgument("argument 'serialized_sparse' should have non-zero number of ",
                                   "elements, got shape ", shape.ToString());
  }
  std::vector<SparseParts> all;
  for (int64_t i = 0; i < serialized.num_elements() / kParts; ++i) {
    StatusOr<SparseParts> parts =
        ParsedSparse(serialized.data<std::string>() + i * kParts, frame.call().output_type(1));
    if (!parts.ok()) {
      return WithContext(parts.status(),
                         absl::StrCat("argument 'serialized_sparse', sparse tensor ", i));
    }
    if (i > 0 && parts->rank() != all[0].rank()) {
      return errors::InvalidArgument(
          "argument 'serialized_sparse': Inconsistent rank across SparseTensors: rank prior to ",
          "SparseTensor[", i, "] was: ", all[0].rank(), " but rank of SparseTensor[", i,
          "] is: ", parts->rank());
    }
    all.push_back(*std::move(parts));
  }
  return all;
}

Status DeserializeSparse(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::vector<SparseParts> all, ParsedInput(*frame));
  const Shape input = frame->input_shape(0);
  return SetJoined(frame, Shape(input.dims().subspan(0, input.dims().size() - 1)), all);
}

// ---- Examples in JSON ----

Status DecodeJsonExample(StructuralFrame* frame) {
  const Tensor texts = frame->BorrowInput(0);
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, texts.shape()));
  for (int64_t i = 0; i < texts.num_elements(); ++i) {
    proto::Example example;
    const auto read =
        google::protobuf::util::JsonStringToMessage(texts.data<std::string>()[i], &example);
    if (!read.ok()) {
      return errors::InvalidArgument("argument 'json_examples': Error while parsing JSON in ",
                                     "element ", i, ": ", absl::CHexEscape(read.ToString()));
    }
    MS_ASSIGN_OR_RETURN(output.data<std::string>()[i], ToBinary(example));
  }
  return absl::OkStatus();
}

MILLSTREAM_HOST_KERNEL("SerializeTensor", HostFunction<&SerializeTensor>);
MILLSTREAM_HOST_KERNEL("ParseTensor", HostFunction<&ParseTensor>);
MILLSTREAM_HOST_KERNEL("SerializeSparse", HostFunction<&SerializeSparse>);
MILLSTREAM_HOST_KERNEL("SerializeManySparse", HostFunction<&SerializeManySparse>);
MILLSTREAM_HOST_KERNEL("DeserializeSparse", HostFunction<&DeserializeSparse>);
MILLSTREAM_HOST_KERNEL("DeserializeManySparse", HostFunction<&DeserializeSparse>);
MILLSTREAM_HOST_KERNEL("DecodeJSONExample", HostFunction<&DecodeJsonExample>);

}  // namespace
}  // namespace millstream
