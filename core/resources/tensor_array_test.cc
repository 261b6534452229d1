#include "core/resources/tensor_array.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/resources/run_time_handle.h"
#include "framework/plugin/host_tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TensorArraySpec Floats() {
  TensorArraySpec spec;
  spec.dtype = DataType::kFloat;
  return spec;
}

Status WriteOne(TensorArray* array, int64_t index, const Tensor& value) {
  return array->Write({index}, absl::MakeConstSpan(&value, 1));
}

StatusOr<Tensor> ReadOne(TensorArray* array, int64_t index) {
  MS_ASSIGN_OR_RETURN(std::vector<Tensor> values, array->Read({index}));
  return values[0];
}

std::string ErrorOf(const Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(TensorArrayTest, SharesTheMemoryOfElements) {
  const auto array = MakeResource<TensorArray>("a", Floats(), 2);
  const Tensor value = Tensor::Vector<float>({1, 2});
  ASSERT_TRUE(WriteOne(array.get(), 1, value).ok());
  const StatusOr<Tensor> read = ReadOne(array.get(), 1);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->raw(), value.raw());
}

TEST(TensorArrayTest, RefusesElementsThatDoNotFit) {
  TensorArraySpec spec = Floats();
  spec.element_shape = PartialShape({kUnknownDim, 2});
  const auto array = MakeResource<TensorArray>("a", spec, 2);
  const Tensor fits = Tensor::Of<float>(Shape({1, 2}), {1, 2});
  EXPECT_THAT(ErrorOf(WriteOne(array.get(), 2, fits)),
              HasSubstr("Tried to write to index 2 but array is not resizeable and size is: 2"));
  EXPECT_THAT(ErrorOf(WriteOne(array.get(), -1, fits)), HasSubstr("write to index -1"));
  EXPECT_THAT(ErrorOf(WriteOne(array.get(), 0, Tensor::Scalar(1.0f))),
              HasSubstr("which is incompatible with the TensorArray's inferred element shape"));
  EXPECT_THAT(ErrorOf(WriteOne(array.get(), 0, Tensor::Of<int32_t>(Shape({1, 2}), {1, 2}))),
              HasSubstr("value dtype is int32 but TensorArray dtype is float32"));
  ASSERT_TRUE(WriteOne(array.get(), 0, fits).ok());
  EXPECT_THAT(ErrorOf(WriteOne(array.get(), 0, fits)),
              HasSubstr("index 0 because it has already been written to"));
}

TEST(TensorArrayTest, ClearsWhatWasRead) {
  const auto array = MakeResource<TensorArray>("a", Floats(), 1);
  ASSERT_TRUE(WriteOne(array.get(), 0, Tensor::Scalar(1.0f)).ok());
  ASSERT_TRUE(ReadOne(array.get(), 0).ok());
  EXPECT_THAT(ErrorOf(ReadOne(array.get(), 0).status()),
              HasSubstr("Could not read index 0 twice because it was cleared"));
  EXPECT_THAT(ErrorOf(WriteOne(array.get(), 0, Tensor::Scalar(1.0f))),
              HasSubstr("because it has already been read"));
}

TEST(TensorArrayTest, ReadsAgainWhatItKeeps) {
  TensorArraySpec spec = Floats();
  spec.clear_after_read = false;
  const auto array = MakeResource<TensorArray>("a", spec, 1);
  ASSERT_TRUE(WriteOne(array.get(), 0, Tensor::Scalar(1.0f)).ok());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(*ReadOne(array.get(), 0)->data<float>(), 1.0f);
}

