// What several reductions that add share.
#ifndef MILLSTREAM_KERNELS_REDUCE_REDUCERS_H_
#define MILLSTREAM_KERNELS_REDUCE_REDUCERS_H_

#include <cstdint>

#include "kernels/reduce/reduce_kernel.h"

namespace millstream::kernels {

// T unsigned where it is an integer, so that nothing overflows undefinedly.
template <typename T>
struct SumReducer : SameTypes<T> {
  static T Identity() { return T(0); }
  template <typename V>
  static V Combine(V a, V b) {
    return static_cast<V>(a + b);
  }
};

// Registers Reducer<T> for floating-point types and, by loops on unsigned types, all integers.
template <template <typename> class Reducer>
ms::Registered RegisterWrappingReduce(const char* op) {
  RegisterReduce<Reducer<float>>(op, {MS_FLOAT32});
  RegisterReduce<Reducer<double>>(op, {MS_FLOAT64});
  RegisterReduce<Reducer<uint8_t>>(op, {MS_INT8, MS_UINT8});
  RegisterReduce<Reducer<uint16_t>>(op, {MS_INT16, MS_UINT16});
  RegisterReduce<Reducer<uint32_t>>(op, {MS_INT32, MS_UINT32});
  RegisterReduce<Reducer<uint64_t>>(op, {MS_INT64, MS_UINT64});
  return ms::Registered();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_REDUCE_REDUCERS_H_
