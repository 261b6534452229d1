#include "framework/tensor_sum.h"

#include <complex>
#include <cstdint>

#include "framework/half.h"

namespace millstream {
namespace {

template <typename T>
bool AddNumbers(const Tensor& more, const Tensor& sum) {
  const T* const from = more.data<T>();
  T* const to = sum.data<T>();
  for (int64_t i = 0; i < sum.num_elements(); ++i) to[i] = static_cast<T>(to[i] + from[i]);
  return true;
}

template <float (*widen)(uint16_t), uint16_t (*narrow)(float)>
bool AddNarrow(const Tensor& more, const Tensor& sum) {
  const auto* const from = static_cast<const uint16_t*>(more.raw());
  auto* const to = static_cast<uint16_t*>(sum.raw());
  for (int64_t i = 0; i < sum.num_elements(); ++i) to[i] = narrow(widen(to[i]) + widen(from[i]));
  return true;
}

// `Divisor`: what the divisor is as a T.
template <typename T, typename Divisor = T>
bool DivideNumbers(const Tensor& numbers, int64_t divisor) {
  const auto by = static_cast<Divisor>(divisor);
  for (T& number : numbers.flat<T>()) number = static_cast<T>(number / by);
  return true;
}

template <float (*widen)(uint16_t), uint16_t (*narrow)(float)>
bool DivideNarrow(const Tensor& numbers, int64_t divisor) {
  auto* const values = static_cast<uint16_t*>(numbers.raw());
  const auto by = static_cast<float>(divisor);
  for (int64_t i = 0; i < numbers.num_elements(); ++i) values[i] = narrow(widen(values[i]) / by);
  return true;
}

}  // namespace

bool AddElements(const Tensor& more, const Tensor& sum) {
  switch (sum.dtype()) {
    case DataType::kFloat: return AddNumbers<float>(more, sum);
    case DataType::kDouble: return AddNumbers<double>(more, sum);
    case DataType::kHalf: return AddNarrow<HalfToFloat, FloatToHalf>(more, sum);
    case DataType::kBFloat16: return AddNarrow<BFloat16ToFloat, FloatToBFloat16>(more, sum);
    case DataType::kComplex64: return AddNumbers<std::complex<float>>(more, sum);
    case DataType::kComplex128: return AddNumbers<std::complex<double>>(more, sum);
    // Without sign, integers wrap around.
    case DataType::kInt8:
    case DataType::kUInt8:
    case DataType::kQInt8:
    case DataType::kQUInt8: return AddNumbers<uint8_t>(more, sum);
    case DataType::kInt16:
    case DataType::kUInt16:
    case DataType::kQInt16:
    case DataType::kQUInt16: return AddNumbers<uint16_t>(more, sum);
    case DataType::kInt32:
    case DataType::kUInt32:
    case DataType::kQInt32: return AddNumbers<uint32_t>(more, sum);
    case DataType::kInt64:
    case DataType::kUInt64: return AddNumbers<uint64_t>(more, sum);
    default: return false;
  }
}

bool DivideElements(const Tensor& numbers, int64_t divisor) {
  switch (numbers.dtype()) {
    case DataType::kFloat: return DivideNumbers<float>(numbers, divisor);
    case DataType::kDouble: return DivideNumbers<double>(numbers, divisor);
    case DataType::kHalf: return DivideNarrow<HalfToFloat, FloatToHalf>(numbers, divisor);
    case DataType::kBFloat16:
      return DivideNarrow<BFloat16ToFloat, FloatToBFloat16>(numbers, divisor);
    case DataType::kComplex64: return DivideNumbers<std::complex<float>, float>(numbers, divisor);
    case DataType::kComplex128:
      return DivideNumbers<std::complex<double>, double>(numbers, divisor);
    case DataType::kInt8:
    case DataType::kQInt8: return DivideNumbers<int8_t, int64_t>(numbers, divisor);
    case DataType::kUInt8:
    case DataType::kQUInt8: return DivideNumbers<uint8_t, int64_t>(numbers, divisor);
    case DataType::kInt16:
    case DataType::kQInt16: return DivideNumbers<int16_t, int64_t>(numbers, divisor);
    case DataType::kUInt16:
    case DataType::kQUInt16: return DivideNumbers<uint16_t, int64_t>(numbers, divisor);
    case DataType::kInt32:
    case DataType::kQInt32: return DivideNumbers<int32_t, int64_t>(numbers, divisor);
    case DataType::kUInt32: return DivideNumbers<uint32_t, int64_t>(numbers, divisor);
    case DataType::kInt64: return DivideNumbers<int64_t>(numbers, divisor);
    case DataType::kUInt64: return DivideNumbers<uint64_t>(numbers, divisor);
    default: return false;
  }
}

}  // namespace millstream
