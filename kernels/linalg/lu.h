// Triangular factors of square matrices, P A = L U, by elimination with row exchanges (G. Golub, C.
// Van Loan: Matrix Computations, 4th edition, section 3.4). A matrix is n * n numbers, row after
// row. T is double or Complex.
#ifndef MILLSTREAM_KERNELS_LINALG_LU_H_
#define MILLSTREAM_KERNELS_LINALG_LU_H_

#include <cstdint>

#include "kernels/linalg/row_arithmetic.h"
#include "kernels/linalg/stop.h"

namespace millstream::kernels {

// Replaces the matrix by U, on and above the diagonal, and L below it, without its own diagonal of
// ones. Sets order[i] to the row of A that is row i of P A. Returns the sign of P, 1 or -1.
// `memory` has FactorNumbers<T>(n) numbers.
template <typename T>
int Factorize(int64_t n, T* matrix, int64_t* order, T* memory, Stop* stop);
template <typename T>
int64_t FactorNumbers(int64_t n);

// Whether a pivot, an element of the diagonal of U, is zero or NaN.
template <typename T>
bool IsSingular(int64_t n, const T* factors);

// Computes the inverse of A. `memory` is as that of Factorize. REQUIRES: the factors are not
// singular.
template <typename T>
void InvertFactors(int64_t n, const T* factors, const int64_t* order, T* inverse, T* memory,
                   Stop* stop);

// A number that may be beyond the range of T: value * 2^exponent. The larger part of the value is
// in [1, 2), unless the number is zero or not finite.
template <typename T>
struct Scaled {
  T value;
  int64_t exponent;
  // Infinite or zero where the range ends.
  T Rounded() const;
  // The logarithm of the absolute value.
  double LogOfAbs() const;
  // The number divided by its absolute value; 0 for 0.
  T Sign() const;
};

template <typename T>
Scaled<T> Determinant(int64_t n, const T* factors, int sign);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_LU_H_
