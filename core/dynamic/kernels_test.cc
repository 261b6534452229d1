// Kernels as the dynamic executor runs them.
#include <string>
#include <vector>

#include "core/dynamic/dynamic_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Outputs = std::vector<Output>;

class DynamicKernelsTest : public DynamicTest {
 protected:
  // Adds 1 ten times, each time through a kernel of this op.
  Output LoopThrough(const std::string& op) {
    return While(
               {Constant(0.0f)},
               [&](const Outputs& v) {
                 return Op("Less", {v[0], Enter(Constant(10.0f), "loop", true)});
               },
               [&](const Outputs& v) {
                 return Outputs{Op(op, {Op("Add", {v[0], ConstantAfter(1, v[0].node)})})};
               })
        .exits[0];
  }
};

TEST_F(DynamicKernelsTest, AsynchronousKernelsEndByThemselves) {
  EXPECT_EQ(Scalar(LoopThrough("TestAsync")), 10);
}

TEST_F(DynamicKernelsTest, BlockingKernelsRunBesideWhereThereIsAThread) {
  const Output result = LoopThrough("TestBlocking");
  EXPECT_EQ(Scalar(result), 10);
  threads = 2;
  EXPECT_EQ(Scalar(result), 10);
}

TEST_F(DynamicKernelsTest, ErrorsOfAsynchronousKernelsNameTheNode) {
  const Output x = Op("TestAsync", {Constant(-1.0f)});
  const Status status = Dynamic({Op("Neg", {x})}).status();
  ExpectError(status, absl::StatusCode::kOutOfRange, {"the number is negative"});
  EXPECT_EQ(StatusNode(status), x.node->name());
}

TEST_F(DynamicKernelsTest, AStepThatFailsWaitsForWhatStillRuns) {
  Outputs slow;
  for (int i = 0; i < 8; ++i) slow.push_back(Op("TestHighWater", {Constant(1.0f)}));
  slow.push_back(Op("TestBlocking", {Constant(-1.0f)}));
  EXPECT_EQ(Dynamic(slow).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(DynamicKernelsTest, WhatNobodyElseReadsIsOverwritten) {
  const Output x = Placeholder("x", DataType::kFloat, {1000});
  Output y = Op("Neg", {x});
  for (int i = 0; i < 3; ++i) y = Op("Neg", {y});
  const Output shared = Op("Neg", {y});
  Tensor fed = *Tensor::Create(DataType::kFloat, Shape({1000}));
  for (float& value : fed.flat<float>()) value = 2;
  const auto results = Dynamic({shared, Op("Add", {shared, y})}, {{x, fed}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].data<float>()[999], -2);
  EXPECT_EQ((*results)[1].data<float>()[999], 0);
  EXPECT_EQ(fed.data<float>()[0], 2);
}

TEST_F(DynamicKernelsTest, AMissingOutputIsFound) {
  const Node* forgetful = build.NodeOf("TestSetsNothing", {});
  ExpectError(Dynamic({forgetful->output(0)}).status(), absl::StatusCode::kInternal,
              {"did not set output 0"});
}

TEST_F(DynamicKernelsTest, ReshapesAndRandomNumbersWorkAsInPlans) {
  const Output random =
      Op("RandomUniform", {build.Int32Vector({4})},
         {{"seed", int64_t{1}}, {"seed2", int64_t{2}}, {"dtype", DataType::kFloat}});
  const Output square = Op("Reshape", {random, build.Int32Vector({2, 2})});
  const auto dynamic = Dynamic({square});
  ASSERT_TRUE(dynamic.ok()) << dynamic.status();
  EXPECT_EQ((*dynamic)[0].shape(), Shape({2, 2}));
  const auto planned = Run({square});
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(Elements<float>((*dynamic)[0]), Elements<float>((*planned)[0]));
}

}  // namespace
}  // namespace millstream