TEST(TensorArrayTest, WhatWasNotWrittenIsZeroIfItsShapeIsKnown) {
  TensorArraySpec spec = Floats();
  const auto any = MakeResource<TensorArray>("a", spec, 2);
  ASSERT_TRUE(WriteOne(any.get(), 0, Tensor::Scalar(1.0f)).ok());
  EXPECT_THAT(ErrorOf(ReadOne(any.get(), 1).status()),
              HasSubstr("Could not read from TensorArray index 1"));
  spec.identical_element_shapes = true;
  const auto alike = MakeResource<TensorArray>("b", spec, 2);
  ASSERT_TRUE(WriteOne(alike.get(), 0, Tensor::Vector<float>({1, 2})).ok());
  const StatusOr<Tensor> read = ReadOne(alike.get(), 1);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(TensorsEqual(*read, Tensor::Vector<float>({0, 0})));
}

TEST(TensorArrayTest, GrowsIfItMay) {
  TensorArraySpec spec = Floats();
  spec.dynamic_size = true;
  const auto array = MakeResource<TensorArray>("a", spec, 0);
  ASSERT_TRUE(WriteOne(array.get(), 6, Tensor::Scalar(1.0f)).ok());
  EXPECT_EQ(*array->size(), 7);
  ASSERT_TRUE(array->Reserve(9).ok());
  EXPECT_EQ(*array->size(), 9);
}

TEST(TensorArrayTest, GrowsNoFurtherThanItsSizeCanBeTold) {
  TensorArraySpec spec = Floats();
  spec.dynamic_size = true;
  const auto array = MakeResource<TensorArray>("a", spec, 0);
  const int64_t most = std::numeric_limits<int32_t>::max();
  EXPECT_THAT(ErrorOf(WriteOne(array.get(), most, Tensor::Scalar(1.0f))),
              HasSubstr("index 2147483647 but array cannot have more than 2147483647 elements"));
  ASSERT_TRUE(WriteOne(array.get(), most - 1, Tensor::Scalar(1.0f)).ok());
  EXPECT_EQ(*array->size(), most);
}

TEST(TensorArrayTest, AHugeArrayTakesNoMemory) {
  const auto array = MakeResource<TensorArray>("a", Floats(), int64_t{1} << 31);
  ASSERT_TRUE(WriteOne(array.get(), (int64_t{1} << 31) - 1, Tensor::Scalar(1.0f)).ok());
}

TEST(TensorArrayTest, GradientsAddUp) {
  TensorArraySpec spec = Floats();
  spec.clear_after_read = false;
  const auto array = MakeResource<TensorArray>("a", spec, 3);
  ASSERT_TRUE(WriteOne(array.get(), 0, Tensor::Scalar(1.0f)).ok());
  ASSERT_TRUE(WriteOne(array.get(), 1, Tensor::Vector<float>({1, 2})).ok());
  const auto gradient = array->MakeGradient("a@gradients", Shape());
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ(*(*gradient)->size(), 3);
  const Tensor first = Tensor::Scalar(2.0f);
  ASSERT_TRUE(WriteOne(gradient->get(), 0, first).ok());
  ASSERT_TRUE(WriteOne(gradient->get(), 0, Tensor::Scalar(3.0f)).ok());
  EXPECT_EQ(*ReadOne(gradient->get(), 0)->data<float>(), 5.0f);
  EXPECT_EQ(*first.data<float>(), 2.0f);  // others hold what was written
  EXPECT_TRUE(TensorsEqual(*ReadOne(gradient->get(), 1), Tensor::Vector<float>({0, 0})));
  EXPECT_THAT(ErrorOf((*gradient)->MakeGradient("b", Shape()).status()),
              HasSubstr("Unable to create a gradients TensorArray"));
}

TEST(TensorArrayTest, SumsDoNotDependOnTheOrderOfWrites) {
  std::vector<float> parts = {1e8f, 1.0f, -1e8f, 0.3f};
  std::sort(parts.begin(), parts.end());
  const auto array = MakeResource<TensorArray>("a", Floats(), 1);
  std::optional<float> expected;
  do {
    const auto gradient = array->MakeGradient("a@gradients", Shape());
    ASSERT_TRUE(gradient.ok()) << gradient.status();
    for (const float part : parts) {
      ASSERT_TRUE(WriteOne(gradient->get(), 0, Tensor::Scalar(part)).ok());
    }
    const float sum = *ReadOne(gradient->get(), 0)->data<float>();
    EXPECT_EQ(sum, expected.value_or(sum));
    expected = sum;
  } while (std::next_permutation(parts.begin(), parts.end()));
}

