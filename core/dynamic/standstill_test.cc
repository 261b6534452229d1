// Loops in which something waits for what cannot come: the step fails and says what, and nothing
// else does.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/dynamic/dynamic_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Outputs = std::vector<Output>;

class StandstillTest : public DynamicTest {
 protected:
  // while (v[0] < limit) { v[0] += 1; the others = body(others) }
  Loop Count(const Outputs& others, const Output& limit,
             const std::function<Outputs(const Outputs&)>& body) {
    Outputs initial = {Constant(0.0f)};
    initial.insert(initial.end(), others.begin(), others.end());
    return While(
        initial,
        [&](const Outputs& v) {
          return Op("Less", {v[0], limit});
        },
        [&](const Outputs& v) {
          Outputs results = {Op("Add", {v[0], ConstantAfter(1, v[0].node)})};
          const Outputs rest = body(Outputs(v.begin() + 1, v.end()));
          results.insert(results.end(), rest.begin(), rest.end());
          return results;
        });
  }
  Loop Count(const Outputs& others, float limit,
             const std::function<Outputs(const Outputs&)>& body) {
    return Count(others, Enter(Constant(limit), "loop", true), body);
  }
  Loop CountAlone(const Output& limit) {
    return Count({}, limit, [](const Outputs&) { return Outputs(); });
  }
  void ExpectStuck(const Status& status, const Output& waits, const std::string& missing,
                   int iteration) {
    ExpectError(
        status, absl::StatusCode::kInternal,
        {absl::StrCat("the remaining nodes wait for missing inputs:\n  node '", waits.node->name(),
                      "' (op ", waits.node->op().name, ")"),
         absl::StrCat(", waits for ", missing, ", in iteration ", iteration, " of frame 'loop'")});
  }
  Output once_ = Enter(Constant(5.0f), "loop");  // it comes in the first iteration alone
};

TEST_F(StandstillTest, AConditionThatIsKnownInTheFirstIterationAlone) {
  const Loop loop = CountAlone(once_);
  const Output condition = loop.pred.node->input(0);
  ExpectStuck(Dynamic({loop.exits[0]}).status(), condition, once_.name(), 1);
}

TEST_F(StandstillTest, IsFoundWithoutAFetchThatMissesIt) {
  const Loop loop = CountAlone(once_);
  const Output condition = loop.pred.node->input(0);
  ExpectStuck(Dynamic({}, {}, {loop.exits[0].node}).status(), condition, once_.name(), 1);
  ExpectStuck(Dynamic({}, {}, {loop.variables[0].node}).status(), condition, once_.name(), 1);
}

TEST_F(StandstillTest, AVariableThatGetsLost) {
  Output sum;
  const Loop loop = Count({Constant(1.0f)}, 4, [&](const Outputs& v) {
    sum = Op("Add", {v[0], once_});
    return Outputs{sum};
  });
  ExpectStuck(Dynamic({loop.exits[1]}).status(), sum, once_.name(), 1);
  ExpectStuck(Dynamic({loop.exits[0]}, {}, {sum.node}).status(), sum, once_.name(), 1);
}

TEST_F(StandstillTest, AnUpdateThatIsLeftOut) {
  const Output handle = Variable("v", DataType::kFloat, PartialShape::Scalar());
  const Output entered = Enter(handle, "loop", true);
  Output sum;
  const Node* update = nullptr;
  const Loop loop = Count({Constant(1.0f)}, 4, [&](const Outputs& v) {
    sum = Op("Add", {v[0], once_});
    update = build.NodeOf("AssignAddVariableOp", {entered, sum});
    return Outputs{Op("Neg", {v[0]})};
  });
  ASSERT_TRUE(Dynamic({}, {}, {Assign(handle, Constant(0.0f))}).ok());
  ExpectStuck(Dynamic({loop.exits[0]}, {}, {update}).status(), sum, once_.name(), 1);
}

TEST_F(StandstillTest, AControlInputThatComesOnce) {
  build.set_control_inputs({once_.node});
  const Node* first = build.NodeOf("NoOp", {});
  build.set_control_inputs({});
  Output checked;
  const Loop loop = Count({Constant(1.0f)}, 4, [&](const Outputs& v) {
    build.set_control_inputs({first});
    checked = Op("Neg", {v[0]});
    build.set_control_inputs({});
    return Outputs{checked};
  });
  ExpectStuck(Dynamic({loop.exits[1]}).status(), checked,
              absl::StrCat("'", first->name(), "' to have run"), 1);
}

TEST_F(StandstillTest, WhatIsAddedAtTheEndOfTheLoopComesInTheFirstIterationAlone) {
  const Output limit = Placeholder("limit", DataType::kFloat, PartialShape::Scalar());
  const Loop loop = CountAlone(Enter(limit, "loop", true));
  const Output last = loop.exits[0].node->input(0);
  const Output sum = Op("Add", {last, once_});
  const Output left = Op("Exit", {sum});
  EXPECT_EQ(Scalar(left, {{limit, Tensor::Scalar<float>(0)}}), 5);
  ExpectStuck(Dynamic({left}, {{limit, Tensor::Scalar<float>(3)}}).status(), sum, once_.name(), 1);
}

