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

// Neighbours of which one key is made by LargestOrderKeys.
inline constexpr int64_t kOrderGroup = 32;

// Writes for each of `groups` groups of elements, which follow each other from `begin` on, a key
// that none of theirs exceeds. It is the largest, unless all are NaNs.
using LargestOrderKeys = void (*)(const void* elements, int64_t begin, int64_t groups,
                                  uint64_t* keys);

// The function for a type that has vectors of numbers in order; null for any other type.
LargestOrderKeys LargestOrderKeysOf(MS_DType dtype);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_ORDER_KEYS_H_
