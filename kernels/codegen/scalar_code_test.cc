// Loops whose results are known. kernels/elementwise/scalar_functions_test.cc compares random ones.
#include "kernels/codegen/scalar_code.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

using Code = ScalarInstruction::Code;

ScalarInstruction Make(Code code, MS_DType type, uint32_t x, uint32_t y, uint32_t result) {
  ScalarInstruction instruction;
  instruction.code = code;
  instruction.type = type;
  instruction.x = x;
  instruction.y = instruction.z = y;
  instruction.result = result;
  return instruction;
}

class ScalarCodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (ChosenInstructionSet() == InstructionSet::kBaseline) {
      GTEST_SKIP() << "code is for AVX2, which the processor or the limit does not have";
    }
  }

  template <typename T>
  void Set(uint32_t place, T value) {
    if (places_.size() <= place) places_.resize(place + 1, 0);
    std::memcpy(&places_[place], &value, sizeof(value));
  }
  template <typename T>
  T Get(uint32_t place) const {
    T value;
    std::memcpy(&value, &places_[place], sizeof(value));
    return value;
  }
  int64_t Run(const std::vector<ScalarInstruction>& instructions, uint32_t condition,
              const std::vector<uint32_t>& kept, int64_t most) {
    const std::unique_ptr<ScalarCode> code =
        ScalarCode::Make(instructions, static_cast<uint32_t>(places_.size()), condition, kept);
    EXPECT_NE(code, nullptr);
    return code == nullptr ? -1 : code->function()(places_.data(), most);
  }

  std::vector<uint64_t> places_;
};

// Places: i, its end, 1, a sum, i < end.
const std::vector<ScalarInstruction> kCount = {
    Make(Code::kAdd, MS_INT32, 3, 0, 3),
    Make(Code::kAdd, MS_INT32, 0, 2, 0),
    Make(Code::kLess, MS_INT32, 0, 1, 4),
};

TEST_F(ScalarCodeTest, RunsUntilTheConditionDoesNotHold) {
  Set<int32_t>(0, 0), Set<int32_t>(1, 10), Set<int32_t>(2, 1), Set<int32_t>(3, 100);
  Set<bool>(4, true);
  EXPECT_EQ(Run(kCount, 4, {0, 3}, 1000), 990);
  EXPECT_EQ(Get<int32_t>(0), 10);
  EXPECT_EQ(Get<int32_t>(3), 145);
  EXPECT_FALSE(Get<bool>(4));
}

TEST_F(ScalarCodeTest, StopsInTimeAndGoesOnFromThere) {
  Set<int32_t>(0, 0), Set<int32_t>(1, 10), Set<int32_t>(2, 1), Set<int32_t>(3, 100);
  Set<bool>(4, false);
  EXPECT_EQ(Run(kCount, 4, {0, 3}, 4), 0);
  EXPECT_EQ(Get<int32_t>(0), 4);
  EXPECT_TRUE(Get<bool>(4));
  EXPECT_EQ(Run(kCount, 4, {0, 3}, 4), 0);
  EXPECT_EQ(Run(kCount, 4, {0, 3}, 4), 2);
  EXPECT_EQ(Get<int32_t>(3), 145);
}

// More variables than registers, of each kind: variable k grows by k each round.
TEST_F(ScalarCodeTest, VariablesThatHaveNoRegisterAreInMemory) {
  constexpr uint32_t kEach = 40;
  const MS_DType types[] = {MS_INT32, MS_INT64, MS_FLOAT32, MS_FLOAT64};
  std::vector<ScalarInstruction> instructions = kCount;
  std::vector<uint32_t> kept = {0, 3};
  Set<int32_t>(0, 0), Set<int32_t>(1, 7), Set<int32_t>(2, 1), Set<int32_t>(3, 0);
  Set<bool>(4, false);
  const auto place_of = [](uint32_t type, uint32_t k) { return 5 + 2 * (type * kEach + k); };
  for (uint32_t k = 0; k < kEach; ++k) {
    for (uint32_t type = 0; type < 4; ++type) {
      const uint32_t place = place_of(type, k);
      instructions.push_back(Make(Code::kAdd, types[type], place, place + 1, place));
      kept.push_back(place);
    }
    const auto number = static_cast<int32_t>(k);
    for (uint32_t at = 0; at < 2; ++at) {
      Set<int32_t>(place_of(0, k) + at, number);
      Set<int64_t>(place_of(1, k) + at, number);
      Set<float>(place_of(2, k) + at, static_cast<float>(number));
      Set<double>(place_of(3, k) + at, number);
    }
  }
  EXPECT_EQ(Run(instructions, 4, kept, 1000), 993);
  for (uint32_t k = 0; k < kEach; ++k) {
    EXPECT_EQ(Get<int32_t>(place_of(0, k)), 8 * static_cast<int32_t>(k));
    EXPECT_EQ(Get<int64_t>(place_of(1, k)), 8 * static_cast<int64_t>(k));
    EXPECT_EQ(Get<float>(place_of(2, k)), 8 * static_cast<float>(k));
    EXPECT_EQ(Get<double>(place_of(3, k)), 8 * static_cast<double>(k));
  }
}

// Squares what it takes from the end of a row, and puts it at the end of another one.
TEST_F(ScalarCodeTest, ElementsAreTakenAndPut) {
  double taken[] = {1, 2, 3, 4, 5};
  double put[6] = {0, 0, 0, 0, 0, -1};
  std::vector<ScalarInstruction> instructions = kCount;
  instructions.push_back(Make(Code::kTake, MS_FLOAT64, 5, 5, 6));
  instructions.push_back(Make(Code::kSquare, MS_FLOAT64, 6, 6, 7));
  instructions.push_back(Make(Code::kPut, MS_FLOAT64, 7, 7, 8));
  Set<int32_t>(0, 0), Set<int32_t>(1, 5), Set<int32_t>(2, 1), Set<int32_t>(3, 0);
  Set<bool>(4, false);
  Set<double*>(5, taken + 5), Set<double>(6, 0), Set<double>(7, 0), Set<double*>(8, put);
  EXPECT_EQ(Run(instructions, 4, {0}, 2), 0);
  EXPECT_EQ(Get<double*>(8), put + 2);
  EXPECT_EQ(Run(instructions, 4, {0}, 100), 97);
  EXPECT_EQ(Get<double*>(5), taken);
  EXPECT_EQ(std::vector<double>(put, put + 6), (std::vector<double>{25, 16, 9, 4, 1, -1}));
}

TEST_F(ScalarCodeTest, ThereIsNoneForOtherInstructions) {
  std::vector<ScalarInstruction> instructions = kCount;
  instructions.push_back(Make(Code::kOther, MS_FLOAT32, 0, 0, 0));
  EXPECT_EQ(ScalarCode::Make(instructions, 5, 4, {0}), nullptr);
}

}  // namespace
}  // namespace millstream::kernels
