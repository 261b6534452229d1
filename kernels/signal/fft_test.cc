#include "kernels/signal/fft.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace millstream::kernels {
namespace {

using Complex = std::complex<double>;

// Element j of lane l.
template <typename T>
Complex Element(int64_t j, int64_t l) {
  const auto x = static_cast<double>(j * 7 + l * 3);
  return {static_cast<double>(static_cast<T>(std::sin(x))),
          static_cast<double>(static_cast<T>(std::cos(2 * x + 1)))};
}

// exp(-2 pi i k / n) of all k.
std::vector<Complex> RootsOf(int64_t n) {
  std::vector<Complex> roots;
  for (int64_t k = 0; k < n; ++k) {
    double re = 0;
    double im = 0;
    RootOfOne(k, n, &re, &im);
    roots.emplace_back(re, im);
  }
  return roots;
}

// The largest error of a transform over the norm of its result.
template <typename T>
double ErrorOf(int64_t n, int64_t lanes) {
  const auto fft = FftOfLength<T>(n);
  EXPECT_EQ(fft->size(), n);
  std::vector<T> memory(static_cast<size_t>(fft->MemorySize(lanes)));
  const Parts<T> x = fft->Input(lanes, memory.data());
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t l = 0; l < lanes; ++l) {
      x.re[j * lanes + l] = static_cast<T>(Element<T>(j, l).real());
      x.im[j * lanes + l] = static_cast<T>(Element<T>(j, l).imag());
    }
  }
  const Parts<T> y = fft->Run(lanes, memory.data());
  const std::vector<Complex> roots = RootsOf(n);
  double error = 0;
  double norm = 0;
  for (int64_t l = 0; l < lanes; ++l) {
    std::vector<Complex> elements;
    for (int64_t j = 0; j < n; ++j) elements.push_back(Element<T>(j, l));
    for (int64_t k = 0; k < n; ++k) {
      Complex sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += elements[j] * roots[j * k % n];
      error = std::max(error, std::abs(sum - Complex(y.re[k * lanes + l], y.im[k * lanes + l])));
      norm = std::max(norm, std::abs(sum));
    }
  }
  return error / norm;
}

// The short ones, several of each radix, and lengths with a prime that has no pass of its own.
std::vector<int64_t> Lengths() {
  std::vector<int64_t> lengths;
  for (int64_t n = 1; n <= 40; ++n) lengths.push_back(n);
  for (const int64_t n : {49, 58, 60, 64, 96, 121, 128, 210, 243, 256, 257}) lengths.push_back(n);
  return lengths;
}

template <typename T>
void ExpectSums(int64_t n, int64_t lanes) {
  const double terms = std::log2(static_cast<double>(n)) + 2;
  EXPECT_LT(ErrorOf<T>(n, lanes), 4 * terms * std::numeric_limits<T>::epsilon())
      << n << " of " << lanes << " lanes";
}

TEST(Fft, SumsAreRight) {
  for (const int64_t n : Lengths()) {
    // Around the numbers of lanes of all vectors.
    for (const int64_t lanes : {1, 3, 7, 8, 15, 16, 19}) {
      ExpectSums<float>(n, lanes);
      ExpectSums<double>(n, lanes);
    }
  }
}

TEST(Fft, SumsOfLongSequencesAreRight) {
  for (const int64_t n : {512, 1009, 1024, 2048, 4096}) {
    ExpectSums<float>(n, 1);
    ExpectSums<double>(n, 2);
  }
}

TEST(Fft, ALaneDoesNotDependOnTheOthers) {
  for (const int64_t n : {12, 29, 40, 64, 100, 120, 512, 1280}) {
    const auto fft = FftOfLength<float>(n);
    std::vector<std::vector<float>> results;
    for (const int64_t lanes : {1, 8, 11}) {
      std::vector<float> memory(static_cast<size_t>(fft->MemorySize(lanes)));
      const Parts<float> x = fft->Input(lanes, memory.data());
      for (int64_t i = 0; i < n * lanes; ++i) {
        const auto place = i / lanes;
        x.re[i] = std::sin(static_cast<float>(place));
        x.im[i] = std::cos(static_cast<float>(place));
      }
      const Parts<float> y = fft->Run(lanes, memory.data());
      for (int64_t lane = 0; lane < lanes; ++lane) {
        results.emplace_back();
        for (int64_t k = 0; k < n; ++k) {
          results.back().push_back(y.re[k * lanes + lane]);
          results.back().push_back(y.im[k * lanes + lane]);
        }
      }
    }
    for (const std::vector<float>& one : results) EXPECT_EQ(one, results[0]) << n;
  }
}

TEST(RootOfOne, IsExactAtTheAxes) {
  double re = 0;
  double im = 0;
  RootOfOne(1, 4, &re, &im);
  EXPECT_EQ(re, 0);
  EXPECT_EQ(im, -1);
  RootOfOne(6, 12, &re, &im);
  EXPECT_EQ(re, -1);
  EXPECT_EQ(im, 0);
  RootOfOne(9, 12, &re, &im);
  EXPECT_EQ(re, 0);
  EXPECT_EQ(im, 1);
}

}  // namespace
}  // namespace millstream::kernels
