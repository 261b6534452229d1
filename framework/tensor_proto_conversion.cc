// TensorProto to Tensor and back.
#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "framework/proto_conversion.h"

namespace millstream {
namespace {

using proto::TensorProto;

std::string Describe(DataType dtype, const Shape& shape) {
  return absl::StrCat("tensor ", DataTypeName(dtype), shape.ToString());
}

// ---- Reading lists of values ----

// Calls visitor(Cell(), list) with the element type in memory and the list that belongs to `dtype`.
// REQUIRES: the dtype is neither kInvalid nor resource nor variant.
template <typename Visitor>
auto VisitValues(const TensorProto& message, DataType dtype, const Visitor& visitor) {
  switch (dtype) {
    case DataType::kFloat: return visitor(float(), message.float_val());
    case DataType::kDouble: return visitor(double(), message.double_val());
    case DataType::kInt8:
    case DataType::kQInt8: return visitor(int8_t(), message.int_val());
    case DataType::kUInt8:
    case DataType::kQUInt8: return visitor(uint8_t(), message.int_val());
    case DataType::kInt16:
    case DataType::kQInt16: return visitor(int16_t(), message.int_val());
    case DataType::kUInt16:
    case DataType::kQUInt16: return visitor(uint16_t(), message.int_val());
    case DataType::kHalf:
    case DataType::kBFloat16: return visitor(uint16_t(), message.half_val());
    case DataType::kInt32:
    case DataType::kQInt32: return visitor(int32_t(), message.int_val());
    case DataType::kInt64: return visitor(int64_t(), message.int64_val());
    case DataType::kUInt32: return visitor(uint32_t(), message.uint32_val());
    case DataType::kUInt64: return visitor(uint64_t(), message.uint64_val());
    case DataType::kBool: return visitor(bool(), message.bool_val());
    case DataType::kComplex64: return visitor(std::complex<float>(), message.scomplex_val());
    case DataType::kComplex128: return visitor(std::complex<double>(), message.dcomplex_val());
    default: return visitor(std::string(), message.string_val());
  }
}

template <typename Cell>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

struct CopyValues {
  Tensor* tensor;

  template <typename Cell, typename List>
  Status operator()(const Cell&, const List& list) const {
    if constexpr (kIsComplex<Cell>) {
      if (list.size() % 2 != 0) {
        return errors::InvalidArgument(Describe(tensor->dtype(), tensor->shape()),
                                       " needs pairs of real and imaginary parts, got ",
                                       list.size(), " parts");
      }
    }
    const int64_t given = list.size() / (kIsComplex<Cell> ? 2 : 1);
    const int64_t count = tensor->num_elements();
    if (given > count) {
      return errors::InvalidArgument(Describe(tensor->dtype(), tensor->shape()), " has ", count,
                                     " elements, got ", given, " values");
    }
    Cell* cells = tensor->data<Cell>();
    for (int i = 0; i < given; ++i) MS_RETURN_IF_ERROR(CopyOne(list, i, &cells[i]));
    std::fill(cells + given, cells + count, given == 0 ? Cell() : cells[given - 1]);
    return absl::OkStatus();
  }

 private:
  template <typename List, typename Cell>
  Status CopyOne(const List& list, int i, Cell* cell) const {
    if constexpr (kIsComplex<Cell>) {
      *cell = Cell(list[2 * i], list[2 * i + 1]);
    } else {
      *cell = static_cast<Cell>(list[i]);
    }
    if constexpr (std::is_integral_v<Cell>) {
      if (*cell != list[i]) {
        return errors::InvalidArgument(Describe(tensor->dtype(), tensor->shape()),
                                       " cannot hold the value ", list[i], " of element ", i);
      }
    }
    return absl::OkStatus();
  }
};

struct HasTooManyValues {
  int64_t count;

