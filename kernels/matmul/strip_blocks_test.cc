#include "kernels/matmul/strip_blocks.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/matmul/window_product.h"

namespace millstream::kernels {
namespace {

TEST(StripBlocksTest, BlocksCoverTheResultOnce) {
  for (const int64_t rows : {1, 3, 7, 8, 48, 49, 100}) {
    for (const int64_t columns : {1, 16, 17, 64, 65, 130, 1000}) {
      for (const int64_t threads : {1, 2, 3, 8}) {
        const StripBlocks blocks(rows, 1 << 14, columns, threads);
        std::vector<int> covered(rows * columns);
        for (int64_t i = 0; i < blocks.count(); ++i) {
          const StripBlock block = blocks.block(i);
          EXPECT_EQ(block.column % kStripColumns, 0);
          EXPECT_GT(block.rows, 0);
          EXPECT_GT(block.columns, 0);
          for (int64_t row = block.row; row < block.row + block.rows; ++row) {
            for (int64_t j = 0; j < block.columns; ++j) ++covered[row * columns + block.column + j];
          }
        }
        EXPECT_EQ(covered, std::vector<int>(rows * columns, 1))
            << rows << " x " << columns << ", " << threads << " threads";
      }
    }
  }
}

TEST(StripBlocksTest, AnEmptyResultHasNone) {
  EXPECT_EQ(StripBlocks(0, 5, 20, 2).count(), 0);
  EXPECT_EQ(StripBlocks(5, 5, 0, 2).count(), 0);
}

TEST(StripBlocksTest, FewRowsHaveABlockForEachThreadThatHasEnoughToRead) {
  const auto count = [](int64_t rows, int64_t depth, int64_t columns, int64_t threads) {
    return StripBlocks(rows, depth, columns, threads).count();
  };
  EXPECT_EQ(count(1, 0, 256, 8), 1);
  EXPECT_EQ(count(1, 256, 256, 8), 1);
  EXPECT_EQ(count(1, 784, 256, 1), 1);
  EXPECT_EQ(count(1, 784, 256, 2), 2);
  EXPECT_EQ(count(1, 784, 256, 8), 3);
  EXPECT_EQ(count(2, 784, 256, 8), 3);
  EXPECT_EQ(count(4, 784, 256, 8), 6);
}

}  // namespace
}  // namespace millstream::kernels
