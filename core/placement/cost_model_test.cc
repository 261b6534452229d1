// What nodes and copies cost: estimated, then measured.
#include "core/placement/cost_model.h"

#include <string>
#include <thread>
#include <vector>

#include "core/graph/graph_builder.h"
#include "framework/op_registry.h"
#include "framework/shape_context.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

MILLSTREAM_OP("TestNames")
    .Input("x: float")
    .Output("y: float")
    .CostsNothing()
    .Shape(UnchangedShape)
    .Doc("Gives its input another name.");
MILLSTREAM_OP("TestMoves")
    .Input("x: float")
    .Output("y: float")
    .Shape(UnchangedShape)
    .Doc("Copies its input.");

constexpr int kHost = 0;
constexpr int kFirst = 1;
constexpr int kSecond = 2;

class CostModelTest : public ::testing::Test {
 protected:
  CostModelTest() : build(&graph, "") {}

  const Node* Added(const std::string& op, const std::vector<Output>& inputs) {
    return build.NodeOf(op, inputs);
  }
  Output Matrix(int64_t rows, int64_t columns) {
    return build.Op("Placeholder", {},
                    {{"dtype", AttrValue(DataType::kFloat)},
                     {"shape", AttrValue(PartialShape({rows, columns}))}});
  }
  static NodeWork WorkOf(const Node* node) {
    std::vector<PartialShape> inputs;
    for (const Output& input : node->inputs()) inputs.push_back(input.node->facts(0).shape);
    std::vector<PartialShape> outputs;
    for (int k = 0; k < node->num_outputs(); ++k) outputs.push_back(node->facts(k).shape);
    return EstimateWork(*node, inputs, outputs);
  }
  double TimeOf(const Node* node, int device) { return model.NodeTime(node, WorkOf(node), device); }
  void Measure(const Node* node, int device, double nanoseconds) {
    model.AddNodeTime(node, WorkOf(node), device, nanoseconds);
  }

  Graph graph;
  GraphBuilder build;
  CostModel model{{{"CPU", false, false}, {"SIM", true, true}, {"SIM", true, true}}};
};

TEST_F(CostModelTest, AProductCostsAsManyOperationsAsItHas) {
  const Node* const product = Added("MatMul", {Matrix(8, 16), Matrix(16, 4)});
  EXPECT_EQ(WorkOf(product).operations, 2 * 8 * 16 * 4);
}

TEST_F(CostModelTest, AnOpThatDeclaresSoCostsNothing) {
  EXPECT_TRUE(WorkOf(Added("TestNames", {Matrix(8, 16)})).is_nothing());
  EXPECT_GE(WorkOf(Added("TestMoves", {Matrix(8, 16)})).bytes, 2 * 8 * 16 * 4);
}

TEST_F(CostModelTest, MoreToDoIsEstimatedToTakeLonger) {
  const Node* const small = Added("MatMul", {Matrix(64, 64), Matrix(64, 64)});
  const Node* const large = Added("MatMul", {Matrix(256, 256), Matrix(256, 256)});
  const Node* const few = Added("Neg", {Matrix(10, 10)});
  const Node* const many = Added("Neg", {Matrix(1000, 1000)});
  for (const int device : {kHost, kFirst}) {
    EXPECT_LT(TimeOf(small, device), TimeOf(large, device));
    EXPECT_LT(TimeOf(few, device), TimeOf(many, device));
    EXPECT_GT(TimeOf(few, device), 0);
  }
}

TEST_F(CostModelTest, WhatOnlyNamesMemoryCostsNothing) {
  EXPECT_TRUE(WorkOf(Added("Identity", {Matrix(10, 10)})).is_nothing());
  EXPECT_EQ(TimeOf(Added("Identity", {Matrix(10, 10)}), kFirst), 0);
}

TEST_F(CostModelTest, DevicesOfOneTypeAreTakenForEquallyFast) {
  const Node* const node = Added("Neg", {Matrix(100, 100)});
  EXPECT_EQ(TimeOf(node, kFirst), TimeOf(node, kSecond));
  EXPECT_LT(TimeOf(node, kFirst), TimeOf(node, kHost));
}

TEST_F(CostModelTest, WhatWasMeasuredGoesBeforeTheEstimate) {
  const Node* const node = Added("Neg", {Matrix(100, 100)});
  EXPECT_FALSE(model.IsMeasured(node, kFirst));
  Measure(node, kFirst, 7e6);
  EXPECT_TRUE(model.IsMeasured(node, kFirst));
  EXPECT_EQ(TimeOf(node, kFirst), 7e6);
}

