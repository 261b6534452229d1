#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

constexpr int64_t kSize = 20011;  // odd, and large enough for several threads

// Numbers in (low, low + 1), different for each salt.
template <typename T>
std::vector<T> Numbers(int64_t size, double low, int salt) {
  std::vector<T> values;
  for (int64_t i = 0; i < size; ++i) {
    values.push_back(
        static_cast<T>(low + std::fmod(0.6180339887 * static_cast<double>(i + salt), 1.0)));
  }
  return values;
}

// About the spacing of numbers below 2: each result is rounded once.
template <typename T>
constexpr double kTolerance = std::is_same_v<T, BFloat16>  ? 1.0 / 128
                              : std::is_same_v<T, Float16> ? 1.0 / 1024
                              : std::is_same_v<T, float>   ? 2e-6
                                                           : 1e-14;

void SetType(MS_DType dtype, KernelTester* t) { t->Attr("T", dtype).Outputs({}); }

template <typename T>
class ApplyTest : public ::testing::Test {
 protected:
  const std::vector<T> var_ = Numbers<T>(kSize, -0.5, 1);
  const std::vector<T> slot_ = Numbers<T>(kSize, 0.1, 17);
  const std::vector<T> other_slot_ = Numbers<T>(kSize, 0.2, 33);
  const std::vector<T> grad_ = Numbers<T>(kSize, -0.4, 71);
};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(ApplyTest, FloatTypes);

TYPED_TEST(ApplyTest, GradientDescentStepsAgainstTheGradient) {
  using T = TypeParam;
  KernelTester t("ResourceApplyGradientDescent");
  SetType(ms::DTypeOf<T>(), &t);
  t.Variable<T>({kSize}, this->var_)
      .template Input<T>({}, {T(0.5)})
      .template Input<T>({kSize}, this->grad_);
  ASSERT_TRUE(IsOk(t.Run()));
  std::vector<T> expected = this->var_;
  for (int64_t i = 0; i < kSize; ++i) expected[i] = T(this->var_[i] - T(0.5) * this->grad_[i]);
  EXPECT_EQ(t.template VariableValue<T>(0), expected);
}

TYPED_TEST(ApplyTest, MomentumFollowsItsFormula) {
  using T = TypeParam;
  for (bool nesterov : {false, true}) {
    KernelTester t("ResourceApplyMomentum");
    SetType(ms::DTypeOf<T>(), &t);
    t.Attr("use_nesterov", nesterov);
    t.Variable<T>({kSize}, this->var_).template Variable<T>({kSize}, this->slot_);
    t.Input<T>({}, {T(0.1)})
        .template Input<T>({kSize}, this->grad_)
        .template Input<T>({}, {T(0.9)});
    ASSERT_TRUE(IsOk(t.Run()));
    std::vector<T> var;
    std::vector<T> accum;
    for (int64_t i = 0; i < kSize; ++i) {
      const double g = this->grad_[i];
      const double sum = this->slot_[i] * 0.9 + g;
      accum.push_back(static_cast<T>(sum));
      var.push_back(
          static_cast<T>(this->var_[i] - (nesterov ? 0.1 * g + 0.1 * 0.9 * sum : 0.1 * sum)));
    }
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(0), var, kTolerance<T>, kTolerance<T>));
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(1), accum, kTolerance<T>, kTolerance<T>));
  }
}

TYPED_TEST(ApplyTest, AdagradFollowsItsFormula) {
  using T = TypeParam;
  for (bool update_slots : {false, true}) {
    KernelTester t("ResourceApplyAdagrad");
    SetType(ms::DTypeOf<T>(), &t);
    t.Attr("update_slots", update_slots);
    t.Variable<T>({kSize}, this->var_).template Variable<T>({kSize}, this->slot_);
    t.Input<T>({}, {T(0.1)}).template Input<T>({kSize}, this->grad_);
    ASSERT_TRUE(IsOk(t.Run()));
    std::vector<T> var;
    std::vector<T> accum;
    for (int64_t i = 0; i < kSize; ++i) {
      const double g = this->grad_[i];
      const double sum = this->slot_[i] + (update_slots ? g * g : 0);
      accum.push_back(static_cast<T>(sum));
      var.push_back(static_cast<T>(this->var_[i] - 0.1 * g / std::sqrt(sum)));
    }
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(0), var, kTolerance<T>, kTolerance<T>));
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(1), accum, kTolerance<T>, kTolerance<T>));
  }
}

