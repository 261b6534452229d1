// The messages of steps, counted.
#include <string>
#include <thread>
#include <vector>

#include "distributed_runtime/testing/cluster_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

// The master is task 0.
class StepExchangeTest : public ClusterTest {
 protected:
  StepExchangeTest() {
    session = Open(0);
    x_ = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  }

  // A variable of task 1.
  Output NewVariable(const std::string& name) {
    const Output handle = Variable(name, DataType::kFloat, PartialShape::Vector(2));
    EXPECT_EQ(Execute({AssignOnOne(handle, x_)}, {Feed{x_, Values<float>({2, 3})}}),
              absl::OkStatus());
    return handle;
  }
  Output ReadOnOne(const Output& handle) {
    build.set_device("/job:worker/task:1");
    const Output read = Read(handle);
    build.set_device("");
    return read;
  }
  const Node* AssignOnOne(const Output& handle, const Output& value) {
    build.set_device("/job:worker/task:1");
    const Node* const assign = Assign(handle, value);
    build.set_device("");
    return assign;
  }

  // The numbers of requests in a run: those that begin parts of a step, those of further rounds,
  // and those for single tensors. The run before has prepared the step.
  std::vector<int> CountRequests(const std::vector<Output>& fetches,
                                 const std::vector<const Node*>& targets = {}) {
    const std::vector<Feed> feeds = {{x_, Values<float>({1, 5})}};
    EXPECT_EQ(Run(fetches, feeds, targets).status(), absl::OkStatus());
    for (const auto& transport : transports_) transport->ForgetCounts();
    EXPECT_EQ(Run(fetches, feeds, targets).status(), absl::OkStatus());
    std::vector<int> counts;
    for (const char* method : {"RunGraph", "ContinueStep", "RecvTensor"}) {
      counts.push_back(transports_[0]->Count(method) + transports_[1]->Count(method));
    }
    return counts;
  }

  Output x_;
};

TEST_F(StepExchangeTest, APullIsOneRequest) {
  const Output y = On(0, "Neg", {ReadOnOne(NewVariable("v"))});
  EXPECT_THAT(CountRequests({y}), ElementsAre(1, 0, 0));
  EXPECT_THAT(Elements<float>(Value(y)), ElementsAre(-2, -3));
}

TEST_F(StepExchangeTest, SeveralTensorsOfATaskAreOneRequest) {
  const Output v = ReadOnOne(NewVariable("v"));
  const Output w = ReadOnOne(NewVariable("w"));
  const Output y = On(0, "Add", {v, w});
  const Output name = On(1, "Identity", {Constant(Tensor::Scalar<std::string>("name"))});
  const Output length = On(0, "StringLength", {name});
  EXPECT_THAT(CountRequests({y, length}), ElementsAre(1, 0, 0));
  EXPECT_THAT(Elements<float>(Value(y)), ElementsAre(4, 6));
  EXPECT_THAT(Elements<int32_t>(Value(length)), ElementsAre(4));
}

TEST_F(StepExchangeTest, APushIsOneRequest) {
  const Output v = NewVariable("v");
  const Node* const push = AssignOnOne(v, On(0, "Neg", {x_}));
  EXPECT_THAT(CountRequests({}, {push}), ElementsAre(1, 0, 0));
  EXPECT_THAT(Elements<float>(Value(ReadOnOne(v))), ElementsAre(-1, -5));
}

TEST_F(StepExchangeTest, APullWithItsPushIsTwoRequests) {
  const Output v = NewVariable("v");
  const Node* const push = AssignOnOne(v, On(0, "Add", {ReadOnOne(v), x_}));
  EXPECT_THAT(CountRequests({}, {push}), ElementsAre(1, 1, 0));
  EXPECT_THAT(Elements<float>(Value(ReadOnOne(v))), ElementsAre(4, 13));
}

TEST_F(StepExchangeTest, TensorsGoBackAndForth) {
  Output y = x_;
  for (int i = 0; i < 3; ++i) y = On(0, "Neg", {On(1, "Square", {y})});
  EXPECT_THAT(CountRequests({y}), ElementsAre(1, 2, 0));
  EXPECT_THAT(Elements<float>(Value(y, {{x_, Values<float>({1, 2})}})), ElementsAre(-1, -256));
}

