// Assignments: which values become the variable's memory, and which are copied.
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/structural/structural.h"
#include "core/testing/session_fixture.h"
#include "framework/op_registry.h"
#include "framework/shape_context.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

// Where the last execution of TestFill has its output. Steps of this test run one after the other.
const void* last_filled = nullptr;

Status FillKernel(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const Tensor filled, frame->AllocateOutput(0, Shape({3})));
  for (int i = 0; i < 3; ++i) filled.data<float>()[i] = static_cast<float>(i);
  last_filled = filled.raw();
  return absl::OkStatus();
}

MILLSTREAM_OP("TestFill")
    .Output("y: float")
    .Stateful()
    .Doc("Gives 0, 1, 2 in memory of its own, as RestoreV2 does.");
MILLSTREAM_STRUCTURAL("TestFill", StructuralRole::kKernel, FillKernel);

// Where a variable has its value, as an op that reads it is told.
const void* last_seen = nullptr;

Status SeeKernel(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(class Variable * variable, frame->variable(0));
  MS_ASSIGN_OR_RETURN(const Tensor value, variable->Read());
  last_seen = value.raw();
  return absl::OkStatus();
}

MILLSTREAM_OP("TestSee")
    .Input("x: resource")
    .Stateful()
    .Shape(NoOutputs)
    .Doc("Looks at a variable.");
MILLSTREAM_STRUCTURAL("TestSee", StructuralRole::kKernel, SeeKernel);

// Both executors: that of plans and, because of a Switch in the step, the dynamic one.
class AssignTest : public SessionTest, public ::testing::WithParamInterface<bool> {
 protected:
  Status Assigned(const std::vector<const Node*>& assignments, const std::vector<Output>& fetches,
                  std::vector<Tensor>* values) {
    std::vector<const Node*> targets = assignments;
    std::vector<Feed> feeds;
    if (GetParam()) {
      if (!take_) take_ = Placeholder("take", DataType::kBool, PartialShape::Scalar());
      targets.push_back(Op("Switch", {Constant(1), take_}).node);
      feeds.push_back({take_, Tensor::Scalar<bool>(true)});
    }
    MS_ASSIGN_OR_RETURN(*values, Run(fetches, feeds, targets));
    return absl::OkStatus();
  }
  void MustAssign(const Output& handle, const Output& value) {
    std::vector<Tensor> none;
    ASSERT_EQ(Assigned({Assign(handle, value)}, {}, &none), absl::OkStatus());
  }
  const void* PlaceOf(const Output& handle) {
    const Node* const see =
        TryNode(absl::StrCat("see_", handle.node->name()), "TestSee", {handle}).value();
    EXPECT_EQ(Execute({see}), absl::OkStatus());
    return last_seen;
  }

 private:
  Output take_;
};

TEST_P(AssignTest, TakesTheMemoryOfAValueThatNobodyElseReads) {
  const Output v = Variable("v", DataType::kFloat, PartialShape({3}));
  MustAssign(v, Op("TestFill", {}));
  EXPECT_EQ(PlaceOf(v), last_filled);
  EXPECT_THAT(Elements<float>(Value(Read(v))), ElementsAre(0, 1, 2));
}

TEST_P(AssignTest, CopiesAValueThatOthersRead) {
  const Output v = Variable("v", DataType::kFloat, PartialShape({3}));
  const Output w = Variable("w", DataType::kFloat, PartialShape({3}));
  const Output filled = Op("TestFill", {});
  std::vector<Tensor> fetched;
  ASSERT_EQ(Assigned({Assign(v, filled), Assign(w, filled)}, {filled}, &fetched), absl::OkStatus());
  EXPECT_NE(PlaceOf(v), last_filled);
  const Output one = Constant(Tensor::Vector<float>({1, 1, 1}));
  ASSERT_EQ(Execute({TryNode("add", "AssignAddVariableOp", {v, one}).value()}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(Read(v))), ElementsAre(1, 2, 3));
  EXPECT_THAT(Elements<float>(Value(Read(w))), ElementsAre(0, 1, 2));
  EXPECT_THAT(Elements<float>(fetched[0]), ElementsAre(0, 1, 2));
}

TEST_P(AssignTest, CopiesTheValueOfAnotherVariable) {
  const Output v = Variable("v", DataType::kFloat, PartialShape({3}));
  const Output w = Variable("w", DataType::kFloat, PartialShape({3}));
  MustAssign(v, Op("TestFill", {}));
  const void* const place = last_filled;
  std::vector<Tensor> none;
  ASSERT_EQ(Assigned({Assign(w, Read(v))}, {}, &none), absl::OkStatus());
  EXPECT_EQ(PlaceOf(v), place);
  EXPECT_NE(PlaceOf(w), place);
}

INSTANTIATE_TEST_SUITE_P(Executors, AssignTest, ::testing::Bool());

}  // namespace
}  // namespace millstream