TYPED_TEST(ApplyTest, AdamFollowsItsFormula) {
  using T = TypeParam;
  for (bool nesterov : {false, true}) {
    KernelTester t("ResourceApplyAdam");
    SetType(ms::DTypeOf<T>(), &t);
    t.Attr("use_nesterov", nesterov);
    t.Variable<T>({kSize}, this->var_).template Variable<T>({kSize}, this->slot_);
    t.Variable<T>({kSize}, this->other_slot_);
    for (double scalar : {0.5, 0.75, 0.1, 0.8, 0.9, 0.01}) t.Input<T>({}, {static_cast<T>(scalar)});
    t.Input<T>({kSize}, this->grad_);
    ASSERT_TRUE(IsOk(t.Run()));
    const double rate = 0.1 * std::sqrt(1 - 0.75) / (1 - 0.5);
    std::vector<T> var;
    std::vector<T> first;
    std::vector<T> second;
    for (int64_t i = 0; i < kSize; ++i) {
      const double g = this->grad_[i];
      const double m = 0.8 * this->slot_[i] + 0.2 * g;
      const double v = 0.9 * this->other_slot_[i] + 0.1 * g * g;
      const double direction = nesterov ? 0.8 * m + 0.2 * g : m;
      first.push_back(static_cast<T>(m));
      second.push_back(static_cast<T>(v));
      var.push_back(static_cast<T>(this->var_[i] - rate * direction / (std::sqrt(v) + 0.01)));
    }
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(0), var, kTolerance<T>, kTolerance<T>));
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(1), first, kTolerance<T>, kTolerance<T>));
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(2), second, kTolerance<T>, kTolerance<T>));
  }
}

TYPED_TEST(ApplyTest, RmsPropFollowsItsFormula) {
  using T = TypeParam;
  for (bool centered : {false, true}) {
    KernelTester t(centered ? "ResourceApplyCenteredRMSProp" : "ResourceApplyRMSProp");
    SetType(ms::DTypeOf<T>(), &t);
    const std::vector<T> mean = Numbers<T>(kSize, -0.5, 41);
    const std::vector<T> momentum = Numbers<T>(kSize, -0.5, 55);
    t.Variable<T>({kSize}, this->var_);
    if (centered) t.Variable<T>({kSize}, mean);
    t.Variable<T>({kSize}, this->slot_).template Variable<T>({kSize}, momentum);
    for (double scalar : {0.125, 0.75, 0.5, 0.5}) t.Input<T>({}, {static_cast<T>(scalar)});
    t.Input<T>({kSize}, this->grad_);
    ASSERT_TRUE(IsOk(t.Run()));
    std::vector<std::vector<T>> expected(centered ? 4 : 3);
    for (int64_t i = 0; i < kSize; ++i) {
      const double g = this->grad_[i];
      const double m = 0.75 * mean[i] + 0.25 * g;
      const double square = 0.75 * this->slot_[i] + 0.25 * g * g;
      const double spread = square - (centered ? m * m : 0) + 0.5;
      const double step = 0.5 * momentum[i] + 0.125 * g / std::sqrt(spread);
      size_t slot = 0;
      expected[slot++].push_back(static_cast<T>(this->var_[i] - step));
      if (centered) expected[slot++].push_back(static_cast<T>(m));
      expected[slot++].push_back(static_cast<T>(square));
      expected[slot++].push_back(static_cast<T>(step));
    }
    for (uint32_t slot = 0; slot < expected.size(); ++slot) {
      EXPECT_TRUE(
          IsNear(t.template VariableValue<T>(slot), expected[slot], kTolerance<T>, kTolerance<T>))
          << "centered " << centered << ", slot " << slot;
    }
  }
}

