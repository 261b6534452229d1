// Steps followed by the proximal map of the penalty l1 * |var| + l2 / 2 * var^2 (Duchi and Singer,
// "Efficient online and batch learning using forward backward splitting", JMLR 2009), for real
// numbers:
//   prox = var - rate * grad
//   var = sign(prox) * max(|prox| - rate * l1, 0) / (1 + rate * l2)
// ResourceApplyProximalGradientDescent: rate is alpha. ResourceApplyProximalAdagrad:
//   accum += grad^2, and rate is lr / sqrt(accum).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

// Without l1 the sign stays out of it, as of a NaN there is none.
template <typename T>
inline T Proximal(T prox, T rate, T l1, T l2) {
  const T shrunk = std::copysign(std::max(std::abs(prox) - rate * l1, T(0)), prox);
  return (l1 > 0 ? shrunk : prox) / (T(1) + rate * l2);
}

template <typename T>
struct ProximalGradientDescent {
  static constexpr std::array<std::string_view, 1> kVariables = {"var"};
  static constexpr std::array<std::string_view, 4> kRest = {"alpha", "l1", "l2", "delta"};
  static constexpr uint32_t kGradient = 3;
  static constexpr uint32_t kStreams = 3;
  static constexpr const char* kFlag = nullptr;
  static constexpr std::array<uint32_t, 2> kWritten = {1, 1};
  struct Rates {
    T alpha;
    T l1;
    T l2;
  };

  static Rates RatesOf(const T* rest) { return {rest[0], rest[1], rest[2]}; }

  static void Run(bool, const Rates& rates, const std::array<T*, 1>& variables, const T* gradient,
                  int64_t count) {
    Update(variables[0], gradient, rates, count);
  }

 private:
  static void Update(T* __restrict var, const T* __restrict gradient, Rates rates, int64_t count) {
    const auto [alpha, l1, l2] = rates;
    for (int64_t i = 0; i < count; ++i) {
      var[i] = Proximal(var[i] - alpha * gradient[i], alpha, l1, l2);
    }
  }
};

template <typename T>
struct ProximalAdagrad {
  static constexpr std::array<std::string_view, 2> kVariables = {"var", "accum"};
  static constexpr std::array<std::string_view, 4> kRest = {"lr", "l1", "l2", "grad"};
  static constexpr uint32_t kGradient = 3;
  static constexpr uint32_t kStreams = 5;
  static constexpr const char* kFlag = nullptr;
  static constexpr std::array<uint32_t, 2> kWritten = {2, 2};
  struct Rates {
    T learning;
    T l1;
    T l2;
  };

  static Rates RatesOf(const T* rest) { return {rest[0], rest[1], rest[2]}; }

  static void Run(bool, const Rates& rates, const std::array<T*, 2>& variables, const T* gradient,
                  int64_t count) {
    Update(variables[0], variables[1], gradient, rates, count);
  }

 private:
  static void Update(T* __restrict var, T* __restrict accum, const T* __restrict gradient,
                     Rates rates, int64_t count) {
    const auto [learning, l1, l2] = rates;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T sum = accum[i] + g * g;
      const T rate = learning / std::sqrt(sum);
      accum[i] = sum;
      var[i] = Proximal(var[i] - rate * g, rate, l1, l2);
    }
  }
};

const ms::Registered dense = RegisterApply(kOptimizerOfReals<ProximalGradientDescent>,
                                           "ResourceApplyProximalGradientDescent",
                                           "_MultiResourceApplyProximalGradientDescent");
const ms::Registered sparse = RegisterSparseApply(kOptimizerOfReals<ProximalGradientDescent>,
                                                  "ResourceSparseApplyProximalGradientDescent");
const ms::Registered adagrad =
    RegisterApply(kOptimizerOfReals<ProximalAdagrad>, "ResourceApplyProximalAdagrad",
                  "_MultiResourceApplyProximalAdagrad");
const ms::Registered sparse_adagrad =
    RegisterSparseApply(kOptimizerOfReals<ProximalAdagrad>, "ResourceSparseApplyProximalAdagrad");

}  // namespace
}  // namespace millstream::kernels
