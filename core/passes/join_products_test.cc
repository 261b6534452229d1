// join_products changes what a plan executes, and of what it gives nothing but the rounding. The
// states here are -1, 0 or 1, so that all sums are exact.
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/passes/pass_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kBatch = 3;
constexpr int64_t kInputs = 4;
constexpr int64_t kUnits = 5;

// Small integers.
Tensor Integers(const Shape& shape, int64_t salt) {
  Tensor tensor = *Tensor::Create(DataType::kFloat, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(((i + salt) * 7919) % 7 - 3);
  }
  return tensor;
}

class JoinProductsTest : public PassTest {
 protected:
  JoinProductsTest() : PassTest("join_products") {}

  Output FedIntegers(const std::string& name, const Shape& shape) {
    return FedValue(name, Integers(shape, static_cast<int64_t>(name.size())));
  }
  void Weights(int64_t inputs = kInputs, const std::string& name = "weights") {
    weights_ = FedIntegers(name, {inputs + kUnits, kUnits});
    bias_ = FedIntegers(name + "_bias", {kUnits});
  }
  Output Input(int t) { return FedIntegers(absl::StrCat("input_", t), {kBatch, kInputs}); }
  Output SideBySide(const Output& x, const Output& y) {
    return build.Variadic("ConcatV2", {{x, y}, {Constant(Tensor::Scalar<int32_t>(1))}})->output(0);
  }
  Output SumOf(const Output& both) { return Op("AddV2", {Op("MatMul", {both, weights_}), bias_}); }
  Output Step(const Output& input, const Output& state) {
    return Op("Sign", {SumOf(SideBySide(input, state))});
  }
  Output NoState() { return Constant(Integers({kBatch, kUnits}, 3)); }

  // A step back from the gradient of a sum to those of input and state.
  std::pair<Output, Output> StepBack(const Output& gradient) {
    const Output both = Op("MatMul", {gradient, weights_}, {{"transpose_b", true}});
    return {Cut(both, 0, kInputs), Cut(both, kInputs, kUnits)};
  }
  Output Cut(const Output& matrix, int32_t begin, int64_t columns) {
    return Op("Slice", {matrix, Constant(Tensor::Vector<int32_t>({0, begin})),
                        Constant(Tensor::Vector<int32_t>(
                            {static_cast<int32_t>(kBatch), static_cast<int32_t>(columns)}))});
  }

  Output weights_, bias_;
};

TEST_F(JoinProductsTest, TheInputsOfAllSteps) {
  Weights();
  Output state = NoState();
  for (int t = 0; t < 4; ++t) state = Step(Input(t), state);
  // For a step, three operations become one; one more is the product of the inputs.
  EXPECT_EQ(Saved({state}), 4 * 2 - 1);
  EXPECT_EQ(absl::c_count(ExecutedOps({state}), "_JoinedMatMul"), 1);
  EXPECT_EQ(absl::c_count(ExecutedOps({state}), "_PartMatMul"), 4);
}

// Of which the plan keeps strips.
TEST_F(JoinProductsTest, ConstantWeights) {
  weights_ = Constant(Integers({kInputs + kUnits, kUnits}, 2));
  bias_ = Constant(Integers({kUnits}, 5));
  Output state = NoState();
  for (int t = 0; t < 4; ++t) state = Step(Input(t), state);
  EXPECT_EQ(Saved({state}), 4 * 2 - 1);
}

TEST_F(JoinProductsTest, TheStateMayComeFirst) {
  Weights();
  Output state = NoState();
  for (int t = 0; t < 3; ++t) {
    state = Op("Sign", {SumOf(SideBySide(state, Input(t)))});
  }
  EXPECT_EQ(Saved({state}), 3 * 2 - 1);
}

TEST_F(JoinProductsTest, InputsThatAreComputedBetweenTheStepsMoveToTheFront) {
  Weights();
  const Output all = FedIntegers("all", {kBatch, 3 * kInputs});
  Output state = NoState();
  for (int t = 0; t < 3; ++t) {
    state = Step(Op("Neg", {Cut(all, static_cast<int32_t>(t * kInputs), kInputs)}), state);
  }
  EXPECT_EQ(Saved({state}), 3 * 2 - 1);
}

