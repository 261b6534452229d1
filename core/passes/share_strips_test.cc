// share_strips changes what a plan executes, and of what it gives nothing but the rounding. The
// states here are -1, 0 or 1, so that all sums are exact.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kInputs = 4;
constexpr int64_t kUnits = 20;

class ShareStripsTest : public PassTest {
 protected:
  ShareStripsTest() : PassTest(std::vector<std::string>{"join_products", "share_strips"}) {}

  // Small integers.
  static Tensor Integers(const Shape& shape, int64_t salt) {
    Tensor tensor = *Tensor::Create(DataType::kFloat, shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      tensor.data<float>()[i] = static_cast<float>(((i + salt) * 7919) % 7 - 3);
    }
    return tensor;
  }
  Output Fed(const std::string& name, const Shape& shape) {
    return FedValue(name, Integers(shape, static_cast<int64_t>(name.size())));
  }
  Output Weights() { return Fed("weights", {kInputs + kUnits, kUnits}); }

  // The states after each of some steps that multiply their inputs and states with the weights.
  std::vector<Output> Steps(int count, int64_t batch, const Output& weights) {
    const Output bias = Fed("bias", {kUnits});
    std::vector<Output> states = {Constant(Integers({batch, kUnits}, 3))};
    for (int t = 0; t < count; ++t) {
      const Output input = Fed(absl::StrCat("input_", t), {batch, kInputs});
      const Output both = build
                              .Variadic("ConcatV2", {{input, states.back()},
                                                     {Constant(Tensor::Scalar<int32_t>(1))}})
                              ->output(0);
      states.push_back(Op("Sign", {Op("AddV2", {Op("MatMul", {both, weights}), bias})}));
    }
    return states;
  }
  int64_t Executed(const std::string& op, const std::vector<Output>& fetches) {
    return absl::c_count(ExecutedOps(fetches), op);
  }
};

TEST_F(ShareStripsTest, StepsShareTheStripsOfTheirWeights) {
  const Output last = Steps(5, 8, Weights()).back();
  EXPECT_EQ(Executed("_WeightStrips", {last}), 1);
  EXPECT_EQ(Executed("_StripMatMul", {last}), 5);
  EXPECT_EQ(Executed("_PartMatMul", {last}), 0);
  // join_products saves two operations a step but one; one more arranges the weights.
  EXPECT_EQ(Saved({last}), 5 * 2 - 2);
}

TEST_F(ShareStripsTest, TransposedWeightsHaveStripsOfTheirOwn) {
  const Output weights = Weights();
  Output gradient = Fed("gradient", {8, kUnits});
  for (int t = 0; t < 4; ++t) {
    const Output both = Op("MatMul", {gradient, weights}, {{"transpose_b", true}});
    const Output state =
        Op("Slice", {both, Constant(Tensor::Vector<int32_t>({0, kInputs})),
                     Constant(Tensor::Vector<int32_t>({8, static_cast<int32_t>(kUnits)}))});
    gradient = Op("Sign", {state});
  }
  const Output last = Steps(4, 8, weights).back();
  EXPECT_EQ(Executed("_WeightStrips", {last, gradient}), 2);
  EXPECT_EQ(Executed("_StripMatMul", {last, gradient}), 8);
  Saved({last, gradient});
}

// Inputs and states have weights of their own.
TEST_F(ShareStripsTest, ProductsOfWholeMatrices) {
  const Output weights = Fed("of_states", {kUnits, kUnits});
  Output state = Fed("state", {8, kUnits});
  for (int t = 0; t < 4; ++t) {
    state = Op("Sign", {Op("AddV2", {Fed(absl::StrCat("input_", t), {8, kUnits}),
                                     Op("MatMul", {state, weights})})});
  }
  EXPECT_EQ(Executed("_StripMatMul", {state}), 4);
  EXPECT_EQ(Saved({state}), -1);
}

TEST_F(ShareStripsTest, ProductsWithABiasStay) {
  const Output weights = Fed("weights", {kUnits, kUnits});
  const Output bias = Fed("bias", {kUnits});
  Output state = Fed("state", {8, kUnits});
  for (int t = 0; t < 4; ++t) {
    state = Op("Sign", {Op("BiasAdd", {Op("MatMul", {state, weights}), bias})});
  }
  EXPECT_EQ(Executed("_StripMatMul", {state}), 0);
}

TEST_F(ShareStripsTest, FewStepsStay) {
  EXPECT_EQ(Executed("_WeightStrips", {Steps(3, 8, Weights()).back()}), 0);
}

TEST_F(ShareStripsTest, SmallBatchesStay) {
  EXPECT_EQ(Executed("_WeightStrips", {Steps(5, 7, Weights()).back()}), 0);
}

TEST_F(ShareStripsTest, LargeBatchesStay) {
  EXPECT_EQ(Executed("_WeightStrips", {Steps(5, 65, Weights()).back()}), 0);
}

// The products arrange them when the plan is made.
TEST_F(ShareStripsTest, ConstantWeightsStay) {
  const Output weights = Constant(Integers({kInputs + kUnits, kUnits}, 2));
  EXPECT_EQ(Executed("_WeightStrips", {Steps(5, 8, weights).back()}), 0);
}

}  // namespace
}  // namespace millstream