TEST_F(CostModelTest, OneStepThatWasHeldUpDoesNotCount) {
  const Node* const node = Added("Neg", {Matrix(100, 100)});
  for (const double time : {5e6, 5e6, 900e6, 6e6, 5e6}) Measure(node, kFirst, time);
  EXPECT_EQ(TimeOf(node, kFirst), 5e6);
}

TEST_F(CostModelTest, OldTimesAreForgotten) {
  const Node* const node = Added("Neg", {Matrix(100, 100)});
  for (int i = 0; i < 5; ++i) Measure(node, kFirst, 1e6);
  for (int i = 0; i < 5; ++i) Measure(node, kFirst, 3e6);
  EXPECT_EQ(TimeOf(node, kFirst), 3e6);
}

TEST_F(CostModelTest, ADeviceThatIsSlowOnOneNodeIsTakenForSlowOnAnother) {
  const Node* const both = Added("Neg", {Matrix(100, 100)});
  const Node* const one = Added("Neg", {Matrix(50, 50)});
  const Node* const other_op = Added("Square", {Matrix(50, 50)});
  Measure(both, kFirst, 1e6);
  Measure(both, kSecond, 4e6);
  Measure(one, kFirst, 3e6);
  EXPECT_DOUBLE_EQ(TimeOf(one, kSecond), 12e6);
  Measure(other_op, kFirst, 5e6);
  EXPECT_DOUBLE_EQ(TimeOf(other_op, kSecond), 20e6);
}

TEST_F(CostModelTest, ANodeThatWasNeverMeasuredTakesWhatTheDeviceTakesForOthers) {
  const Node* const measured = Added("Neg", {Matrix(100, 100)});
  const Node* const alike = Added("Neg", {Matrix(100, 100)});
  const Node* const other_op = Added("Abs", {Matrix(100, 100)});
  Measure(measured, kFirst, 3e6);
  Measure(measured, kSecond, 9e6);
  for (const Node* node : {alike, other_op}) {
    EXPECT_DOUBLE_EQ(TimeOf(node, kFirst), 3e6);
    EXPECT_DOUBLE_EQ(TimeOf(node, kSecond), 9e6);
  }
}

TEST_F(CostModelTest, ADeviceThatWasNeverMeasuredIsLikeOthersOfItsType) {
  const Node* const node = Added("Neg", {Matrix(100, 100)});
  Measure(node, kFirst, 8e6);
  EXPECT_DOUBLE_EQ(TimeOf(node, kSecond), 8e6);
  EXPECT_GT(TimeOf(node, kHost), 8e6);
}

TEST_F(CostModelTest, ACopyTakesLongerTheLargerItIs) {
  EXPECT_LT(model.Link(kHost, kFirst).Of(10), model.Link(kHost, kFirst).Of(1e6));
  EXPECT_LT(model.Link(kHost, kFirst).Of(1e6), model.Link(kFirst, kSecond).Of(1e6));
  EXPECT_EQ(model.Link(kFirst, kFirst).Of(1e6), 0);
}

TEST_F(CostModelTest, LatencyAndBandwidthAreFittedToCopies) {
  for (int i = 0; i < 3; ++i) {
    for (const int64_t bytes : {1000, 10000, 100000}) {
      model.AddTransferTime(kHost, kFirst, bytes, 500 + 0.25 * static_cast<double>(bytes));
    }
  }
  const LinkCost link = model.Link(kHost, kFirst);
  EXPECT_NEAR(link.latency, 500, 1e-6);
  EXPECT_NEAR(link.per_byte, 0.25, 1e-9);
  EXPECT_NEAR(model.Link(kHost, kSecond).per_byte, 0.25, 1e-9) << "like others of its type";
}

TEST_F(CostModelTest, BetweenTwoDevicesACopyGoesByWayOfTheHost) {
  for (const int64_t bytes : {1000, 100000}) {
    model.AddTransferTime(kFirst, kHost, bytes, 500 + 0.25 * static_cast<double>(bytes));
    model.AddTransferTime(kHost, kSecond, bytes, 300 + 0.5 * static_cast<double>(bytes));
  }
  EXPECT_NEAR(model.Link(kFirst, kSecond).latency, 800, 1e-6);
  EXPECT_NEAR(model.Link(kFirst, kSecond).per_byte, 0.75, 1e-9);
  model.AddTransferTime(kFirst, kSecond, 1000, 7e6);
  EXPECT_NEAR(model.Link(kFirst, kSecond).Of(1000), 7e6, 1) << "it was measured itself";
}

