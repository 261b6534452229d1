// fuse_elementwise changes what a plan executes, and no bit of what it gives.
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class FuseElementwiseTest : public PassTest {
 protected:
  FuseElementwiseTest() : PassTest("fuse_elementwise") {}
};

TEST_F(FuseElementwiseTest, AChainBecomesOneInstruction) {
  Output y = Fed("x", {4});
  const Output c = Fed("c", {4});
  for (int i = 0; i < 50; ++i) y = Op("Mul", {Op("AddV2", {y, c}), c});
  EXPECT_EQ(Saved({y}), 99);
}

TEST_F(FuseElementwiseTest, BranchesThatMeetBecomeOneInstruction) {
  const Output x = Fed("x", {3, 500});
  const Output a = Op("Exp", {Op("Neg", {x})});
  const Output b = Op("Tanh", {Op("Square", {x})});
  EXPECT_EQ(Saved({Op("Sub", {a, b})}), 4);
}

TEST_F(FuseElementwiseTest, NumbersAndRowsGoAlong) {
  const Output x = Fed("x", {6, 5, 7});
  const Output row = Fed("row", {7});
  const Output plane = Fed("plane", {1, 5, 7});
  const Output number = Fed("number", {});
  const Output y = Op("Mul", {Op("AddV2", {x, row}), number});
  EXPECT_EQ(Saved({Op("Sub", {plane, y})}), 2);
}

// The column repeats along rows, which the fused kernel does not do.
TEST_F(FuseElementwiseTest, ColumnsStayOutside) {
  const Output x = Fed("x", {6, 7});
  const Output column = Fed("column", {6, 1});
  EXPECT_EQ(Saved({Op("Neg", {Op("Mul", {Op("Abs", {x}), column})})}), 0);
}

TEST_F(FuseElementwiseTest, WhatIsFetchedOrReadElsewhereIsGivenToo) {
  const Output x = Fed("x", {9});
  const Output a = Op("Exp", {x});
  const Output b = Op("Neg", {a});
  const Output sum = Op("Sum", {a, Constant(Tensor::Scalar<int32_t>(0))});
  EXPECT_EQ(Saved({b, a}), 1);
  EXPECT_EQ(Saved({b, sum}), 1);
}

// A target, or an assertion in front of others: nobody reads the value.
TEST_F(FuseElementwiseTest, WhatIsOnlyAwaitedBecomesOneInstruction) {
  const Output x = Fed("x", {9});
  EXPECT_EQ(Saved({}, {Op("Exp", {Op("Neg", {x})}).node}), 1);
}

// Sum reads a member and a later member reads the sum: it must run in between.
TEST_F(FuseElementwiseTest, AWayThroughAnotherOperationIsKept) {
  const Output x = Fed("x", {9});
  const Output a = Op("Exp", {x});
  const Output b = Op("Neg", {a});
  const Output sum = Op("Sum", {b, Constant(Tensor::Scalar<int32_t>(0))});
  const Output c = Op("Div", {b, sum});
  EXPECT_EQ(Saved({Op("Sqrt", {Op("Abs", {c})})}), 3);
}

TEST_F(FuseElementwiseTest, OtherTypesAndShapesStay) {
  const Output x = Fed("x", {9});
  const Output wide = Op("Cast", {x}, {{"DstT", DataType::kDouble}});
  EXPECT_EQ(Saved({Op("Cast", {Op("Neg", {Op("Exp", {wide})})}, {{"DstT", DataType::kFloat}})}), 0);
  const Output y = Fed("y", {4, 9});
  EXPECT_EQ(Saved({Op("Mul", {y, Op("Neg", {x})})}), 0);
}

TEST_F(FuseElementwiseTest, EmptyTensors) {
  const Output x = Fed("x", {0, 5});
  EXPECT_EQ(Saved({Op("Neg", {Op("Exp", {x})})}), 1);
}

// Random operations on random earlier values, some of them fetched.
TEST_F(FuseElementwiseTest, RandomPrograms) {
  const std::vector<std::string> unary = {"Abs", "Neg", "Square", "Relu", "Tanh", "Exp", "Sigmoid"};
  const std::vector<std::string> binary = {"AddV2",   "Sub",      "Mul",
                                           "Maximum", "ReluGrad", "TanhGrad"};
  std::mt19937 random(17);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  int64_t saved = 0;
  for (int program = 0; program < 60; ++program) {
    const int64_t columns = static_cast<int64_t>(1 + below(40));
    const Shape whole = {static_cast<int64_t>(1 + below(90)), columns};
    const std::string prefix = absl::StrCat("p", program);
    std::vector<Output> values = {Fed(prefix + "x", whole), Fed(prefix + "y", whole)};
    const Output row = Fed(prefix + "row", {columns});
    std::vector<Output> fetches;
    for (size_t step = 0; step < 2 + below(30); ++step) {
      const Output a = values[below(values.size())];
      const size_t kind = below(8);
      if (kind < 3) {
        values.push_back(Op(unary[below(unary.size())], {a}));
      } else if (kind < 6) {
        values.push_back(Op(binary[below(binary.size())], {a, values[below(values.size())]}));
      } else if (kind == 6) {
        values.push_back(Op("Mul", {row, a}));
      } else {
        // No member: it comes between them.
        values.push_back(Op("Softmax", {a}));
      }
      if (below(6) == 0) fetches.push_back(values.back());
    }
    fetches.push_back(values.back());
    saved += Saved(fetches);
  }
  EXPECT_GT(saved, 100);
}

}  // namespace
}  // namespace millstream
