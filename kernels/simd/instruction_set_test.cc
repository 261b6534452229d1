#include "kernels/simd/instruction_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

constexpr InstructionSet kSets[] = {InstructionSet::kBaseline, InstructionSet::kAvx2,
                                    InstructionSet::kAvx512};

class InstructionSetTest : public ::testing::Test {
 protected:
  ~InstructionSetTest() override { LimitInstructionSet(InstructionSet::kAvx512); }
};

// A product and a sum, which fused multiply-add would round once.
void MultiplyAdd(const float* x, const float* y, float* sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i] * y[i];
}

template <int kBytes>
struct Width {
  static int Run() { return kBytes; }
};

// a + 10 b of halves, which tells in which order they come.
template <int kBytes>
struct Folded {
  static double Run(const double* x) {
    return FoldHalves<kBytes, double>(Load<kBytes>(x), [](auto a, auto b) { return a + 10 * b; });
  }
};

// Whether any of as many numbers as a vector holds is negative.
template <int kBytes>
struct AnyNegative {
  static bool Run(const float* x) { return AnyOf(Load<kBytes>(x) < Vector<float, kBytes>{}); }
};

int64_t Twice(int64_t x) { return 2 * x; }

TEST_F(InstructionSetTest, NamesAreThoseOfThePluginsOption) {
  EXPECT_EQ(InstructionSetNamed("baseline"), InstructionSet::kBaseline);
  EXPECT_EQ(InstructionSetNamed("avx2"), InstructionSet::kAvx2);
  EXPECT_EQ(InstructionSetNamed("avx512"), InstructionSet::kAvx512);
  EXPECT_EQ(InstructionSetNamed("AVX2"), std::nullopt);
}

TEST_F(InstructionSetTest, TheWidestIsChosenWithinTheLimit) {
  EXPECT_EQ(ChosenInstructionSet(), WidestInstructionSet());
  for (const InstructionSet most : kSets) {
    LimitInstructionSet(most);
    EXPECT_EQ(ChosenInstructionSet(), std::min(most, WidestInstructionSet()));
  }
}

TEST_F(InstructionSetTest, VectorLoopsHaveTheWidthOfTheSet) {
  for (const InstructionSet most : kSets) {
    LimitInstructionSet(most);
    const int widths[] = {16, 32, 64};
    EXPECT_EQ(RunVectorLoop<Width>(), widths[static_cast<int>(ChosenInstructionSet())]);
    EXPECT_EQ((RunVectorLoopOn<float, Width>()), RunVectorLoop<Width>());
    EXPECT_EQ((RunVectorLoopOn<int, Width>()), std::min(RunVectorLoop<Width>(), 32))
        << "integers have loops up to AVX2";
    EXPECT_EQ((RunVectorLoopOn<int8_t, Width>()), 16) << "small integers have no wide loops";
  }
}

TEST_F(InstructionSetTest, VectorsFoldInHalves) {
  const double x[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const double folded[] = {
      1 + 10 * 2, 1 + 10 * 3 + 10 * (2 + 10 * 4),
      (1 + 10 * 5) + 10 * (3 + 10 * 7) + 10 * ((2 + 10 * 6) + 10 * (4 + 10 * 8))};
  for (const InstructionSet most : kSets) {
    LimitInstructionSet(most);
    EXPECT_EQ(RunVectorLoop<Folded>(&x[0]), folded[static_cast<int>(ChosenInstructionSet())]);
  }
}

TEST_F(InstructionSetTest, AnyOfSeesEveryElement) {
  for (const InstructionSet most : kSets) {
    LimitInstructionSet(most);
    const int elements = RunVectorLoop<Width>() / 4;
    float x[16] = {};
    EXPECT_FALSE(RunVectorLoop<AnyNegative>(&x[0]));
    for (int i = 0; i < elements; ++i) {
      x[i] = -1;
      EXPECT_TRUE(RunVectorLoop<AnyNegative>(&x[0])) << i;
      x[i] = 0;
    }
  }
}

TEST_F(InstructionSetTest, LoopsGiveTheirResult) {
  for (const InstructionSet most : kSets) {
    LimitInstructionSet(most);
    EXPECT_EQ(RunLoop<&Twice>(int64_t{21}), 42);
    EXPECT_EQ((RunLoopOn<int, &Twice>(int64_t{21})), 42);
  }
}

TEST_F(InstructionSetTest, TheSameOperationsGiveTheSameBits) {
  constexpr int64_t kCount = 1003;
  std::vector<float> x(kCount);
  std::vector<float> y(kCount);
  std::vector<std::vector<float>> sums;
  for (int64_t i = 0; i < kCount; ++i) {
    x[i] = 1.0f + static_cast<float>(i) / 4099.0f;
    y[i] = 3.0f - static_cast<float>(i) / 4093.0f;
  }
  for (const InstructionSet most : kSets) {
    LimitInstructionSet(most);
    sums.emplace_back(kCount, 0.1f);
    RunLoop<&MultiplyAdd>(x.data(), y.data(), sums.back().data(), kCount);
  }
  EXPECT_EQ(sums[1], sums[0]);
  EXPECT_EQ(sums[2], sums[0]);
}

}  // namespace
}  // namespace millstream::kernels