TYPED_TEST(ApplyTest, AdadeltaFollowsItsFormula) {
  using T = TypeParam;
  KernelTester t("ResourceApplyAdadelta");
  SetType(ms::DTypeOf<T>(), &t);
  t.Variable<T>({kSize}, this->var_).template Variable<T>({kSize}, this->slot_);
  t.Variable<T>({kSize}, this->other_slot_);
  for (double scalar : {0.5, 0.75, 0.125}) t.Input<T>({}, {static_cast<T>(scalar)});
  t.Input<T>({kSize}, this->grad_);
  ASSERT_TRUE(IsOk(t.Run()));
  std::vector<T> var;
  std::vector<T> accum;
  std::vector<T> updates;
  for (int64_t i = 0; i < kSize; ++i) {
    const double g = this->grad_[i];
    const double square = 0.75 * this->slot_[i] + 0.25 * g * g;
    const double update = std::sqrt(this->other_slot_[i] + 0.125) / std::sqrt(square + 0.125) * g;
    accum.push_back(static_cast<T>(square));
    updates.push_back(static_cast<T>(0.75 * this->other_slot_[i] + 0.25 * update * update));
    var.push_back(static_cast<T>(this->var_[i] - 0.5 * update));
  }
  EXPECT_TRUE(IsNear(t.template VariableValue<T>(0), var, kTolerance<T>, kTolerance<T>));
  EXPECT_TRUE(IsNear(t.template VariableValue<T>(1), accum, kTolerance<T>, kTolerance<T>));
  EXPECT_TRUE(IsNear(t.template VariableValue<T>(2), updates, kTolerance<T>, kTolerance<T>));
}

// sign(prox) * max(|prox| - rate * l1, 0) / (1 + rate * l2)
double Proximal(double prox, double rate, double l1, double l2) {
  const double length = std::abs(prox) - rate * l1;
  return length <= 0 ? 0 : std::copysign(length, prox) / (1 + rate * l2);
}

TYPED_TEST(ApplyTest, ProximalGradientDescentFollowsItsFormula) {
  using T = TypeParam;
  for (double l1 : {0.0, 4.0}) {
    KernelTester t("ResourceApplyProximalGradientDescent");
    SetType(ms::DTypeOf<T>(), &t);
    t.Variable<T>({kSize}, this->var_);
    for (double scalar : {0.125, l1, 0.5}) t.Input<T>({}, {static_cast<T>(scalar)});
    t.Input<T>({kSize}, this->grad_);
    ASSERT_TRUE(IsOk(t.Run()));
    std::vector<T> var;
    for (int64_t i = 0; i < kSize; ++i) {
      const double prox = this->var_[i] - 0.125 * this->grad_[i];
      var.push_back(static_cast<T>(Proximal(prox, 0.125, l1, 0.5)));
    }
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(0), var, kTolerance<T>, kTolerance<T>)) << l1;
  }
}

TYPED_TEST(ApplyTest, ProximalAdagradFollowsItsFormula) {
  using T = TypeParam;
  for (double l1 : {0.0, 1.0}) {
    KernelTester t("ResourceApplyProximalAdagrad");
    SetType(ms::DTypeOf<T>(), &t);
    t.Variable<T>({kSize}, this->var_).template Variable<T>({kSize}, this->slot_);
    for (double scalar : {0.125, l1, 0.5}) t.Input<T>({}, {static_cast<T>(scalar)});
    t.Input<T>({kSize}, this->grad_);
    ASSERT_TRUE(IsOk(t.Run()));
    std::vector<T> var;
    std::vector<T> accum;
    for (int64_t i = 0; i < kSize; ++i) {
      const double g = this->grad_[i];
      const double sum = this->slot_[i] + g * g;
      const double rate = 0.125 / std::sqrt(sum);
      accum.push_back(static_cast<T>(sum));
      var.push_back(static_cast<T>(Proximal(this->var_[i] - rate * g, rate, l1, 0.5)));
    }
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(0), var, kTolerance<T>, kTolerance<T>)) << l1;
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(1), accum, kTolerance<T>, kTolerance<T>)) << l1;
  }
}

