#include "framework/plugin/check/case_values.h"

#include <complex>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "framework/half.h"

namespace millstream::plugin_check {
namespace {

// Calls `set` with a pointer to each element as T.
template <typename T, typename Set>
void Each(const Tensor& tensor, Set set) {
  T* const data = tensor.data<T>();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) set(data + i);
}

int64_t WholeOf(DataType type, const void* element) {
  const auto get = [element](auto number) {
    std::memcpy(&number, element, sizeof(number));
    return static_cast<int64_t>(number);
  };
  switch (type) {
    case DataType::kBool:
    case DataType::kUInt8:
    case DataType::kQUInt8: return get(uint8_t{});
    case DataType::kInt8:
    case DataType::kQInt8: return get(int8_t{});
    case DataType::kInt16:
    case DataType::kQInt16: return get(int16_t{});
    case DataType::kUInt16:
    case DataType::kQUInt16: return get(uint16_t{});
    case DataType::kInt32:
    case DataType::kQInt32: return get(int32_t{});
    case DataType::kUInt32: return get(uint32_t{});
    case DataType::kUInt64: return get(uint64_t{});
    default: return get(int64_t{});
  }
}

template <typename T>
void AppendParts(const Tensor& tensor, std::vector<double>* numbers) {
  Each<T>(tensor, [numbers](const T* element) {
    numbers->push_back(static_cast<double>(element->real()));
    numbers->push_back(static_cast<double>(element->imag()));
  });
}

}  // namespace

bool NumbersOf(const Tensor& tensor, std::vector<double>* numbers) {
  const DataType type = tensor.dtype();
  if (!IsPlainData(type)) return false;
  if (type == DataType::kComplex64) {
    AppendParts<std::complex<float>>(tensor, numbers);
    return true;
  }
  if (type == DataType::kComplex128) {
    AppendParts<std::complex<double>>(tensor, numbers);
    return true;
  }
  const char* element = static_cast<const char*>(tensor.raw());
  for (int64_t i = 0; i < tensor.num_elements(); ++i, element += DataTypeSize(type)) {
    double number = 0;
    uint16_t bits = 0;
    float single = 0;
    std::memcpy(&bits, element, type == DataType::kHalf || type == DataType::kBFloat16 ? 2 : 0);
    switch (type) {
      case DataType::kHalf: number = HalfToFloat(bits); break;
      case DataType::kBFloat16: number = BFloat16ToFloat(bits); break;
      case DataType::kFloat:
        std::memcpy(&single, element, 4);
        number = single;
        break;
      case DataType::kDouble: std::memcpy(&number, element, 8); break;
      default: number = static_cast<double>(WholeOf(type, element));
    }
    numbers->push_back(number);
  }
  return true;
}

}  // namespace millstream::plugin_check
