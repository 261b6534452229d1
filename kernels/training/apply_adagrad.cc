// ResourceApplyAdagrad, its second version, and their sparse forms (Duchi, Hazan, Singer, JMLR
// 2011):
//   accum += grad^2                                 (left alone without update_slots)
//   var -= lr * grad / sqrt(accum)                  first version
//   var -= lr * grad / (sqrt(accum) + epsilon)      second version
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct Adagrad {
  static constexpr std::array<std::string_view, 2> kVariables = {"var", "accum"};
  static constexpr std::array<std::string_view, 2> kRest = {"lr", "grad"};
  static constexpr uint32_t kGradient = 1;
  static constexpr uint32_t kStreams = 6;
  static constexpr const char* kFlag = "update_slots";
  static constexpr std::array<uint32_t, 2> kWritten = {1, 2};
  using Rates = T;

  static Rates RatesOf(const T* rest) { return rest[0]; }

  static void Run(bool update_slots, const T& learning, const std::array<T*, 2>& variables,
                  const T* gradient, int64_t count) {
    const auto [var, accum] = variables;
    // Not through a pointer: what is called that way is not compiled for every instruction set.
    update_slots ? UpdateBoth(var, accum, gradient, learning, count)
                 : UpdateVariable(var, accum, gradient, learning, count);
  }

 private:
  static void UpdateBoth(T* __restrict var, T* __restrict accum, const T* __restrict gradient,
                         T learning, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T sum = accum[i] + g * g;
      accum[i] = sum;
      var[i] = var[i] - learning * g / std::sqrt(sum);
    }
  }
  static void UpdateVariable(T* __restrict var, const T* __restrict accum,
                             const T* __restrict gradient, T learning, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      var[i] = var[i] - learning * gradient[i] / std::sqrt(accum[i]);
    }
  }
};

template <typename T>
struct AdagradV2 {
  static constexpr std::array<std::string_view, 2> kVariables = {"var", "accum"};
  static constexpr std::array<std::string_view, 3> kRest = {"lr", "epsilon", "grad"};
  static constexpr uint32_t kGradient = 2;
  static constexpr uint32_t kStreams = 6;
  static constexpr const char* kFlag = "update_slots";
  static constexpr std::array<uint32_t, 2> kWritten = {1, 2};
  struct Rates {
    T learning;
    T epsilon;
  };

  static Rates RatesOf(const T* rest) { return {rest[0], rest[1]}; }

  static void Run(bool update_slots, const Rates& rates, const std::array<T*, 2>& variables,
                  const T* gradient, int64_t count) {
    const auto [var, accum] = variables;
    // Not through a pointer: what is called that way is not compiled for every instruction set.
    update_slots ? Update<true>(var, accum, gradient, rates, count)
                 : Update<false>(var, accum, gradient, rates, count);
  }

 private:
  template <bool kUpdatesSlots>
  static void Update(T* __restrict var, T* __restrict accum, const T* __restrict gradient,
                     Rates rates, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T sum = kUpdatesSlots ? accum[i] + g * g : accum[i];
      if constexpr (kUpdatesSlots) accum[i] = sum;
      var[i] = var[i] - g * rates.learning / (std::sqrt(sum) + rates.epsilon);
    }
  }
};

const ms::Registered dense =
    RegisterApply(kOptimizer<Adagrad>, "ResourceApplyAdagrad", "_MultiResourceApplyAdagrad");
const ms::Registered sparse =
    RegisterSparseApply(kOptimizer<Adagrad>, "ResourceSparseApplyAdagrad");
const ms::Registered dense_v2 =
    RegisterApply(kOptimizer<AdagradV2>, "ResourceApplyAdagradV2", "_MultiResourceApplyAdagradV2");
const ms::Registered sparse_v2 =
    RegisterSparseApply(kOptimizer<AdagradV2>, "ResourceSparseApplyAdagradV2");

}  // namespace
}  // namespace millstream::kernels
