// Rows of elements sorted by their keys, digit by digit: for long rows of which many elements are
// asked for.
#ifndef MILLSTREAM_KERNELS_NN_RADIX_SORT_H_
#define MILLSTREAM_KERNELS_NN_RADIX_SORT_H_

#include <cstdint>

#include "kernels/nn/order_keys.h"

namespace millstream::kernels {

// The bytes of memory that sorting `n` elements takes. REQUIRES: key_bytes is 4 or 8.
uint64_t SortMemoryBytes(int64_t n, int key_bytes);

// The places of the first k elements of [begin, begin + n) in falling order of their keys, counted
// from `begin`. Of equal keys, the lower place comes first. The result lies in `memory`, which is
// SortMemoryBytes(n, key_bytes) long and aligned as by operator new.
// REQUIRES: 0 < k <= n < 2^31, key_bytes is 4 or 8, and keys are below 2^(8 * key_bytes).
const int32_t* SortPlacesByKeys(MakeOrderKeys make_keys, const void* elements, int64_t begin,
                                int64_t n, int64_t k, int key_bytes, void* memory);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_RADIX_SORT_H_
