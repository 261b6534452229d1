#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

Floats Iota(int64_t size) {
  Floats values;
  for (int64_t i = 0; i < size; ++i) values.push_back(static_cast<float>(i));
  return values;
}

struct Masks {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t ellipsis = 0;
  int64_t new_axis = 0;
  int64_t shrink_axis = 0;

  Masks& Ellipsis(int64_t bits) {
    ellipsis = bits;
    return *this;
  }
  Masks& NewAxis(int64_t bits) {
    new_axis = bits;
    return *this;
  }
  Masks& ShrinkAxis(int64_t bits) {
    shrink_axis = bits;
    return *this;
  }
};

void SetAttrs(const Masks& masks, KernelTester* t) {
  t->Attr("T", MS_FLOAT32).Attr("Index", MS_INT64);
  t->Attr("begin_mask", masks.begin).Attr("end_mask", masks.end);
  t->Attr("ellipsis_mask", masks.ellipsis).Attr("new_axis_mask", masks.new_axis);
  t->Attr("shrink_axis_mask", masks.shrink_axis);
}

// A slice of an iota tensor: its shape, its values, and the way back.
void ExpectSlice(const Ints& shape, const Ints& begin, const Ints& end, const Ints& strides,
                 const Masks& masks, const Ints& expected_shape, const Floats& expected) {
  int64_t size = 1;
  for (int64_t dim : shape) size *= dim;
  const Ints entries{static_cast<int64_t>(begin.size())};
  KernelTester t("StridedSlice");
  SetAttrs(masks, &t);
  t.Input<float>(shape, Iota(size)).ConstInput<int64_t>(entries, begin);
  t.ConstInput<int64_t>(entries, end).ConstInput<int64_t>(entries, strides);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), expected_shape);
  EXPECT_EQ(t.Output<float>(0), expected);

  // An iota element is its own place, so the gradient of 1 + place must land there.
  Floats dy = expected;
  for (float& value : dy) value += 1;
  Floats expected_gradient(static_cast<size_t>(size), 0.0f);
  for (float value : expected) expected_gradient[static_cast<size_t>(value)] = value + 1;
  KernelTester gradient("StridedSliceGrad");
  SetAttrs(masks, &gradient);
  gradient.ConstInput<int64_t>({static_cast<int64_t>(shape.size())}, shape);
  gradient.ConstInput<int64_t>(entries, begin).ConstInput<int64_t>(entries, end);
  gradient.ConstInput<int64_t>(entries, strides).Input<float>(expected_shape, dy);
  gradient.Outputs({MS_FLOAT32});
  ASSERT_TRUE(IsOk(gradient.Run()));
  EXPECT_EQ(gradient.Output<float>(0), expected_gradient);
}

std::string SliceError(const Ints& shape, const Ints& begin, const Ints& end, const Ints& strides,
                       const Masks& masks) {
  int64_t size = 1;
  for (int64_t dim : shape) size *= dim;
  const Ints entries{static_cast<int64_t>(begin.size())};
  KernelTester t("StridedSlice");
  SetAttrs(masks, &t);
  t.Input<float>(shape, Iota(size)).Input<int64_t>(entries, begin);
  t.Input<int64_t>(entries, end).Input<int64_t>(entries, strides);
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  return std::string(status.message());
}

TEST(SliceTest, TakesABlock) {
  KernelTester t("Slice");
  t.Attr("T", MS_FLOAT32).Attr("Index", MS_INT32);
  t.Input<float>({3, 4}, Iota(12))
      .ConstInput<int32_t>({2}, {1, 2})
      .ConstInput<int32_t>({2}, {2, -1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (Ints{2, 2}));
  EXPECT_EQ(t.Output<float>(0), (Floats{6, 7, 10, 11}));
}

TEST(SliceTest, RefusesToLeaveTheInput) {
  KernelTester t("Slice");
  t.Attr("T", MS_FLOAT32).Attr("Index", MS_INT32);
  t.Input<float>({3}, Iota(3)).Input<int32_t>({1}, {2}).Input<int32_t>({1}, {2});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "size[0] = 2 must be -1 or in [0, 1]: begin[0] is 2 and input has shape [3]");
}

TEST(StridedSliceTest, StepsForwardAndBackward) {
  ExpectSlice({7}, {1}, {6}, {2}, {}, {3}, {1, 3, 5});
  ExpectSlice({7}, {5}, {0}, {-2}, {}, {3}, {5, 3, 1});
  ExpectSlice({4}, {0}, {0}, {-1}, {1, 1}, {4}, {3, 2, 1, 0});
  ExpectSlice({2, 3}, {-1, -2}, {2, 3}, {1, 1}, {}, {1, 2}, {4, 5});
}

TEST(StridedSliceTest, ClampsRanges) {
  ExpectSlice({3}, {-100}, {100}, {1}, {}, {3}, {0, 1, 2});
  ExpectSlice({3}, {100}, {-100}, {-1}, {}, {3}, {2, 1, 0});
  ExpectSlice({3}, {2}, {1}, {1}, {}, {0}, {});
  ExpectSlice({3}, {INT64_MIN}, {INT64_MAX}, {INT64_MAX}, {}, {1}, {0});
}

