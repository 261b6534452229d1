// _LstmStep and _LstmSteps
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/testing/fractions.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::Fractions;
using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

constexpr float kForgetBias = 0.75f;

struct Sizes {
  int64_t rows;
  int64_t units;
  int64_t first_row = 0;  // of the weights
  int64_t rows_behind = 0;
  bool has_bias = true;
  bool is_constant = true;
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void SetAttrs(const Sizes& sizes, KernelTester* t) {
  t->Attr("T", MS_FLOAT32).Attr("num_biases", sizes.has_bias ? 1 : 0);
  t->Attr("first_row", sizes.first_row).Attr("forget_bias", kForgetBias);
  t->Outputs({MS_FLOAT32, MS_FLOAT32});
}

// The operands of a step.
struct Problem {
  explicit Problem(const Sizes& problem_size)
      : size(problem_size),
        columns(4 * size.units),
        x_gates(Fractions(size.rows * columns, 1)),
        h(Fractions(size.rows * size.units, 2)),
        c(Fractions(size.rows * size.units, 3)),
        b(Fractions((size.first_row + size.units + size.rows_behind) * columns, 4)),
        bias(Fractions(columns, 5)) {}

  double Gate(int64_t row, int64_t gate, int64_t unit) const {
    const int64_t column = gate * size.units + unit;
    double sum = static_cast<double>(x_gates[row * columns + column]);
    if (size.has_bias) sum += static_cast<double>(bias[column]);
    for (int64_t k = 0; k < size.units; ++k) {
      sum += static_cast<double>(h[row * size.units + k]) *
             static_cast<double>(b[(size.first_row + k) * columns + column]);
    }
    return sum;
  }

