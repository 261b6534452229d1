// The text of a tensor's elements, for prints and messages.
//
// A floating-point number has up to 6 digits (float64: 15) if it is the same number when read, else
// up to 9 (17). bool is 0 or 1, a complex number "(1,2)". An element of another type, such as a
// handle, is "?".
#ifndef MILLSTREAM_CORE_STRUCTURAL_TENSOR_TEXT_H_
#define MILLSTREAM_CORE_STRUCTURAL_TENSOR_TEXT_H_

#include <cstdint>
#include <string>

#include "framework/tensor.h"

namespace millstream {

// The first `limit` elements, all if it is negative. "..." stands where elements are left out.
// Brackets enclose every dimension but the first: "1 2...", "[1 2][3...]...". Quotes and control
// characters in strings are escaped. REQUIRES: the elements are in host memory.
std::string FirstElementsText(const Tensor& tensor, int64_t limit);

// Of each dimension the first and the last `ends` entries, all if it is negative. "..." stands for
// the others. Brackets enclose every dimension, and each row of a matrix is a line. Strings are
// quoted and not escaped: "[1 2 ... 8 9]", "[\"a\"]". An empty tensor is "[]". REQUIRES: the
// elements are in host memory.
std::string EndsText(const Tensor& tensor, int64_t ends);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_TENSOR_TEXT_H_
