// The array kernels on tensors of strings. What they do with shapes is tested on numbers.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Ints = std::vector<int32_t>;
using Shape = std::vector<int64_t>;
using Texts = std::vector<std::string>;

// Longer than what a short string holds in place, and with a zero byte.
const std::string kLong = std::string("the first of several longer texts") + '\0' + "and its end";

class StringTest : public ::testing::Test {
 protected:
  // A node with T = string and int32 indices.
  static void SetTypes(KernelTester* t) {
    for (const char* name : {"Tidx", "Tpaddings", "Tmultiples", "Tperm", "Index", "Tlen"}) {
      t->Attr(name, MS_INT32);
    }
    t->Attr("T", MS_STRING);
  }
};

TEST_F(StringTest, ConcatV2AndPackJoin) {
  KernelTester concat("ConcatV2");
  SetTypes(&concat);
  concat.Input<std::string>({2, 1}, {kLong, "b"}).Input<std::string>({2, 2}, {"c", "", "e", "f"});
  concat.ConstInput<int32_t>({}, {1});
  ASSERT_TRUE(IsOk(concat.Run()));
  EXPECT_EQ(concat.Output<std::string>(0), (Texts{kLong, "c", "", "b", "e", "f"}));

  KernelTester pack("Pack");
  SetTypes(&pack);
  pack.Attr("axis", 1).Input<std::string>({2}, {kLong, "b"}).Input<std::string>({2}, {"c", "d"});
  ASSERT_TRUE(IsOk(pack.Run()));
  EXPECT_EQ(pack.Output<std::string>(0), (Texts{kLong, "c", "b", "d"}));
}

TEST_F(StringTest, SplitSplitVAndUnpackCut) {
  const Texts texts{kLong, "b", "c", "d"};
  KernelTester split("Split");
  SetTypes(&split);
  split.ConstInput<int32_t>({}, {1}).Input<std::string>({2, 2}, texts);
  split.Outputs({MS_STRING, MS_STRING});
  ASSERT_TRUE(IsOk(split.Run()));
  EXPECT_EQ(split.Output<std::string>(0), (Texts{kLong, "c"}));
  EXPECT_EQ(split.Output<std::string>(1), (Texts{"b", "d"}));

  KernelTester split_v("SplitV");
  SetTypes(&split_v);
  split_v.Input<std::string>({4}, texts).ConstInput<int32_t>({2}, {1, 3});
  split_v.ConstInput<int32_t>({}, {0}).Outputs({MS_STRING, MS_STRING});
  ASSERT_TRUE(IsOk(split_v.Run()));
  EXPECT_EQ(split_v.Output<std::string>(1), (Texts{"b", "c", "d"}));

  KernelTester unpack("Unpack");
  SetTypes(&unpack);
  unpack.Attr("axis", 0).Input<std::string>({2, 2}, texts).Outputs({MS_STRING, MS_STRING});
  ASSERT_TRUE(IsOk(unpack.Run()));
  EXPECT_EQ(unpack.Output<std::string>(1), (Texts{"c", "d"}));
}

TEST_F(StringTest, PadAddsEmptyStrings) {
  KernelTester t("Pad");
  SetTypes(&t);
  t.Input<std::string>({1, 2}, {kLong, "b"}).ConstInput<int32_t>({2, 2}, {1, 0, 0, 1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<std::string>(0), (Texts{"", "", "", kLong, "b", ""}));
}

TEST_F(StringTest, TileAndTransposeRearrange) {
  KernelTester tile("Tile");
  SetTypes(&tile);
  tile.Input<std::string>({2}, {kLong, "b"}).ConstInput<int32_t>({1}, {2});
  ASSERT_TRUE(IsOk(tile.Run()));
  EXPECT_EQ(tile.Output<std::string>(0), (Texts{kLong, "b", kLong, "b"}));

  KernelTester transpose("Transpose");
  SetTypes(&transpose);
  transpose.Input<std::string>({2, 2}, {"a", kLong, "c", "d"}).ConstInput<int32_t>({2}, {1, 0});
  ASSERT_TRUE(IsOk(transpose.Run()));
  EXPECT_EQ(transpose.Output<std::string>(0), (Texts{"a", "c", kLong, "d"}));
}

TEST_F(StringTest, SlicesAreTakenAndPutBack) {
  const Texts texts{"a", "b", kLong, "d", "e", "f"};
  KernelTester slice("Slice");
  SetTypes(&slice);
  slice.Input<std::string>({3, 2}, texts).ConstInput<int32_t>({2}, {1, 0});
  slice.ConstInput<int32_t>({2}, {-1, 1});
  ASSERT_TRUE(IsOk(slice.Run()));
  EXPECT_EQ(slice.Output<std::string>(0), (Texts{kLong, "e"}));

  KernelTester strided("StridedSlice");
  SetTypes(&strided);
  for (const char* mask : {"begin", "end", "ellipsis", "new_axis", "shrink_axis"}) {
    strided.Attr(std::string(mask) + "_mask", 0);
  }
  strided.Input<std::string>({6}, texts).ConstInput<int32_t>({1}, {4});
  strided.ConstInput<int32_t>({1}, {0}).ConstInput<int32_t>({1}, {-2});
  ASSERT_TRUE(IsOk(strided.Run()));
  EXPECT_EQ(strided.Output<std::string>(0), (Texts{"e", kLong}));
}

TEST_F(StringTest, GatherV2PicksRowsWithinBatches) {
  KernelTester t("GatherV2");
  t.Attr("Tparams", MS_STRING).Attr("Tindices", MS_INT32).Attr("Taxis", MS_INT32);
  t.Attr("batch_dims", 1).Outputs({MS_STRING});
  t.Input<std::string>({2, 2, 2}, {"a", "b", "c", kLong, "e", "f", "g", "h"});
  t.Input<int32_t>({2, 1}, {1, 0}).ConstInput<int32_t>({}, {1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (Shape{2, 1, 2}));
  EXPECT_EQ(t.Output<std::string>(0), (Texts{"c", kLong, "e", "f"}));
}

TEST_F(StringTest, OneHotMarksWithTexts) {
  KernelTester t("OneHot");
  SetTypes(&t);
  t.Attr("TI", MS_INT32).Attr("axis", 0).Outputs({MS_STRING});
  t.Input<int32_t>({3}, {1, 5, 0}).ConstInput<int32_t>({}, {2});
  t.Input<std::string>({}, {kLong}).Input<std::string>({}, {"-"});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (Shape{2, 3}));
  EXPECT_EQ(t.Output<std::string>(0), (Texts{"-", "-", kLong, kLong, "-", "-"}));
}

}  // namespace
}  // namespace millstream::kernels
