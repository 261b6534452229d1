// ResourceApplyAdagrad and its sparse form (Duchi, Hazan, Singer, JMLR 2011):
//   accum += grad^2                    (left alone without update_slots)
//   var -= lr * grad / sqrt(accum)
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

const ms::Registered dense =
    RegisterApply(kOptimizer<Adagrad>, "ResourceApplyAdagrad", "_MultiResourceApplyAdagrad");
const ms::Registered sparse =
    RegisterSparseApply(kOptimizer<Adagrad>, "ResourceSparseApplyAdagrad");

}  // namespace
}  // namespace millstream::kernels
