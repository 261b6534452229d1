#include "kernels/signal/real_fft.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace millstream::kernels {
namespace {

using Complex = std::complex<double>;

// Number j of lane l.
template <typename T>
T Number(int64_t j, int64_t l) {
  return static_cast<T>(std::sin(static_cast<double>(j * 7 + l * 3)));
}

// Elements 0 to n / 2 of the transform of lane l, by its definition.
template <typename T>
std::vector<Complex> Sums(int64_t n, int64_t l) {
  std::vector<Complex> roots;
  for (int64_t k = 0; k < n; ++k) {
    double re = 0;
    double im = 0;
    RootOfOne(k, n, &re, &im);
    roots.emplace_back(re, im);
  }
  std::vector<Complex> sums(static_cast<size_t>(n / 2 + 1));
  for (int64_t j = 0; j < n; ++j) {
    const auto number = static_cast<double>(Number<T>(j, l));
    for (int64_t k = 0; k <= n / 2; ++k) sums[k] += number * roots[j * k % n];
  }
  return sums;
}

template <typename T>
double Bound(int64_t n) {
  return 4 * (std::log2(static_cast<double>(n)) + 2) * std::numeric_limits<T>::epsilon();
}

template <typename T>
void ExpectTransform(int64_t n, int64_t lanes) {
  const auto fft = RealFftOfLength<T>(n);
  EXPECT_EQ(fft->size(), n);
  std::vector<T> memory(static_cast<size_t>(fft->MemorySize(lanes)));
  const Parts<T> x = fft->Input(lanes, memory.data());
  for (int64_t l = 0; l < lanes; ++l) {
    for (int64_t j = 0; j < n / 2; ++j) {
      x.re[j * lanes + l] = Number<T>(2 * j, l);
      x.im[j * lanes + l] = Number<T>(2 * j + 1, l);
    }
  }
  const Parts<T> y = fft->Run(lanes, memory.data());
  double error = 0;
  double norm = 0;
  for (int64_t l = 0; l < lanes; ++l) {
    EXPECT_EQ(y.im[l], 0);
    EXPECT_EQ(y.im[n / 2 * lanes + l], 0);
    const std::vector<Complex> sums = Sums<T>(n, l);
    for (int64_t k = 0; k <= n / 2; ++k) {
      const Complex sum = sums[k];
      error = std::max(error, std::abs(sum - Complex(y.re[k * lanes + l], y.im[k * lanes + l])));
      norm = std::max(norm, std::abs(sum));
    }
  }
  EXPECT_LT(error / norm, Bound<T>(n)) << n << " of " << lanes << " lanes";
}

// What the first and the last element have as imaginary parts does not count.
template <typename T>
void ExpectInverse(int64_t n, int64_t lanes) {
  const auto fft = RealFftOfLength<T>(n);
  std::vector<T> memory(static_cast<size_t>(fft->MemorySize(lanes)));
  const Parts<T> x = fft->Input(lanes, memory.data());
  for (int64_t l = 0; l < lanes; ++l) {
    const std::vector<Complex> sums = Sums<T>(n, l);
    for (int64_t k = 0; k <= n / 2; ++k) {
      const Complex sum = sums[k];
      const bool is_real = k == 0 || k == n / 2;
      x.re[k * lanes + l] = static_cast<T>(sum.real());
      x.im[k * lanes + l] = is_real ? T(100) : static_cast<T>(-sum.imag());
    }
  }
  const Parts<T> y = fft->RunInverse(lanes, memory.data());
  double error = 0;
  for (int64_t l = 0; l < lanes; ++l) {
    for (int64_t j = 0; j < n / 2; ++j) {
      const double even = y.re[j * lanes + l] / static_cast<double>(n);
      const double odd = -y.im[j * lanes + l] / static_cast<double>(n);
      error = std::max(error, std::abs(even - static_cast<double>(Number<T>(2 * j, l))));
      error = std::max(error, std::abs(odd - static_cast<double>(Number<T>(2 * j + 1, l))));
    }
  }
  EXPECT_LT(error, Bound<T>(n)) << n << " of " << lanes << " lanes";
}

std::vector<int64_t> Lengths() {
  std::vector<int64_t> lengths;
  for (int64_t n = 2; n <= 40; n += 2) lengths.push_back(n);
  for (const int64_t n : {58, 60, 64, 128, 202, 256, 420, 1024}) lengths.push_back(n);
  return lengths;
}

TEST(RealFft, SumsAreRight) {
  for (const int64_t n : Lengths()) {
    for (const int64_t lanes : {1, 3, 8, 16, 19}) {
      ExpectTransform<float>(n, lanes);
      ExpectTransform<double>(n, lanes);
    }
  }
}

TEST(RealFft, ALaneDoesNotDependOnTheOthers) {
  for (const int64_t n : {2, 6, 32, 62, 66, 1024}) {
    const auto fft = RealFftOfLength<float>(n);
    std::vector<std::vector<float>> results;
    for (const int64_t lanes : {1, 16}) {
      std::vector<float> memory(static_cast<size_t>(fft->MemorySize(lanes)));
      const Parts<float> x = fft->Input(lanes, memory.data());
      for (int64_t i = 0; i < n / 2 * lanes; ++i) {
        x.re[i] = Number<float>(2 * (i / lanes), 0);
        x.im[i] = Number<float>(2 * (i / lanes) + 1, 0);
      }
      const Parts<float> y = fft->Run(lanes, memory.data());
      results.emplace_back();
      for (int64_t k = 0; k <= n / 2; ++k) {
        results.back().push_back(y.re[k * lanes]);
        results.back().push_back(y.im[k * lanes]);
      }
    }
    EXPECT_EQ(results[0], results[1]) << n;
  }
}

TEST(RealFft, TheInverseTakesThemBack) {
  for (const int64_t n : Lengths()) {
    for (const int64_t lanes : {1, 3, 8, 16, 19}) {
      ExpectInverse<float>(n, lanes);
      ExpectInverse<double>(n, lanes);
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
