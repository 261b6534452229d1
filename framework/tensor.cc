#include "framework/tensor.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/half.h"
#include "framework/opaque_cell.h"

namespace millstream {
namespace {

template <typename T>
void AppendComplex(std::string* out, const std::complex<T>& value) {
  absl::StrAppend(out, "(", value.real(), ",", value.imag(), ")");
}

void AppendElement(std::string* out, const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DataType::kFloat: return absl::StrAppend(out, tensor.data<float>()[i]);
    case DataType::kDouble: return absl::StrAppend(out, tensor.data<double>()[i]);
    case DataType::kHalf: return absl::StrAppend(out, HalfToFloat(tensor.data<uint16_t>()[i]));
    case DataType::kBFloat16:
      return absl::StrAppend(out, BFloat16ToFloat(tensor.data<uint16_t>()[i]));
    case DataType::kInt8:
    case DataType::kQInt8: return absl::StrAppend(out, static_cast<int>(tensor.data<int8_t>()[i]));
    case DataType::kUInt8:
    case DataType::kQUInt8:
      return absl::StrAppend(out, static_cast<int>(tensor.data<uint8_t>()[i]));
    case DataType::kInt16:
    case DataType::kQInt16: return absl::StrAppend(out, tensor.data<int16_t>()[i]);
    case DataType::kUInt16:
    case DataType::kQUInt16: return absl::StrAppend(out, tensor.data<uint16_t>()[i]);
    case DataType::kInt32:
    case DataType::kQInt32: return absl::StrAppend(out, tensor.data<int32_t>()[i]);
    case DataType::kUInt32: return absl::StrAppend(out, tensor.data<uint32_t>()[i]);
    case DataType::kInt64: return absl::StrAppend(out, tensor.data<int64_t>()[i]);
    case DataType::kUInt64: return absl::StrAppend(out, tensor.data<uint64_t>()[i]);
    case DataType::kBool: return absl::StrAppend(out, tensor.data<bool>()[i] ? "true" : "false");
    case DataType::kComplex64: return AppendComplex(out, tensor.data<std::complex<float>>()[i]);
    case DataType::kComplex128: return AppendComplex(out, tensor.data<std::complex<double>>()[i]);
    case DataType::kString:
      return absl::StrAppend(out, "\"", absl::CEscape(tensor.data<std::string>()[i]), "\"");
    case DataType::kResource:
    case DataType::kVariant: {
      const OpaqueCell& cell = tensor.data<OpaqueCell>()[i];
      return absl::StrAppend(out, cell == nullptr ? "<unset>" : cell->DebugString());
    }
    case DataType::kInvalid: return;
  }
}

template <typename T>
bool CellsEqual(const Tensor& a, const Tensor& b) {
  return std::equal(a.data<T>(), a.data<T>() + a.num_elements(), b.data<T>());
}

}  // namespace

StatusOr<Tensor> Tensor::Create(DataType dtype, const Shape& shape, Allocator* allocator) {
  if (DataTypeSize(dtype) == 0) {
    return errors::InvalidArgument("a tensor of shape ", shape.ToString(), " needs a dtype, got ",
                                   static_cast<int>(dtype));
  }
  MS_RETURN_IF_ERROR(ValidateShape(shape));
  BufferRef buffer = NewBuffer(allocator, dtype, shape.num_elements());
  if (!buffer) {
    // As a double: the product may overflow 64 bits.
    const double bytes =
        static_cast<double>(shape.num_elements()) * static_cast<double>(DataTypeSize(dtype));
    return errors::ResourceExhausted("OOM: no memory for a tensor ", DataTypeName(dtype),
                                     shape.ToString(), " of ", absl::StrFormat("%.0f", bytes),
                                     " bytes from allocator '", allocator->name(), "', which has ",
                                     allocator->stats().bytes_in_use, " bytes in use of ",
                                     allocator->stats().bytes_limit);
  }
  return Tensor(dtype, shape, std::move(buffer));
}

StatusOr<Tensor> Tensor::DeepCopy(Allocator* allocator) const {
  if (!has_value()) return Tensor();
  MS_ASSIGN_OR_RETURN(Tensor copy, Create(dtype_, shape_, allocator));
  if (IsPlainData(dtype_)) {
    if (bytes() > 0) std::memcpy(copy.raw(), raw(), bytes());
  } else if (dtype_ == DataType::kString) {
    std::copy_n(data<std::string>(), num_elements(), copy.data<std::string>());
  } else {
    std::copy_n(data<OpaqueCell>(), num_elements(), copy.data<OpaqueCell>());
  }
  return copy;
}

std::string Tensor::DebugString(int max_elements) const {
  if (!has_value()) return "<no value>";
  std::string text = absl::StrCat(DataTypeName(dtype_), shape_.ToString());
  const int64_t count = num_elements();
  const int64_t shown = std::min<int64_t>(count, max_elements);
  for (int64_t i = 0; i < shown; ++i) {
    text.push_back(' ');
    AppendElement(&text, *this, i);
  }
  if (shown < count) absl::StrAppend(&text, " ...");
  return text;
}

bool TensorsEqual(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (!a.has_value()) return true;
  if (a.raw() == b.raw() || a.num_elements() == 0) return true;
  if (a.dtype() == DataType::kString) return CellsEqual<std::string>(a, b);
  if (!IsPlainData(a.dtype())) return CellsEqual<OpaqueCell>(a, b);
  return std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

StatusOr<std::vector<int64_t>> IntegerValues(const Tensor& tensor) {
  if (tensor.dtype() == DataType::kInt32) {
    const auto values = tensor.flat<int32_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  if (tensor.dtype() == DataType::kInt64) {
    const auto values = tensor.flat<int64_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  return errors::InvalidArgument("expected an int32 or int64 tensor, got ",
                                 tensor.DebugString(/*max_elements=*/0));
}

}  // namespace millstream
