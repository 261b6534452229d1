// Floats as 16 bits, for transfers between tasks that may lose some accuracy.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SHORTENED_FLOATS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SHORTENED_FLOATS_H_

#include <cstddef>

namespace millstream {

// The sign, the exponent and the first 7 bits of the mantissa of each float: the relative error is
// below 2^-7, towards zero. The receiver puts zeros in the place of the other bits (Abadi et al.,
// "TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, section
// 5.5). A NaN stays one. `out` has room for 2 bytes an element.
void ShortenFloats(const float* elements, size_t count, char* out);
void LengthenFloats(const char* bytes, size_t count, float* out);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SHORTENED_FLOATS_H_