// The slots are `slot_`, positive, and `other_slot_`.
TYPED_TEST(ApplyTest, FtrlFollowsItsFormula) {
  using T = TypeParam;
  for (const auto& [power, shrinkage] : {std::pair(-0.5, 0.0), {-0.5, 0.25}, {-0.75, 0.25}}) {
    KernelTester t(shrinkage == 0 ? "ResourceApplyFtrl" : "ResourceApplyFtrlV2");
    SetType(ms::DTypeOf<T>(), &t);
    t.Variable<T>({kSize}, this->var_).template Variable<T>({kSize}, this->slot_);
    t.template Variable<T>({kSize}, this->other_slot_).template Input<T>({kSize}, this->grad_);
    for (double scalar : {0.125, 0.5, 0.25}) t.Input<T>({}, {static_cast<T>(scalar)});
    if (shrinkage != 0) t.Input<T>({}, {static_cast<T>(shrinkage)});
    t.Input<T>({}, {static_cast<T>(power)});
    ASSERT_TRUE(IsOk(t.Run()));
    std::vector<T> var;
    std::vector<T> accum;
    std::vector<T> linear;
    for (int64_t i = 0; i < kSize; ++i) {
      const double v = this->var_[i];
      const double g = this->grad_[i];
      const double before = this->slot_[i];
      const double sum = before + g * g;
      const double pull = std::pow(sum, -power) - std::pow(before, -power);
      const double line = this->other_slot_[i] + g + 2 * shrinkage * v - pull / 0.125 * v;
      const double length = std::max(std::abs(line) - 0.5, 0.0);
      accum.push_back(static_cast<T>(sum));
      linear.push_back(static_cast<T>(line));
      var.push_back(static_cast<T>(-std::copysign(length, line) /
                                   (std::pow(sum, -power) / 0.125 + 2 * 0.25)));
    }
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(0), var, kTolerance<T>, kTolerance<T>));
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(1), accum, kTolerance<T>, kTolerance<T>));
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(2), linear, kTolerance<T>, kTolerance<T>));
  }
}

TYPED_TEST(ApplyTest, AdagradByDualAveragingFollowsItsFormula) {
  using T = TypeParam;
  for (double l1 : {0.0, 0.25}) {
    KernelTester t("ResourceApplyAdagradDA");
    SetType(ms::DTypeOf<T>(), &t);
    t.Variable<T>({kSize}, this->var_).template Variable<T>({kSize}, this->other_slot_);
    t.template Variable<T>({kSize}, this->slot_).template Input<T>({kSize}, this->grad_);
    for (double scalar : {0.125, l1, 0.5}) t.Input<T>({}, {static_cast<T>(scalar)});
    t.template Input<int64_t>({}, {3});
    ASSERT_TRUE(IsOk(t.Run()));
    std::vector<T> var;
    std::vector<T> sums;
    for (int64_t i = 0; i < kSize; ++i) {
      const double g = this->grad_[i];
      const double sum = this->other_slot_[i] + g;
      const double length = std::max(std::abs(sum) - 3 * l1, 0.0);
      const double squares = this->slot_[i] + g * g;
      sums.push_back(static_cast<T>(sum));
      var.push_back(static_cast<T>(-0.125 * std::copysign(length, sum) /
                                   (std::sqrt(squares) + 0.125 * 0.5 * 3)));
    }
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(0), var, kTolerance<T>, kTolerance<T>)) << l1;
    EXPECT_TRUE(IsNear(t.template VariableValue<T>(1), sums, kTolerance<T>, kTolerance<T>)) << l1;
  }
}

