#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Floats = std::vector<float>;
using Dims = std::vector<int64_t>;

constexpr int64_t kTime = 3;
constexpr int64_t kBatch = 2;
constexpr int64_t kInput = 2;
constexpr int64_t kUnits = 3;
constexpr int64_t kRows = kInput + kUnits;

int64_t Count(const Dims& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

// Numbers between -0.6 and 0.6 that differ.
Floats Numbers(int64_t count, int64_t seed) {
  Floats numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>((i * 37 + seed * 11) % 61 - 30) / 50);
  }
  return numbers;
}

// The inputs of an op and their shapes.
struct Inputs {
  std::vector<Dims> dims;
  std::vector<Floats> values;
};

Inputs MadeOf(std::vector<Dims> dims) {
  Inputs inputs;
  for (const Dims& shape : dims) {
    inputs.values.push_back(Numbers(Count(shape), static_cast<int64_t>(inputs.values.size()) + 1));
  }
  inputs.dims = std::move(dims);
  return inputs;
}

Inputs LstmInputs(bool is_run) {
  const Dims x = is_run ? Dims{kTime, kBatch, kInput} : Dims{kBatch, kInput};
  return MadeOf({x,
                 {kBatch, kUnits},
                 {kBatch, kUnits},
                 {kRows, 4 * kUnits},
                 {kUnits},
                 {kUnits},
                 {kUnits},
                 {4 * kUnits}});
}

Inputs GruInputs() {
  return MadeOf({{kBatch, kInput},
                 {kBatch, kUnits},
                 {kRows, 2 * kUnits},
                 {kRows, kUnits},
                 {2 * kUnits},
                 {kUnits}});
}

// Runs an op and gives its outputs. `steps` is the first input unless it is negative.
std::vector<Floats> RunOp(const std::string& op, const Inputs& inputs, size_t outputs,
                          int64_t steps = -1, bool use_peephole = true, float bias = 0) {
  KernelTester t(op);
  t.Attr("T", MS_FLOAT32).Attr("use_peephole", use_peephole);
  t.Attr("cell_clip", 0.0f).Attr("forget_bias", bias);
  if (steps >= 0) t.ConstInput<int64_t>({}, {steps});
  for (size_t i = 0; i < inputs.dims.size(); ++i) t.Input(inputs.dims[i], inputs.values[i]);
  t.Outputs(std::vector<MS_DType>(outputs, MS_FLOAT32));
  EXPECT_TRUE(IsOk(t.Run()));
  std::vector<Floats> found;
  for (uint32_t i = 0; i < outputs; ++i) found.push_back(t.Output<float>(i));
  return found;
}

void ExpectNear(const Floats& found, const Floats& expected, float bound) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], bound) << i;
}

// Compares a gradient with differences of a sum of outputs. The sums are rounded to about 1e-7, so
// that differences over 2/64 are off by 1e-5, and by the square of the step.
void ExpectGradient(Inputs inputs, size_t which, const Floats& gradient,
                    const std::function<double(const Inputs&)>& sum) {
  constexpr float kStep = 1.0f / 64;
  Floats& values = inputs.values[which];
  ASSERT_EQ(gradient.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    values[i] = value + kStep;
    const double above = sum(inputs);
    values[i] = value - kStep;
    const double below = sum(inputs);
    values[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-3) << which << ": " << i;
  }
}

double WeightedSum(const Floats& values, const Floats& weights) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += double{values[i]} * weights[i];
  return sum;
}

TEST(LstmTest, AStepIsARunOfOne) {
  Inputs inputs = LstmInputs(false);
  const auto step = RunOp("LSTMBlockCell", inputs, 7, -1, true, 1);
  inputs.dims[0] = {1, kBatch, kInput};
  EXPECT_EQ(RunOp("BlockLSTM", inputs, 7, 1, true, 1), step);
}

TEST(LstmTest, ARunTakesStepAfterStep) {
  const Inputs inputs = LstmInputs(true);
  const auto run = RunOp("BlockLSTM", inputs, 7, kTime);
  Inputs step = LstmInputs(false);
  for (int64_t t = 0; t < kTime; ++t) {
    const auto x = inputs.values[0].begin() + t * kBatch * kInput;
    step.values[0].assign(x, x + kBatch * kInput);
    const auto found = RunOp("LSTMBlockCell", step, 7);
    for (size_t i = 0; i < 7; ++i) {
      const auto part = run[i].begin() + t * kBatch * kUnits;
      ExpectNear(Floats(part, part + kBatch * kUnits), found[i], 1e-6f);
    }
    step.values[1] = found[1];
    step.values[2] = found[6];
  }
}

TEST(LstmTest, StepsThatAreNotTakenAreZero) {
  const Inputs inputs = LstmInputs(true);
  const auto all = RunOp("BlockLSTM", inputs, 7, kTime);
  const auto some = RunOp("BlockLSTM", inputs, 7, 1);
  for (size_t i = 0; i < 7; ++i) {
    Floats expected(all[i].size(), 0.0f);
    std::copy_n(all[i].begin(), kBatch * kUnits, expected.begin());
    EXPECT_EQ(some[i], expected);
  }
}

TEST(LstmTest, TheSecondVersionHasTheForgetGateFirst) {
  Inputs inputs = LstmInputs(true);
  const auto expected = RunOp("BlockLSTM", inputs, 7, kTime);
  for (size_t which : {3, 7}) {
    Floats& values = inputs.values[which];
    for (size_t at = 0; at < values.size(); at += 4 * kUnits) {
      std::swap_ranges(values.begin() + at + kUnits, values.begin() + at + 2 * kUnits,
                       values.begin() + at + 2 * kUnits);
    }
  }
  EXPECT_EQ(RunOp("BlockLSTMV2", inputs, 7, kTime), expected);
}