TEST_F(JoinProductsTest, LayersOneStepAfterTheOther) {
  Weights();
  const Output lower = weights_;
  Weights(kUnits, "upper_weights");
  const Output upper = weights_;
  Output below = NoState();
  Output above = NoState();
  for (int t = 0; t < 3; ++t) {
    weights_ = lower;
    below = Step(Input(t), below);
    weights_ = upper;
    above = Step(below, above);
  }
  EXPECT_EQ(Saved({above}), 2 * (3 * 2 - 1));
}

TEST_F(JoinProductsTest, TheBiasMayBeMissing) {
  Weights();
  Output state = NoState();
  for (int t = 0; t < 4; ++t) {
    state = Op("Sign", {Op("MatMul", {SideBySide(Input(t), state), weights_})});
  }
  // For a step, two operations become one; one more is the product of the inputs.
  EXPECT_EQ(Saved({state}), 4 - 1);
  EXPECT_EQ(absl::c_count(ExecutedOps({state}), "_JoinedMatMul"), 1);
}

TEST_F(JoinProductsTest, WithoutABiasAStateMayBeReadTwice) {
  Weights();
  Output state = NoState();
  for (int t = 0; t < 3; ++t) {
    const Output sum = Op("MatMul", {SideBySide(state, Input(t)), weights_});
    state = Op("Mul", {Op("Sign", {sum}), Op("Square", {Op("Sign", {Op("Neg", {sum})})})});
  }
  EXPECT_EQ(Saved({state}), 3 - 1);
}

TEST_F(JoinProductsTest, InputsThatFollowFromOutputsStay) {
  Weights();
  Output state = NoState();
  Output input = Input(0);
  for (int t = 0; t < 3; ++t) {
    state = Step(input, state);
    input = Cut(state, 0, kInputs);
  }
  EXPECT_EQ(Saved({state}), 0);
}

TEST_F(JoinProductsTest, LayersWithoutAStateStay) {
  Weights();
  const Output side = FedIntegers("side", {kBatch, kUnits});
  EXPECT_EQ(Saved({Step(Input(0), side), Step(Input(1), side)}), 0);
}

TEST_F(JoinProductsTest, AFetchedProductStaysAValue) {
  Weights();
  const Output product = Op("MatMul", {SideBySide(Input(0), NoState()), weights_});
  Output state = Op("Sign", {Op("AddV2", {product, bias_})});
  for (int t = 1; t < 3; ++t) state = Step(Input(t), state);
  EXPECT_EQ(Saved({state, product}), 2 * 2 - 1);
}

TEST_F(JoinProductsTest, StepsOfOtherSizesStay) {
  Weights();
  const Output wide = FedIntegers("wide", {kBatch, kInputs + 1});
  const Output state = Step(Input(0), NoState());
  EXPECT_EQ(Saved({Step(wide, Cut(state, 0, kUnits - 1))}), 0);
}

// The gradients of the states follow from each other, those of the inputs do not.
TEST_F(JoinProductsTest, TheGradientsOfAllInputs) {
  Weights();
  Output gradient = FedIntegers("gradient", {kBatch, kUnits});
  std::vector<Output> of_inputs;
  for (int t = 0; t < 4; ++t) {
    const auto [of_input, of_state] = StepBack(gradient);
    of_inputs.push_back(Op("Neg", {of_input}));
    gradient = Op("Sign", {of_state});
  }
  of_inputs.push_back(gradient);
  // For a step, a product and two slices become one product; one more is that of all inputs.
  EXPECT_EQ(Saved(of_inputs), 4 * 2 - 1);
  EXPECT_EQ(absl::c_count(ExecutedOps(of_inputs), "_JoinedMatMul"), 1);
}

TEST_F(JoinProductsTest, GradientsOfInputsThatNothingReadsAreNotComputed) {
  Weights();
  Output gradient = FedIntegers("gradient", {kBatch, kUnits});
  for (int t = 0; t < 3; ++t) gradient = Op("Sign", {StepBack(gradient).second});
  // A product and a slice become one product.
  EXPECT_EQ(Saved({gradient}), 3);
  EXPECT_EQ(absl::c_count(ExecutedOps({gradient}), "_PartMatMul"), 3);
}

