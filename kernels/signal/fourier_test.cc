// Transforms of tensors: how sequences become blocks that threads share, and go back.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/signal/fft.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Complex = std::complex<double>;
using Single = std::complex<float>;

// The transform of n numbers, `step` apart, by its definition.
std::vector<Complex> Transformed(const Complex* x, int64_t n, int64_t step) {
  std::vector<Complex> sums(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t j = 0; j < n; ++j) {
      double re = 0;
      double im = 0;
      RootOfOne(j * k % n, n, &re, &im);
      sums[k] += x[j * step] * Complex(re, im);
    }
  }
  return sums;
}

// Numbers of at most 1 in each part.
std::vector<Single> Numbers(int64_t count) {
  std::vector<Single> numbers;
  for (int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>(i % 1009);
    numbers.emplace_back(std::sin(x * 7), std::cos(x * 3 + 1));
  }
  return numbers;
}

// What sums of n numbers are off by at most.
double Bound(int64_t n) { return 1e-6 * static_cast<double>(n); }

TEST(FourierTest, BothDimensionsOfMatrices) {
  struct Size {
    int64_t batch, rows, columns;
  };
  // Fewer sequences than lanes, and blocks that are and are not full.
  for (const Size& size : {Size{1, 3, 5}, {2, 16, 8}, {1, 40, 33}, {3, 12, 35}}) {
    const int64_t matrix = size.rows * size.columns;
    const std::vector<Single> x = Numbers(size.batch * matrix);
    std::vector<Complex> expected(x.begin(), x.end());
    for (int64_t first = 0; first < size.batch * matrix; first += size.columns) {
      const auto row = Transformed(&expected[first], size.columns, 1);
      for (int64_t k = 0; k < size.columns; ++k) expected[first + k] = row[k];
    }
    for (int64_t b = 0; b < size.batch; ++b) {
      for (int64_t j = 0; j < size.columns; ++j) {
        Complex* const first = &expected[b * matrix + j];
        const auto column = Transformed(first, size.rows, size.columns);
        for (int64_t k = 0; k < size.rows; ++k) first[k * size.columns] = column[k];
      }
    }
    KernelTester t("FFT2D");
    t.Attr("Tcomplex", MS_COMPLEX64);
    t.Input<Single>({size.batch, size.rows, size.columns}, x);
    ASSERT_TRUE(IsOk(t.Run()));
    const std::vector<Single> found = t.Output<Single>(0);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_LT(std::abs(Complex(found[i]) - expected[i]), Bound(matrix)) << matrix << " at " << i;
    }
  }
}

// Rows that are transformed alone, of which some are real: each by the way that it takes, whatever
// the others are, to and fro.
TEST(FourierTest, RealRowsAmongComplexOnes) {
  constexpr int64_t kRows = 5;
  for (const int64_t n : {512, 640}) {
    std::vector<Single> x = Numbers(kRows * n);
    for (const int64_t row : {0, 3}) {
      for (int64_t j = 0; j < n; ++j) x[row * n + j].imag(0);
    }
    KernelTester t("FFT");
    t.Attr("Tcomplex", MS_COMPLEX64).Input<Single>({kRows, n}, x);
    ASSERT_TRUE(IsOk(t.Run()));
    const std::vector<Single> found = t.Output<Single>(0);
    KernelTester back("IFFT");
    back.Attr("Tcomplex", MS_COMPLEX64).Input<Single>({kRows, n}, x);
    ASSERT_TRUE(IsOk(back.Run()));
    const std::vector<Single> found_back = back.Output<Single>(0);
    for (int64_t row = 0; row < kRows; ++row) {
      const std::vector<Complex> numbers(x.begin() + row * n, x.begin() + (row + 1) * n);
      const std::vector<Complex> expected = Transformed(numbers.data(), n, 1);
      for (int64_t k = 0; k < n; ++k) {
        ASSERT_LT(std::abs(Complex(found[row * n + k]) - expected[k]), Bound(n)) << row << " " << k;
        // The transform backwards is the one forwards from the last number to the first.
        const Complex sum = static_cast<double>(n) * Complex(found_back[row * n + (n - k) % n]);
        ASSERT_LT(std::abs(sum - expected[k]), Bound(n)) << row << " " << k;
      }
    }
  }
}

// Sequences that are longer than the transform, of even and odd lengths.
TEST(FourierTest, RealNumbersThereAndBack) {
  for (const int64_t count : {1, 7, 16, 37}) {
    for (const int64_t n : {1, 2, 3, 8, 11, 30, 58, 64, 1024}) {
      if (n > 64 && count != 7) continue;  // the sums of many long rows would take seconds
      const int64_t width = n + 3;
      const int64_t half = n / 2 + 1;
      std::vector<float> x;
      for (const Single& number : Numbers(count * width)) x.push_back(number.real());
      KernelTester t("RFFT");
      t.Outputs({MS_COMPLEX64});
      t.Input<float>({count, width}, x).Input<int32_t>({1}, {static_cast<int32_t>(n)});
      ASSERT_TRUE(IsOk(t.Run()));
      const std::vector<Single> found = t.Output<Single>(0);
      ASSERT_EQ(static_cast<int64_t>(found.size()), count * half);
      for (int64_t i = 0; i < count; ++i) {
        const std::vector<Complex> row(x.begin() + i * width, x.begin() + i * width + n);
        const auto expected = Transformed(row.data(), n, 1);
        for (int64_t k = 0; k < half; ++k) {
          ASSERT_LT(std::abs(Complex(found[i * half + k]) - expected[k]), Bound(n)) << n;
        }
      }
      KernelTester back("IRFFT");
      back.Outputs({MS_FLOAT32});
      back.Input<Single>({count, half}, found).Input<int32_t>({1}, {static_cast<int32_t>(n)});
      ASSERT_TRUE(IsOk(back.Run()));
      const std::vector<float> again = back.Output<float>(0);
      ASSERT_EQ(static_cast<int64_t>(again.size()), count * n);
      for (int64_t i = 0; i < count * n; ++i) {
        ASSERT_NEAR(again[i], x[i / n * width + i % n], Bound(n)) << n << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
