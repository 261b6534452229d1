// An optimizer's step on many variables gives every bit that the steps on each of them give.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

// Of the variables: none, less than a block of work, a block, a little more, several threads'
// worth.
const std::vector<int64_t>& Sizes() {
  static const auto* const sizes = new std::vector<int64_t>{0, 1, 17, 1024, 1025, 0, 20011, 3};
  return *sizes;
}

struct Case {
  std::string op;
  std::string flag;  // an attribute; may be empty
  bool flag_value;
  uint32_t slots;
  std::vector<double> rest;      // the scalars, in order
  size_t gradient;               // its place among them
  bool has_complex = true;       // whether complex variables have this step
  bool ends_with_count = false;  // whether the last scalar is an integer
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.op << test.flag_value; }

template <typename T>
T Number(double value) {
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {static_cast<float>(value), static_cast<float>(1 - value)};
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}

// Numbers above `low`, and, spread among them, what arithmetic treats in ways of its own.
template <typename T>
std::vector<T> Values(int64_t size, double low, int64_t salt) {
  const double special[] = {0.0,
                            -0.0,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN(),
                            1e-40,
                            3e38};
  std::vector<T> values;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t at = i * 31 + salt;
    const double plain = low + std::fmod(0.6180339887 * static_cast<double>(at), 1.0);
    values.push_back(Number<T>(at % 23 < 7 ? special[at % 23] : plain));
  }
  return values;
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Of one variable: itself, then its slots.
template <typename T>
std::vector<std::vector<T>> ValuesOf(const Case& test, size_t k) {
  std::vector<std::vector<T>> values;
  for (uint32_t j = 0; j <= test.slots; ++j) {
    values.push_back(Values<T>(Sizes()[k], j == 0 ? -0.5 : 0.1, static_cast<int64_t>(k * 7 + j)));
  }
  return values;
}

template <typename T>
std::vector<T> GradientOf(size_t k) {
  return Values<T>(Sizes()[k], -0.4, static_cast<int64_t>(k) + 100);
}

template <typename T>
void Prepare(const Case& test, KernelTester* t) {
  t->Attr("T", ms::DTypeOf<T>()).Outputs({});
  if (!test.flag.empty()) t->Attr(test.flag, test.flag_value);
}

// The inputs behind the variables, with the gradients of the variables [begin, end).
template <typename T>
void AddRest(const Case& test, size_t begin, size_t end, KernelTester* t) {
  for (size_t i = 0; i <= test.rest.size(); ++i) {
    if (i == test.gradient) {
      for (size_t k = begin; k < end; ++k) t->Input<T>({Sizes()[k]}, GradientOf<T>(k));
    }
    if (i == test.rest.size()) break;
    if (test.ends_with_count && i + 1 == test.rest.size()) {
      t->Input<int64_t>({}, {static_cast<int64_t>(test.rest[i])});
    } else {
      t->Input<T>({}, {Number<T>(test.rest[i])});
    }
  }
}

template <typename T>
std::vector<std::vector<T>> StepAlone(const Case& test, size_t k) {
  KernelTester t("ResourceApply" + test.op);
  Prepare<T>(test, &t);
  for (const std::vector<T>& values : ValuesOf<T>(test, k)) t.Variable<T>({Sizes()[k]}, values);
  AddRest<T>(test, k, k + 1, &t);
  EXPECT_TRUE(IsOk(t.Run()));
  std::vector<std::vector<T>> after;
  for (uint32_t j = 0; j <= test.slots; ++j) after.push_back(t.VariableValue<T>(j));
  return after;
}

template <typename T>
void ExpectTheBitsOfSteps(const Case& test) {
  const size_t count = Sizes().size();
  KernelTester many("_MultiResourceApply" + test.op);
  Prepare<T>(test, &many);
  for (uint32_t j = 0; j <= test.slots; ++j) {
    for (size_t k = 0; k < count; ++k) many.Variable<T>({Sizes()[k]}, ValuesOf<T>(test, k)[j]);
  }
  AddRest<T>(test, 0, count, &many);
  ASSERT_TRUE(IsOk(many.Run()));
  for (size_t k = 0; k < count; ++k) {
    const std::vector<std::vector<T>> alone = StepAlone<T>(test, k);
    for (uint32_t j = 0; j <= test.slots; ++j) {
      EXPECT_TRUE(SameBits(many.VariableValue<T>(static_cast<uint32_t>(j * count + k)), alone[j]))
          << "variable " << k << ", slot " << j;
    }
  }
}

class ApplyManyTest : public ::testing::TestWithParam<Case> {};