  Sizes size;
  int64_t columns;
  std::vector<float> x_gates;
  std::vector<float> h;
  std::vector<float> c;
  std::vector<float> b;
  std::vector<float> bias;
};

void Check(const Sizes& sizes) {
  SCOPED_TRACE(ms::StrCat(sizes.rows, " rows of ", sizes.units, " units"));
  const Problem problem(sizes);
  KernelTester t("_LstmStep");
  SetAttrs(sizes, &t);
  t.Input<float>({sizes.rows, problem.columns}, problem.x_gates);
  t.Input<float>({sizes.rows, sizes.units}, problem.h);
  t.Input<float>({sizes.rows, sizes.units}, problem.c);
  const std::vector<int64_t> shape = {sizes.first_row + sizes.units + sizes.rows_behind,
                                      problem.columns};
  sizes.is_constant ? t.ConstInput<float>(shape, problem.b) : t.Input<float>(shape, problem.b);
  if (sizes.has_bias) t.Input<float>({problem.columns}, problem.bias);
  ASSERT_TRUE(IsOk(t.Run()));
  std::vector<float> next_h;
  std::vector<float> next_c;
  for (int64_t row = 0; row < sizes.rows; ++row) {
    for (int64_t unit = 0; unit < sizes.units; ++unit) {
      const double forget = Sigmoid(problem.Gate(row, 2, unit) + double{kForgetBias});
      const double added =
          Sigmoid(problem.Gate(row, 0, unit)) * std::tanh(problem.Gate(row, 1, unit));
      const double memory =
          static_cast<double>(problem.c[row * sizes.units + unit]) * forget + added;
      next_c.push_back(static_cast<float>(memory));
      next_h.push_back(static_cast<float>(std::tanh(memory) * Sigmoid(problem.Gate(row, 3, unit))));
    }
  }
  // A sum of products of fractions is off by at most the square of their number; what follows has
  // slopes of at most 1, and is off by a few units.
  const auto terms = static_cast<double>(sizes.units + 4);
  const double bound =
      3 * terms * terms * static_cast<double>(std::numeric_limits<float>::epsilon());
  EXPECT_TRUE(IsNear(t.Output<float>(0), next_h, 0, bound));
  EXPECT_TRUE(IsNear(t.Output<float>(1), next_c, 0, bound));
}

TEST(LstmStepTest, AllSizes) {
  for (const int64_t rows : {0, 1, 2, 5, 8, 50}) {
    for (const int64_t units : {16, 48}) Check({rows, units});
  }
}

TEST(LstmStepTest, RowsOfTheWeights) {
  Check({3, 16, 5, 2});
  Check({3, 16, 5, 0, true, false});
}

TEST(LstmStepTest, TheBiasMayBeMissing) { Check({3, 16, 0, 0, false}); }

// KernelTester::Run compares the bits of one thread with those of several.
TEST(LstmStepTest, LargeEnoughForSeveralThreads) {
  Check({1, 256, 7});
  Check({20, 64});
}

TEST(LstmStepTest, NoUnits) { Check({2, 0}); }

// The gates of a step: those of the problem, turned by a number for each step.
std::vector<float> Gates(const Problem& problem, int64_t step) {
  std::vector<float> gates = problem.x_gates;
  const auto turn = std::min(step, static_cast<int64_t>(gates.size()));
  std::rotate(gates.begin(), gates.begin() + turn, gates.end());
  return gates;
}

void SetOperands(const Problem& problem, const std::vector<float>& h, const std::vector<float>& c,
                 KernelTester* t) {
  const Sizes& size = problem.size;
  t->Input<float>({size.rows, size.units}, h).Input<float>({size.rows, size.units}, c);
  const std::vector<int64_t> shape = {size.first_row + size.units + size.rows_behind,
                                      problem.columns};
  size.is_constant ? t->ConstInput<float>(shape, problem.b) : t->Input<float>(shape, problem.b);
  if (size.has_bias) t->Input<float>({problem.columns}, problem.bias);
}

// Expects the bits of steps that are taken one by one. Those of `unread` steps are not given.
void CheckSteps(const Sizes& sizes, int64_t steps, const std::vector<int64_t>& unread = {}) {
  SCOPED_TRACE(ms::StrCat(steps, " steps of ", sizes.rows, " rows of ", sizes.units, " units"));
  const Problem problem(sizes);
  KernelTester all("_LstmSteps");
  SetAttrs(sizes, &all);
  all.Attr("num_steps", steps);
  all.Outputs(std::vector<MS_DType>(2 * steps, MS_FLOAT32));
  for (int64_t step = 0; step < steps; ++step) {
    all.Input<float>({sizes.rows, problem.columns}, Gates(problem, step));
  }
  SetOperands(problem, problem.h, problem.c, &all);
  for (const int64_t step : unread) {
    all.Unused(static_cast<uint32_t>(step)).Unused(static_cast<uint32_t>(steps + step));
  }
  ASSERT_TRUE(IsOk(all.Run()));
  std::vector<float> h = problem.h;
  std::vector<float> c = problem.c;
  for (int64_t step = 0; step < steps; ++step) {
    KernelTester one("_LstmStep");
    SetAttrs(sizes, &one);
    one.Input<float>({sizes.rows, problem.columns}, Gates(problem, step));
    SetOperands(problem, h, c, &one);
    ASSERT_TRUE(IsOk(one.Run()));
    h = one.Output<float>(0);
    c = one.Output<float>(1);
    if (std::find(unread.begin(), unread.end(), step) != unread.end()) continue;
    EXPECT_EQ(all.Output<float>(static_cast<uint32_t>(step)), h) << "step " << step;
    EXPECT_EQ(all.Output<float>(static_cast<uint32_t>(steps + step)), c) << "step " << step;
  }
}

TEST(LstmStepsTest, HaveTheBitsOfSingleSteps) {
  CheckSteps({3, 16}, 1);
  CheckSteps({2, 32, 5, 2}, 4);
  CheckSteps({2, 16, 5, 0, false, false}, 3);
  CheckSteps({0, 16}, 2);
}

// More steps than one team takes.
TEST(LstmStepsTest, LargeEnoughForSeveralThreads) {
  CheckSteps({1, 128}, 70);
  CheckSteps({20, 64}, 5);
}

TEST(LstmStepsTest, StatesThatNothingReadsAreNotGiven) {
  CheckSteps({2, 16}, 5, {0, 1, 3});
  CheckSteps({1, 128}, 4, {0, 1, 2});
}

TEST(LstmStepTest, ShapesThatDoNotGoTogether) {
  using Dims = std::vector<int64_t>;
  const auto refused = [](const Dims& x_gates, const Dims& h, const Dims& c, const Dims& b,
                          const Dims& bias) {
    KernelTester t("_LstmStep");
    SetAttrs({2, 16, 1}, &t);
    for (const Dims& dims : {x_gates, h, c, b, bias}) {
      int64_t size = 1;
      for (const int64_t dim : dims) size *= dim;
      t.Input<float>(dims, std::vector<float>(size));
    }
    return t.Run().code();
  };
  EXPECT_EQ(refused({2, 64}, {2, 16}, {2, 16}, {17, 64}, {64}), MS_OK);
  EXPECT_EQ(refused({2, 63}, {2, 16}, {2, 16}, {17, 64}, {64}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({2, 60}, {2, 15}, {2, 15}, {16, 60}, {60}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({2, 64}, {2, 16}, {1, 16}, {17, 64}, {64}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({2, 64}, {2, 16}, {2, 16}, {16, 64}, {64}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({2, 64}, {2, 16}, {2, 16}, {17, 64}, {1}), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
