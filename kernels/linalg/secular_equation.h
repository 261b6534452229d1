// Eigenvalues of a diagonal matrix to which one of rank one is added: the zeros of
//
//   f(x) = 1 / rho + sum of z[i]^2 / (d[i] - x)
//
// (R.-C. Li: Solving secular equations stably and efficiently, LAPACK Working Note 89, 1993).
#ifndef MILLSTREAM_KERNELS_LINALG_SECULAR_EQUATION_H_
#define MILLSTREAM_KERNELS_LINALG_SECULAR_EQUATION_H_

#include <cstdint>

namespace millstream::kernels {

// `d` ascends strictly, no element of `z` is zero, and rho > 0.
struct SecularEquation {
  int64_t count;
  double rho;
  const double* d;
  const double* z;
};

// Returns the zero that follows d[j]. Sets distances[i] to d[i] - zero, with a small relative error
// however near they are.
double SecularRoot(const SecularEquation& equation, int64_t j, double* distances);

// products[i] *= distances[i] / (d[i] - d[j]) for all i but j, and products[j] *= distances[j],
// where distances are those of zero j. All zeros together make of ones -rho times the squares of
// those z to which the zeros belong exactly (M. Gu, S. Eisenstat: A stable and efficient algorithm
// for the rank-one modification of the symmetric eigenproblem, 1994).
void MultiplyByRatios(const SecularEquation& equation, int64_t j, const double* distances,
                      double* products);

// Replaces distances[i] by z[i] / distances[i], and returns the sum of their squares.
double DivideByDistances(int64_t count, const double* z, double* distances);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_SECULAR_EQUATION_H_