  template <typename Cell, typename List>
  bool operator()(const Cell&, const List& list) const {
    return list.size() / (kIsComplex<Cell> ? 2 : 1) > count;
  }
};

struct CountValues {
  template <typename Cell, typename List>
  int64_t operator()(const Cell&, const List& list) const {
    return list.size() / (kIsComplex<Cell> ? 2 : 1);
  }
};

// From this size on, a tensor of one value is not written before somebody reads it.
constexpr size_t kLeastRepeatedBytes = size_t{1} << 16;

// A large tensor that the message gives one value for, or one without value.
StatusOr<Tensor> Repeated(const TensorProto& message, DataType dtype, const Shape& shape,
                          Allocator* allocator) {
  const size_t bytes = shape.num_elements() * DataTypeSize(dtype);
  if (bytes < kLeastRepeatedBytes || !IsPlainData(dtype) || !message.tensor_content().empty() ||
      VisitValues(message, dtype, CountValues()) > 1) {
    return Tensor();
  }
  MS_ASSIGN_OR_RETURN(Tensor element, Tensor::Create(dtype, Shape()));
  MS_RETURN_IF_ERROR(VisitValues(message, dtype, CopyValues{&element}));
  BufferRef buffer = NewRepeatedBuffer(
      allocator, dtype, shape.num_elements(),
      absl::string_view(static_cast<const char*>(element.raw()), element.bytes()));
  return buffer ? Tensor(dtype, shape, std::move(buffer)) : Tensor();
}

// ---- Reading tensor_content ----

// Strings: all lengths as varints (seven bits a byte, low ones first, the top bit: more follows),
// then all bytes.
Status CopyStringContent(const std::string& content, Tensor* tensor) {
  const auto truncated = [&] {
    return errors::InvalidArgument(Describe(tensor->dtype(), tensor->shape()),
                                   " needs the lengths and bytes of ", tensor->num_elements(),
                                   " strings, got tensor_content of ", content.size(), " bytes");
  };
  size_t next = 0;
  uint64_t total = 0;
  std::vector<uint32_t> lengths(tensor->num_elements());
  for (uint32_t& length : lengths) {
    uint64_t value = 0;
    int shift = 0;
    uint8_t byte = 0;
    do {
      if (next == content.size() || shift > 28) return truncated();
      byte = static_cast<uint8_t>(content[next++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    if (value > std::numeric_limits<uint32_t>::max()) return truncated();
    length = static_cast<uint32_t>(value);
    total += value;
  }
  if (total != content.size() - next) return truncated();
  for (size_t i = 0; i < lengths.size(); ++i) {
    tensor->data<std::string>()[i].assign(content, next, lengths[i]);
    next += lengths[i];
  }
  return absl::OkStatus();
}

Status CopyContent(const std::string& content, Tensor* tensor) {
  if (tensor->dtype() == DataType::kString) return CopyStringContent(content, tensor);
  if (tensor->bytes() > 0) std::memcpy(tensor->raw(), content.data(), content.size());
  if (tensor->dtype() == DataType::kBool) {
    // Any byte may stand in a file, but a bool is 0 or 1.
    for (uint8_t& byte : absl::MakeSpan(tensor->data<uint8_t>(), tensor->num_elements())) {
      byte = byte != 0 ? 1 : 0;
    }
  }
  return absl::OkStatus();
}

// What can be refused before memory is taken.
Status CheckSize(const TensorProto& message, DataType dtype, const Shape& shape) {
  const int64_t count = shape.num_elements();
  const int64_t element = static_cast<int64_t>(DataTypeSize(dtype));
  if (count > kMaxTensorProtoBytes / element) {
    return errors::InvalidArgument(Describe(dtype, shape), " in a message must take at most ",
                                   kMaxTensorProtoBytes, " bytes, got ", count, " elements of ",
                                   element, " bytes");
  }
  const int64_t content = static_cast<int64_t>(message.tensor_content().size());
  if (content == 0) {
    if (!VisitValues(message, dtype, HasTooManyValues{count})) return absl::OkStatus();
    return errors::InvalidArgument(Describe(dtype, shape), " has ", count,
                                   " elements, got more values than that");
  }
  // A string takes at least the byte of its length.
  const bool fits = dtype == DataType::kString ? content >= count : content == count * element;
  if (fits) return absl::OkStatus();
  return errors::InvalidArgument(Describe(dtype, shape), " needs ",
                                 dtype == DataType::kString ? count : count * element,
                                 " bytes of tensor_content, got ", content);
}

// ---- Writing ----

// Whether the elements are those of a repeated buffer which nobody has asked for.
bool HasRepeatedElement(const Tensor& tensor) {
  return tensor.buffer() &&
         tensor.buffer()->repeated_element().size() == DataTypeSize(tensor.dtype());
}

// The first element as a scalar; does not write the others. REQUIRES: there is one.
StatusOr<Tensor> FirstElement(const Tensor& tensor) {
  const absl::string_view element =
      tensor.buffer() ? tensor.buffer()->repeated_element() : absl::string_view();
  if (element.size() != DataTypeSize(tensor.dtype())) {
    return Tensor(tensor.dtype(), Shape(), tensor.buffer(), tensor.offset());
  }
  MS_ASSIGN_OR_RETURN(Tensor first, Tensor::Create(tensor.dtype(), Shape()));
  element.copy(first.data<char>(), element.size());
  return first;
}

// True when all elements are the same bytes, so that one stands for all.
bool AllEqual(const Tensor& tensor) {
  if (HasRepeatedElement(tensor)) return true;
  const char* bytes = static_cast<const char*>(tensor.raw());
  const size_t element = DataTypeSize(tensor.dtype());
  return tensor.bytes() <= element ||
         std::memcmp(bytes, bytes + element, tensor.bytes() - element) == 0;
}

void AddStrings(const Tensor& tensor, TensorProto* message) {
  const auto strings = tensor.flat<std::string>();
  size_t count = strings.size();
  while (count > 1 && strings[count - 1] == strings[count - 2]) --count;
  for (size_t i = 0; i < count; ++i) message->add_string_val(strings[i]);
}

// Element `i` of a plain tensor.
void AddValue(const Tensor& tensor, int64_t i, TensorProto* message) {
  switch (tensor.dtype()) {
    case DataType::kFloat: return message->add_float_val(tensor.data<float>()[i]);
    case DataType::kDouble: return message->add_double_val(tensor.data<double>()[i]);
    case DataType::kInt8:
    case DataType::kQInt8: return message->add_int_val(tensor.data<int8_t>()[i]);
    case DataType::kUInt8:
    case DataType::kQUInt8: return message->add_int_val(tensor.data<uint8_t>()[i]);
    case DataType::kInt16:
    case DataType::kQInt16: return message->add_int_val(tensor.data<int16_t>()[i]);
    case DataType::kUInt16:
    case DataType::kQUInt16: return message->add_int_val(tensor.data<uint16_t>()[i]);
    case DataType::kHalf:
    case DataType::kBFloat16: return message->add_half_val(tensor.data<uint16_t>()[i]);
    case DataType::kInt32:
    case DataType::kQInt32: return message->add_int_val(tensor.data<int32_t>()[i]);
    case DataType::kInt64: return message->add_int64_val(tensor.data<int64_t>()[i]);
    case DataType::kUInt32: return message->add_uint32_val(tensor.data<uint32_t>()[i]);
    case DataType::kUInt64: return message->add_uint64_val(tensor.data<uint64_t>()[i]);
    case DataType::kBool: return message->add_bool_val(tensor.data<bool>()[i]);
    case DataType::kComplex64:
      message->add_scomplex_val(tensor.data<std::complex<float>>()[i].real());
      return message->add_scomplex_val(tensor.data<std::complex<float>>()[i].imag());
    case DataType::kComplex128:
      message->add_dcomplex_val(tensor.data<std::complex<double>>()[i].real());
      return message->add_dcomplex_val(tensor.data<std::complex<double>>()[i].imag());
    default: return;
  }
}

Status CheckHasForm(DataType dtype) {
  if (dtype == DataType::kString || IsPlainData(dtype)) return absl::OkStatus();
  return errors::Unimplemented("a tensor of dtype ", DataTypeName(dtype),
                               " has no form as a message");
}

}  // namespace

Status TensorToProto(const Tensor& tensor, TensorProto* message) {
  message->Clear();
  MS_RETURN_IF_ERROR(CheckHasForm(tensor.dtype()));
  const bool is_string = tensor.dtype() == DataType::kString;
  message->set_dtype(DataTypeToProto(tensor.dtype()));
  ShapeToProto(tensor.shape(), message->mutable_tensor_shape());
  if (tensor.num_elements() == 0) return absl::OkStatus();
  if (is_string) {
    AddStrings(tensor, message);
  } else if (AllEqual(tensor)) {
    MS_ASSIGN_OR_RETURN(const Tensor first, FirstElement(tensor));
    AddValue(first, 0, message);
  } else if (tensor.dtype() == DataType::kBool || IsComplex(tensor.dtype())) {
    for (int64_t i = 0; i < tensor.num_elements(); ++i) AddValue(tensor, i, message);
  } else {
    message->set_tensor_content(tensor.raw(), tensor.bytes());
  }
  return absl::OkStatus();
}

Status TensorValuesToProto(const Tensor& tensor, TensorProto* message) {
  message->Clear();
  MS_RETURN_IF_ERROR(CheckHasForm(tensor.dtype()));
  if (tensor.dtype() == DataType::kString) {
    for (const std::string& text : tensor.flat<std::string>()) message->add_string_val(text);
  } else {
    for (int64_t i = 0; i < tensor.num_elements(); ++i) AddValue(tensor, i, message);
  }
  return absl::OkStatus();
}

StatusOr<Tensor> TensorFromProto(const TensorProto& message, Allocator* allocator) {
  MS_ASSIGN_OR_RETURN(const DataType dtype, DataTypeFromProto(message.dtype()));
  if (dtype == DataType::kResource || dtype == DataType::kVariant) {
    return errors::Unimplemented("a tensor of dtype ", DataTypeName(dtype),
                                 " cannot be read from a message");
  }
  if (dtype == DataType::kInvalid) {
    return errors::InvalidArgument("a tensor message needs a dtype, got DT_INVALID");
  }
  MS_ASSIGN_OR_RETURN(const Shape shape, ShapeFromProto(message.tensor_shape()));
  MS_RETURN_IF_ERROR(CheckSize(message, dtype, shape));
  StatusOr<Tensor> repeated = Repeated(message, dtype, shape, allocator);
  if (repeated.ok() && repeated->has_value()) return repeated;
  MS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape, allocator));
  if (message.tensor_content().empty()) {
    MS_RETURN_IF_ERROR(VisitValues(message, dtype, CopyValues{&tensor}));
  } else {
    MS_RETURN_IF_ERROR(CopyContent(message.tensor_content(), &tensor));
  }
  return tensor;
}

}  // namespace millstream
