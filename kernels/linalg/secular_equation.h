// Eigenvalues of a diagonal matrix to which one of rank one is added: the zeros of
//
//   f(x) = 1 / rho + sum of z[i]^2 / (p[i] - x)
//
// (R.-C. Li: Solving secular equations stably and efficiently, LAPACK Working Note 89, 1993). The
// poles p are the numbers d, or their squares: then the roots of the zeros are the singular values
// of a matrix whose first row is z, and whose diagonal is d but for the first element.
#ifndef MILLSTREAM_KERNELS_LINALG_SECULAR_EQUATION_H_
#define MILLSTREAM_KERNELS_LINALG_SECULAR_EQUATION_H_

#include <cstdint>

namespace millstream::kernels {

// `d` ascends strictly, no element of `z` is zero, and rho > 0. Numbers that are squared are not
// negative.
struct SecularEquation {
  int64_t count;
  double rho;
  const double* d;
  const double* z;
  bool squared = false;
};

// Returns the zero that follows p[j], or its root if poles are squares. Sets distances[i] to p[i] -
// zero, with a small relative error however near they are.
double SecularRoot(const SecularEquation& equation, int64_t j, double* distances);

// products[i] *= distances[i] / (p[i] - p[j]) for all i but j, and products[j] *= distances[j],
// where distances are those of zero j. All zeros together make of ones -rho times the squares of
// those z to which the zeros belong exactly (M. Gu, S. Eisenstat: A stable and efficient algorithm
// for the rank-one modification of the symmetric eigenproblem, 1994).
void MultiplyByRatios(const SecularEquation& equation, int64_t j, const double* distances,
                      double* products);

// Replaces distances[i] by z[i] / distances[i], and returns the sum of their squares.
double DivideByDistances(int64_t count, const double* z, double* distances);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_SECULAR_EQUATION_H_