class LstmGradientTest : public ::testing::TestWithParam<bool> {};

TEST_P(LstmGradientTest, IsThatOfDifferences) {
  for (const std::string version : {"", "V2"}) {
    for (const int64_t steps : {kTime, kTime - 1}) {
      const Inputs inputs = LstmInputs(true);
      Inputs all = inputs;
      const auto outputs = RunOp("BlockLSTM" + version, inputs, 7, steps, GetParam());
      const Dims states = {kTime, kBatch, kUnits};
      for (const Floats& output : outputs) {
        all.dims.push_back(states);
        all.values.push_back(output);
      }
      const Floats cs_grad = Numbers(Count(states), 3);
      const Floats h_grad = Numbers(Count(states), 5);
      for (const Floats& gradient : {cs_grad, h_grad}) {
        all.dims.push_back(states);
        all.values.push_back(gradient);
      }
      const auto found = RunOp("BlockLSTMGrad" + version, all, 8, steps, GetParam());
      for (size_t which = 0; which < 8; ++which) {
        ExpectGradient(inputs, which, found[which], [&](const Inputs& moved) {
          const auto at = RunOp("BlockLSTM" + version, moved, 7, steps, GetParam());
          return WeightedSum(at[1], cs_grad) + WeightedSum(at[6], h_grad);
        });
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Peepholes, LstmGradientTest, ::testing::Bool());

TEST(LstmTest, ErrorsNameTheArgument) {
  const auto error = [](int64_t steps, size_t which, const Dims& dims) -> std::string {
    Inputs inputs = LstmInputs(true);
    if (!dims.empty()) {
      inputs.dims[which] = dims;
      inputs.values[which] = Numbers(Count(dims), 1);
    }
    KernelTester t("BlockLSTM");
    t.Attr("T", MS_FLOAT32).Attr("use_peephole", false);
    t.Attr("cell_clip", 0.0f).Attr("forget_bias", 0.0f);
    t.ConstInput<int64_t>({}, {steps});
    for (size_t i = 0; i < inputs.dims.size(); ++i) t.Input(inputs.dims[i], inputs.values[i]);
    t.Outputs(std::vector<MS_DType>(7, MS_FLOAT32));
    return std::string(t.Run().message());
  };
  EXPECT_EQ(error(kTime + 1, 0, {}), "seq_len_max must be from 0 to 3, the steps of x, is 4");
  EXPECT_EQ(error(kTime, 0, {2, 2}), "x must have 3 dimensions, its shape is [2,2]");
  EXPECT_EQ(error(kTime, 3, {4, 12}), "w must have the shape [5,12], its shape is [4,12]");
  EXPECT_EQ(error(kTime, 5, {4}), "wcf must have the shape [3], its shape is [4]");
}

TEST(GruTest, MixesTheStateAndTheCandidate) {
  const Inputs inputs = GruInputs();
  const auto found = RunOp("GRUBlockCell", inputs, 4);
  const auto product = [&](const Floats& kernel, const Floats& bias, int64_t row, int64_t column,
                           bool is_reset) {
    const auto columns = static_cast<int64_t>(bias.size());
    double sum = bias[column];
    for (int64_t i = 0; i < kInput; ++i) {
      sum += double{inputs.values[0][row * kInput + i]} * kernel[i * columns + column];
    }
    for (int64_t k = 0; k < kUnits; ++k) {
      const int64_t at = row * kUnits + k;
      const double state = inputs.values[1][at] * (is_reset ? found[0][at] : 1.0f);
      sum += state * kernel[(kInput + k) * columns + column];
    }
    return sum;
  };
  for (int64_t at = 0; at < kBatch * kUnits; ++at) {
    const int64_t row = at / kUnits;
    const int64_t k = at % kUnits;
    const auto gate = [&](int64_t column) {
      return 1 / (1 + std::exp(-product(inputs.values[2], inputs.values[4], row, column, false)));
    };
    EXPECT_NEAR(found[0][at], gate(k), 1e-6);
    const double update = gate(kUnits + k);
    EXPECT_NEAR(found[1][at], update, 1e-6);
    const double candidate = std::tanh(product(inputs.values[3], inputs.values[5], row, k, true));
    EXPECT_NEAR(found[2][at], candidate, 1e-6);
    EXPECT_NEAR(found[3][at], update * inputs.values[1][at] + (1 - update) * candidate, 1e-6);
  }
}

TEST(GruTest, ItsGradientIsThatOfDifferences) {
  const Inputs inputs = GruInputs();
  const auto outputs = RunOp("GRUBlockCell", inputs, 4);
  const Dims state = {kBatch, kUnits};
  const Floats h_grad = Numbers(Count(state), 5);
  Inputs all = inputs;
  for (const Floats& value : {outputs[0], outputs[1], outputs[2], h_grad}) {
    all.dims.push_back(state);
    all.values.push_back(value);
  }
  const auto found = RunOp("GRUBlockCellGrad", all, 4);
  const auto sum = [&](const Inputs& moved) {
    return WeightedSum(RunOp("GRUBlockCell", moved, 4)[3], h_grad);
  };
  ExpectGradient(inputs, 0, found[0], sum);
  ExpectGradient(inputs, 1, found[1], sum);
  // The gradients for biases are the sums over the batch.
  const auto summed = [](const Floats& rows) {
    const size_t columns = rows.size() / kBatch;
    Floats sums(columns, 0.0f);
    for (size_t i = 0; i < rows.size(); ++i) sums[i % columns] += rows[i];
    return sums;
  };
  ExpectGradient(inputs, 4, summed(found[3]), sum);
  ExpectGradient(inputs, 5, summed(found[2]), sum);
}

}  // namespace
}  // namespace millstream::kernels
