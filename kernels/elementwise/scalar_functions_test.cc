// Random loops over scalars: machine code gives what the functions give that it replaces.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/codegen/scalar_code.h"
#include "kernels/elementwise/scalar_program.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

constexpr int kTypes = 5;
constexpr MS_DType kDTypes[kTypes] = {MS_BOOL, MS_INT32, MS_INT64, MS_FLOAT32, MS_FLOAT64};
constexpr int64_t kNumbers[kTypes] = {10, 3, 9, 1, 2};  // in GraphDefs
const char* const kOps[] = {"Abs",          "AddV2",   "Div",       "Equal",      "Greater",
                            "GreaterEqual", "Less",    "LessEqual", "LogicalAnd", "LogicalNot",
                            "LogicalOr",    "Maximum", "Minimum",   "Mul",        "Neg",
                            "NotEqual",     "RealDiv", "Select",    "Square",     "Sub"};

class RandomLoop {
 public:
  RandomLoop(uint32_t seed, int variables, int steps) : random_(seed) {
    for (int i = 0; i < variables; ++i) dtypes_.push_back(kDTypes[Below(kTypes)]);
    dtypes_.push_back(MS_BOOL);  // the condition, at least
    variables_ = static_cast<uint32_t>(dtypes_.size());
    while (static_cast<int>(steps_.size()) < steps) AddStep();
    AddNext();
    Fill();
  }

  void Compare(int64_t rounds) {
    std::vector<ScalarInstruction> instructions(steps_.begin(), steps_.end());
    const auto code = ScalarCode::Make(instructions, static_cast<uint32_t>(values_.size()),
                                       variables_ - 1, Variables());
    ASSERT_NE(code, nullptr);
    std::vector<Scalar> expected = values_;
    ScalarStep end;
    end.run = &EndOfSteps;
    steps_.push_back(end);
    int64_t left = rounds;
    do {
      steps_[0].run(steps_.data(), expected.data());
    } while (--left > 0 && expected[variables_ - 1].bytes[0] != 0);
    EXPECT_EQ(code->function()(values_.data(), rounds), left);
    for (uint32_t i = 0; i < variables_; ++i) {
      EXPECT_TRUE(IsSame(values_[i], expected[i], dtypes_[i])) << "variable " << i;
    }
  }

 private:
  uint32_t Below(size_t end) { return static_cast<uint32_t>(random_() % end); }
  std::vector<uint32_t> Variables() const {
    std::vector<uint32_t> all(variables_);
    for (uint32_t i = 0; i < variables_; ++i) all[i] = i;
    return all;
  }
  // A value of the type, or the number of values if there is none.
  uint32_t AnyOf(MS_DType dtype) {
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < dtypes_.size(); ++i) {
      if (dtypes_[i] == dtype) all.push_back(i);
    }
    return all.empty() ? static_cast<uint32_t>(dtypes_.size()) : all[Below(all.size())];
  }

  void AddStep() {
    ScalarStep step;
    const uint32_t x = Below(dtypes_.size());
    step.type = dtypes_[x];
    step.x = step.y = step.z = x;
    ScalarOp op;
    if (Below(4) == 0) {
      op = FindScalarCast(step.type, kNumbers[Below(kTypes)]);
    } else {
      const std::string name = kOps[Below(std::size(kOps))];
      op = FindScalarOp(name, step.type);
      if (op.operands > 1) step.y = AnyOf(step.type);
      if (op.operands > 2) {
        step.z = AnyOf(step.type);
        step.x = AnyOf(MS_BOOL);
      }
    }
    if (op.run == nullptr) return;
    step.code = op.code;
    step.run = op.run;
    step.to = op.result;
    step.result = static_cast<uint32_t>(dtypes_.size());
    dtypes_.push_back(op.result);
    steps_.push_back(step);
  }

  // Each variable becomes a value of its type, through a place of its own.
  void AddNext() {
    const auto values = static_cast<uint32_t>(dtypes_.size());
    for (uint32_t i = 0; i < variables_; ++i) {
      steps_.push_back(MoveOf(dtypes_[i], AnyOf(dtypes_[i]), values + i));
    }
    for (uint32_t i = 0; i < variables_; ++i) {
      steps_.push_back(MoveOf(dtypes_[i], values + i, i));
    }
    values_.resize(values + variables_);
  }

  template <typename T>
  T Number() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> numbers = {0, 1, 2, T(-3), 77, Limits::max(), Limits::lowest()};
    if constexpr (!Limits::is_integer) {
      numbers.insert(numbers.end(), {T(-0.0), T(0.3), T(-2.5), T(3e9), Limits::infinity(),
                                     Limits::quiet_NaN(), Limits::denorm_min()});
    }
    return numbers[Below(numbers.size())];
  }
  template <typename T>
  void Put(T value, Scalar* place) {
    std::memcpy(place->bytes, &value, sizeof(value));
  }
  void Fill() {
    for (Scalar& place : values_) place = Scalar{};
    for (uint32_t i = 0; i < variables_; ++i) {
      switch (dtypes_[i]) {
        case MS_BOOL: Put(Below(2) == 1, &values_[i]); break;
        case MS_INT32: Put(Number<int32_t>(), &values_[i]); break;
        case MS_INT64: Put(Number<int64_t>(), &values_[i]); break;
        case MS_FLOAT32: Put(Number<float>(), &values_[i]); break;
        default: Put(Number<double>(), &values_[i]); break;
      }
    }
  }

  template <typename T>
  static bool AreNaN(const Scalar& a, const Scalar& b) {
    T x;
    T y;
    std::memcpy(&x, a.bytes, sizeof(x));
    std::memcpy(&y, b.bytes, sizeof(y));
    return std::isnan(x) && std::isnan(y);
  }
  static bool IsSame(const Scalar& a, const Scalar& b, MS_DType dtype) {
    if (dtype == MS_FLOAT32 && AreNaN<float>(a, b)) return true;
    if (dtype == MS_FLOAT64 && AreNaN<double>(a, b)) return true;
    return std::memcmp(a.bytes, b.bytes, ms::ElementSize(dtype)) == 0;
  }

  std::mt19937 random_;
  std::vector<MS_DType> dtypes_;  // of each value
  uint32_t variables_ = 0;        // the first values
  std::vector<ScalarStep> steps_;
  std::vector<Scalar> values_;
};

TEST(ScalarFunctionsTest, MachineCodeGivesTheSame) {
  if (ChosenInstructionSet() == InstructionSet::kBaseline) {
    GTEST_SKIP() << "there is machine code for AVX2, which the processor or the limit has not";
  }
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    RandomLoop loop(seed, 1 + static_cast<int>(seed % 30), 1 + static_cast<int>(seed % 41));
    loop.Compare(1 + seed % 5);
  }
}

}  // namespace
}  // namespace millstream::kernels
