// SpaceToBatchND and its family. The reference in testing/ops/blocks.py has the random cases.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

// A run of SpaceToBatchND or BatchToSpaceND.
class Blocks {
 public:
  Blocks(const std::string& op, const std::vector<int64_t>& dims,
         const std::vector<int32_t>& values, const std::vector<int32_t>& block,
         const std::vector<int32_t>& margins)
      : tester_(op) {
    const int64_t count = static_cast<int64_t>(block.size());
    tester_.Input<int32_t>(dims, values).ConstInput<int32_t>({count}, block);
    tester_.ConstInput<int32_t>({count, 2}, margins);
    tester_.Attr("T", MS_INT32).Attr("Tblock_shape", MS_INT32).Outputs({MS_INT32});
    tester_.Attr(op == "SpaceToBatchND" ? "Tpaddings" : "Tcrops", MS_INT32);
  }
  ms::Status Run() { return tester_.Run(); }
  std::vector<int32_t> output() { return tester_.Output<int32_t>(0); }

 private:
  KernelTester tester_;
};

TEST(SpaceToBatchTest, PadsWithZerosAndDealsTheElementsOfBlocks) {
  Blocks t("SpaceToBatchND", {1, 3}, {1, 2, 3}, {2}, {1, 2});
  ASSERT_TRUE(IsOk(t.Run()));
  // [0 1 | 2 3 | 0 0]
  EXPECT_EQ(t.output(), (std::vector<int32_t>{0, 2, 0, 1, 3, 0}));
}

// Windows of the block that lie in the padding alone give zeros.
TEST(SpaceToBatchTest, PaddingMayBeLongerThanABlock) {
  Blocks t("SpaceToBatchND", {1, 1}, {7}, {2}, {3, 2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.output(), (std::vector<int32_t>{0, 0, 0, 0, 7, 0}));
}

TEST(BatchToSpaceTest, CropsBothEnds) {
  Blocks t("BatchToSpaceND", {2, 3}, {0, 2, 9, 1, 3, 9}, {2}, {1, 2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.output(), (std::vector<int32_t>{1, 2, 3}));
}

TEST(BatchToSpaceTest, RefusesBatchesThatAreNoMultipleOfTheBlock) {
  Blocks t("BatchToSpaceND", {3, 1}, {1, 2, 3}, {2}, {0, 0});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("must be a multiple of the elements of a block, 2"),
            std::string::npos)
      << status.message();
}

TEST(SpaceToDepthTest, TheChannelsOfABlockLieRowByRow) {
  for (const bool channels_first : {false, true}) {
    KernelTester t("SpaceToDepth");
    const auto dims =
        channels_first ? std::vector<int64_t>{1, 1, 2, 4} : std::vector<int64_t>{1, 2, 4, 1};
    t.Input<int32_t>(dims, {1, 2, 5, 6, 3, 4, 7, 8});
    t.Attr("T", MS_INT32).Attr("block_size", int64_t{2}).Outputs({MS_INT32});
    t.Attr("data_format", std::string(channels_first ? "NCHW" : "NHWC"));
    ASSERT_TRUE(IsOk(t.Run()));
    const std::vector<int32_t> last = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::vector<int32_t> first = {1, 5, 2, 6, 3, 7, 4, 8};
    EXPECT_EQ(t.Output<int32_t>(0), channels_first ? first : last);
  }
}

}  // namespace
}  // namespace millstream::kernels
