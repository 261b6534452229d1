#include "kernels/matmul/panel_product.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace millstream::kernels {
namespace {

// Integers from -8 to 8, whose products and sums here are exact.
std::vector<float> Integers(int64_t count, int64_t salt) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(((i + salt) * 7919) % 17 - 8));
  }
  return values;
}

struct Sizes {
  int64_t rows;
  int64_t depth;
  int64_t columns;
};

std::vector<float> Expected(const Sizes& sizes, const std::vector<float>& a,
                            const std::vector<float>& b) {
  std::vector<float> c(sizes.rows * sizes.columns);
  for (int64_t i = 0; i < sizes.rows; ++i) {
    for (int64_t k = 0; k < sizes.depth; ++k) {
      for (int64_t j = 0; j < sizes.columns; ++j) {
        c[i * sizes.columns + j] += a[i * sizes.depth + k] * b[k * sizes.columns + j];
      }
    }
  }
  return c;
}

std::vector<float> Panels(const Sizes& sizes, const std::vector<float>& b, bool transposed) {
  std::vector<float> panels(PanelFloats(sizes.depth, sizes.columns), -1.0f);
  std::vector<float> turned(b.size());
  for (int64_t k = 0; k < sizes.depth; ++k) {
    for (int64_t j = 0; j < sizes.columns; ++j) {
      turned[j * sizes.depth + k] = b[k * sizes.columns + j];
    }
  }
  const StridedMatrix matrix = transposed ? StridedMatrix{turned.data(), 1, sizes.depth}
                                          : StridedMatrix{b.data(), sizes.columns, 1};
  MakePanels(matrix, sizes.depth, sizes.columns, panels.data());
  return panels;
}

void Check(const Sizes& sizes) {
  SCOPED_TRACE(::testing::Message()
               << sizes.rows << " x " << sizes.depth << " x " << sizes.columns);
  const std::vector<float> a = Integers(sizes.rows * sizes.depth, 1);
  const std::vector<float> b = Integers(sizes.depth * sizes.columns, 2);
  const std::vector<float> panels = Panels(sizes, b, false);
  EXPECT_EQ(Panels(sizes, b, true), panels);
  constexpr float kUntouched = 77;
  const int64_t step = sizes.columns + 3;
  std::vector<float> c(sizes.rows * step, kUntouched);
  MultiplyPanels({a.data(), sizes.depth, sizes.rows, panels.data(), sizes.depth, sizes.columns,
                  c.data(), step});
  const std::vector<float> expected = Expected(sizes, a, b);
  for (int64_t i = 0; i < sizes.rows; ++i) {
    for (int64_t j = 0; j < step; ++j) {
      const float value = j < sizes.columns ? expected[i * sizes.columns + j] : kUntouched;
      ASSERT_EQ(c[i * step + j], value) << "row " << i << ", column " << j;
    }
  }
}

TEST(PanelProductTest, EverySizeOfRemainder) {
  for (const int64_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17}) {
    for (const int64_t columns : {0, 1, 7, 15, 16, 17, 33}) Check({rows, 5, columns});
  }
}

TEST(PanelProductTest, SumsOfAnyLength) {
  for (const int64_t depth : {0, 1, 255, 256, 257, 600}) Check({7, depth, 21});
}

// An element's bits are those of its row and its column alone.
TEST(PanelProductTest, RowsAndPanelsMayBeCutAnywhere) {
  const Sizes sizes = {13, 300, 50};
  std::vector<float> a = Integers(sizes.rows * sizes.depth, 1);
  std::vector<float> b = Integers(sizes.depth * sizes.columns, 2);
  for (float& value : a) value /= 7;
  for (float& value : b) value /= 3;
  const std::vector<float> panels = Panels(sizes, b, false);
  const auto multiply = [&](int64_t row, int64_t rows, int64_t column, int64_t columns,
                            std::vector<float>* c) {
    MultiplyPanels({a.data() + row * sizes.depth, sizes.depth, rows,
                    panels.data() + column * sizes.depth, sizes.depth, columns,
                    c->data() + row * sizes.columns + column, sizes.columns});
  };
  std::vector<float> whole(sizes.rows * sizes.columns);
  multiply(0, sizes.rows, 0, sizes.columns, &whole);
  std::vector<float> parts(whole.size());
  multiply(0, 5, 0, sizes.columns, &parts);
  multiply(5, 8, 0, 16, &parts);
  multiply(5, 8, 16, sizes.columns - 16, &parts);
  EXPECT_EQ(parts, whole);
}

TEST(PanelProductTest, InfinitiesStayInTheirRowsAndColumns) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Sizes sizes = {3, 4, 20};
  const std::vector<float> a(sizes.rows * sizes.depth, 1.0f);
  std::vector<float> b(sizes.depth * sizes.columns, 1.0f);
  b[17] = kInfinity;
  const std::vector<float> panels = Panels(sizes, b, false);
  std::vector<float> c(sizes.rows * sizes.columns);
  MultiplyPanels({a.data(), sizes.depth, sizes.rows, panels.data(), sizes.depth, sizes.columns,
                  c.data(), sizes.columns});
  for (int64_t i = 0; i < static_cast<int64_t>(c.size()); ++i) {
    EXPECT_EQ(c[i], i % sizes.columns == 17 ? kInfinity : 4.0f) << i;
  }
}

}  // namespace
}  // namespace millstream::kernels
