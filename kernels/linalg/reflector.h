// Householder reflectors H = I - tau v v^H with v[0] = 1 (G. Golub, C. Van Loan:
// Matrix Computations, 4th edition, section 5.1). T is double or Complex.
#ifndef MILLSTREAM_KERNELS_LINALG_REFLECTOR_H_
#define MILLSTREAM_KERNELS_LINALG_REFLECTOR_H_

#include <complex>
#include <cstdint>

#include "kernels/linalg/matrices.h"

namespace millstream::kernels {

// The computation of a smaller matrix is short, and nobody has to be able to stop it.
constexpr int64_t kStoppableSize = 128;

// sqrt(x^2 + y^2) without overflow. Not std::hypot: the one of a newer C library than a wheel may
// ask for would be linked.
inline double Hypotenuse(double x, double y) { return std::abs(std::complex<double>(x, y)); }

template <typename T>
struct Reflection {
  T tau;
  double beta;
};

// Replaces x, of n > 0 elements, by v such that H^H x = beta e_1, with a real beta of the opposite
// sign of Re(x[0]).
template <typename T>
Reflection<T> MakeReflector(int64_t n, T* x);

// The columns and rows of a part of a matrix, whose rows are `stride` elements apart.
template <typename T>
struct Block {
  int64_t rows;
  int64_t columns;
  int64_t stride;
  T* elements;
};

// block = (I - tau v v^H) block. `memory` has block.columns elements.
template <typename T>
void ReflectFromLeft(const T* v, T tau, const Block<T>& block, T* memory);

// block = block (I - tau v v^H).
template <typename T>
void ReflectFromRight(const T* v, T tau, const Block<T>& block);

// Divides the matrix by a power of two, so that its largest part is in [1, 2): squares of its
// elements are in the range of double. Returns the exponent, 0 for zeros. False if an element is
// not finite.
template <typename T>
bool ScaleToOne(int64_t count, T* matrix, int* exponent);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_REFLECTOR_H_
