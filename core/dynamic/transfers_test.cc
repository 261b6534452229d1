// Sends and Receives: values, deadness, and what never comes.
#include <string>
#include <vector>

#include "core/dynamic/dynamic_fixture.h"
#include "core/partition/local_rendezvous.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class TransfersTest : public DynamicTest {
 protected:
  TransfersTest() { rendezvous = &own_; }
  Output Received(int64_t edge) { return Op("TestReceive", {}, {{"_edge", edge}}); }
  const Node* Sent(const Output& x, int64_t edge) {
    return build.NodeOf("TestSend", {x}, {{"_edge", edge}});
  }

  LocalRendezvous own_;
};

TEST_F(TransfersTest, AValueCrosses) {
  const Output x = Op("Neg", {Constant(2.0f)});
  const Node* send = Sent(x, 1);
  const auto results = Dynamic({Op("Neg", {Received(1)})}, {}, {send});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*(*results)[0].data<float>(), 2);
}

TEST_F(TransfersTest, AReceiveMayComeFirst) {
  const Output received = Received(1);
  const Node* send = Sent(Op("TestAsync", {Constant(2.0f)}), 1);
  const auto results = Dynamic({Op("Neg", {received})}, {}, {send});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*(*results)[0].data<float>(), -2);
}

TEST_F(TransfersTest, WhatIsDeadArrivesDead) {
  const Node* branch = build.NodeOf("Switch", {Constant(1.0f), Bool(true)});
  const Node* send_dead = Sent(branch->output(0), 1);
  const Node* send_live = Sent(branch->output(1), 2);
  const Node* merged = Merge({Op("Neg", {Received(1)}), Received(2)});
  const auto results = Dynamic({merged->output(0)}, {}, {send_dead, send_live});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*(*results)[0].data<float>(), 1);
}

TEST_F(TransfersTest, IterationsAreKeptApart) {
  using Outputs = std::vector<Output>;
  const Node* send = nullptr;
  const Loop loop = While(
      {Constant(0.0f)},
      [&](const Outputs& v) {
        return Op("Less", {v[0], Enter(Constant(5.0f), "loop", true)});
      },
      [&](const Outputs& v) {
        send = Sent(v[0], 1);
        build.set_control_inputs({v[0].node});
        const Output received = Received(1);
        build.set_control_inputs({});
        return Outputs{Op("Add", {received, ConstantAfter(1, v[0].node)})};
      });
  const auto results = Dynamic({loop.exits[0]}, {}, {send});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*(*results)[0].data<float>(), 5);
}

TEST_F(TransfersTest, WhatNobodySendsIsNamed) {
  const Output received = Received(7);
  ExpectError(Dynamic({received}).status(), absl::StatusCode::kInternal,
              {"cannot continue", received.node->name(), "TestReceive"});
}

// A program that lost an edge, as none does that was compiled.
TEST_F(TransfersTest, WhatWaitsForWhatCannotComeIsNamed) {
  const Node* branch = build.NodeOf("Switch", {Constant(1.0f), Bool(true)});
  const Output y = Op("Neg", {branch->output(1)});
  const Output z = Op("Square", {y});
  StepSignature signature;
  signature.fetches = {z};
  const std::unique_ptr<DynamicProgram> program = *Compile(signature);
  for (const NodeProgram& node : program->nodes) {
    if (node.node == y.node) ++program->frames[0].pending[node.local].waits;
  }
  const Status stuck = RunProgram(program.get(), 1, {}).status();
  ExpectError(stuck, absl::StatusCode::kInternal,
              {"cannot continue", absl::StrCat("'", y.node->name(), "' (op Neg)"),
               "waits for a control input", absl::StrCat("waits for ", y.name())});
  EXPECT_LT(stuck.message().find("Neg"), stuck.message().find("Square")) << "the cause first";
}

}  // namespace
}  // namespace millstream
