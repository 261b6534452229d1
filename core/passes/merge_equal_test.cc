// merge_equal changes what a plan executes, and no bit of what it gives.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class MergeEqualTest : public PassTest {
 protected:
  MergeEqualTest() : PassTest("merge_equal") {}

  Output Sum(const Output& x, const Tensor& axes, bool keep_dims = false) {
    return Op("Sum", {x, Constant(axes)}, {{"keep_dims", keep_dims}});
  }
};

TEST_F(MergeEqualTest, EqualOperationsRunOnce) {
  const Output x = Fed("x", {4, 3});
  const Output a = Op("Tanh", {Op("Exp", {x})});
  const Output b = Op("Tanh", {Op("Exp", {x})});
  EXPECT_EQ(Saved({Op("Mul", {a, b})}), 2);
}

TEST_F(MergeEqualTest, SmallConstantsAreEqualWhenTheirBitsAre) {
  const Output x = Fed("x", {4, 3});
  const Tensor rows = Tensor::Scalar<int32_t>(0);
  EXPECT_EQ(Saved({Op("Mul", {Sum(x, rows), Sum(x, Tensor::Scalar<int32_t>(0))})}), 1);
  EXPECT_EQ(Saved({Op("Add", {Sum(x, rows), Sum(x, Tensor::Vector<int32_t>({0}))})}), 0);
  EXPECT_EQ(Saved({Op("Mul", {Op("Mul", {x, Constant(0.0f)}), Op("Mul", {x, Constant(-0.0f)})})}),
            0);
}

TEST_F(MergeEqualTest, AttributesCount) {
  const Output x = Fed("x", {4, 4});
  const Tensor rows = Tensor::Scalar<int32_t>(0);
  EXPECT_EQ(Saved({Op("Mul", {Sum(x, rows), Sum(x, rows, true)})}), 0);
  const Output product = Op("MatMul", {x, x}, {{"transpose_a", true}});
  EXPECT_EQ(Saved({Op("Sub", {product, Op("MatMul", {x, x})})}), 0);
}

// As an imported node, of which a remark says where it came from.
TEST_F(MergeEqualTest, RemarksDoNotCount) {
  const Output x = Fed("x", {4});
  NodeSpec spec;
  spec.name = "remarked";
  spec.op = "Exp";
  spec.inputs = {x};
  spec.input_counts = {1};
  SetAttr(&spec.attrs, "_output_shapes", std::vector<PartialShape>{PartialShape({4})});
  const StatusOr<const Node*> remarked = graph.AddNode(std::move(spec));
  ASSERT_TRUE(remarked.ok()) << remarked.status();
  EXPECT_EQ(Saved({Op("Mul", {(*remarked)->output(0), Op("Exp", {x})})}), 1);
}

TEST_F(MergeEqualTest, TheOrderOfArgumentsCounts) {
  const Output x = Fed("x", {4});
  const Output y = Fed("y", {4});
  EXPECT_EQ(Saved({Op("Mul", {Op("Sub", {x, y}), Op("Sub", {y, x})})}), 0);
  EXPECT_EQ(Saved({Op("Mul", {Op("Add", {x, y}), Op("Add", {y, x})})}), 0);
}

TEST_F(MergeEqualTest, WhatIsFetchedIsGivenUnderBothNames) {
  const Output x = Fed("x", {4});
  const Output a = Op("Exp", {x});
  const Output b = Op("Exp", {x});
  EXPECT_EQ(Saved({a, b, Op("Neg", {b})}), 1);
}

TEST_F(MergeEqualTest, TargetsRun) {
  const Output x = Fed("x", {4});
  const Output a = Op("Exp", {x});
  const Output b = Op("Exp", {x});
  EXPECT_EQ(Saved({Op("Neg", {a})}, {b.node}), 0);
}

TEST_F(MergeEqualTest, RandomNumbersAreDrawnTwice) {
  const Output shape = Constant(Tensor::Vector<int32_t>({100}));
  const auto random = [&] {
    return Op("Neg", {Op("RandomUniform", {shape}, {{"dtype", DataType::kFloat}})});
  };
  const Outcome outcome = RunWith(SessionOptions(), {random(), random()});
  EXPECT_NE(Elements<float>(outcome.values[0]), Elements<float>(outcome.values[1]));
}

