// Arrays of tensors within a step, on both executors.
#include <string>
#include <vector>

#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

struct Array {
  Output handle;
  Output flow;
};

// With `true`, a Switch in the step makes the dynamic executor run it.
class TensorArraysTest : public SessionTest, public ::testing::WithParamInterface<bool> {
 protected:
  Array Make(int32_t size, GraphBuilder::Attrs attrs) {
    const Node* const node = build.NodeOf("TensorArrayV3", {build.Int32(size)}, attrs);
    EXPECT_TRUE(build.ok()) << build.status();
    return {node->output(0), node->output(1)};
  }
  Array Floats(int32_t size) { return Make(size, {{"dtype", DataType::kFloat}}); }
  Array Write(const Array& array, int32_t index, const Output& value) {
    return {array.handle,
            Op("TensorArrayWriteV3", {array.handle, build.Int32(index), value, array.flow})};
  }
  Output ReadFrom(const Array& array, int32_t index, DataType dtype = DataType::kFloat) {
    return Op("TensorArrayReadV3", {array.handle, build.Int32(index), array.flow},
              {{"dtype", dtype}});
  }
  Output GatherFrom(const Array& array, const std::vector<int32_t>& indices) {
    return Op("TensorArrayGatherV3", {array.handle, build.Int32Vector(indices), array.flow},
              {{"dtype", DataType::kFloat}});
  }
  Output Floats(const Shape& shape, const std::vector<float>& values) {
    return Constant(Tensor::FromValues<float>(shape, values));
  }
  StatusOr<Tensor> Get(const Output& fetch) {
    std::vector<Output> fetches = {fetch};
    std::vector<Feed> feeds;
    if (GetParam()) {
      if (!take_) {
        take_ = Placeholder("take", DataType::kBool, PartialShape::Scalar());
        taken_ = Op("Switch", {Constant(1.0f), take_}).node->output(1);
      }
      fetches.push_back(taken_);
      feeds.push_back({take_, Tensor::Scalar<bool>(true)});
    }
    MS_ASSIGN_OR_RETURN(std::vector<Tensor> values, Run(fetches, feeds));
    return values[0];
  }
  void Expect(const Output& fetch, const Tensor& expected) {
    const StatusOr<Tensor> value = Get(fetch);
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_TRUE(TensorsEqual(*value, expected)) << value->DebugString();
  }

 private:
  Output take_;
  Output taken_;
};

TEST_P(TensorArraysTest, WhatIsWrittenIsRead) {
  Array array = Floats(3);
  array = Write(array, 2, Constant(2.0f));
  array = Write(array, 0, Constant(7.0f));
  const Output sum = Op("Sub", {ReadFrom(array, 2), ReadFrom(array, 0)});
  for (int step = 0; step < 3; ++step) Expect(sum, Tensor::Scalar(-5.0f));
}

TEST_P(TensorArraysTest, RowsAreScatteredAndGathered) {
  Array array = Floats(3);
  array.flow = Op("TensorArrayScatterV3", {array.handle, build.Int32Vector({2, 0, 1}),
                                           Floats(Shape({3, 2}), {1, 2, 3, 4, 5, 6}), array.flow});
  Expect(GatherFrom(array, {0, 2}), Tensor::Of<float>(Shape({2, 2}), {3, 4, 1, 2}));
}

TEST_P(TensorArraysTest, PiecesAreSplitAndJoined) {
  Array array = Floats(3);
  array.flow = Op("TensorArraySplitV3", {array.handle, Floats(Shape({4}), {1, 2, 3, 4}),
                                         build.Int64Vector({1, 0, 3}), array.flow});
  const Node* const all = build.NodeOf("TensorArrayConcatV3", {array.handle, array.flow},
                                       {{"dtype", DataType::kFloat}});
  ASSERT_TRUE(build.ok()) << build.status();
  Expect(all->output(0), Tensor::Vector<float>({1, 2, 3, 4}));
  Expect(all->output(1), Tensor::Vector<int64_t>({1, 0, 3}));
}

TEST_P(TensorArraysTest, AnArrayWithoutElementsHasRowsOfTheShapeThatIsAskedFor) {
  const Array array = Floats(0);
  const Output rows = Op("TensorArrayGatherV3", {array.handle, build.Int32Vector({}), array.flow},
                         {{"dtype", DataType::kFloat}, {"element_shape", PartialShape({2})}});
  Expect(rows, Tensor::Of<float>(Shape({0, 2}), {}));
  ExpectError(Get(GatherFrom(array, {})).status(), absl::StatusCode::kUnimplemented,
              {"TensorArray has size zero, but element shape"});
}