TEST(StridedSliceTest, ShrinksAndAddsAxes) {
  ExpectSlice({2, 3}, {1}, {0}, {1}, Masks().ShrinkAxis(1), {3}, {3, 4, 5});
  ExpectSlice({2, 3}, {0, -1}, {0, 0}, {1, 1}, Masks().ShrinkAxis(3), {}, {2});
  ExpectSlice({2}, {0, 0, 0}, {0, 2, 0}, {1, 1, 1}, Masks().NewAxis(5), {1, 2, 1}, {0, 1});
}

TEST(StridedSliceTest, FillsInForTheEllipsis) {
  ExpectSlice({2, 2, 3}, {0, 1}, {0, 2}, {1, 1}, Masks().Ellipsis(1), {2, 2, 1}, {1, 4, 7, 10});
  ExpectSlice({2, 2, 3}, {1, 0, 2}, {0, 0, 0}, {1, 1, 1}, Masks().Ellipsis(2).ShrinkAxis(5), {2},
              {8, 11});
  ExpectSlice({2, 2}, {0, 0, 1}, {1, 0, 2}, {1, 1, 1}, Masks().Ellipsis(2), {1, 1}, {1});
}

TEST(StridedSliceTest, LetsEllipsisAndNewAxisWin) {
  ExpectSlice({2, 2}, {0}, {0}, {1}, Masks().Ellipsis(1).NewAxis(1).ShrinkAxis(1), {2, 2},
              {0, 1, 2, 3});
  ExpectSlice({2}, {0}, {0}, {1}, Masks().NewAxis(1).ShrinkAxis(1), {1, 2}, {0, 1});
}

TEST(StridedSliceTest, NamesWhatIsWrong) {
  EXPECT_EQ(SliceError({3}, {0}, {1}, {0}, {}), "strides[0] must not be zero");
  EXPECT_EQ(SliceError({3}, {3}, {4}, {1}, Masks().ShrinkAxis(1)),
            "begin[0] = 3 is outside [-3, 3) of dimension 0");
  EXPECT_EQ(SliceError({3}, {1}, {0}, {-1}, Masks().ShrinkAxis(1)),
            "strides[0] = -1 must be positive where shrink_axis_mask takes a single index");
  EXPECT_EQ(SliceError({3}, {0, 0}, {1, 1}, {1, 1}, {}),
            "begin takes 2 dimensions, but the input has shape [3]");
  EXPECT_EQ(SliceError({3}, {0, 0}, {1, 1}, {1, 1}, Masks().Ellipsis(3)),
            "ellipsis_mask = 3 has more than one bit for the entries of begin");
}

TEST(StridedSliceTest, RefusesAnOutputOfTooHighRank) {
  const Ints ones(40, 1);
  EXPECT_EQ(SliceError({3}, ones, ones, ones, Masks().NewAxis(-1)),
            "the output would have rank 33; at most 32 is possible");
}

TEST(StridedSliceGradTest, RefusesAnotherShape) {
  KernelTester t("StridedSliceGrad");
  SetAttrs({}, &t);
  t.Input<int64_t>({1}, {4}).Input<int64_t>({1}, {0}).Input<int64_t>({1}, {2});
  t.Input<int64_t>({1}, {1}).Input<float>({3}, {1, 2, 3}).Outputs({MS_FLOAT32});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "dy must have the shape of the slice, [2], but has shape [3]");
}

// Every other element of the second row, backwards.
void AddSliceInputs(const Floats& value, KernelTester* t) {
  SetAttrs(Masks().ShrinkAxis(1), t);
  t->ConstInput<int64_t>({2}, {1, 3}).ConstInput<int64_t>({2}, {0, 0});
  t->ConstInput<int64_t>({2}, {1, -2}).Input<float>({static_cast<int64_t>(value.size())}, value);
}

TEST(SliceAssignTest, PutsAValueInThePlaceOfASlice) {
  const Floats expected{0, 1, 2, 3, 4, -2, 6, -1};
  KernelTester tensor("TensorStridedSliceUpdate");
  tensor.Input<float>({2, 4}, Iota(8));
  AddSliceInputs({-1, -2}, &tensor);
  ASSERT_TRUE(IsOk(tensor.Run()));
  EXPECT_EQ(tensor.Output<float>(0), expected);

  KernelTester variable("ResourceStridedSliceAssign");
  variable.Outputs({}).Variable<float>({2, 4}, Iota(8));
  AddSliceInputs({-1, -2}, &variable);
  ASSERT_TRUE(IsOk(variable.Run()));
  EXPECT_EQ(variable.VariableValue<float>(0), expected);
}

TEST(SliceAssignTest, TheValueHasTheShapeOfTheSlice) {
  KernelTester t("ResourceStridedSliceAssign");
  t.Outputs({}).Variable<float>({2, 4}, Iota(8));
  AddSliceInputs({-1, -2, -3}, &t);
  EXPECT_EQ(t.Run().message(), "value must have the shape of the slice, [2], but has shape [3]");
}

}  // namespace
}  // namespace millstream::kernels
