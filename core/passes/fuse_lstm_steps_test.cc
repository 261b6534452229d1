// fuse_lstm_steps changes what a plan executes, and of what it gives nothing but the rounding.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/passes/rounding_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kInputs = 5;
constexpr int64_t kUnits = 16;

class FuseLstmStepsTest : public RoundingPassTest {
 protected:
  FuseLstmStepsTest() : RoundingPassTest({"join_products", "fuse_lstm_steps"}) {}

  // What is the same in all steps.
  struct Cell {
    Output weights;
    Output bias;  // none if it is missing
    Output forget_bias;
    std::string add = "AddV2";
    std::vector<int> order = {0, 1, 2, 3};  // where the gates i, j, f and o are
  };
  struct State {
    Output c;
    Output h;
    Output forget;  // the gate before it
  };

  // Numbers up to 1/8.
  Output Small(const Shape& shape) {
    Tensor tensor = Numbers(shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.data<float>()[i] /= 8;
    return Constant(tensor);
  }
  Cell ConstantCell() {
    Cell cell;
    cell.weights = Small({kInputs + kUnits, 4 * kUnits});
    cell.bias = Small({4 * kUnits});
    cell.forget_bias = Constant(1.0f);
    return cell;
  }
  Output NewFeed(const Shape& shape) { return Fed(absl::StrCat("feed_", count_++), shape); }

  State Step(const Cell& cell, int64_t batch, const State& before) {
    const Output x = NewFeed({batch, kInputs});
    const Output both =
        build.Variadic("ConcatV2", {{x, before.h}, {Constant(Tensor::Scalar<int32_t>(1))}})
            ->output(0);
    Output sum = Op("MatMul", {both, cell.weights});
    if (cell.bias) sum = Op(cell.add, {sum, cell.bias});
    const Node* const split = build.Variadic(
        "Split", {{Constant(Tensor::Scalar<int32_t>(1))}, {sum}}, {{"num_split", 4}});
    const auto gate = [&](int number) { return split->output(cell.order[number]); };
    const Output forget = Op("Sigmoid", {Op(cell.add, {gate(2), cell.forget_bias})});
    const Output added = Op("Mul", {Op("Sigmoid", {gate(0)}), Op("Tanh", {gate(1)})});
    const Output c = Op(cell.add, {Op("Mul", {before.c, forget}), added});
    return {c, Op("Mul", {Op("Tanh", {c}), Op("Sigmoid", {gate(3)})}), forget};
  }
  // The states after each of some steps.
  std::vector<State> Steps(const Cell& cell, int count, int64_t batch) {
    std::vector<State> states;
    State state{NewFeed({batch, kUnits}), NewFeed({batch, kUnits}), Output()};
    for (int t = 0; t < count; ++t) {
      state = Step(cell, batch, state);
      states.push_back(state);
    }
    return states;
  }

  // Gates are sums of 22 numbers up to 1/8 that are rounded in two orders: off by less than 1e-5.
  // All slopes are at most 1, and memories less than 5.
  static constexpr double kBound = 1e-4;
  void ExpectFused(int64_t steps, const std::vector<Output>& fetches) {
    EXPECT_EQ(Runs("_LstmStep", fetches), steps);
    EXPECT_EQ(Runs("Split", fetches), 0);
    EXPECT_EQ(Runs("Tanh", fetches), 0);
    ExpectNear(kBound, fetches);
  }
  void ExpectNotFused(const std::vector<Output>& fetches) {
    EXPECT_EQ(Runs("_LstmStep", fetches), 0);
    ExpectNear(kBound, fetches);
  }

 private:
  int count_ = 0;
};

TEST_F(FuseLstmStepsTest, StepsWithConstantWeights) {
  for (const int64_t batch : {1, 3, 64}) ExpectFused(4, {Steps(ConstantCell(), 4, batch).back().h});
}

TEST_F(FuseLstmStepsTest, TheBiasMayBeMissing) {
  Cell cell = ConstantCell();
  cell.bias = Output();
  ExpectFused(3, {Steps(cell, 3, 2).back().h});
}

TEST_F(FuseLstmStepsTest, SumsMayBeOfTheFirstVersion) {
  Cell cell = ConstantCell();
  cell.add = "Add";
  ExpectFused(3, {Steps(cell, 3, 2).back().h});
}

TEST_F(FuseLstmStepsTest, AnyForgetBias) {
  Cell cell = ConstantCell();
  cell.forget_bias = Constant(-0.5f);
  ExpectFused(3, {Steps(cell, 3, 2).back().h});
}

TEST_F(FuseLstmStepsTest, StatesMayBeFetched) {
  const std::vector<State> states = Steps(ConstantCell(), 3, 2);
  ExpectFused(3, {states[2].h, states[2].c, states[1].h, states[0].c});
  ExpectFused(3, {states[2].h, Op("Neg", {states[1].c})});
}

TEST_F(FuseLstmStepsTest, StepsWhoseGatesAreReadStay) {
  const std::vector<State> states = Steps(ConstantCell(), 3, 2);
  const std::vector<Output> fetches = {states[2].h, states[1].forget};
  EXPECT_EQ(Runs("_LstmStep", fetches), 2);
  ExpectNear(kBound, fetches);
  EXPECT_EQ(Runs("_LstmStep", {states[2].h, Op("Neg", {states[1].forget})}), 2);
}

TEST_F(FuseLstmStepsTest, WeightsThatMayChangeStay) {
  Cell cell = ConstantCell();
  cell.weights = NewFeed({kInputs + kUnits, 4 * kUnits});
  EXPECT_EQ(Runs("_LstmStep", {Steps(cell, 3, 2).back().h}), 0);
}

TEST_F(FuseLstmStepsTest, OtherOrdersOfGatesStay) {
  Cell cell = ConstantCell();
  cell.order = {0, 2, 1, 3};
  ExpectNotFused({Steps(cell, 3, 2).back().h});
}

TEST_F(FuseLstmStepsTest, AForgetBiasOfEachUnitStays) {
  Cell cell = ConstantCell();
  cell.forget_bias = Small({kUnits});
  ExpectNotFused({Steps(cell, 3, 2).back().h});
}

TEST_F(FuseLstmStepsTest, LargeBatchesStay) {
  ExpectNotFused({Steps(ConstantCell(), 3, 65).back().h});
}

}  // namespace
}  // namespace millstream