TEST_P(TensorArraysTest, ALargerArrayHasASize) {
  Array array = Make(0, {{"dtype", DataType::kFloat}, {"dynamic_size", true}});
  array = Write(array, 4, Constant(1.0f));
  Expect(Op("TensorArraySizeV3", {array.handle, array.flow}), Tensor::Scalar<int32_t>(5));
}

TEST_P(TensorArraysTest, AGradientArrayIsOneForEachSource) {
  Array array = Make(1, {{"dtype", DataType::kFloat}, {"clear_after_read", false}});
  array = Write(array, 0, Constant(1.0f));
  const auto gradient = [&](const std::string& source, const Output& flow) {
    return Op("TensorArrayGradV3", {array.handle, flow}, {{"source", source}});
  };
  Array sum = {gradient("a", array.flow), array.flow};
  sum = Write(sum, 0, Constant(2.0f));
  sum = Write({gradient("a", sum.flow), sum.flow}, 0, Constant(3.0f));
  const Array other = Write({gradient("b", sum.flow), sum.flow}, 0, Constant(100.0f));
  Expect(ReadFrom({gradient("a", other.flow), other.flow}, 0), Tensor::Scalar(5.0f));
}

TEST_P(TensorArraysTest, ErrorsNameTheNode) {
  Array array = Floats(1);
  array = Write(array, 0, Constant(1.0f));
  ExpectError(Get(ReadFrom(array, 1)).status(), kInvalid,
              {"Tried to read from index 1 but array size is: 1", "TensorArrayReadV3"});
  ExpectError(Get(ReadFrom(array, 0, DataType::kInt32)).status(), kInvalid,
              {"TensorArray dtype is float32 but Op requested dtype int32"});
  ExpectError(Get(Write(array, 0, Constant(2.0f)).flow).status(), kInvalid,
              {"already been written to", "TensorArrayWriteV3"});
  ExpectError(Get(Write(Floats(1), 0, Constant(Tensor::Scalar<int32_t>(2))).flow).status(),
              kInvalid, {"TensorArray dtype is float32 but Op is trying to write dtype int32"});
}

TEST_P(TensorArraysTest, ALengthForEachElementAndAllRows) {
  const Array array = Floats(2);
  const Output value = Floats(Shape({3}), {1, 2, 3});
  const auto split = [&](const std::vector<int64_t>& lengths) {
    return Get(Op("TensorArraySplitV3",
                  {array.handle, value, build.Int64Vector(lengths), array.flow}))
        .status();
  };
  ExpectError(split({1, 1}), kInvalid, {"Expected sum of lengths to be equal to values.shape[0]"});
  ExpectError(split({1, 1, 1}), kInvalid,
              {"TensorArray's size is not equal to the size of lengths"});
}

TEST_P(TensorArraysTest, NamesLeadToArraysOfTheirStep) {
  const Output name = Op("TensorArrayV2", {build.Int32(1)}, {{"dtype", DataType::kFloat}});
  const Output flow =
      Op("TensorArrayWriteV2", {name, build.Int32(0), Constant(4.0f), Constant(0.0f)});
  Expect(Op("TensorArrayReadV2", {name, build.Int32(0), flow}, {{"dtype", DataType::kFloat}}),
         Tensor::Scalar(4.0f));
  const StatusOr<Tensor> earlier = Get(name);
  ASSERT_TRUE(earlier.ok()) << earlier.status();
  const Output size = Op("TensorArraySizeV2", {Constant(*earlier), Constant(0.0f)});
  ExpectError(Get(size).status(), absl::StatusCode::kNotFound, {"TensorArray"});
}

TEST_P(TensorArraysTest, OtherOpsRefuseItsHandle) {
  const Array array = Floats(1);
  ExpectError(Get(Op("ReadVariableOp", {array.handle}, {{"dtype", DataType::kFloat}})).status(),
              kInvalid, {"no handle of a variable"});
  const Output variable = Variable("v", DataType::kFloat, PartialShape::Scalar());
  ExpectError(Get(Op("TensorArraySizeV3", {variable, array.flow})).status(), kInvalid,
              {"no handle of a TensorArray"});
}

INSTANTIATE_TEST_SUITE_P(Executors, TensorArraysTest, ::testing::Bool());

}  // namespace
}  // namespace millstream
