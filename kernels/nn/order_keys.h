// Elements of the ordered types as unsigned numbers in the same order, so that one search serves
// all types.
#ifndef MILLSTREAM_KERNELS_NN_ORDER_KEYS_H_
#define MILLSTREAM_KERNELS_NN_ORDER_KEYS_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// Writes the keys of elements [begin, begin + n) of an array to keys[0] to keys[n - 1]. Equal
// elements have equal keys, zeros of either sign among them. The key of a NaN is 0, below those of
// all numbers of its type. Keys of types of at most 4 bytes are below 2^32.
using MakeOrderKeys = void (*)(const void* elements, int64_t begin, int64_t n, uint64_t* keys);

// The function for a type of TypesIn(kOrderedTypes); null for any other type.
MakeOrderKeys OrderKeysOf(MS_DType dtype);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_ORDER_KEYS_H_