// A Merge none of whose inputs can come.
TEST_F(StandstillTest, AMergeOfBackEdgesAlone) {
  const Loop loop = Count({}, 3, [](const Outputs&) { return Outputs(); });
  build.set_control_inputs({loop.pred.node});
  const Node* const merge = Merge({Constant(0.0f), Constant(0.0f)});
  build.set_control_inputs({});
  const Node* const decision = build.NodeOf("Switch", {merge->output(0), loop.pred});
  const Output next = Op("NextIteration", {decision->output(1)});
  const Output left = Op("Exit", {decision->output(0)});
  for (int i = 0; i < 2; ++i) ASSERT_EQ(graph.SetBackEdge(merge, i, next.node), absl::OkStatus());
  ExpectStuck(Dynamic({left}).status(), merge->output(0), next.name(), 0);
}

// A program that lost an edge, as none does that was compiled.
TEST_F(StandstillTest, AnEdgeThatGotLost) {
  Output lost;
  const Loop loop = Count({Constant(1.0f)}, 4, [&](const Outputs& v) {
    lost = Op("Neg", {v[0]});
    return Outputs{lost};
  });
  StepSignature signature;
  signature.targets = {loop.exits[1].node};
  const std::unique_ptr<DynamicProgram> program = *Compile(signature);
  for (const NodeProgram& node : program->nodes) {
    if (node.node == lost.node) ++program->frames[node.frame].pending[node.local].waits;
  }
  ExpectStuck(RunProgram(program.get(), 0, {}).status(), lost, "a control input", 0);
}

TEST_F(StandstillTest, AStepAfterwardsIsAsTheFirst) {
  const Output limit = Placeholder("limit", DataType::kFloat, PartialShape::Scalar());
  const Output last = CountAlone(Enter(limit, "loop", true)).exits[0].node->input(0);
  const Output left = Op("Exit", {Op("Add", {last, once_})});
  const auto program = Compile({{limit}, {left}, {}});
  ASSERT_TRUE(program.ok()) << program.status();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(RunProgram(program->get(), 1, {Tensor::Scalar<float>(3)}).ok());
    const auto results = RunProgram(program->get(), 1, {Tensor::Scalar<float>(0)});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(*(*results)[0].data<float>(), 5);
  }
}

// ---- What is rightly not there ----

TEST_F(StandstillTest, WhatDependsOnTheFirstIterationAloneRunsInIt) {
  const Node* const merge = Merge({Op("Neg", {once_}), Op("Square", {once_})});
  const Loop loop = Count({}, 4, [](const Outputs&) { return Outputs(); });
  const Node* const decision = build.NodeOf("Switch", {merge->output(0), loop.pred});
  const Output next = Op("NextIteration", {Op("Neg", {decision->output(1)})});
  ASSERT_EQ(graph.SetBackEdge(merge, 1, next.node), absl::OkStatus());
  EXPECT_EQ(Scalar(Op("Exit", {decision->output(0)})), -5);
}

TEST_F(StandstillTest, AVariableThatEnteredDeadIsDeadOutside) {
  const Node* branch = build.NodeOf("Switch", {Constant(1.0f), Bool(true)});
  const Loop loop =
      Count({branch->output(0)}, 4, [&](const Outputs& v) { return Outputs{Op("Neg", {v[0]})}; });
  const Output either = Merge({loop.exits[1], branch->output(1)})->output(0);
  const auto results = Dynamic({loop.exits[0], either});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*(*results)[0].data<float>(), 4);
  EXPECT_EQ(*(*results)[1].data<float>(), 1);
  ExpectError(Dynamic({loop.exits[1]}).status(), absl::StatusCode::kInvalidArgument,
              {"is on a branch that was not taken"});
}

TEST_F(StandstillTest, AVariableThatDiesInTheLoopIsDeadOutside) {
  const Loop loop = Count({Constant(1.0f)}, 4, [&](const Outputs& v) {
    const Output small = Op("Less", {v[0], ConstantAfter(1.5f, v[0].node)});
    const Output kept = build.NodeOf("Switch", {v[0], small})->output(1);
    return Outputs{Op("Add", {kept, kept})};
  });
  const auto results = Dynamic({loop.exits[0]}, {}, {loop.exits[1].node});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*(*results)[0].data<float>(), 4);
  ExpectError(Dynamic({loop.exits[1]}).status(), absl::StatusCode::kInvalidArgument,
              {"is on a branch that was not taken"});
}

TEST_F(StandstillTest, TwoLoopsOfOneFrameEndInIterationsOfTheirOwn) {
  const Loop shorter = Count({}, 2, [](const Outputs&) { return Outputs(); });
  const Loop longer = Count({}, 7, [](const Outputs&) { return Outputs(); });
  const auto results = Dynamic({shorter.exits[0], longer.exits[0]});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*(*results)[0].data<float>(), 2);
  EXPECT_EQ(*(*results)[1].data<float>(), 7);
}

TEST_F(StandstillTest, AnInnerLoopOfADeadVariableIsNotEntered) {
  const Node* branch = build.NodeOf("Switch", {Constant(1.0f), Bool(true)});
  const Loop loop = Count({branch->output(0)}, 3, [&](const Outputs& v) {
    return Outputs{Op("Neg", {Op("Exit", {Op("Neg", {Enter(v[0], "inner")})})})};
  });
  EXPECT_EQ(Scalar(Merge({loop.exits[1], branch->output(1)})->output(0)), 1);
  EXPECT_EQ(Scalar(loop.exits[0]), 3);
}

}  // namespace
}  // namespace millstream
