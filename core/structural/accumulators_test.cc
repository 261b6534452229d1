// Accumulators of gradients between the steps of a session.
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kFloat = DataType::kFloat;

class AccumulatorsTest : public SessionTest {
 protected:
  Output Accumulator(const std::string& name, const PartialShape& shape, bool is_sparse = false,
                     const std::string& shared_name = "") {
    const auto node = TryNode(
        name, is_sparse ? "_SparseConditionalAccumulator" : "ResourceConditionalAccumulator", {},
        {{"dtype", kFloat}, {"shape", shape}, {"shared_name", shared_name}});
    EXPECT_TRUE(node.ok()) << node.status();
    return (*node)->output(0);
  }
  const Node* Added(const Node* node) {
    EXPECT_TRUE(build.ok()) << build.status();
    return node;
  }
  Output Int64(int64_t value) { return Constant(Tensor::Scalar(value)); }
  const Node* Apply(const Output& handle, const std::vector<float>& gradient, int64_t step = 0) {
    return Added(build.NodeOf("ResourceAccumulatorApplyGradient",
                              {handle, Int64(step), Constant(Values<float>(gradient))}, {}));
  }
  const Node* ApplyRows(const Output& handle, const std::vector<int64_t>& indices,
                        const Tensor& values, const std::vector<int64_t>& shape) {
    return Added(build.NodeOf("_SparseAccumulatorApplyGradient",
                              {handle, Int64(0), Constant(Values<int64_t>(indices)),
                               Constant(values), Constant(Values<int64_t>(shape))},
                              {{"has_known_shape", !shape.empty()}}));
  }
  Output Take(const Output& handle, int32_t num_required) {
    return Op("ResourceAccumulatorTakeGradient", {handle, build.Int32(num_required)},
              {{"dtype", kFloat}});
  }
  const Node* TakeRows(const Output& handle, int32_t num_required) {
    return Added(build.NodeOf("_SparseAccumulatorTakeGradient", {handle, build.Int32(num_required)},
                              {{"dtype", kFloat}}));
  }
  int Count(const Output& handle) {
    return *Value(Op("ResourceAccumulatorNumAccumulated", {handle})).data<int32_t>();
  }
  // Of gradients that were added, and of stale ones.
  std::vector<int64_t> Counts(const Output& handle) {
    const Node* const counts = Added(build.NodeOf("_AccumulatorCounts", {handle}, {}));
    const auto result = Run({counts->output(0), counts->output(1)});
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return {};
    return {*(*result)[0].data<int64_t>(), *(*result)[1].data<int64_t>()};
  }
  std::vector<float> Get(const Output& fetch) { return Elements<float>(Value(fetch)); }
};

TEST_F(AccumulatorsTest, GradientsOfStepsAreTakenTogether) {
  const Output sum = Accumulator("a", PartialShape({2}));
  const Node* const apply = Apply(sum, {1, 2});
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  EXPECT_EQ(Execute({Apply(sum, {3, 6})}), absl::OkStatus());
  EXPECT_EQ(Count(sum), 2);
  EXPECT_THAT(Get(Take(sum, 2)), ElementsAre(2, 4));
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  EXPECT_EQ(Count(sum), 0) << "it is of the step before";
  EXPECT_EQ(Execute({Added(build.NodeOf("ResourceAccumulatorSetGlobalStep", {sum, Int64(0)}, {}))}),
            absl::OkStatus());
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  EXPECT_EQ(Count(sum), 1);
}

TEST_F(AccumulatorsTest, AStepReadsHowManyGradientsWereDropped) {
  const Output sum = Accumulator("a", PartialShape({2}));
  const Output rows = Accumulator("rows", PartialShape({4, 1}), true);
  const Node* const apply = Apply(sum, {1, 2});
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  EXPECT_THAT(Counts(sum), ElementsAre(1, 0));
  EXPECT_THAT(Get(Take(sum, 1)), ElementsAre(1, 2));
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  EXPECT_THAT(Counts(sum), ElementsAre(1, 2));
  const Tensor one = Tensor::Of<float>(Shape({1, 1}), {5});
  EXPECT_EQ(Execute({ApplyRows(rows, {2}, one, {})}), absl::OkStatus());
  EXPECT_THAT(Counts(rows), ElementsAre(1, 0));
  const Output variable = Variable("v", kFloat, PartialShape::Scalar());
  const Node* const of_other = Added(build.NodeOf("_AccumulatorCounts", {variable}, {}));
  ExpectError(Error(of_other->output(0)), kInvalid, {"'handle' is no handle of an accumulator"});
}

