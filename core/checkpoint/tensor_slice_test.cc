#include "core/checkpoint/tensor_slice.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(TensorSliceTest, TextIsReadAndWritten) {
  const StatusOr<SliceSpec> spec = ParseSliceSpec("10 4 2,5:-");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_FALSE(spec->is_whole);
  EXPECT_EQ(spec->whole, Shape({10, 4}));
  EXPECT_EQ(spec->shape, Shape({5, 4}));
  EXPECT_EQ(spec->slice.ToString(), "2,5:-");
  EXPECT_TRUE(ParseSliceSpec("")->is_whole);
}

TEST(TensorSliceTest, BadTextIsRefused) {
  for (const char* text : {"10", "10 ", "10 0,11", "10 -1,2", "10 0,1:0,1", "x 0,1", "10 0", "-3 -",
                           "10 11,0", "10 0,9223372036854775807", "10 0,1,2", " "}) {
    const StatusOr<SliceSpec> spec = ParseSliceSpec(text);
    ASSERT_TRUE(absl::IsInvalidArgument(spec.status())) << text << ": " << spec.status();
    EXPECT_THAT(spec.status().message(), HasSubstr("shape_and_slices")) << text;
  }
}

TEST(TensorSliceTest, MessagesKeepTheWholeDimensionApartFromALengthOfZero) {
  const Shape whole({3, 4});
  TensorSlice slice;
  slice.extents = {{1, 0}, {}};
  proto::TensorSliceProto message;
  ToProto(slice, &message);
  const StatusOr<TensorSlice> read = FromProto(message, whole);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->ToString(), "1,0:-");
  message.mutable_extent(0)->set_length(3);
  EXPECT_TRUE(absl::IsInvalidArgument(FromProto(message, whole).status()));
}

TEST(TensorSliceTest, TheCommonPartIsCopied) {
  const Shape whole({4, 3});
  TensorSlice from;  // rows 0 to 2
  from.extents = {{0, 3}, {}};
  TensorSlice to;  // rows 1 to 3, columns 1 and 2
  to.extents = {{1, 3}, {1, 2}};
  const Tensor source = Tensor::FromValues<float>(Shape({3, 3}), {0, 1, 2, 10, 11, 12, 20, 21, 22});
  const Tensor target = Tensor::FromValues<float>(Shape({3, 2}), {-1, -1, -1, -1, -1, -1});
  EXPECT_EQ(CopyCommonPart(whole, from, source, to, target), 4);
  EXPECT_TRUE(
      TensorsEqual(target, Tensor::FromValues<float>(Shape({3, 2}), {11, 12, 21, 22, -1, -1})));
}

TEST(TensorSliceTest, SlicesThatOverlapAreNamed) {
  const Shape whole({4, 2});
  const auto slice = [](const char* text) { return ParseSliceSpec(text)->slice; };
  const std::vector<TensorSlice> parts = {slice("4 2 0,2:-"), slice("4 2 2,2:0,1"),
                                          slice("4 2 2,2:1,1")};
  EXPECT_EQ(CheckDisjoint(whole, parts), absl::OkStatus());
  std::vector<TensorSlice> more = parts;
  more.push_back(slice("4 2 1,2:1,1"));
  const Status overlap = CheckDisjoint(whole, more);
  ASSERT_TRUE(absl::IsInvalidArgument(overlap));
  EXPECT_EQ(overlap.message(), "its slices 0,2:- and 1,2:1,1 overlap");
  EXPECT_EQ(CountCommon(whole, parts[0], more[3]), 1);
  EXPECT_TRUE(absl::IsInvalidArgument(CheckDisjoint(whole, std::vector<TensorSlice>(20000))));
}

}  // namespace
}  // namespace millstream
