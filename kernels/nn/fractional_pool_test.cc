#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/nn/pooling_sequence.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Positions = std::vector<int64_t>;

TEST(PoolingSequenceTest, CellsAreOfTwoNeighbouringSizes) {
  for (const bool pseudo_random : {false, true}) {
    for (int64_t cells = 1; cells <= 20; ++cells) {
      for (uint64_t key = 0; key < 5; ++key) {
        const Positions positions = PoolingSequence(20, cells, pseudo_random, {key, {0, 1}});
        ASSERT_EQ(positions.size(), cells + 1);
        EXPECT_EQ(positions.front(), 0);
        EXPECT_EQ(positions.back(), 20);
        for (int64_t i = 0; i < cells; ++i) {
          const int64_t size = positions[i + 1] - positions[i];
          EXPECT_GE(size, 20 / cells);
          EXPECT_LE(size, 20 / cells + 1);
        }
      }
    }
  }
}

TEST(PoolingSequenceTest, SeedsGiveTheSequencesOfOtherPrograms) {
  EXPECT_EQ(PoolingSequence(7, 4, false, {7, {0, 11}}), (Positions{0, 2, 3, 5, 7}));
  EXPECT_EQ(PoolingSequence(8, 5, true, {7, {0, 11}}), (Positions{0, 1, 3, 5, 6, 8}));
}

void SetPool(KernelTester* t, bool deterministic, int64_t seed, bool overlapping = false) {
  t->Attr("pooling_ratio", std::vector<float>{1, 1.5, 1.5, 1}).Attr("pseudo_random", false);
  t->Attr("overlapping", overlapping).Attr("deterministic", deterministic);
  t->Attr("seed", seed).Attr("seed2", int64_t{0}).Attr("T", MS_FLOAT32);
  t->Outputs({MS_FLOAT32, MS_INT64, MS_INT64});
}

// Whole numbers, so that sums are exact.
std::vector<float> Ramp(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST(FractionalPoolTest, PoolsTheCellsOfItsSequences) {
  for (const bool overlapping : {false, true}) {
    KernelTester max("FractionalMaxPool"), mean("FractionalAvgPool");
    for (KernelTester* t : {&max, &mean}) {
      SetPool(t, /*deterministic=*/true, 3, overlapping);
      t->Input<float>({1, 5, 7, 1}, Ramp(35));
      ASSERT_TRUE(IsOk(t->Run()));
    }
    EXPECT_EQ(max.OutputShape(0), (Positions{1, 3, 4, 1}));
    const Positions rows = max.Output<int64_t>(1), columns = max.Output<int64_t>(2);
    EXPECT_EQ(mean.Output<int64_t>(1), rows);
    const auto end = [&](const Positions& begins, int64_t i, int64_t size) {
      return std::min(begins[i + 1] + (overlapping ? 1 : 0), size);
    };
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t bottom = end(rows, i, 5) - 1, right = end(columns, j, 7) - 1;
        EXPECT_EQ(max.Output<float>(0)[4 * i + j], static_cast<float>(7 * bottom + right));
        // The mean of a ramp is that of its corners.
        const int64_t corners = 7 * (rows[i] + bottom) + columns[j] + right;
        EXPECT_EQ(mean.Output<float>(0)[4 * i + j], static_cast<float>(corners) / 2);
      }
    }
  }
}

TEST(FractionalPoolTest, GradientsGoBackToTheCells) {
  KernelTester max("FractionalMaxPoolGrad"), mean("FractionalAvgPoolGrad");
  max.Input<float>({1, 2, 3, 1}, {1, 5, 5, 2, 3, 4}).Input<float>({1, 1, 2, 1}, {3, 5});
  mean.ConstInput<int64_t>({4}, {1, 2, 3, 1});
  for (KernelTester* t : {&max, &mean}) {
    t->Attr("overlapping", true).Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32});
    t->Input<float>({1, 1, 2, 1}, {12, 24});
    t->ConstInput<int64_t>({2}, {0, 2}).ConstInput<int64_t>({3}, {0, 2, 3});
    ASSERT_TRUE(IsOk(t->Run()));
  }
  EXPECT_EQ(max.Output<float>(0), (std::vector<float>{0, 12, 24, 0, 0, 0}));
  EXPECT_EQ(mean.Output<float>(0), (std::vector<float>{2, 2, 14, 2, 2, 14}));
}

TEST(FractionalPoolTest, SeedsNeedADeterministicNode) {
  KernelTester t("FractionalMaxPool");
  SetPool(&t, /*deterministic=*/false, 3);
  t.Input<float>({1, 5, 7, 1}, Ramp(35));
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "seed and seed2 must be 0 unless deterministic is true, but are 3 and 0");
}

TEST(FractionalPoolTest, RefusesSequencesThatLeaveTheImage) {
  KernelTester t("FractionalAvgPoolGrad");
  t.Attr("overlapping", false).Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32});
  t.ConstInput<int64_t>({4}, {1, 2, 3, 1}).Input<float>({1, 1, 2, 1}, {12, 24});
  t.ConstInput<int64_t>({2}, {0, 2}).ConstInput<int64_t>({3}, {0, 2, 4});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "col_pooling_sequence must rise from 0 to 3 at most, but has 4 at 2 behind 2");
}

}  // namespace
}  // namespace millstream::kernels
