// fuse_lstm_steps changes what a plan executes, and of what it gives nothing but the rounding.
// join_lstm_steps makes one operation of what it finds, and changes no bit.
#include <algorithm>
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
  FuseLstmStepsTest() : FuseLstmStepsTest({"join_products", "fuse_lstm_steps"}) {}
  explicit FuseLstmStepsTest(const std::vector<std::string>& passes) : RoundingPassTest(passes) {}

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
    return StepOf(cell, NewFeed({batch, kInputs}), before);
  }
  State StepOf(const Cell& cell, const Output& x, const State& before) {
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

// As simplify_arithmetic leaves the zeros of a first step.
TEST_F(FuseLstmStepsTest, TheFirstMemoryMayBeANumber) {
  const Cell cell = ConstantCell();
  State state{Constant(0.25f), NewFeed({3, kUnits}), Output()};
  for (int t = 0; t < 3; ++t) state = Step(cell, 3, state);
  ExpectFused(3, {state.h, state.c});
}

TEST_F(FuseLstmStepsTest, LargeBatchesStay) {
  ExpectNotFused({Steps(ConstantCell(), 3, 65).back().h});
}

class JoinLstmStepsTest : public FuseLstmStepsTest {
 protected:
  JoinLstmStepsTest()
      : FuseLstmStepsTest({"join_products", "fuse_lstm_steps", "join_lstm_steps"}) {}

  // Expects so many operations of several steps and of one, and the bits of steps that stay alone.
  void ExpectJoined(int64_t joined, int64_t alone, const std::vector<Output>& fetches) {
    EXPECT_EQ(Runs("_LstmSteps", fetches), joined);
    EXPECT_EQ(Runs("_LstmStep", fetches), alone);
    const auto run_with = [&](const std::vector<std::string>& passes) {
      SessionOptions options;
      options.disabled_passes = PassNames();
      for (const std::string& pass : passes) {
        std::vector<std::string>& disabled = options.disabled_passes;
        disabled.erase(std::find(disabled.begin(), disabled.end(), pass));
      }
      return RunWith(options, fetches).values;
    };
    const std::vector<Tensor> plain = run_with({"join_products", "fuse_lstm_steps"});
    const std::vector<Tensor> together =
        run_with({"join_products", "fuse_lstm_steps", "join_lstm_steps"});
    for (size_t i = 0; i < fetches.size(); ++i) {
      ASSERT_EQ(plain[i].shape(), together[i].shape());
      EXPECT_EQ(Elements<float>(plain[i]), Elements<float>(together[i]));
    }
  }
};

TEST_F(JoinLstmStepsTest, StepsOneAfterTheOther) {
  for (const int64_t batch : {1, 3, 64}) {
    ExpectJoined(1, 0, {Steps(ConstantCell(), 5, batch).back().h});
  }
}

TEST_F(JoinLstmStepsTest, StatesInBetweenMayBeRead) {
  const std::vector<State> states = Steps(ConstantCell(), 4, 2);
  ExpectJoined(1, 0, {states[3].h, states[3].c, states[1].h, states[0].c});
  ExpectJoined(1, 0,
               {Op("AddV2", {states[3].h, Op("Tanh", {states[1].h})}), Op("Neg", {states[2].c})});
}

TEST_F(JoinLstmStepsTest, LayersBecomeOneEach) {
  const Cell lower = ConstantCell();
  const Cell upper = ConstantCell();
  State above{NewFeed({2, kUnits}), NewFeed({2, kUnits}), Output()};
  State below{NewFeed({2, kUnits}), NewFeed({2, kUnits}), Output()};
  for (int t = 0; t < 3; ++t) {
    below = Step(lower, 2, below);
    // The first inputs of a state, which are as many as the others have.
    const Output part = Op("Slice", {below.h, Constant(Tensor::Vector<int32_t>({0, 0})),
                                     Constant(Tensor::Vector<int32_t>({2, kInputs}))});
    above = StepOf(upper, part, above);
  }
  ExpectJoined(2, 0, {above.h, below.c});
}

TEST_F(JoinLstmStepsTest, StepsWithOtherWeightsStay) {
  const Cell cell = ConstantCell();
  std::vector<State> states = Steps(cell, 3, 2);
  Cell other = ConstantCell();
  other.forget_bias = Constant(-0.5f);
  State state = states.back();
  for (int t = 0; t < 2; ++t) state = Step(other, 2, state);
  ExpectJoined(2, 0, {state.h});
}

// The second step has no memory of the first one.
TEST_F(JoinLstmStepsTest, StepsThatTakeTheStateAloneStay) {
  const Cell cell = ConstantCell();
  const State first = Step(cell, 2, {NewFeed({2, kUnits}), NewFeed({2, kUnits}), Output()});
  const State second = Step(cell, 2, {NewFeed({2, kUnits}), first.h, Output()});
  ExpectJoined(0, 2, {second.h});
}

}  // namespace
}  // namespace millstream