TEST_P(ApplyManyTest, GivesTheBitsOfSingleSteps) {
  ExpectTheBitsOfSteps<float>(GetParam());
  ExpectTheBitsOfSteps<double>(GetParam());
  ExpectTheBitsOfSteps<Float16>(GetParam());
  ExpectTheBitsOfSteps<BFloat16>(GetParam());
  if (GetParam().has_complex) ExpectTheBitsOfSteps<std::complex<float>>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    AllOptimizers, ApplyManyTest,
    ::testing::Values(
        Case{"GradientDescent", "", false, 0, {0.25}, 1},
        Case{"Momentum", "use_nesterov", false, 1, {0.1, 0.9}, 1},
        Case{"Momentum", "use_nesterov", true, 1, {0.1, 0.9}, 1},
        Case{"Adagrad", "update_slots", false, 1, {0.1}, 1},
        Case{"Adagrad", "update_slots", true, 1, {0.1}, 1},
        Case{"Adam", "use_nesterov", false, 2, {0.5, 0.75, 0.1, 0.8, 0.9, 0.01}, 6},
        Case{"Adam", "use_nesterov", true, 2, {0.5, 0.75, 0.1, 0.8, 0.9, 0.01}, 6},
        Case{"RMSProp", "", false, 2, {0.1, 0.9, 0.8, 0.01}, 4},
        Case{"CenteredRMSProp", "", false, 3, {0.1, 0.9, 0.8, 0.01}, 4},
        Case{"Adadelta", "", false, 2, {0.1, 0.9, 0.01}, 3},
        Case{"ProximalGradientDescent", "", false, 0, {0.1, 0.2, 0.3}, 3, false},
        Case{"ProximalAdagrad", "", false, 1, {0.1, 0.2, 0.3}, 3, false},
        Case{"Ftrl", "", false, 2, {0.1, 0.2, 0.3, -0.5}, 0, false},
        Case{"FtrlV2", "", false, 2, {0.1, 0.2, 0.3, 0.4, -0.75}, 0, false},
        Case{"AdagradDA", "", false, 2, {0.1, 0.2, 0.3, 3}, 0, false, true},
        Case{"AdagradV2", "update_slots", false, 1, {0.1, 0.01}, 2},
        Case{"AdagradV2", "update_slots", true, 1, {0.1, 0.01}, 2},
        Case{"AdaMax", "", false, 2, {0.5, 0.1, 0.8, 0.9, 0.01}, 5, false},
        Case{"AdamWithAmsgrad", "", false, 3, {0.5, 0.75, 0.1, 0.8, 0.9, 0.01}, 6, false},
        Case{"AddSign", "", false, 1, {0.1, 0.9, 0.8, 0.7}, 4, false},
        Case{"PowerSign", "", false, 1, {0.1, 0.9, 0.8, 0.7}, 4, false},
        Case{"KerasMomentum", "use_nesterov", false, 1, {0.1, 0.9}, 1},
        Case{"KerasMomentum", "use_nesterov", true, 1, {0.1, 0.9}, 1}));

// More than a kernel may lock by a list.
TEST(ApplyManyLocksTest, AnyNumberOfVariables) {
  constexpr uint32_t kCount = 300;
  KernelTester t("_MultiResourceApplyGradientDescent");
  t.Attr("T", MS_FLOAT32).Outputs({});
  for (uint32_t k = 0; k < kCount; ++k) t.Variable<float>({2}, {static_cast<float>(k), 1});
  t.Input<float>({}, {0.5f});
  for (uint32_t k = 0; k < kCount; ++k) t.Input<float>({2}, {2, static_cast<float>(k)});
  ASSERT_TRUE(IsOk(t.Run()));
  for (uint32_t k = 0; k < kCount; ++k) {
    const float number = static_cast<float>(k);
    EXPECT_EQ(t.VariableValue<float>(k), (std::vector<float>{number - 1, 1 - 0.5f * number}));
  }
}

// Two steps of gradient descent, of which the second one's gradient does not fit.
class ApplyManyErrorsTest : public ::testing::Test {
 protected:
  ApplyManyErrorsTest() : t_("_MultiResourceApplyGradientDescent") {
    t_.Attr("T", MS_FLOAT32).Outputs({});
  }
  void AddInputs() {
    t_.Variable<float>({2}, {1, 2}).Variable<float>({2}, {3, 4}).Input<float>({}, {0.5f});
    t_.Input<float>({2}, {1, 1}).Input<float>({1, 2}, {1, 1});
  }
  KernelTester t_;
};

TEST_F(ApplyManyErrorsTest, ShapesThatDifferAreNamedBeforeAnythingChanges) {
  AddInputs();
  const ms::Status status = t_.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "variable 1: delta must have the shape of var, [2], but has shape [1,2]");
  EXPECT_EQ(t_.VariableValue<float>(0), (std::vector<float>{1, 2}));
  EXPECT_EQ(t_.VariableValue<float>(1), (std::vector<float>{3, 4}));
}

TEST_F(ApplyManyErrorsTest, NamesTheNodeThatIsKnown) {
  t_.Attr("_nodes", std::vector<std::string>{"one", "other"});
  AddInputs();
  EXPECT_EQ(t_.Run().message(),
            "'other': delta must have the shape of var, [2], but has shape [1,2]");
}

TEST_F(ApplyManyErrorsTest, AnUnassignedVariableIsAFailedPrecondition) {
  t_.Variable<float>({2}, {1, 2}).UnassignedVariable(MS_FLOAT32).Input<float>({}, {0.5f});
  t_.Input<float>({2}, {1, 1}).Input<float>({2}, {1, 1});
  EXPECT_EQ(t_.Run().code(), MS_FAILED_PRECONDITION);
  EXPECT_EQ(t_.VariableValue<float>(0), (std::vector<float>{1, 2}));
}

TEST_F(ApplyManyErrorsTest, RatesMustBeScalars) {
  t_.Variable<float>({2}, {1, 2}).Variable<float>({2}, {1, 2}).Input<float>({1}, {0.1f});
  t_.Input<float>({2}, {1, 1}).Input<float>({2}, {1, 1});
  EXPECT_EQ(t_.Run().message(), "alpha must be a scalar, but has shape [1]");
}

}  // namespace
}  // namespace millstream::kernels