// Row 3 goes two steps; each slot is its own.
TEST(SparseStepTest, ChangesTheRowsOfAllSlots) {
  KernelTester t("ResourceSparseApplyCenteredRMSProp");
  SetType(MS_FLOAT64, &t);
  t.Attr("Tindices", MS_INT32);
  std::vector<std::vector<double>> expected = {
      {1, 2, 3, 4}, {0.5, 0.25, -0.5, 0}, {1, 2, 3, 4}, {0, 0.5, 1, 1.5}};
  for (const std::vector<double>& values : expected) t.Variable<double>({4, 1}, values);
  for (double scalar : {0.125, 0.75, 0.5, 0.5}) t.Input<double>({}, {scalar});
  t.Input<double>({3, 1}, {1, -2, 3}).Input<int32_t>({3}, {3, 1, 3});
  ASSERT_TRUE(IsOk(t.Run()));
  const auto step = [&](size_t row, double g) {
    double& mean = expected[1][row];
    double& square = expected[2][row];
    double& momentum = expected[3][row];
    mean = 0.75 * mean + 0.25 * g;
    square = 0.75 * square + 0.25 * g * g;
    momentum = 0.5 * momentum + 0.125 * g / std::sqrt(square - mean * mean + 0.5);
    expected[0][row] -= momentum;
  };
  step(3, 1);
  step(1, -2);
  step(3, 3);
  for (uint32_t slot = 0; slot < 4; ++slot) {
    EXPECT_TRUE(IsNear(t.VariableValue<double>(slot), expected[slot], 1e-14, 1e-14)) << slot;
  }
}

TEST(ApplyComplexTest, StepsFollowTheSameFormulas) {
  using Complex = std::complex<double>;
  const Complex var(1, 2);
  const Complex g(0.5, -1);
  KernelTester descent("ResourceApplyGradientDescent");
  SetType(MS_COMPLEX128, &descent);
  descent.Variable<Complex>({}, {var}).Input<Complex>({}, {Complex(0, 1)}).Input<Complex>({}, {g});
  ASSERT_TRUE(IsOk(descent.Run()));
  EXPECT_EQ(descent.VariableValue<Complex>(0), (std::vector<Complex>{var - Complex(0, 1) * g}));

  KernelTester adagrad("ResourceApplyAdagrad");
  SetType(MS_COMPLEX128, &adagrad);
  adagrad.Attr("update_slots", true);
  adagrad.Variable<Complex>({}, {var}).Variable<Complex>({}, {Complex(2, 0)});
  adagrad.Input<Complex>({}, {Complex(0.1, 0)}).Input<Complex>({}, {g});
  ASSERT_TRUE(IsOk(adagrad.Run()));
  const Complex sum = 2.0 + g * g;
  EXPECT_LT(std::abs(adagrad.VariableValue<Complex>(0)[0] - (var - 0.1 * g / std::sqrt(sum))),
            1e-15);
}

TEST(ApplyErrorsTest, ShapesThatDifferAreNamed) {
  KernelTester t("ResourceApplyAdagrad");
  SetType(MS_FLOAT32, &t);
  t.Attr("update_slots", true);
  t.Variable<float>({2}, {1, 2}).Variable<float>({2}, {1, 1}).Input<float>({}, {0.1f});
  t.Input<float>({1, 2}, {1, 1});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "grad must have the shape of var, [2], but has shape [1,2]");
  EXPECT_EQ(t.VariableValue<float>(0), (std::vector<float>{1, 2}));
}

TEST(ApplyErrorsTest, RatesMustBeScalars) {
  KernelTester t("ResourceApplyGradientDescent");
  SetType(MS_FLOAT32, &t);
  t.Variable<float>({2}, {1, 2}).Input<float>({1}, {0.1f}).Input<float>({2}, {1, 1});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "alpha must be a scalar, but has shape [1]");
}

