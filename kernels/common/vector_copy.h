// Copies of tens of bytes to some thousands, as rows of tensors are.
#ifndef MILLSTREAM_KERNELS_COMMON_VECTOR_COPY_H_
#define MILLSTREAM_KERNELS_COMMON_VECTOR_COPY_H_

#include <cstdint>

namespace millstream::kernels {

// As memcpy, but always from the first byte to the last. The C library's copies from the last to
// the first where the addresses agree in the bits that say where in a page they are, as rows of
// powers of two do. Memory is then fetched too late: rows of 2 KB that are joined took twice as
// long. The ranges must not overlap.
void VectorCopy(const void* from, int64_t bytes, void* to);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_VECTOR_COPY_H_
