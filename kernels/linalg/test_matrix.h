// Matrices that tests of linear algebra calculate with in plain loops.
#ifndef MILLSTREAM_KERNELS_LINALG_TEST_MATRIX_H_
#define MILLSTREAM_KERNELS_LINALG_TEST_MATRIX_H_

#include <cmath>
#include <complex>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {

using Complex = std::complex<double>;

inline double Conjugate(double x) { return x; }
inline Complex Conjugate(Complex x) { return std::conj(x); }

// With numbers in [-1, 1).
inline void Fill(std::mt19937* generator, double* x) {
  *x = std::uniform_real_distribution<double>(-1, 1)(*generator);
}
inline void Fill(std::mt19937* generator, Complex* x) {
  double parts[2];
  Fill(generator, &parts[0]);
  Fill(generator, &parts[1]);
  *x = {parts[0], parts[1]};
}

// Elements by rows.
template <typename T>
struct Matrix {
  int64_t rows;
  int64_t columns;
  std::vector<T> elements;

  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), elements(static_cast<size_t>(rows * columns)) {}
  Matrix(int64_t rows, int64_t columns, std::vector<T> elements)
      : rows(rows), columns(columns), elements(std::move(elements)) {}

  T& at(int64_t i, int64_t j) { return elements[static_cast<size_t>(i * columns + j)]; }
  T at(int64_t i, int64_t j) const { return elements[static_cast<size_t>(i * columns + j)]; }

  Matrix Adjoint() const {
    Matrix result(columns, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) result.at(j, i) = Conjugate(at(i, j));
    }
    return result;
  }

  Matrix Times(const Matrix& other) const {
    Matrix result(rows, other.columns);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < columns; ++k) {
        for (int64_t j = 0; j < other.columns; ++j) result.at(i, j) += at(i, k) * other.at(k, j);
      }
    }
    return result;
  }

  // The first numbers scale columns.
  Matrix Scaled(const std::vector<T>& by) const {
    Matrix result = *this;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) result.at(i, j) *= by[static_cast<size_t>(j)];
    }
    return result;
  }

  void ExpectNear(const Matrix& other) const {
    ASSERT_EQ(elements.size(), other.elements.size());
    for (size_t i = 0; i < elements.size(); ++i) {
      ASSERT_LT(std::abs(elements[i] - other.elements[i]), 1e-12) << "element " << i;
    }
  }
};

// The same numbers each time, real and imaginary parts in [-1, 1).
template <typename T>
Matrix<T> Random(int64_t rows, int64_t columns) {
  std::mt19937 generator(7);
  Matrix<T> result(rows, columns);
  for (T& element : result.elements) Fill(&generator, &element);
  return result;
}

template <typename T>
Matrix<T> Identity(int64_t n) {
  Matrix<T> result(n, n);
  for (int64_t i = 0; i < n; ++i) result.at(i, i) = T(1);
  return result;
}

template <typename T>
Matrix<T> OutputOf(const testing::KernelTester& t, uint32_t i) {
  const std::vector<int64_t>& shape = t.OutputShape(i);
  return {shape[0], shape[1], t.Output<T>(i)};
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_TEST_MATRIX_H_
