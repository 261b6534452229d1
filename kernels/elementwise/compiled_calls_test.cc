// What becomes machine code, and that each op's recipe gives the bits of its loop.
#include "kernels/elementwise/compiled_calls.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/elementwise/float_loops.h"

namespace millstream::kernels {
namespace {

using Floats = std::vector<float>;
using Value = VectorProgram::Value;

constexpr const char* kOps[] = {"Abs",         "Floor",
                                "Inv",         "Neg",
                                "Reciprocal",  "Relu",
                                "Rsqrt",       "Sign",
                                "Sqrt",        "Square",
                                "Add",         "AddV2",
                                "Div",         "InvGrad",
                                "Mul",         "Maximum",
                                "Minimum",     "RealDiv",
                                "ReluGrad",    "ReciprocalGrad",
                                "RsqrtGrad",   "Sub",
                                "SqrtGrad",    "TanhGrad",
                                "SigmoidGrad", "SquaredDifference"};

std::vector<VectorSet> Sets() {
  std::vector<VectorSet> sets;
  if (ChosenVectorSet() != VectorSet::kNone) sets.push_back(VectorSet::kAvx2);
  if (ChosenVectorSet() == VectorSet::kAvx512) sets.push_back(VectorSet::kAvx512);
  return sets;
}

// Every pair of numbers that arithmetic treats apart, and some that it does not.
void MakePairs(Floats* x, Floats* y) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  const Floats numbers = {0.0f,       -0.0f,    1,         -1,     0.5f,      -2.75f,
                          3.3e-7f,    1e-40f,   -1e-40f,   1e-45f, 1e30f,     -7e19f,
                          8388607.5f, kLargest, -kLargest, NAN,    kInfinity, -kInfinity};
  for (const float a : numbers) {
    for (const float b : numbers) {
      x->push_back(a);
      y->push_back(b);
    }
  }
}

TEST(StepRecipesTest, GiveTheBitsOfTheOpsLoops) {
  if (Sets().empty()) GTEST_SKIP() << "the processor has no AVX2";
  Floats x;
  Floats y;
  MakePairs(&x, &y);
  const auto elements = static_cast<int64_t>(x.size());
  for (const char* op : kOps) {
    const FloatLoops* const loops = FindFloatLoops(op);
    const StepRecipe recipe = FindStepRecipe(op);
    ASSERT_NE(loops, nullptr) << op;
    ASSERT_NE(recipe, nullptr) << op;
    Floats expected(x.size());
    loops->all(x.data(), y.data(), expected.data(), elements);
    VectorProgram program;
    const Value first = program.Load(0);
    const Value second = loops->operands == 2 ? program.Load(1) : first;
    program.Store(2, recipe(program, first, second));
    for (const VectorSet set : Sets()) {
      const std::unique_ptr<VectorCode> code = VectorCode::Make({program}, set);
      ASSERT_NE(code, nullptr) << op;
      Floats actual(x.size());
      float* const table[] = {x.data(), y.data(), actual.data()};
      code->function(0)(reinterpret_cast<const float*>(table), nullptr, nullptr, elements);
      for (size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(expected[i]) && std::isnan(actual[i])) continue;
        EXPECT_EQ(std::memcmp(&expected[i], &actual[i], sizeof(float)), 0)
            << op << "(" << x[i] << ", " << y[i] << ") is " << actual[i] << ", expected "
            << expected[i];
      }
    }
  }
}

TEST(StepRecipesTest, LongFunctionsHaveNone) {
  for (const char* op :
       {"Exp", "Log", "Tanh", "Sigmoid", "Pow", "FloorMod", "FloorDiv", "MatMul"}) {
    EXPECT_EQ(FindStepRecipe(op), nullptr) << op;
  }
}

// ---- Plans ----

class CompiledCallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Sets().empty()) GTEST_SKIP() << "the processor has no AVX2";
    program_.compile = true;
  }

  uint32_t Input() {
    EXPECT_TRUE(program_.steps.empty());
    return program_.num_inputs++;
  }
  uint32_t Step(const std::string& op, uint32_t x, uint32_t y) {
    program_.steps.push_back({FindFloatLoops(op), FindStepRecipe(op), x, y});
    return program_.num_values() - 1;
  }
  uint32_t Step(const std::string& op, uint32_t x) { return Step(op, x, x); }

  // With inputs of one shape.
  void Plan(int64_t elements, VectorSet set = Sets().back()) {
    const std::vector<ms::Shape> shapes(program_.num_inputs, ms::Shape({elements}));
    ASSERT_TRUE(PlanFused(program_, shapes, 2, set, &plan_).ok());
  }

  FusedProgram program_;
  FusedPlan plan_;
};

TEST_F(CompiledCallsTest, AChainBecomesOneCall) {
  const uint32_t x = Input();
  uint32_t y = x;
  for (int i = 0; i < 50; ++i) y = Step("Add", Step("Mul", y, x), x);
  program_.results = {y};
  Plan(4);
  EXPECT_NE(plan_.code, nullptr);
  EXPECT_EQ(plan_.calls.size(), 1u);
}

TEST_F(CompiledCallsTest, FunctionsStayLoopsBetweenThem) {
  const uint32_t x = Input();
  uint32_t y = Step("Add", Step("Mul", x, x), x);
  y = Step("Neg", Step("Square", Step("Tanh", y)));
  program_.results = {y};
  Plan(1000);
  ASSERT_EQ(plan_.calls.size(), 3u);
  EXPECT_EQ(plan_.calls[1].loop, FindFloatLoops("Tanh")->all);
}

TEST_F(CompiledCallsTest, WhereRegistersAreFewThereAreSeveralCalls) {
  std::vector<uint32_t> inputs;
  for (int i = 0; i < 60; ++i) inputs.push_back(Input());
  std::vector<uint32_t> squares;
  for (const uint32_t input : inputs) squares.push_back(Step("Square", input));
  uint32_t sum = squares[0];
  for (size_t i = 1; i < squares.size(); ++i) sum = Step("Add", sum, squares[i]);
  program_.results = {sum};
  for (const VectorSet set : Sets()) {
    plan_ = FusedPlan();
    Plan(1000, set);
    EXPECT_NE(plan_.code, nullptr);
    EXPECT_GT(plan_.calls.size(), 1u);
    EXPECT_LT(plan_.calls.size(), 30u);
  }
}

TEST_F(CompiledCallsTest, LittleWorkIsNotWorthCode) {
  const uint32_t x = Input();
  program_.results = {Step("Add", Step("Mul", x, x), x)};
  Plan(4);
  EXPECT_EQ(plan_.code, nullptr);
  EXPECT_EQ(plan_.calls.size(), 2u);
}

TEST_F(CompiledCallsTest, WithoutLeaveOrAProcessorForItThereIsNone) {
  const uint32_t x = Input();
  program_.results = {Step("Add", Step("Mul", x, x), x)};
  Plan(100000, VectorSet::kNone);
  EXPECT_EQ(plan_.code, nullptr);
  EXPECT_EQ(plan_.calls.size(), 2u);
  program_.compile = false;
  plan_ = FusedPlan();
  Plan(100000);
  EXPECT_EQ(plan_.code, nullptr);
  EXPECT_EQ(plan_.calls.size(), 2u);
}

}  // namespace
}  // namespace millstream::kernels