TEST(ApplyErrorsTest, AnUnassignedVariableIsAFailedPrecondition) {
  KernelTester t("ResourceApplyGradientDescent");
  SetType(MS_FLOAT32, &t);
  t.UnassignedVariable(MS_FLOAT32).Input<float>({}, {0.1f}).Input<float>({2}, {1, 1});
  EXPECT_EQ(t.Run().code(), MS_FAILED_PRECONDITION);
}

TEST(AssignArithmeticTest, AddsAndSubtractsInPlace) {
  for (const std::string op : {"AssignAddVariableOp", "AssignSubVariableOp"}) {
    const int64_t sign = op == "AssignAddVariableOp" ? 1 : -1;
    KernelTester t(op);
    t.Attr("dtype", MS_INT64).Outputs({});
    t.Variable<int64_t>({3}, {1, 2, 3}).Input<int64_t>({3}, {10, 20, 30});
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_EQ(t.VariableValue<int64_t>(0),
              (std::vector<int64_t>{1 + sign * 10, 2 + sign * 20, 3 + sign * 30}));
  }
}

TEST(AssignArithmeticTest, RoundsNarrowFloats) {
  KernelTester t("AssignAddVariableOp");
  t.Attr("dtype", MS_FLOAT16).Outputs({});
  t.Variable<Float16>({2}, {Float16(2048.0f), Float16(0.5f)});
  t.Input<Float16>({2}, {Float16(1.0f), Float16(0.25f)});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.VariableValue<Float16>(0), (std::vector<Float16>{Float16(2048.0f), Float16(0.75f)}));
}

