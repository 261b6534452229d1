// ResourceApplyFtrl, ResourceApplyFtrlV2 and their sparse forms, for real numbers (McMahan and
// others, "Ad click prediction: a view from the trenches", KDD 2013). With p = -lr_power and, in
// the first version, l2_shrinkage = 0:
//   sum = accum + grad^2
//   linear += grad + 2 * l2_shrinkage * var - (sum^p - accum^p) / lr * var
//   var = |linear| > l1 ? (sign(linear) * l1 - linear) / (sum^p / lr + 2 * l2) : 0
//   accum = sum
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct FtrlRates {
  T learning;
  T l1;
  T l2;
  T l2_shrinkage;
  T power;  // -lr_power
};

// What both versions have in common.
template <typename T>
struct FtrlStep {
  static constexpr std::array<std::string_view, 3> kVariables = {"var", "accum", "linear"};
  static constexpr uint32_t kGradient = 0;
  static constexpr uint32_t kStreams = 7;
  static constexpr const char* kFlag = nullptr;
  static constexpr std::array<uint32_t, 2> kWritten = {3, 3};
  using Rates = FtrlRates<T>;

  static void Run(bool /*flag*/, const Rates& rates, const std::array<T*, 3>& variables,
                  const T* gradient, int64_t count) {
    if (rates.power == T(0.5)) {
      Update(rates, variables, gradient, count, [](T x) { return std::sqrt(x); });
    } else {
      const T power = rates.power;
      Update(rates, variables, gradient, count, [power](T x) { return std::pow(x, power); });
    }
  }

 private:
  template <typename Power>
  static void Update(const Rates& rates, const std::array<T*, 3>& variables,
                     const T* __restrict gradient, int64_t count, Power raised) {
    T* const __restrict var = variables[0];
    T* const __restrict accum = variables[1];
    T* const __restrict linear = variables[2];
    const auto [learning, l1, l2, l2_shrinkage, power] = rates;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T sum = accum[i] + g * g;
      const T raised_sum = raised(sum);
      const T pull = (raised_sum - raised(accum[i])) / learning;
      const T line = linear[i] + (g + T(2) * l2_shrinkage * var[i] - pull * var[i]);
      const T least = (std::copysign(l1, line) - line) / (raised_sum / learning + T(2) * l2);
      accum[i] = sum;
      linear[i] = line;
      var[i] = std::abs(line) > l1 ? least : T(0);
    }
  }
};

template <typename T>
struct Ftrl : FtrlStep<T> {
  static constexpr std::array<std::string_view, 5> kRest = {"grad", "lr", "l1", "l2", "lr_power"};
  static FtrlRates<T> RatesOf(const T* rest) { return {rest[1], rest[2], rest[3], T(0), -rest[4]}; }
};

template <typename T>
struct FtrlV2 : FtrlStep<T> {
  static constexpr std::array<std::string_view, 6> kRest = {"grad", "lr",           "l1",
                                                            "l2",   "l2_shrinkage", "lr_power"};
  static FtrlRates<T> RatesOf(const T* rest) {
    return {rest[1], rest[2], rest[3], rest[4], -rest[5]};
  }
};

const ms::Registered dense =
    RegisterApply(kOptimizerOfReals<Ftrl>, "ResourceApplyFtrl", "_MultiResourceApplyFtrl");
const ms::Registered sparse =
    RegisterSparseApply(kOptimizerOfReals<Ftrl>, "ResourceSparseApplyFtrl");
const ms::Registered dense_v2 =
    RegisterApply(kOptimizerOfReals<FtrlV2>, "ResourceApplyFtrlV2", "_MultiResourceApplyFtrlV2");
const ms::Registered sparse_v2 =
    RegisterSparseApply(kOptimizerOfReals<FtrlV2>, "ResourceSparseApplyFtrlV2");

}  // namespace
}  // namespace millstream::kernels