class MergeEqualSplitTest : public MergeEqualTest {
 protected:
  const Node* Split(const Output& x) {
    return build.Variadic("Split", {{build.Int32(0)}, {x}}, {{"num_split", 2}});
  }
  const Output x_ = Fed("x", {6});
  const Node* const a_ = Split(x_);
  const Node* const b_ = Split(x_);
};

TEST_F(MergeEqualSplitTest, OperationsOfSeveralOutputs) {
  EXPECT_EQ(Saved({Op("Sub", {a_->output(0), b_->output(1)})}), 1);
}

TEST_F(MergeEqualSplitTest, BothStayWhenSomebodySeesBoth) {
  EXPECT_EQ(Saved({a_->output(0), b_->output(1)}), 0);
}

TEST_F(MergeEqualSplitTest, AFedOutputIsNotWhatItsNodeGives) {
  Feed(a_->output(0), Tensor::Of<float>({3}, {10, 20, 30}));
  EXPECT_EQ(Saved({Op("Sub", {a_->output(1), b_->output(0)}), a_->output(0)}), 0);
}

TEST_F(MergeEqualTest, ManyOperationsOnOneValue) {
  const Output x = Fed("x", {1});
  std::vector<Output> squares;
  for (int i = 0; i < 10000; ++i) squares.push_back(Op("Square", {x}));
  const Node* const sum = build.Variadic("AddN", {squares});
  EXPECT_EQ(Saved({sum->output(0)}), 9999);
}

class MergeEqualReadTest : public MergeEqualTest {
 protected:
  // The handle of a variable that is assigned before anything reads it.
  Output Handle() {
    const Output handle = Variable("v", DataType::kFloat, PartialShape({2}));
    build.set_control_inputs({Assign(handle, Constant(Tensor::Vector<float>({1, 2})))});
    const Output assigned = Op("Identity", {handle});
    build.set_control_inputs({});
    return assigned;
  }
};

TEST_F(MergeEqualReadTest, AVariableIsReadOnce) {
  const Output handle = Handle();
  const Output sum = Op("Add", {Read(handle), Read(handle)});
  EXPECT_EQ(Saved({Op("Mul", {sum, Read(handle)})}), 2);
}

TEST_F(MergeEqualReadTest, AWriteIsSeen) {
  const Output handle = Handle();
  const Output before = Read(handle);
  const Node* const write = build.NodeOf("AssignAddVariableOp", {handle, Op("Exp", {before})});
  EXPECT_EQ(Saved({Op("Sub", {before, Read(handle)})}, {write}), 0);
}

TEST_F(MergeEqualReadTest, ReadsThatWaitForTheSameNodesAreEqual) {
  const Output handle = Handle();
  const std::vector<const Node*> first = {Op("Exp", {Fed("x", {2})}).node};
  EXPECT_EQ(Saved({Op("Sub", {Read(handle, first), Read(handle, first)})}), 1);
}

TEST_F(MergeEqualReadTest, OpsOnArraysWriteToNoVariable) {
  const Output handle = Handle();
  const Output before = Read(handle);
  const Node* const array =
      build.NodeOf("TensorArrayV3", {build.Int32(1)},
                   {{"dtype", DataType::kFloat}, {"element_shape", PartialShape({2})}});
  const Output flow = Op("TensorArrayWriteV3",
                         {array->output(0), build.Int32(0), Op("Exp", {before}), array->output(1)});
  const Output element = Op("TensorArrayReadV3", {array->output(0), build.Int32(0), flow},
                            {{"dtype", DataType::kFloat}});
  EXPECT_EQ(Saved({Op("Sub", {element, Read(handle)})}), 1);
}

TEST_F(MergeEqualReadTest, WhatTheProgramOrdersStays) {
  const Output handle = Handle();
  const Output before = Read(handle);
  const Output after = Read(handle, {Op("Exp", {before}).node});
  EXPECT_EQ(Saved({Op("Sub", {before, after})}), 0);
}

}  // namespace
}  // namespace millstream
