#include <string>

#include "framework/ops/einsum_equation.h"
#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Einsum(const char* equation, const char* a, const char* b) {
  return ShapeTester("Einsum").Attr("equation", std::string(equation)).Input(a).Input(b).Shapes();
}
std::string Einsum(const char* equation, const char* a) {
  return ShapeTester("Einsum").Attr("equation", std::string(equation)).Input(a).Shapes();
}

TEST(EinsumEquationTest, HasALetterForEachDimension) {
  const StatusOr<EinsumEquation> equation = ParseEinsumEquation(" ...ij, jk -> ...ik ");
  ASSERT_TRUE(equation.ok());
  EXPECT_THAT(equation->inputs, ElementsAre(".ij", "jk"));
  EXPECT_EQ(equation->output, ".ik");
}

TEST(EinsumTest, LabelsGiveTheSizes) {
  EXPECT_EQ(Einsum("ij,jk->ik", "[2,3]", "[3,4]"), "[2,4]");
  EXPECT_EQ(Einsum("ij,jk->ki", "[?,3]", "[3,4]"), "[4,?]");
  EXPECT_EQ(Einsum("ij,jk->ik", "?", "[3,4]"), "[?,4]");
  EXPECT_EQ(Einsum("ij->", "[2,3]"), "[]");
  EXPECT_EQ(Einsum("i->ii", "[3]"), "[3,3]");
}

TEST(EinsumTest, DimensionsOfEllipsesBroadcast) {
  EXPECT_EQ(Einsum("...ij,...jk->...ik", "[5,1,2,3]", "[7,3,4]"), "[5,7,2,4]");
  EXPECT_EQ(Einsum("i...j->j...i", "[2,5,6,3]"), "[3,5,6,2]");
  EXPECT_EQ(Einsum("...i->...", "?"), "?");
}

TEST(EinsumTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Einsum("ij,jk->ik", "[2,3]", "[4,4]"), HasSubstr("'inputs[1]' of Einsum"));
  EXPECT_THAT(Einsum("ij,jk->ik", "[2,3,1]", "[3,4]"), HasSubstr("inputs"));
  EXPECT_THAT(Einsum("ij,jk->ik", "[2,3]"), HasSubstr("'equation' of Einsum"));
  EXPECT_THAT(Einsum("ij->ik", "[2,3]"), HasSubstr("'k'"));
  EXPECT_THAT(Einsum("ij", "[2,3]"), HasSubstr("exactly one '->'"));
  EXPECT_THAT(Einsum("i1->i", "[2,3]"), HasSubstr("letters"));
  EXPECT_THAT(Einsum("...i->i", "[2,3]"), HasSubstr("ellipsis"));
}

}  // namespace
}  // namespace millstream
