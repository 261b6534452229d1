// What several reductions that add share.
#ifndef MILLSTREAM_KERNELS_REDUCE_REDUCERS_H_
#define MILLSTREAM_KERNELS_REDUCE_REDUCERS_H_

#include <complex>
#include <cstdint>

#include "kernels/reduce/reduce_kernel.h"

namespace millstream::kernels {

// T unsigned where it is an integer, so that nothing overflows undefinedly.
template <typename T>
struct SumReducer : SameTypes<T> {
  using Acc = ComputeTypeOf<T>;
  static Acc Identity() { return Acc(0); }
  template <typename V>
  static V Combine(V a, V b) {
    return static_cast<V>(a + b);
  }
};

// Registers Reducer<T> for each T.
template <template <typename> class Reducer, typename... Ts>
ms::Registered RegisterEach(const char* op) {
  (RegisterReduce<Reducer<Ts>>(op, {ms::DTypeOf<Ts>()}), ...);
  return ms::Registered();
}

// Registers Reducer<T> for floating-point and complex types and, by loops on unsigned types, all
// integers.
template <template <typename> class Reducer>
ms::Registered RegisterWrappingReduce(const char* op) {
  RegisterEach<Reducer, float, double, Float16, BFloat16, std::complex<float>,
               std::complex<double>>(op);
  RegisterReduce<Reducer<uint8_t>>(op, {MS_INT8, MS_UINT8});
  RegisterReduce<Reducer<uint16_t>>(op, {MS_INT16, MS_UINT16});
  RegisterReduce<Reducer<uint32_t>>(op, {MS_INT32, MS_UINT32});
  RegisterReduce<Reducer<uint64_t>>(op, {MS_INT64, MS_UINT64});
  return ms::Registered();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_REDUCE_REDUCERS_H_
