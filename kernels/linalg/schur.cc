// The matrix gets Hessenberg form by reflectors, and becomes triangular by QR steps with
// Wilkinson's shift (G. Golub, C. Van Loan: Matrix Computations, 4th edition, sections 7.4, 7.5).
#include "kernels/linalg/schur.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/reflector.h"

namespace millstream::kernels {
namespace {

double SizeOf(Complex x) { return std::fabs(x.real()) + std::fabs(x.imag()); }

// Replaces A by H^H A H for reflectors H that clear what is below the first subdiagonal, and sets
// `adjoint` to the product of all H^H.
void MakeHessenberg(int64_t n, Complex* a, Complex* adjoint, Complex* memory, Stop* stop) {
  Complex* const v = memory;
  std::fill(adjoint, adjoint + n * n, Complex(0));
  for (int64_t i = 0; i < n; ++i) adjoint[i * n + i] = Complex(1);
  for (int64_t k = 0; k + 2 < n; ++k) {
    if (n >= kStoppableSize && (*stop)()) return;
    const int64_t size = n - k - 1;
    for (int64_t i = 0; i < size; ++i) {
      v[i] = a[(k + 1 + i) * n + k];
      a[(k + 1 + i) * n + k] = Complex(0);
    }
    const Reflection<Complex> made = MakeReflector(size, v);
    a[(k + 1) * n + k] = made.beta;
    const Complex tau = Conjugate(made.tau);
    ReflectFromLeft(v, tau, {size, size, n, a + (k + 1) * n + k + 1}, memory + n);
    ReflectFromRight(v, made.tau, {n, size, n, a + k + 1});
    ReflectFromLeft(v, tau, {size, n, n, adjoint + (k + 1) * n}, memory + n);
  }
}

// G = [c s; -conj(s) c] with G [x; y] = [r; 0].
struct Rotation {
  double c;
  Complex s;

  Rotation(Complex x, Complex y) {
    const double size = Hypotenuse(std::abs(x), std::abs(y));
    if (size == 0) {
      c = 1;
      s = 0;
    } else if (x == Complex(0)) {
      c = 0;
      s = Conjugate(y) / std::abs(y);
    } else {
      c = std::abs(x) / size;
      s = Product(x / std::abs(x), Conjugate(y)) / size;
    }
  }

  // Rows x and y of n elements become G [x; y].
  void OfRows(int64_t n, Complex* x, Complex* y) const {
    for (int64_t i = 0; i < n; ++i) {
      const Complex old = x[i];
      x[i] = c * old + Product(s, y[i]);
      y[i] = c * y[i] - Product(Conjugate(s), old);
    }
  }

  // The columns of which x and x + 1 are the first elements become [x y] G^H.
  void OfColumns(int64_t n, int64_t stride, Complex* x) const {
    for (int64_t i = 0; i < n; ++i) {
      Complex* const pair = x + i * stride;
      const Complex old = pair[0];
      pair[0] = c * old + Product(Conjugate(s), pair[1]);
      pair[1] = c * pair[1] - Product(s, old);
    }
  }
};

// The eigenvalue of the 2 x 2 matrix at `m`, rows `n` apart, that is nearer to its last element.
Complex Shift(int64_t n, const Complex* m) {
  const Complex half = (m[0] - m[n + 1]) * 0.5;
  const Complex product = Product(m[1], m[n]);
  const Complex root = std::sqrt(Product(half, half) + product);
  const Complex sum = half + root;
  const Complex difference = half - root;
  const Complex larger = SizeOf(sum) >= SizeOf(difference) ? sum : difference;
  return larger == Complex(0) ? m[n + 1] : m[n + 1] - product / larger;
}

// One QR step on rows and columns [first, last] of H.
void StepQr(int64_t first, int64_t last, int64_t n, Complex shift, Complex* h, Complex* adjoint) {
  Complex x = h[first * n + first] - shift;
  Complex y = h[(first + 1) * n + first];
  for (int64_t k = first; k < last; ++k) {
    const Rotation rotation(x, y);
    const int64_t from = std::max(k - 1, first);
    Complex* const row = h + k * n;
    rotation.OfRows(n - from, row + from, row + n + from);
    rotation.OfColumns(std::min(k + 2, last) + 1, n, h + k);
    rotation.OfRows(n, adjoint + k * n, adjoint + (k + 1) * n);
    if (k > first) row[n + k - 1] = Complex(0);
    if (k + 1 == last) return;
    x = h[(k + 1) * n + k];
    y = h[(k + 2) * n + k];
  }
}

bool IsNegligible(int64_t i, int64_t n, const Complex* h) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  constexpr double kTiny = 1e-290;
  const double beside = SizeOf(h[i * n + i]) + SizeOf(h[(i + 1) * n + i + 1]);
  return SizeOf(h[(i + 1) * n + i]) <= kEpsilon * beside + kTiny;
}

}  // namespace

bool DecomposeSchur(int64_t n, Complex* matrix, Complex* adjoint, Complex* memory, Stop* stop) {
  constexpr int kMostSteps = 90;
  constexpr int kStuckSteps = 10;
  int exponent = 0;
  if (!ScaleToOne(n * n, matrix, &exponent)) return false;
  MakeHessenberg(n, matrix, adjoint, memory, stop);
  int steps = 0;
  int64_t last = n - 1;
  while (last > 0) {
    if (n >= kStoppableSize && (*stop)()) return false;
    int64_t first = last;
    while (first > 0 && !IsNegligible(first - 1, n, matrix)) --first;
    if (first > 0) matrix[first * n + first - 1] = Complex(0);
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    if (++steps > kMostSteps) return false;
    const Complex* const corner = matrix + (last - 1) * n + last - 1;
    // Another shift where the usual one does not help.
    const Complex shift =
        steps % kStuckSteps == 0 ? corner[n + 1] + SizeOf(corner[n]) : Shift(n, corner);
    StepQr(first, last, n, shift, matrix, adjoint);
  }
  const double scale = std::ldexp(1.0, exponent);
  for (int64_t i = 0; i < n * n; ++i) matrix[i] *= scale;
  return true;
}

}  // namespace millstream::kernels