TEST(TensorArrayTest, StringsCannotBeAddedUp) {
  TensorArraySpec spec;
  spec.dtype = DataType::kString;
  spec.adds_up = true;
  const auto array = MakeResource<TensorArray>("a", spec, 1);
  ASSERT_TRUE(WriteOne(array.get(), 0, Tensor::Scalar<std::string>("x")).ok());
  EXPECT_THAT(ErrorOf(WriteOne(array.get(), 0, Tensor::Scalar<std::string>("y"))),
              HasSubstr("cannot be added up"));
}

TEST(TensorArrayTest, GradientsMayHaveFurtherDimensions) {
  TensorArraySpec spec = Floats();
  spec.element_shape = PartialShape({2});
  const auto array = MakeResource<TensorArray>("a", spec, 1);
  const auto gradient = array->MakeGradient("a@gradients", Shape({3}));
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ((*gradient)->element_shape(), PartialShape({3, 2}));
}

TEST(TensorArrayTest, IsOfNoUseWhenClosed) {
  const auto array = MakeResource<TensorArray>("a", Floats(), 1);
  array->Close();
  EXPECT_THAT(ErrorOf(WriteOne(array.get(), 0, Tensor::Scalar(1.0f))),
              HasSubstr("TensorArray a has already been closed"));
  EXPECT_THAT(ErrorOf(array->size().status()), HasSubstr("closed"));
}

TEST(TensorArrayTest, ManyThreadsWriteDifferentElements) {
  constexpr int kThreads = 8;
  constexpr int kEach = 200;
  const auto array = MakeResource<TensorArray>("a", Floats(), kThreads * kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&array, t] {
      for (int i = t; i < kThreads * kEach; i += kThreads) {
        EXPECT_TRUE(WriteOne(array.get(), i, Tensor::Scalar(static_cast<float>(i))).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads * kEach; ++i) {
    EXPECT_EQ(*ReadOne(array.get(), i)->data<float>(), static_cast<float>(i));
  }
}

TEST(RunTimeHandleTest, HoldsItsResource) {
  auto array = MakeResource<TensorArray>("a", Floats(), 1);
  TensorArray* const address = array.get();
  const StatusOr<Tensor> handle = MakeRunTimeHandle(std::move(array));
  ASSERT_TRUE(handle.ok()) << handle.status();
  EXPECT_EQ(ResourceOf(MakeView(*handle, nullptr)), address);
  EXPECT_TRUE(address->IsUnique());
}

TEST(RunTimeHandleTest, TheAddressOfAHandleOpIsTheResource) {
  const auto array = MakeResource<TensorArray>("a", Floats(), 1);
  MS_TensorView view = NullView();
  EXPECT_EQ(ResourceOf(view), nullptr);
  view.dtype = MS_RESOURCE;
  PointToResource(array.get(), &view);
  EXPECT_EQ(ResourceOf(view), array.get());
  EXPECT_TRUE(PointsToResource(view));
}

TEST(RunTimeHandleTest, ATensorIsAHandleIfItHasOneElement) {
  const auto array = MakeResource<TensorArray>("a", Floats(), 1);
  for (int64_t count = 0; count < 3; ++count) {
    const Tensor handles = Tensor::Create(DataType::kResource, Shape({count})).value();
    for (OpaqueCell& cell : handles.flat<OpaqueCell>()) cell = HandleCell(array);
    const MS_TensorView view = MakeView(handles, nullptr);
    EXPECT_FALSE(PointsToResource(view)) << count;
    EXPECT_EQ(ResourceOf(view), count == 1 ? array.get() : nullptr) << count;
  }
}

}  // namespace
}  // namespace millstream