TEST_F(JoinProductsTest, GradientsThatAllFollowFromEachOtherStay) {
  Weights();
  Output gradient = FedIntegers("gradient", {kBatch, kUnits});
  const Output all = Constant(Tensor::Vector<int32_t>({0, 1}));
  for (int t = 0; t < 3; ++t) {
    const auto [of_input, of_state] = StepBack(gradient);
    gradient = Op("Sign", {Op("Mul", {of_state, Op("Max", {of_input, all})})});
  }
  EXPECT_EQ(Saved({gradient}), 0);
}

TEST_F(JoinProductsTest, AProductThatIsReadWholeStays) {
  Weights();
  const Output first = FedIntegers("first", {kBatch, kUnits});
  const Output second = FedIntegers("second", {kBatch, kUnits});
  const Output whole = Op("MatMul", {first, weights_}, {{"transpose_b", true}});
  EXPECT_EQ(Saved({Op("Neg", {whole}), Cut(whole, 0, kInputs), StepBack(second).first}), 0);
}

// Inputs and states have weights of their own.
class JoinPlainProductsTest : public JoinProductsTest {
 protected:
  static constexpr int64_t kWide = 8;

  Output Row(int t) { return FedIntegers(absl::StrCat("row_", t), {1, kWide}); }
  Output Square(const std::string& name) { return FedIntegers(name, {kWide, kWide}); }
  Output Step(const Output& input, const Output& state) {
    return Op("Sign", {Op("AddV2",
                          {Op("MatMul", {input, of_inputs_}), Op("MatMul", {state, of_states_})})});
  }

  const Output of_inputs_ = Square("of_inputs");
  const Output of_states_ = Square("of_states");
};

TEST_F(JoinPlainProductsTest, TheInputsOfAllSteps) {
  Output state = FedIntegers("state", {1, kWide});
  for (int t = 0; t < 4; ++t) state = Step(Row(t), state);
  EXPECT_EQ(Saved({state}), 4 - 1);
  EXPECT_EQ(absl::c_count(ExecutedOps({state}), "_JoinedMatMul"), 1);
  EXPECT_EQ(absl::c_count(ExecutedOps({state}), "MatMul"), 4);
}

TEST_F(JoinPlainProductsTest, TheGradientsOfAllInputs) {
  Output gradient = FedIntegers("gradient", {1, kWide});
  std::vector<Output> of_inputs;
  for (int t = 0; t < 4; ++t) {
    of_inputs.push_back(Op("Neg", {Op("MatMul", {gradient, of_inputs_}, {{"transpose_b", true}})}));
    gradient = Op("Sign", {Op("MatMul", {gradient, of_states_}, {{"transpose_b", true}})});
  }
  of_inputs.push_back(gradient);
  EXPECT_EQ(Saved(of_inputs), 4 - 1);
}

TEST_F(JoinPlainProductsTest, InputsThatFollowFromOutputsStay) {
  Output state = FedIntegers("state", {1, kWide});
  Output input = Row(0);
  for (int t = 0; t < 4; ++t) {
    state = Step(input, state);
    input = Op("Neg", {state});
  }
  EXPECT_EQ(Saved({state}), 0);
}

TEST_F(JoinPlainProductsTest, TwoProductsStay) {
  const auto product = [&](int t) { return Op("Neg", {Op("MatMul", {Row(t), of_inputs_})}); };
  EXPECT_EQ(Saved({product(0), product(1)}), 0);
  EXPECT_EQ(Saved({product(2), product(3), product(4)}), 2);
}

TEST_F(JoinPlainProductsTest, ProductsOfManyRowsStay) {
  std::vector<Output> results;
  for (int t = 0; t < 4; ++t) {
    const Output rows = FedIntegers(absl::StrCat("rows_", t), {kWide, kWide});
    results.push_back(Op("Neg", {Op("MatMul", {rows, of_inputs_})}));
  }
  EXPECT_EQ(Saved(results), 0);
}

TEST_F(JoinPlainProductsTest, AFetchedProductStays) {
  std::vector<Output> results;
  for (int t = 0; t < 4; ++t) results.push_back(Op("MatMul", {Row(t), of_inputs_}));
  std::vector<Output> fetches = {results[0]};
  for (int t = 1; t < 4; ++t) fetches.push_back(Op("Neg", {results[t]}));
  EXPECT_EQ(Saved(fetches), 3 - 1);
}

}  // namespace
}  // namespace millstream