TEST_F(StepExchangeTest, ATensorDoesNotWaitForWorkThatFollows) {
  const Output square = On(1, "Square", {x_});
  const Output here = On(0, "Neg", {square});
  const Output there = On(1, "Neg", {square});
  EXPECT_THAT(CountRequests({here, there}), ElementsAre(1, 0, 1));
}

TEST_F(StepExchangeTest, TensorsOfAPartThatRunsInNoFixedOrderAreAskedFor) {
  build.set_device("/job:worker/task:1");
  const GraphBuilder::Attrs attrs = {{"component_types", DataTypeList{DataType::kFloat}}};
  const Output queue = Op("FIFOQueueV2", {}, attrs);
  const Node* const put = build.Variadic("QueueEnqueueV2", {{queue}, {x_}});
  build.set_control_inputs({put});
  const Output element = Op("QueueDequeueV2", {queue}, attrs);
  build.set_control_inputs({});
  build.set_device("");
  EXPECT_THAT(CountRequests({On(0, "Neg", {element})}), ElementsAre(1, 0, 1));
}

TEST_F(StepExchangeTest, TensorsThatAreThereComeWithTheOneThatIsAskedFor) {
  build.set_device("/job:worker/task:1");
  const GraphBuilder::Attrs attrs = {{"component_types", DataTypeList{DataType::kFloat}}};
  const Output queue = Op("FIFOQueueV2", {}, attrs);
  const Node* const put = build.Variadic("QueueEnqueueV2", {{queue}, {x_}});
  build.set_control_inputs({put});
  const Output element = Op("QueueDequeueV2", {queue}, attrs);
  build.set_control_inputs({});
  const Output a = Op("Neg", {element});
  const Output b = Op("Square", {element});
  const Output c = Op("Abs", {element});
  build.set_control_inputs({a.node, b.node, c.node});
  const Output last = Op("Exp", {element});
  build.set_device("/job:worker/task:0");
  build.set_control_inputs({Op("Neg", {last}).node});
  const Output sum = Op("Add", {Op("Add", {a, b}), c});
  build.set_control_inputs({});
  build.set_device("");
  EXPECT_THAT(CountRequests({sum}), ElementsAre(1, 0, 1));
  EXPECT_THAT(Elements<float>(Value(sum, {{x_, Values<float>({2, -3})}})), ElementsAre(4, 15));
}

TEST_F(StepExchangeTest, ACancelledStepEndsBetweenItsRounds) {
  const Output first = On(1, "Square", {x_});
  const Output y = On(1, "Neg", {On(0, "Add", {first, FromEmptyQueue(0)})});
  const Node* const pause = build.NodeOf("TestPause", {});
  Cancellation cancellation;
  PausePoint::Close();
  std::thread canceller([&] {
    PausePoint::AwaitStep();
    PausePoint::Open();
    cancellation.Cancel();
  });
  RunOptions options;
  options.cancellation = &cancellation;
  const auto result = Run({y}, {{x_, Values<float>({1, 2})}}, {pause}, options);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled) << result.status();
  canceller.join();
  EXPECT_THAT(CountRequests({On(0, "Neg", {first})}), ElementsAre(1, 0, 0));
}

TEST_F(StepExchangeTest, AStepWhoseTaskIsLostBetweenItsRoundsEnds) {
  const Output first = On(1, "Square", {x_});
  const Node* const pause = build.NodeOf("TestPause", {});
  build.set_control_inputs({pause});
  const Output middle = On(0, "Neg", {first});
  build.set_control_inputs({});
  const Output y = On(1, "Neg", {middle});
  PausePoint::Close();
  std::thread loser([&] {
    PausePoint::AwaitStep();
    transports_[0]->Set(Fault::kRefused);
    PausePoint::Open();
  });
  const auto result = Run({y}, {{x_, Values<float>({1, 2})}});
  loser.join();
  ExpectError(result.status(), absl::StatusCode::kUnavailable, {"/job:worker/replica:0/task:1"});
}

}  // namespace
}  // namespace millstream
