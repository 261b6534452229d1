#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

std::string Dense(const char* indices, const char* shape, const char* values) {
  return ShapeTester("SparseToDense")
      .Input(indices)
      .Value(shape)
      .Input(values)
      .Input("[]")
      .Shapes();
}

TEST(SparseToDenseTest, HasTheShapeThatIsAskedFor) {
  EXPECT_EQ(Dense("[5,2]", "(3 4)", "[5]"), "[3,4]");
  EXPECT_EQ(Dense("[?,?]", "(3 ?)", "[]"), "[3,?]");
  EXPECT_EQ(Dense("[]", "(3)", "[]"), "[3]");
}

TEST(SparseToDenseTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Dense("[5,2]", "(3)", "[5]"), HasSubstr("'output_shape' of SparseToDense"));
  EXPECT_THAT(Dense("[5,1]", "(3)", "[4]"), HasSubstr("'sparse_values' of SparseToDense"));
  EXPECT_THAT(Dense("[5,1,1]", "(3)", "[5]"), HasSubstr("sparse_indices"));
  EXPECT_THAT(Dense("[5,1]", "(-3)", "[5]"), HasSubstr("'output_shape' of SparseToDense"));
}

}  // namespace
}  // namespace millstream
