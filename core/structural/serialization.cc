// Tensors and sparse tensors in strings, as TensorProto messages, and examples in JSON.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/structural/host_kernel.h"
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

// Three tensors that fit together.
struct SparseParts {
  Tensor indices;  // int64 [count, rank]
  Tensor values;   // [count]
  Tensor shape;    // int64 [rank]

  int64_t count() const { return indices.shape().dim(0); }
  int64_t rank() const { return indices.shape().dim(1); }
};

Status CheckParts(const SparseParts& parts) {
  const Shape& indices = parts.indices.shape();
  const Shape& values = parts.values.shape();
  const Shape& shape = parts.shape.shape();
  if (indices.rank() == 2 && values.rank() == 1 && shape.rank() == 1 &&
      indices.dim(0) == values.dim(0) && indices.dim(1) == shape.dim(0)) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("indices, values and shape of a sparse tensor do not fit: their ",
                                 "shapes are ", indices.ToString(), ", ", values.ToString(),
                                 " and ", shape.ToString());
}

StatusOr<SparseParts> SparseInput(const StructuralFrame& frame) {
  const SparseParts parts = {frame.BorrowInput(0), frame.BorrowInput(1), frame.BorrowInput(2)};
  const Shape& indices = parts.indices.shape();
  const char* const wrong = indices.rank() != 2                               ? "sparse_indices"
                            : parts.values.shape() != Shape({indices.dim(0)}) ? "sparse_values"
                            : parts.shape.shape() != Shape({indices.dim(1)})  ? "sparse_shape"
                                                                              : nullptr;
  if (wrong != nullptr) {
    return WithContext(CheckParts(parts), absl::StrCat("argument '", wrong, "'"));
  }
  const Status sizes = ValidateShape(Shape(parts.shape.flat<int64_t>()));
  if (!sizes.ok()) return WithContext(sizes, "argument 'sparse_shape'");
  if (frame.call().output_type(0) == DataType::kString) return parts;
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
  MS_ASSIGN_OR_RETURN(const SparseParts parts, SparseInput(*frame));
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape({kParts})));
  return WriteParts(parts, output.data<std::string>());
}

// Element `i` of `from` becomes element `j` of `to`.
void MoveElement(const Tensor& from, int64_t i, const Tensor& to, int64_t j) {
  if (from.dtype() == DataType::kString) {
    to.data<std::string>()[j] = from.data<std::string>()[i];
    return;
  }
  const size_t size = DataTypeSize(from.dtype());
  std::memcpy(static_cast<char*>(to.raw()) + static_cast<size_t>(j) * size,
              static_cast<const char*>(from.raw()) + static_cast<size_t>(i) * size, size);
}

// The elements of `all` whose numbers are listed, without the first dimension.
StatusOr<SparseParts> RowOf(const SparseParts& all, const std::vector<int64_t>& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  const int64_t rank = all.rank() - 1;
  SparseParts row;
  MS_ASSIGN_OR_RETURN(row.indices, Tensor::Create(DataType::kInt64, Shape({count, rank})));
  MS_ASSIGN_OR_RETURN(row.values, Tensor::Create(all.values.dtype(), Shape({count})));
  MS_ASSIGN_OR_RETURN(row.shape, Tensor::Create(DataType::kInt64, Shape({rank})));
  std::copy_n(all.shape.data<int64_t>() + 1, rank, row.shape.data<int64_t>());
  for (int64_t k = 0; k < count; ++k) {
    const int64_t number = numbers[static_cast<size_t>(k)];
    std::copy_n(all.indices.data<int64_t>() + number * all.rank() + 1, rank,
                row.indices.data<int64_t>() + k * rank);
    MoveElement(all.values, number, row.values, k);
  }
  return row;
}

Status SerializeManySparse(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const SparseParts parts, SparseInput(*frame));
  if (parts.rank() < 2) {
    return errors::InvalidArgument("argument 'sparse_shape': Rank of input SparseTensor should be ",
                                   "> 1, but saw rank: ", parts.rank());
  }
  const int64_t rows = parts.shape.data<int64_t>()[0];
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape({rows, kParts})));
  std::vector<std::vector<int64_t>> numbers(static_cast<size_t>(rows));
  for (int64_t k = 0; k < parts.count(); ++k) {
    const int64_t row = parts.indices.data<int64_t>()[k * parts.rank()];
    if (row < 0 || row >= rows) {
      return errors::InvalidArgument("argument 'sparse_indices': Received unexpected column 0 ",
                                     "value in input SparseTensor: ", row, " < 0 or >= ", rows,
                                     " (element ", k, ")");
    }
    numbers[static_cast<size_t>(row)].push_back(k);
  }
  for (int64_t row = 0; row < rows; ++row) {
    MS_ASSIGN_OR_RETURN(const SparseParts part, RowOf(parts, numbers[static_cast<size_t>(row)]));
    MS_RETURN_IF_ERROR(WriteParts(part, output.data<std::string>() + row * kParts));
  }
  return absl::OkStatus();
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
  MS_RETURN_IF_ERROR(CheckParts(parts));
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

// The sizes of all sparse tensors together: those of the input but for the last, and the largest.
std::vector<int64_t> JoinedSizes(const Shape& input, const std::vector<SparseParts>& all) {
  std::vector<int64_t> sizes(input.dims().begin(), input.dims().end() - 1);
  const size_t before = sizes.size();
  sizes.resize(before + static_cast<size_t>(all[0].rank()), 0);
  for (const SparseParts& parts : all) {
    for (size_t d = before; d < sizes.size(); ++d) {
      sizes[d] = std::max(sizes[d], parts.shape.data<int64_t>()[d - before]);
    }
  }
  return sizes;
}

Status DeserializeSparse(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::vector<SparseParts> all, ParsedInput(*frame));
  const Shape input = frame->input_shape(0);
  const std::vector<int64_t> sizes = JoinedSizes(input, all);
  const auto rank = static_cast<int64_t>(sizes.size());
  const int64_t before = input.rank() - 1;
  int64_t total = 0;
  for (const SparseParts& parts : all) total += parts.count();
  MS_ASSIGN_OR_RETURN(const Tensor indices, frame->AllocateOutput(0, Shape({total, rank})));
  MS_ASSIGN_OR_RETURN(const Tensor values, frame->AllocateOutput(1, Shape({total})));
  MS_ASSIGN_OR_RETURN(const Tensor shape, frame->AllocateOutput(2, Shape({rank})));
  std::copy(sizes.begin(), sizes.end(), shape.data<int64_t>());
  int64_t next = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (int64_t k = 0; k < all[i].count(); ++k, ++next) {
      int64_t* const index = indices.data<int64_t>() + next * rank;
      int64_t place = static_cast<int64_t>(i);
      for (int64_t d = before - 1; d >= 0; --d) {
        index[d] = place % sizes[static_cast<size_t>(d)];
        place /= sizes[static_cast<size_t>(d)];
      }
      std::copy_n(all[i].indices.data<int64_t>() + k * all[i].rank(), all[i].rank(),
                  index + before);
      MoveElement(all[i].values, k, values, next);
    }
  }
  return absl::OkStatus();
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
