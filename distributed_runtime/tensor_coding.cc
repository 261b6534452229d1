#include "distributed_runtime/tensor_coding.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "absl/base/internal/endian.h"
#include "distributed_runtime/shortened_floats.h"
#include "framework/dtype.h"
#include "framework/proto_conversion.h"
#include "framework/shape.h"

namespace millstream {
namespace {

// Tensors are expected to begin at such addresses.
constexpr uintptr_t kAlignment = 64;
// Elements that are no plain data take memory although nobody reads them.
constexpr int64_t kMostUnsentCells = 1024;

void SetTypeAndShape(const Tensor& tensor, proto::TensorHeader* header) {
  header->set_dtype(DataTypeToProto(tensor.dtype()));
  for (const int64_t dim : tensor.shape().dims()) header->add_dims(dim);
}

Slice SliceOf(const Tensor& tensor) {
  Slice slice;
  slice.data = static_cast<const char*>(tensor.raw());
  slice.size = tensor.bytes();
  slice.owner = tensor.buffer();
  return slice;
}

Slice SliceOf(std::string bytes) {
  Payload payload;
  payload.Append(std::move(bytes));
  return payload.slices().empty() ? Slice() : payload.slices()[0];
}

// Appends it. RESOURCE_EXHAUSTED if it has more than `most` bytes.
Status AppendMessage(const google::protobuf::MessageLite& message, size_t most,
                     std::string* bytes) {
  const size_t size = message.ByteSizeLong();
  if (size <= most && message.AppendToString(bytes)) return absl::OkStatus();
  return errors::ResourceExhausted("a ", message.GetTypeName(), " of ", size,
                                   " bytes is too large for a message, which has at most ", most);
}

// `bytes` is the message, behind room for its size.
Payload WithSize(std::string bytes, uint32_t size) {
  absl::little_endian::Store32(bytes.data(), size);
  Payload payload;
  payload.Append(std::move(bytes));
  return payload;
}

// Before memory is taken for it: the bytes that came are those that the elements need.
Status CheckSize(DataType dtype, const Shape& shape, size_t element, size_t size) {
  if (static_cast<uint64_t>(shape.num_elements()) <= size / element &&
      shape.num_elements() * element == size) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("a tensor ", DataTypeName(dtype), shape.ToString(), " came with ",
                                 size, " bytes, of ", element, " for an element");
}

// The writer lists each string, so that the message is as long as the tensor.
StatusOr<Tensor> ReadTensorMessage(DataType dtype, const Shape& shape, size_t size,
                                   PayloadReader* reader) {
  std::string bytes(size, '\0');
  MS_RETURN_IF_ERROR(reader->Read(bytes.data(), bytes.size()));
  proto::TensorProto message;
  if (!message.ParseFromString(bytes)) {
    return errors::InvalidArgument("the message of a tensor cannot be parsed");
  }
  if (message.string_val_size() != shape.num_elements() || !message.tensor_content().empty()) {
    return errors::InvalidArgument("a tensor ", DataTypeName(dtype), shape.ToString(),
                                   " came with ", message.string_val_size(), " elements");
  }
  message.set_dtype(DataTypeToProto(dtype));
  ShapeToProto(shape, message.mutable_tensor_shape());
  return TensorFromProto(message);
}

StatusOr<Tensor> ReadShortened(const Shape& shape, size_t size, PayloadReader* reader) {
  MS_RETURN_IF_ERROR(CheckSize(DataType::kFloat, shape, sizeof(uint16_t), size));
  MS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DataType::kFloat, shape));
  std::string bytes(size, '\0');
  MS_RETURN_IF_ERROR(reader->Read(bytes.data(), size));
  LengthenFloats(bytes.data(), shape.num_elements(), static_cast<float*>(tensor.raw()));
  return tensor;
}

// The elements are zeros, or empty strings.
StatusOr<Tensor> WithShapeOnly(DataType dtype, const Shape& shape) {
  if (!IsPlainData(dtype)) {
    if (shape.num_elements() <= kMostUnsentCells) return Tensor::Create(dtype, shape);
    return errors::InvalidArgument("a tensor ", DataTypeName(dtype), shape.ToString(),
                                   " came without its elements, expected at most ",
                                   kMostUnsentCells, " of them");
  }
  // Nobody reads the elements, so that their memory is never written.
  const std::string zero(DataTypeSize(dtype), '\0');
  BufferRef buffer = NewRepeatedBuffer(HostAllocator(), dtype, shape.num_elements(), zero);
  if (!buffer) return errors::ResourceExhausted("no memory for a tensor of a step");
  return Tensor(dtype, shape, std::move(buffer));
}

}  // namespace

Status TensorWriter::Add(const Tensor& tensor, proto::TensorHeader* header) {
  header->Clear();
  if (!tensor.has_value()) return absl::OkStatus();
  SetTypeAndShape(tensor, header);
  if (!IsPlainData(tensor.dtype())) {
    proto::TensorProto message;
    MS_RETURN_IF_ERROR(TensorValuesToProto(tensor, &message));
    std::string bytes;
    MS_RETURN_IF_ERROR(AppendMessage(message, most_, &bytes));
    slices_.push_back(SliceOf(std::move(bytes)));
    header->set_is_message(true);
  } else if (tensor.buffer() && !tensor.buffer()->writable()) {
    MS_ASSIGN_OR_RETURN(const Tensor copy, tensor.DeepCopy());
    slices_.push_back(SliceOf(copy));
  } else {
    slices_.push_back(SliceOf(tensor));
  }
  header->set_bytes(static_cast<int64_t>(slices_.back().size));
  return absl::OkStatus();
}

