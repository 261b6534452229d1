// Results that are too large for the caches are those of small tensors.
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/common/streamed_output.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

// No multiples of a tile or a line; a tensor is larger than the largest cache that is reckoned
// with.
constexpr int64_t kRows = 2053;
constexpr int64_t kColumns = 4099;

std::vector<float> Counting(int64_t n, int64_t period) {
  std::vector<float> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i % period);
  return values;
}

class StreamedTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SSE2__)
    ASSERT_TRUE(IsStreamed(kRows * kColumns * 4, kRows * kColumns));
#endif
  }
  const std::vector<float> x_ = Counting(kRows * kColumns, 1021);
};

TEST_F(StreamedTest, ARowIsAddedToEach) {
  const std::vector<float> row = Counting(kColumns, 97);
  KernelTester t("AddV2");
  t.Attr("T", MS_FLOAT32).Threads(2);
  t.Input<float>({kRows, kColumns}, x_).Input<float>({kColumns}, row);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<float> sums = t.Output<float>(0);
  for (size_t i = 0; i < x_.size(); ++i) ASSERT_EQ(sums[i], x_[i] + row[i % kColumns]) << i;
}

TEST_F(StreamedTest, AColumnIsSubtractedFromEach) {
  const std::vector<float> column = Counting(kRows, 89);
  KernelTester t("Sub");
  t.Attr("T", MS_FLOAT32).Threads(2);
  t.Input<float>({kRows, 1}, column).Input<float>({kRows, kColumns}, x_);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<float> differences = t.Output<float>(0);
  for (size_t i = 0; i < x_.size(); ++i) {
    ASSERT_EQ(differences[i], column[i / kColumns] - x_[i]) << i;
  }
}

// Many of which share a tile.
TEST_F(StreamedTest, ShortRows) {
  constexpr int64_t kShort = 3;
  constexpr int64_t kMany = kRows * kColumns / kShort;
  const std::vector<float> x(x_.begin(), x_.begin() + kMany * kShort);
  const std::vector<float> row = {1, 20, 300};
  KernelTester t("AddV2");
  t.Attr("T", MS_FLOAT32).Threads(2);
  t.Input<float>({kMany, kShort}, x).Input<float>({kShort}, row);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<float> sums = t.Output<float>(0);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(sums[i], x[i] + row[i % kShort]) << i;
}

TEST_F(StreamedTest, ResultsOfAnotherType) {
  const std::vector<float> y = Counting(kRows * kColumns, 1019);
  KernelTester t("Less");
  t.Attr("T", MS_FLOAT32).Threads(2).Outputs({MS_BOOL});
  t.Input<float>({kRows, kColumns}, x_).Input<float>({kRows, kColumns}, y);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<bool> less = t.Output<bool>(0);
  for (size_t i = 0; i < x_.size(); ++i) ASSERT_EQ(less[i], x_[i] < y[i]) << i;
}

TEST_F(StreamedTest, OneOperand) {
  KernelTester t("Neg");
  t.Attr("T", MS_FLOAT32).Threads(2).Input<float>({kRows, kColumns}, x_);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<float> negated = t.Output<float>(0);
  for (size_t i = 0; i < x_.size(); ++i) ASSERT_EQ(negated[i], -x_[i]) << i;
}

// Few threads write the results of a slow function to the caches, many past them.
TEST_F(StreamedTest, ASlowFunction) {
  const auto run = [&](uint32_t threads) {
    KernelTester t("Tanh");
    t.Attr("T", MS_FLOAT32).Threads(threads).Input<float>({kRows, kColumns}, x_);
    EXPECT_TRUE(IsOk(t.Run()));
    return t.Output<float>(0);
  };
  const std::vector<float> results = run(1);
  for (size_t i = 0; i < x_.size(); ++i) ASSERT_NEAR(results[i], std::tanh(x_[i]), 1e-6f) << i;
  EXPECT_EQ(run(16), results);
}

}  // namespace
}  // namespace millstream::kernels
