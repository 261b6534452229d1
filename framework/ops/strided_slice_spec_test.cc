#include "framework/ops/strided_slice_spec.h"

#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// What Python's list(range(size))[begin:end:stride] gives, by walking; nullopt bounds are left out.
std::vector<int64_t> PythonSlice(int64_t size, std::optional<int64_t> begin,
                                 std::optional<int64_t> end, int64_t stride) {
  std::vector<int64_t> taken;
  const auto wrap = [size](int64_t index) { return index < 0 ? index + size : index; };
  if (stride > 0) {
    int64_t i = begin.has_value() ? wrap(*begin) : 0;
    const int64_t stop = end.has_value() ? wrap(*end) : size;
    if (i < 0) i = 0;
    for (; i < stop && i < size; i += stride) taken.push_back(i);
  } else {
    int64_t i = begin.has_value() ? wrap(*begin) : size - 1;
    const int64_t stop = end.has_value() ? wrap(*end) : -1;
    if (i > size - 1) i = size - 1;
    for (; i > stop && i >= 0; i += stride) taken.push_back(i);
  }
  return taken;
}

std::vector<int64_t> Taken(const DimensionSlice& slice) {
  std::vector<int64_t> taken;
  for (int64_t i = 0; i < slice.size; ++i) taken.push_back(slice.begin + i * slice.stride);
  return taken;
}

TEST(StridedSliceSpecTest, TakesWhatPythonTakes) {
  for (int64_t size = 0; size <= 4; ++size) {
    for (int64_t begin = -6; begin <= 6; ++begin) {
      for (int64_t end = -6; end <= 6; ++end) {
        for (const int64_t stride : {-3, -2, -1, 1, 2, 3}) {
          for (int masks = 0; masks < 4; ++masks) {
            const bool from_start = masks & 1;
            const bool to_end = masks & 2;
            const auto spec = ResolveStridedSlice({size}, {begin}, {end}, {stride},
                                                  {from_start ? 1 : 0, to_end ? 1 : 0});
            ASSERT_TRUE(spec.ok()) << spec.status();
            const auto expected =
                PythonSlice(size, from_start ? std::nullopt : std::optional<int64_t>(begin),
                            to_end ? std::nullopt : std::optional<int64_t>(end), stride);
            ASSERT_EQ(Taken(spec->dimensions[0]), expected)
                << size << ": " << begin << " " << end << " " << stride << " masks " << masks;
            ASSERT_EQ(spec->result, PartialShape::Vector(expected.size()));
          }
        }
      }
    }
  }
}

TEST(StridedSliceSpecTest, ShrinkTakesOneIndex) {
  StridedSliceMasks masks;
  masks.shrink_axis = 1;
  const auto spec = ResolveStridedSlice({4, 3}, {-2}, {0}, {1}, masks);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->result, PartialShape({3}));
  EXPECT_EQ(spec->dimensions[0].begin, 2);
  EXPECT_EQ(spec->dimensions[0].size, 1);
}

TEST(StridedSliceSpecTest, EllipsisStandsForTheRest) {
  StridedSliceMasks masks;
  masks.ellipsis = 2;
  masks.new_axis = 4;
  masks.shrink_axis = 1;
  // x[1, ..., newaxis]
  const auto spec = ResolveStridedSlice({2, 3, -1}, {1, 0, 0}, {2, 0, 0}, {1, 1, 1}, masks);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->result, PartialShape({3, -1, 1}));
}

TEST(StridedSliceSpecTest, AnEllipsisMayStandForNothing) {
  StridedSliceMasks masks;
  masks.ellipsis = 2;
  const auto spec = ResolveStridedSlice({2, 3}, {0, 0, 1}, {2, 0, 3}, {1, 1, 1}, masks);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->result, PartialShape({2, 2}));
}

TEST(StridedSliceSpecTest, UnknownBoundsLeaveOnlyTheirDimensionOpen) {
  const std::optional<int64_t> unknown;
  const auto spec = ResolveStridedSlice({5, -1, 4}, {unknown, 0}, {3, 2}, {1, 1}, {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->result, PartialShape({-1, -1, 4}));
  EXPECT_FALSE(spec->dimensions[0].known);
}

TEST(StridedSliceSpecTest, AMaskedUnknownBoundDoesNotMatter) {
  const std::optional<int64_t> unknown;
  StridedSliceMasks masks;
  masks.begin = masks.end = 1;
  const auto spec = ResolveStridedSlice({5}, {unknown}, {unknown}, {2}, masks);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->result, PartialShape({3}));
}

TEST(StridedSliceSpecTest, TheStrideOfAnEllipsisOrANewAxisMeansNothing) {
  StridedSliceMasks masks;
  masks.ellipsis = 1;
  masks.new_axis = 2;
  const auto spec = ResolveStridedSlice({5}, {0, 0}, {0, 0}, {0, 0}, masks);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->result, PartialShape({5, 1}));
}

TEST(StridedSliceSpecTest, UnknownRankStaysUnknown) {
  const auto spec = ResolveStridedSlice(PartialShape(), {0}, {1}, {1}, {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_FALSE(spec->result.known_rank());
}

TEST(StridedSliceSpecTest, RefusesWhatMakesNoSense) {
  const auto message = [](const PartialShape& input, const PartialValue& begin,
                          const PartialValue& end, const PartialValue& strides,
                          const StridedSliceMasks& masks) {
    return ResolveStridedSlice(input, begin, end, strides, masks).status().ToString();
  };
  StridedSliceMasks shrink;
  shrink.shrink_axis = 1;
  StridedSliceMasks ellipses;
  ellipses.ellipsis = 3;
  EXPECT_THAT(message({5}, {0}, {4}, {0}, {}), HasSubstr("strides[0] must not be zero"));
  EXPECT_THAT(message({5}, {0, 0}, {1, 1}, {1, 1}, {}),
              HasSubstr("begin: index out of range: cannot slice 2 dimensions"));
  EXPECT_THAT(message({5, 2}, {0, 0}, {1, 1}, {1, 1}, ellipses), HasSubstr("ellipsis_mask"));
  EXPECT_THAT(message({5}, {5}, {6}, {1}, shrink), HasSubstr("slice index 5 of dimension 0"));
  EXPECT_THAT(message({5}, {-6}, {-5}, {1}, shrink), HasSubstr("slice index -6"));
  EXPECT_THAT(message({5}, {3}, {2}, {-1}, shrink), HasSubstr("needs a positive stride"));
  EXPECT_THAT(message({5}, {0, 0}, {1}, {1}, {}), HasSubstr("one length"));
}

}  // namespace
}  // namespace millstream