Status TensorWriter::AddSent(const Tensor& tensor, bool shortens, proto::TensorHeader* header) {
  if (!shortens || !tensor.has_value() || tensor.dtype() != DataType::kFloat) {
    return Add(tensor, header);
  }
  const auto* const elements = static_cast<const float*>(tensor.raw());
  const size_t count = tensor.bytes() / sizeof(float);
  std::string bytes(count * sizeof(uint16_t), '\0');
  ShortenFloats(elements, count, bytes.data());
  header->Clear();
  SetTypeAndShape(tensor, header);
  header->set_is_shortened(true);
  header->set_bytes(static_cast<int64_t>(bytes.size()));
  slices_.push_back(SliceOf(std::move(bytes)));
  return absl::OkStatus();
}

Payload TensorWriter::Finish(const google::protobuf::MessageLite& message) {
  return WithSlices(EncodeMessage(message));
}

StatusOr<Payload> TensorWriter::FinishLarge(const google::protobuf::MessageLite& message) {
  MS_ASSIGN_OR_RETURN(Payload payload, EncodeLargeMessage(message, most_));
  return WithSlices(std::move(payload));
}

Payload TensorWriter::WithSlices(Payload message) {
  for (Slice& slice : slices_) message.Append(std::move(slice));
  slices_.clear();
  return message;
}

Status TensorWriter::AddShape(const Tensor& tensor, proto::TensorHeader* header) {
  if (!IsPlainData(tensor.dtype()) && tensor.num_elements() > kMostUnsentCells) {
    return Add(tensor, header);
  }
  header->Clear();
  SetTypeAndShape(tensor, header);
  header->set_is_shape_only(true);
  return absl::OkStatus();
}

Payload EncodeMessage(const google::protobuf::MessageLite& message) {
  std::string bytes(sizeof(uint32_t), '\0');
  // The size of one that was not written is none that DecodeMessage takes.
  const bool is_written = message.AppendToString(&bytes);
  const size_t size = bytes.size() - sizeof(uint32_t);
  return WithSize(std::move(bytes),
                  is_written ? static_cast<uint32_t>(size) : std::numeric_limits<uint32_t>::max());
}

StatusOr<Payload> EncodeLargeMessage(const google::protobuf::MessageLite& message, size_t most) {
  std::string bytes(sizeof(uint32_t), '\0');
  MS_RETURN_IF_ERROR(AppendMessage(message, most, &bytes));
  const size_t size = bytes.size() - sizeof(uint32_t);
  return WithSize(std::move(bytes), static_cast<uint32_t>(size));
}

Status DecodeMessage(PayloadReader* reader, google::protobuf::MessageLite* message) {
  char size_bytes[sizeof(uint32_t)];
  MS_RETURN_IF_ERROR(reader->Read(size_bytes, sizeof(size_bytes)));
  const size_t size = absl::little_endian::Load32(size_bytes);
  if (size > std::min(reader->left(), kMostBytesOfMessage)) {
    return errors::InvalidArgument("expected a message of ", size, " bytes, got ", reader->left());
  }
  std::string bytes(size, '\0');
  MS_RETURN_IF_ERROR(reader->Read(bytes.data(), size));
  if (!message->ParseFromString(bytes)) {
    return errors::InvalidArgument("bytes of a task are no ", message->GetTypeName());
  }
  return absl::OkStatus();
}

StatusOr<Tensor> DecodeTensor(const proto::TensorHeader& header, PayloadReader* reader) {
  if (header.dtype() == 0) return Tensor();
  MS_ASSIGN_OR_RETURN(const DataType dtype, DataTypeFromProto(header.dtype()));
  const Shape shape(std::vector<int64_t>(header.dims().begin(), header.dims().end()));
  MS_RETURN_IF_ERROR(ValidateShape(shape));
  if (header.is_shape_only()) return WithShapeOnly(dtype, shape);
  if (header.is_message() == IsPlainData(dtype)) {
    return errors::InvalidArgument("a tensor of ", DataTypeName(dtype), " came as ",
                                   header.is_message() ? "a message" : "plain bytes");
  }
  const size_t size = static_cast<size_t>(header.bytes());
  if (header.bytes() < 0 || size > reader->left()) {
    return errors::InvalidArgument("expected ", header.bytes(), " bytes of a tensor, got ",
                                   reader->left());
  }
  if (header.is_message()) return ReadTensorMessage(dtype, shape, size, reader);
  if (header.is_shortened() && dtype == DataType::kFloat) return ReadShortened(shape, size, reader);
  MS_RETURN_IF_ERROR(CheckSize(dtype, shape, DataTypeSize(dtype), size));
  const Slice* const slice = reader->TakeSlice(size);
  if (slice != nullptr && reinterpret_cast<uintptr_t>(slice->data) % kAlignment == 0 &&
      slice->owner->writable()) {
    const size_t offset = slice->data - static_cast<const char*>(slice->owner->data());
    return Tensor(dtype, shape, slice->owner, offset);
  }
  MS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  if (slice != nullptr) {
    std::memcpy(tensor.raw(), slice->data, size);
  } else if (size > 0) {
    MS_RETURN_IF_ERROR(reader->Read(static_cast<char*>(tensor.raw()), size));
  }
  return tensor;
}

void EncodeStatus(const Status& status, proto::StatusMessage* message) {
  message->set_code(static_cast<int32_t>(status.code()));
  message->set_text(std::string(status.message()));
  status.ForEachPayload([message](absl::string_view url, const absl::Cord& payload) {
    (*message->mutable_payloads())[std::string(url)] = std::string(payload);
  });
}

Status DecodeStatus(const proto::StatusMessage& message) {
  Status status(static_cast<absl::StatusCode>(message.code()), message.text());
  for (const auto& [url, payload] : message.payloads()) {
    status.SetPayload(url, absl::Cord(payload));
  }
  return status;
}

}  // namespace millstream