TEST_F(CostModelTest, CopiesOfOneSizeTellNoBandwidth) {
  const double per_byte = model.Link(kHost, kFirst).per_byte;
  model.AddTransferTime(kHost, kFirst, 1000, 1e6);
  model.AddTransferTime(kHost, kFirst, 1001, 3e6);
  EXPECT_EQ(model.Link(kHost, kFirst).per_byte, per_byte);
  EXPECT_NEAR(model.Link(kHost, kFirst).Of(1000.5), 2e6, 1);
}

// Two tasks, each with a CPU and a device with its own memory, and a third one with a CPU.
class CostModelOfTasksTest : public ::testing::Test {
 protected:
  static constexpr int kOtherHost = 2;
  static constexpr int kOtherDevice = 3;
  static constexpr int kThirdHost = 4;
  static constexpr int64_t kLong = int64_t{1} << 20;

  CostModel model{{{"CPU", false, false, 0},
                   {"SIM", true, true, 0},
                   {"CPU", false, false, 1},
                   {"SIM", true, true, 1},
                   {"CPU", false, false, 2}}};
};

TEST_F(CostModelOfTasksTest, AMessageIsEstimatedToCostMoreThanATensorOnOneMachine) {
  EXPECT_TRUE(model.HasSeveralTasks());
  EXPECT_FALSE(model.IsLinkMeasured(kHost, kOtherHost));
  EXPECT_GT(model.Link(kHost, kOtherHost).Of(kLong), model.Link(kHost, kFirst).Of(kLong));
  EXPECT_GT(model.Link(kFirst, kOtherDevice).Of(kLong), model.Link(kHost, kOtherHost).Of(kLong));
}

TEST_F(CostModelOfTasksTest, WhatWasMeasuredCountsForAllDevicesOfTheTwoTasks) {
  model.AddTransferTime(kHost, kOtherHost, 0, 3e6);
  EXPECT_TRUE(model.IsLinkMeasured(kHost, kOtherHost));
  EXPECT_TRUE(model.IsLinkMeasured(kFirst, kOtherDevice));
  EXPECT_FALSE(model.IsLinkMeasured(kOtherHost, kHost));
  EXPECT_EQ(model.Link(kHost, kOtherHost).latency, 3e6);
  EXPECT_EQ(model.Link(kOtherHost, kHost).latency, 3e6) << "as in the other direction";
  EXPECT_EQ(model.Link(kHost, kOtherDevice).latency,
            3e6 + model.Link(kOtherHost, kOtherDevice).latency);
  EXPECT_EQ(model.Link(kOtherHost, kThirdHost).latency, 3e6) << "as between other tasks";
}

TEST_F(CostModelOfTasksTest, MessagesDoNotCountForDevicesOfOneTask) {
  const double latency = model.Link(kHost, kFirst).latency;
  const double of_two_hosts = CostModel({{"CPU"}, {"CPU"}}).Link(0, 1).latency;
  model.AddTransferTime(kHost, kOtherHost, 0, 3e6);
  EXPECT_EQ(model.Link(kHost, kFirst).latency, latency);
  EXPECT_LT(of_two_hosts, model.Link(kHost, kOtherHost).latency);
}

TEST_F(CostModelOfTasksTest, ShortMessagesTellNoBandwidth) {
  const double per_byte = model.Link(kHost, kOtherHost).per_byte;
  model.AddTransferTime(kHost, kOtherHost, 4, 1e5);
  model.AddTransferTime(kHost, kOtherHost, 4000, 2e5);
  EXPECT_EQ(model.Link(kHost, kOtherHost).per_byte, per_byte);
  model.AddTransferTime(kHost, kOtherHost, kLong, 1.5e5 + 2.0 * kLong);
  EXPECT_NEAR(model.Link(kHost, kOtherHost).per_byte, 2, 1e-6);
  EXPECT_NEAR(model.Link(kHost, kOtherHost).latency, 1.5e5, 1);
}

TEST_F(CostModelTest, ManyThreadsMeasureAndAskAtOnce) {
  const Node* const node = Added("Neg", {Matrix(100, 100)});
  const NodeWork work = WorkOf(node);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        model.AddNodeTime(node, work, t % 3, 2e6);
        model.AddTransferTime(kHost, kFirst, 1000 * (i % 50), 1e6);
        EXPECT_EQ(model.NodeTime(node, work, t % 3), 2e6);
        EXPECT_GE(model.Link(kHost, kSecond).latency, 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millstream
