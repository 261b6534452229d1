#include "kernels/sparse/element_math.h"

#include <cmath>
#include <complex>
#include <type_traits>

#include "kernels/common/narrow_float.h"
#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct IsComplex : std::false_type {};
template <typename Real>
struct IsComplex<std::complex<Real>> : std::true_type {};

struct Add {
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingSum(x, y);
  }
};
struct Multiply {
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingProduct(x, y);
  }
};
struct Divide {
  template <typename T>
  static T Apply(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (y == T(-1)) return WrappingDifference(T(0), x);  // also of the smallest number
      }
      return static_cast<T>(x / y);
    } else {
      return x / y;
    }
  }
};
struct Maximum {
  template <typename T>
  static T Apply(T x, T y) {
    return x != x || x > y ? x : y;
  }
};
struct Minimum {
  template <typename T>
  static T Apply(T x, T y) {
    return x != x || x < y ? x : y;
  }
};

template <typename Op, typename T>
void Run(const void* a, int64_t i, const void* b, int64_t j, void* out, int64_t k) {
  using Number = ComputeTypeOf<T>;
  static_cast<T*>(out)[k] =
      static_cast<T>(Op::template Apply<Number>(static_cast<Number>(static_cast<const T*>(a)[i]),
                                                static_cast<Number>(static_cast<const T*>(b)[j])));
}

template <typename T>
bool IsZero(const void* a, int64_t i) {
  return static_cast<ComputeTypeOf<T>>(static_cast<const T*>(a)[i]) == ComputeTypeOf<T>(0);
}

template <typename T>
bool IsBelow(const void* a, int64_t i, const void* limit) {
  const auto x = static_cast<ComputeTypeOf<T>>(static_cast<const T*>(a)[i]);
  if constexpr (IsComplex<T>::value) {
    return std::abs(x) < *static_cast<const typename T::value_type*>(limit);
  } else {
    const auto least = static_cast<ComputeTypeOf<T>>(*static_cast<const T*>(limit));
    if constexpr (std::is_unsigned_v<T>) return x < least;
    if constexpr (!std::is_unsigned_v<T>) {
      // The size of the smallest integer, which has no positive counterpart, is itself.
      return (x < 0 ? WrappingDifference(ComputeTypeOf<T>(0), x) : x) < least;
    }
  }
}

template <typename T>
constexpr ElementMath MathOf() {
  ElementMath math = {ms::DTypeOf<T>(), &Run<Add, T>, &Run<Multiply, T>, &Run<Divide, T>,
                      nullptr,          nullptr,      &IsZero<T>,        &IsBelow<T>};
  if constexpr (!IsComplex<T>::value) {
    math.maximum = &Run<Maximum, T>;
    math.minimum = &Run<Minimum, T>;
  }
  return math;
}

constexpr ElementMath kMath[] = {
    MathOf<float>(),
    MathOf<double>(),
    MathOf<Float16>(),
    MathOf<BFloat16>(),
    MathOf<std::complex<float>>(),
    MathOf<std::complex<double>>(),
    MathOf<int8_t>(),
    MathOf<int16_t>(),
    MathOf<int32_t>(),
    MathOf<int64_t>(),
    MathOf<uint8_t>(),
    MathOf<uint16_t>(),
    MathOf<uint32_t>(),
    MathOf<uint64_t>(),
};

}  // namespace

const ElementMath* FindElementMath(MS_DType dtype) {
  for (const ElementMath& math : kMath) {
    if (math.dtype == dtype) return &math;
  }
  return nullptr;
}

}  // namespace millstream::kernels
