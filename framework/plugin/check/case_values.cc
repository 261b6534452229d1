#include "framework/plugin/check/case_values.h"

#include <complex>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "framework/half.h"

namespace millstream::plugin_check {
namespace {

// Whole numbers between 0 and 2^16, in an order that does not repeat soon.
class Sequence {
 public:
  explicit Sequence(uint32_t seed) : state_(seed * 2654435761u + 12345u) {}
  uint32_t Next() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 16;
  }

 private:
  uint32_t state_;
};

// Sixteenths, so that the narrow types can hold them.
double RealOf(Domain domain, uint32_t raw) {
  switch (domain) {
    case Domain::kAny: return static_cast<int>(raw % 65) / 16.0 - 2;
    case Domain::kPositive: return static_cast<int>(raw % 29) / 16.0 + 0.25;
    case Domain::kUnit: return static_cast<int>(raw % 29) / 16.0 - 0.875;
  }
  return 0;
}

int64_t IntegerOf(Domain domain, uint32_t raw, bool is_signed) {
  switch (domain) {
    case Domain::kAny: return static_cast<int64_t>(raw % 11) - (is_signed ? 5 : 0);
    case Domain::kPositive: return static_cast<int64_t>(raw % 4) + 1;
    case Domain::kUnit: return 0;
  }
  return 0;
}

// Calls `set` with a pointer to each element as T.
template <typename T, typename Set>
void Each(const Tensor& tensor, Set set) {
  T* const data = tensor.data<T>();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) set(data + i);
}

void SetNumber(DataType type, void* element, double value) {
  const auto put = [element](auto number) { std::memcpy(element, &number, sizeof(number)); };
  switch (type) {
    case DataType::kFloat: return put(static_cast<float>(value));
    case DataType::kDouble: return put(value);
    case DataType::kHalf: return put(FloatToHalf(static_cast<float>(value)));
    case DataType::kBFloat16: return put(FloatToBFloat16(static_cast<float>(value)));
    case DataType::kComplex64: return put(std::complex<float>(static_cast<float>(value), 0.5f));
    case DataType::kComplex128: return put(std::complex<double>(value, 0.5));
    case DataType::kBool: return put(value > 0);
    default: break;
  }
  const auto whole = static_cast<int64_t>(value);
  std::memcpy(element, &whole, DataTypeSize(type));  // little-endian
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

bool IsUnsigned(DataType type) {
  return type == DataType::kUInt8 || type == DataType::kUInt16 || type == DataType::kUInt32 ||
         type == DataType::kUInt64 || type == DataType::kQUInt8 || type == DataType::kQUInt16;
}

template <typename T>
void AppendParts(const Tensor& tensor, std::vector<double>* numbers) {
  Each<T>(tensor, [numbers](const T* element) {
    numbers->push_back(static_cast<double>(element->real()));
    numbers->push_back(static_cast<double>(element->imag()));
  });
}

}  // namespace

Tensor ValuesOf(DataType type, const Shape& shape, Domain domain, uint32_t seed) {
  Tensor tensor = Tensor::Create(type, shape).value();
  Sequence sequence(seed);
  if (type == DataType::kString) {
    Each<std::string>(tensor, [&sequence](std::string* element) {
      *element = absl::StrCat("text ", sequence.Next() % 7);
    });
    return tensor;
  }
  if (!IsPlainData(type)) return tensor;
  const bool is_real = IsFloating(type) || IsComplex(type) || type == DataType::kBool;
  char* element = static_cast<char*>(tensor.raw());
  for (int64_t i = 0; i < tensor.num_elements(); ++i, element += DataTypeSize(type)) {
    const uint32_t raw = sequence.Next();
    SetNumber(type, element,
              is_real ? RealOf(domain, raw)
                      : static_cast<double>(IntegerOf(domain, raw, !IsUnsigned(type))));
  }
  return tensor;
}

Tensor IntegersOf(DataType type, const Shape& shape, const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::Create(type, shape).value();
  char* element = static_cast<char*>(tensor.raw());
  for (const int64_t value : values) {
    std::memcpy(element, &value, DataTypeSize(type));
    element += DataTypeSize(type);
  }
  return tensor;
}

Tensor Vector(DataType type, const std::vector<int64_t>& values) {
  return IntegersOf(type, Shape({static_cast<int64_t>(values.size())}), values);
}

Tensor Scalar(DataType type, int64_t value) { return IntegersOf(type, Shape(), {value}); }

Tensor Number(DataType type, double value) {
  Tensor tensor = Tensor::Create(type, Shape()).value();
  SetNumber(type, tensor.raw(), value);
  return tensor;
}

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
