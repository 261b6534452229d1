// Optimizers: what their dense and sparse steps share. An optimizer is a row of a table, made of a
// class template that says what is its own:
//
//   template <typename T>
//   struct Momentum {
//     // The names of the inputs: the variable and its slots, then the rest.
//     static constexpr std::array<std::string_view, 2> kVariables = {"var", "accum"};
//     static constexpr std::array<std::string_view, 3> kRest = {"lr", "grad", "momentum"};
//     static constexpr uint32_t kGradient = 1;  // in kRest; all else there are scalars
//     static constexpr uint32_t kStreams = 5;   // arrays that are read or written, each time
//     static constexpr const char* kFlag = "use_nesterov";  // an attribute of type bool, or null
//     static constexpr std::array<uint32_t, 2> kWritten = {2, 2};  // variables that are changed,
//                                                        // by the flag; the others are only read
//     struct Rates { ... };
//     static Rates RatesOf(const T* rest);
//     // On `count` elements; the arrays do not overlap.
//     static void Run(bool flag, const Rates& rates, const std::array<T*, 2>& variables,
//                     const T* gradient, int64_t count);
//   };
//   const ms::Registered dense = RegisterApply(kOptimizer<Momentum>, "ResourceApplyMomentum",
//                                              "_MultiResourceApplyMomentum");
//
// T is a type that is computed in. Steps on the 16-bit types are computed in float, a tile at a
// time, and every number that is kept is rounded once.
#ifndef MILLSTREAM_KERNELS_TRAINING_OPTIMIZER_H_
#define MILLSTREAM_KERNELS_TRAINING_OPTIMIZER_H_

#include <array>
#include <complex>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

inline constexpr uint32_t kMostOptimizerVariables = 4;
inline constexpr uint32_t kMostOptimizerRest = 8;
inline constexpr size_t kMostRatesBytes = 64;

// An optimizer on one type that is computed in.
struct OptimizerLoops {
  MS_DType dtype;
  // What the scalars, in the order of Optimizer::rest, come to.
  void (*rates)(const void* rest, void* rates);
  void (*run)(bool flag, const void* rates, void* const* variables, const void* gradient,
              int64_t count);
};

struct Optimizer {
  TypeTable<OptimizerLoops> table;
  const std::string_view* variables;
  uint32_t num_variables;
  const std::string_view* rest;
  uint32_t num_rest;
  uint32_t gradient;  // in rest
  uint32_t streams;
  const char* flag;
  std::array<uint32_t, 2> written;
};

// Both kernels of the dense step: on one variable, and on many by one call, which the runtime makes
// of several (core/passes/batch_updates.cc).
ms::Registered RegisterApply(const Optimizer& optimizer, const char* op, const char* op_on_many);
// The step on the rows that a vector of indices, the input after the gradient, names.
ms::Registered RegisterSparseApply(const Optimizer& optimizer, const char* op);

// ---- Templates
// -----------------------------------------------------------------------------------

template <template <typename> class Step, typename T>
struct LoopsOfOptimizer {
  using Rates = typename Step<T>::Rates;
  static constexpr size_t kVariables = Step<T>::kVariables.size();
  static_assert(sizeof(Rates) <= kMostRatesBytes && kVariables <= kMostOptimizerVariables &&
                Step<T>::kRest.size() <= kMostOptimizerRest);

  static void MakeRates(const void* rest, void* rates) {
    *static_cast<Rates*>(rates) = Step<T>::RatesOf(static_cast<const T*>(rest));
  }
  static void Run(bool flag, const void* rates, void* const* variables, const void* gradient,
                  int64_t count) {
    RunLoopOn<T, &Loop>(flag, *static_cast<const Rates*>(rates), variables,
                        static_cast<const T*>(gradient), count);
  }

 private:
  static void Loop(bool flag, const Rates& rates, void* const* variables, const T* gradient,
                   int64_t count) {
    std::array<T*, kVariables> typed;
    for (size_t i = 0; i < kVariables; ++i) typed[i] = static_cast<T*>(variables[i]);
    Step<T>::Run(flag, rates, typed, gradient, count);
  }
};

template <template <typename> class Step, typename... Ts>
inline constexpr OptimizerLoops kOptimizerLoops[] = {{ms::DTypeOf<Ts>(),
                                                      &LoopsOfOptimizer<Step, Ts>::MakeRates,
                                                      &LoopsOfOptimizer<Step, Ts>::Run}...};

template <template <typename> class Step, typename... Ts>
constexpr Optimizer MakeOptimizer() {
  using Names = Step<float>;
  return {{kOptimizerLoops<Step, Ts...>, sizeof...(Ts)},
          Names::kVariables.data(),
          static_cast<uint32_t>(Names::kVariables.size()),
          Names::kRest.data(),
          static_cast<uint32_t>(Names::kRest.size()),
          Names::kGradient,
          Names::kStreams,
          Names::kFlag,
          Names::kWritten};
}
template <template <typename> class Step>
inline constexpr Optimizer kOptimizer =
    MakeOptimizer<Step, float, double, std::complex<float>, std::complex<double>>();
// For steps that have no meaning among complex numbers.
template <template <typename> class Step>
inline constexpr Optimizer kOptimizerOfReals = MakeOptimizer<Step, float, double>();

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_TRAINING_OPTIMIZER_H_