TEST_F(AccumulatorsTest, RowsOfStepsAreTakenTogether) {
  const Output sum = Accumulator("a", PartialShape({4, 1}), true);
  const Tensor one = Tensor::Of<float>(Shape({1, 1}), {5});
  EXPECT_EQ(Execute({ApplyRows(sum, {2}, one, {4, 1})}), absl::OkStatus());
  const Tensor two = Tensor::Of<float>(Shape({2, 1}), {7, 1});
  EXPECT_EQ(Execute({ApplyRows(sum, {2, 0}, two, {})}), absl::OkStatus());
  const Node* const taken = TakeRows(sum, 1);
  const auto result = Run({taken->output(0), taken->output(1), taken->output(2)});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<int64_t>((*result)[0]), ElementsAre(0, 2));
  EXPECT_THAT(Elements<float>((*result)[1]), ElementsAre(1, 6));
  EXPECT_THAT(Elements<int64_t>((*result)[2]), ElementsAre(4, 1));
}

TEST_F(AccumulatorsTest, ATakeWaitsForAnotherStep) {
  const Output sum = Accumulator("a", PartialShape({2}));
  const Output taken = Take(sum, 2);
  const Node* const apply = Apply(sum, {3, 4});
  StartSession();
  StatusOr<std::vector<Tensor>> result = absl::UnknownError("has not run");
  std::thread taker([&] { result = Run({taken}); });
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  EXPECT_EQ(Execute({apply}), absl::OkStatus());
  taker.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<float>(result->front()), ElementsAre(3, 4));
}

TEST_F(AccumulatorsTest, ATimeLimitSaysWhatTheStepWaitsFor) {
  const Output sum = Accumulator("a", PartialShape({2}));
  RunOptions options;
  options.timeout_ms = 30;
  ExpectError(Run({Take(sum, 2)}, {}, {}, options).status(), absl::StatusCode::kDeadlineExceeded,
              {"waits for more gradients of accumulator 'a'"});
  EXPECT_EQ(Execute({Apply(sum, {3, 4})}), absl::OkStatus());
  EXPECT_THAT(Get(Take(sum, 1)), ElementsAre(3, 4));
}

TEST_F(AccumulatorsTest, RefusesWhatDoesNotFit) {
  const Output sum = Accumulator("a", PartialShape({2}), false, "shared");
  const Output rows = Accumulator("rows", PartialShape({4, 1}), true);
  ExpectError(Execute({Apply(sum, {1, 2, 3})}), kInvalid,
              {"Shape mismatch: expected [2], got [3]", "(op ResourceAccumulatorApplyGradient)"});
  ExpectError(Error(Take(sum, 0)), kInvalid, {"'num_required' must be positive, got 0"});
  ExpectError(Error(Take(rows, 1)), kInvalid, {"accumulator 'rows' has sparse gradients"});
  const Tensor one = Tensor::Of<float>(Shape({1, 1}), {5});
  ExpectError(Execute({ApplyRows(rows, {2}, one, {3, 1})}), kInvalid,
              {"'gradient_shape'", "expected [4,1], got [3,1]"});
  const Output other = Accumulator("b", PartialShape({3}), false, "shared");
  ExpectError(Error(Take(other, 1)), kInvalid, {"accumulator 'shared' has dense gradients"});
  const Output variable = Variable("v", kFloat, PartialShape::Scalar());
  ExpectError(Error(Take(variable, 1)), kInvalid, {"'handle' is no handle of an accumulator"});
}

}  // namespace
}  // namespace millstream