TEST(AssignArithmeticTest, WrapsIntegersAround) {
  KernelTester t("AssignAddVariableOp");
  t.Attr("dtype", MS_INT32).Outputs({});
  t.Variable<int32_t>({}, {INT32_MAX}).Input<int32_t>({}, {1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.VariableValue<int32_t>(0), (std::vector<int32_t>{INT32_MIN}));
}

TEST(AssignArithmeticTest, DoesNotFindAnUnassignedVariable) {
  KernelTester t("AssignSubVariableOp");
  t.Attr("dtype", MS_FLOAT32).Outputs({});
  t.UnassignedVariable(MS_FLOAT32).Input<float>({}, {1});
  EXPECT_EQ(t.Run().code(), MS_NOT_FOUND);
}

template <typename T>
void SetCounter(T number, int64_t limit, KernelTester* t) {
  t->Attr("T", ms::DTypeOf<T>()).Attr("limit", limit).Outputs({ms::DTypeOf<T>()});
  t->Variable<T>({}, {number});
}

TEST(CountUpToTest, GivesTheNumberBeforeItGrows) {
  KernelTester t("ResourceCountUpTo");
  SetCounter<int32_t>(4, 5, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int32_t>(0), (std::vector<int32_t>{4}));
  EXPECT_EQ(t.VariableValue<int32_t>(0), (std::vector<int32_t>{5}));
}

TEST(CountUpToTest, StopsAtTheLimitAndAtTheLargestNumber) {
  KernelTester reached("ResourceCountUpTo");
  SetCounter<int64_t>(5, 5, &reached);
  const ms::Status status = reached.Run();
  EXPECT_EQ(status.code(), MS_OUT_OF_RANGE);
  EXPECT_EQ(status.message(), "Reached limit of 5");
  EXPECT_EQ(reached.VariableValue<int64_t>(0), (std::vector<int64_t>{5}));
  KernelTester largest("ResourceCountUpTo");
  SetCounter<int32_t>(INT32_MAX, int64_t{1} << 40, &largest);
  EXPECT_EQ(largest.Run().code(), MS_OUT_OF_RANGE);
}

// One dense step from row to row is what the sparse forms do, the same row twice included.
template <typename T>
void ExpectStepsByRows(const std::string& name, const char* attr, bool flag) {
  constexpr int64_t kWidth = 150;
  const std::vector<int64_t> rows{4, 1, 4, 0};
  const std::vector<T> grad = Numbers<T>(4 * kWidth, -0.4, 3);
  std::vector<T> var = Numbers<T>(5 * kWidth, -0.5, 7);
  std::vector<T> accum = Numbers<T>(5 * kWidth, 0.1, 9);
  const bool momentum = name == "Momentum";

  KernelTester sparse("ResourceSparseApply" + name);
  SetType(ms::DTypeOf<T>(), &sparse);
  sparse.Attr("Tindices", MS_INT64).Attr(attr, flag);
  sparse.Variable<T>({5, kWidth}, var).template Variable<T>({5, kWidth}, accum);
  sparse.Input<T>({}, {T(0.5f)}).template Input<T>({4, kWidth}, grad);
  sparse.Input<int64_t>({4}, rows);
  if (momentum) sparse.Input<T>({}, {T(0.75f)});
  ASSERT_TRUE(IsOk(sparse.Run()));

  for (size_t k = 0; k < rows.size(); ++k) {
    const auto row = [&](const std::vector<T>& values, int64_t i) {
      return std::vector<T>(values.begin() + i * kWidth, values.begin() + (i + 1) * kWidth);
    };
    KernelTester dense("ResourceApply" + name);
    SetType(ms::DTypeOf<T>(), &dense);
    dense.Attr(attr, flag).template Variable<T>({kWidth}, row(var, rows[k]));
    dense.Variable<T>({kWidth}, row(accum, rows[k])).template Input<T>({}, {T(0.5f)});
    dense.Input<T>({kWidth}, row(grad, static_cast<int64_t>(k)));
    if (momentum) dense.Input<T>({}, {T(0.75f)});
    ASSERT_TRUE(IsOk(dense.Run()));
    const std::vector<T> new_var = dense.VariableValue<T>(0);
    const std::vector<T> new_accum = dense.VariableValue<T>(1);
    std::copy(new_var.begin(), new_var.end(), var.begin() + rows[k] * kWidth);
    std::copy(new_accum.begin(), new_accum.end(), accum.begin() + rows[k] * kWidth);
  }
  EXPECT_EQ(sparse.VariableValue<T>(0), var) << name;
  EXPECT_EQ(sparse.VariableValue<T>(1), accum) << name;
}

TEST(SparseApplyTest, GoesOneDenseStepARow) {
  for (bool flag : {false, true}) {
    ExpectStepsByRows<float>("Momentum", "use_nesterov", flag);
    ExpectStepsByRows<float>("Adagrad", "update_slots", flag);
    ExpectStepsByRows<BFloat16>("Momentum", "use_nesterov", flag);
    ExpectStepsByRows<double>("Adagrad", "update_slots", flag);
  }
}

ms::Status SparseAdagrad(std::vector<int64_t> grad, const std::vector<int32_t>& indices) {
  KernelTester t("ResourceSparseApplyAdagrad");
  SetType(MS_FLOAT32, &t);
  t.Attr("Tindices", MS_INT32).Attr("update_slots", true);
  t.Variable<float>({2, 1}, {1, 2}).Variable<float>({2, 1}, {1, 1}).Input<float>({}, {0.1f});
  const auto size = static_cast<size_t>(grad[0] * grad[1]);
  t.Input<float>(std::move(grad), std::vector<float>(size, 1));
  t.Input<int32_t>({static_cast<int64_t>(indices.size())}, indices);
  ms::Status status = t.Run();
  EXPECT_EQ(t.VariableValue<float>(0), (std::vector<float>{1, 2}));
  return status;
}

TEST(SparseApplyTest, ChangesNothingWhenIndicesOrGradientDoNotFit) {
  EXPECT_TRUE(IsOk(SparseAdagrad({0, 1}, {})));
  EXPECT_EQ(SparseAdagrad({2, 1}, {1, -1}).message(), "indices[1] = -1 is not in [0, 2)");
  EXPECT_EQ(SparseAdagrad({1, 1}, {1, 0}).message(),
            "grad must have shape [2,1], a row of var for each of indices, but has shape [1,1]");
}

}  // namespace
}  // namespace millstream::kernels
