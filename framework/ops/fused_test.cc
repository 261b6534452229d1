// _FusedElementwise.
#include <cstdint>
#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Numbers = std::vector<int64_t>;

// What the shape function says of a program over inputs of these shapes.
std::string Shapes(const std::vector<std::string>& inputs, const std::vector<std::string>& steps,
                   const Numbers& operands, const Numbers& results, int outputs) {
  ShapeTester op("_FusedElementwise");
  op.Attr("M", outputs).Attr("steps", steps).Attr("operands", operands).Attr("results", results);
  for (const std::string& input : inputs) op.Input(input);
  return op.Shapes();
}

// (x + y)^2, with the sum as the second output.
std::string SquareOfSum(const std::vector<std::string>& inputs) {
  return Shapes(inputs, {"AddV2", "Square"}, {0, 1, 2, -1}, {3, 2}, 2);
}

TEST(FusedElementwiseTest, EveryOutputHasTheShapeOfAllInputsTogether) {
  EXPECT_EQ(SquareOfSum({"[2,3]", "[2,3]"}), "[2,3] [2,3]");
  EXPECT_EQ(SquareOfSum({"[]", "[2,3]"}), "[2,3] [2,3]");
  EXPECT_EQ(SquareOfSum({"[2,3]", "[3]"}), "[2,3] [2,3]");
  EXPECT_EQ(SquareOfSum({"[?,3]", "[1,3]"}), "[?,3] [?,3]");
  EXPECT_EQ(SquareOfSum({"?", "[3]"}), "? ?");
  EXPECT_EQ(Shapes({"[]", "[3]", "[2,1]"}, {"Mul"}, {0, 0}, {3}, 1), "[2,3]");
}

TEST(FusedElementwiseTest, InputsThatDoNotGoTogetherAreRefusedByName) {
  EXPECT_THAT(SquareOfSum({"[2,3]", "[2]"}), HasSubstr("argument 'args[1]' of _FusedElementwise"));
}

TEST(FusedElementwiseTest, AnInputMayBeAResult) {
  EXPECT_EQ(Shapes({"[2]"}, {"Neg"}, {0, -1}, {0, 1, 0}, 3), "[2] [2] [2]");
}

TEST(FusedElementwiseTest, StepsAreElementwiseOpsThatCannotFail) {
  EXPECT_THAT(Shapes({"[2]"}, {"MatMul"}, {0, 0}, {1}, 1),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'steps'")));
  EXPECT_THAT(Shapes({"[2]"}, {}, {}, {0}, 1),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'steps'")));
}

// The arity of a step is that of its op.
TEST(FusedElementwiseTest, EveryStepIsAnOpOfOneOrTwoInputsOfFloats) {
  int steps = 0;
  for (const OpDef* op : OpRegistry::Global()->List()) {
    if (!op->is_elementwise) continue;
    ++steps;
    EXPECT_TRUE(op->inputs.size() == 1 || op->inputs.size() == 2) << op->name;
    EXPECT_EQ(op->outputs.size(), 1u) << op->name;
    EXPECT_FALSE(op->is_stateful) << op->name;
    ASSERT_NE(op->FindAttr("T"), nullptr) << op->name;
    EXPECT_THAT(op->FindAttr("T")->allowed_types, ::testing::Contains(DataType::kFloat))
        << op->name;
  }
  EXPECT_GE(steps, 30);
}

struct Malformed {
  const char* name;
  std::vector<std::string> steps;
  Numbers operands;
  Numbers results;
  const char* says;
};

void PrintTo(const Malformed& program, std::ostream* out) { *out << program.name; }

class MalformedProgramTest : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedProgramTest, IsRefusedByTheAttributesName) {
  const Malformed& program = GetParam();
  EXPECT_THAT(Shapes({"[2]", "[2]"}, program.steps, program.operands, program.results, 1),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("_FusedElementwise"),
                    HasSubstr(program.says)));
}

INSTANTIATE_TEST_SUITE_P(
    AllAttributes, MalformedProgramTest,
    ::testing::Values(
        Malformed{"TooFewOperands",
                  {"Add"},
                  {0},
                  {2},
                  "'operands' of _FusedElementwise: expected two numbers for each of the 1 steps"},
        Malformed{"TooManyOperands", {"Add"}, {0, 1, 1}, {2}, "got 3 numbers"},
        Malformed{"NegativeOperand", {"Add"}, {-1, 0}, {2}, "'operands'"},
        Malformed{"OwnResult",
                  {"Add"},
                  {0, 2},
                  {2},
                  "element 1 is 2, expected the number of a "
                  "value that exists by then, 0 to 1"},
        Malformed{"LaterResult", {"Neg", "Neg"}, {3, -1, 0, -1}, {2}, "element 0 is 3"},
        Malformed{"OneOperandForTwo", {"Add"}, {0, -1}, {2}, "element 1 is -1"},
        Malformed{"TwoOperandsForOne", {"Neg"}, {0, 1}, {2}, "expected -1: Neg has one operand"},
        Malformed{"NoResult", {"Add"}, {0, 1}, {}, "'results' of _FusedElementwise: expected one"},
        Malformed{"TooManyResults", {"Add"}, {0, 1}, {2, 2}, "got 2 numbers"},
        Malformed{"NegativeResult", {"Add"}, {0, 1}, {-1}, "element 0 is -1"},
        Malformed{"UnknownResult", {"Add"}, {0, 1}, {3}, "element 0 is 3"}),
    [](const ::testing::TestParamInfo<Malformed>& info) { return info.param.name; });

}  // namespace
}  // namespace millstream
