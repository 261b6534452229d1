// Queues between the steps of a session.
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "framework/held_time_limits_for_tests.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
constexpr auto kCancelled = absl::StatusCode::kCancelled;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kLate = absl::StatusCode::kDeadlineExceeded;
constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;

// A queue of float scalars, unless a test says otherwise.
struct QueueSettings {
  int64_t capacity = -1;
  std::vector<DataType> types = {DataType::kFloat};
  std::vector<PartialShape> shapes = {PartialShape::Scalar()};
  std::string shared_name;
  std::string op = "FIFOQueueV2";
};

// A step on a thread of its own.
class BackgroundStep {
 public:
  template <typename Function>
  explicit BackgroundStep(Function run) : thread_([this, run] { result_ = run(); }) {}
  StatusOr<std::vector<Tensor>> Result() {
    thread_.join();
    return result_;
  }

 private:
  StatusOr<std::vector<Tensor>> result_ = absl::UnknownError("has not run");
  std::thread thread_;
};

class QueuesTest : public SessionTest {
 protected:
  Output Queue(const std::string& name, const QueueSettings& settings = QueueSettings()) {
    const auto node = TryNode(name, settings.op, {},
                              {{"component_types", settings.types},
                               {"shapes", settings.shapes},
                               {"capacity", settings.capacity},
                               {"shared_name", settings.shared_name}});
    EXPECT_TRUE(node.ok()) << node.status();
    return (*node)->output(0);
  }
  const Node* Added(const Node* node) {
    EXPECT_TRUE(build.ok()) << build.status();
    return node;
  }
  const Node* Enqueue(const Output& queue, const std::vector<Output>& components) {
    return Added(build.Variadic("QueueEnqueueV2", {{queue}, components}));
  }
  const Node* EnqueueMany(const Output& queue, const std::vector<Output>& components) {
    return Added(build.Variadic("QueueEnqueueManyV2", {{queue}, components}));
  }
  Output Dequeue(const Output& queue, DataType dtype = DataType::kFloat) {
    return Op("QueueDequeueV2", {queue}, {{"component_types", std::vector<DataType>{dtype}}});
  }
  Output DequeueMany(const Output& queue, int32_t n, const std::string& op = "QueueDequeueManyV2") {
    return Op(op, {queue, build.Int32(n)},
              {{"component_types", std::vector<DataType>{DataType::kFloat}}});
  }
  const Node* Close(const Output& queue, bool cancel = false) {
    return Added(build.NodeOf("QueueCloseV2", {queue}, {{"cancel_pending_enqueues", cancel}}));
  }
  int Size(const Output& queue) { return *Value(Op("QueueSizeV2", {queue})).data<int32_t>(); }
  std::vector<float> Get(const Output& fetch) { return Elements<float>(Value(fetch)); }
  Output Floats(const std::vector<float>& values) { return Constant(Values<float>(values)); }
  // The error of a step whose time is over once the fetches and targets, which wait for nothing
  // else, have begun: nodes begin in the order in which they can.
  Status Late(const std::vector<Output>& fetches, const std::vector<const Node*>& targets = {}) {
    HeldTimeLimits held;
    const Output later = AddBody(&build, BodyKind::kPlain, {Constant(1.0f)},
                                 [](MS_Frame* frame) { return GiveScalar(frame, 1); });
    const Output release = AddBody(&build, BodyKind::kPlain, {later}, [&held](MS_Frame* frame) {
      held.Release();
      return GiveScalar(frame, 1);
    });
    std::vector<const Node*> all = targets;
    all.push_back(release.node);
    RunOptions options;
    options.timeout_ms = 20;
    return Run(fetches, {}, all, options).status();
  }
  // Waits until a step that was begun has taken all that the queue has: then it waits for more.
  void AwaitEmpty(const Output& queue) {
    const Output size = Op("QueueSizeV2", {queue});
    EXPECT_TRUE(Eventually([&] { return *Value(size).data<int32_t>() == 0; }));
  }
};

TEST_F(QueuesTest, ElementsGoFromStepToStep) {
  const Output queue = Queue("q");
  EXPECT_EQ(Execute({EnqueueMany(queue, {Floats({1, 2, 3})})}), absl::OkStatus());
  EXPECT_EQ(Execute({Enqueue(queue, {Constant(4.0f)})}), absl::OkStatus());
  EXPECT_EQ(Size(queue), 4);
  EXPECT_THAT(Get(Dequeue(queue)), ElementsAre(1));
  EXPECT_THAT(Get(DequeueMany(queue, 3)), ElementsAre(2, 3, 4));
  EXPECT_EQ(Size(queue), 0);
}

TEST_F(QueuesTest, AnElementIsATuple) {
  QueueSettings settings;
  settings.types = {DataType::kFloat, DataType::kString};
  settings.shapes = {PartialShape({2}), PartialShape::Scalar()};
  const Output queue = Queue("q", settings);
  const Output rows = Constant(Tensor::FromValues<float>(Shape({2, 2}), {1, 2, 3, 4}));
  const Output texts = Constant(Values<std::string>({"one", std::string(100, 'x')}));
  EXPECT_EQ(Execute({EnqueueMany(queue, {rows, texts})}), absl::OkStatus());
  const Node* const one =
      Added(build.NodeOf("QueueDequeueV2", {queue}, {{"component_types", settings.types}}));
  const auto first = Run({one->output(0), one->output(1)});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Elements<float>((*first)[0]), ElementsAre(1, 2));
  EXPECT_THAT(Elements<std::string>((*first)[1]), ElementsAre("one"));
  const Node* const many = Added(build.NodeOf("QueueDequeueManyV2", {queue, build.Int32(1)},
                                              {{"component_types", settings.types}}));
  const auto second = Run({many->output(0), many->output(1)});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)[0].shape(), Shape({1, 2}));
  EXPECT_THAT(Elements<float>((*second)[0]), ElementsAre(3, 4));
  EXPECT_THAT(Elements<std::string>((*second)[1]), ElementsAre(std::string(100, 'x')));
}

// What the caller feeds is the caller's again when the step is over.
TEST_F(QueuesTest, KeepsFedValues) {
  const Output queue = Queue("q");
  const Output x = Placeholder("x", DataType::kFloat);
  Tensor fed = Tensor::Scalar(1.0f);
  EXPECT_EQ(Execute({Enqueue(queue, {x})}, {{x, fed}}), absl::OkStatus());
  *fed.data<float>() = 2;
  EXPECT_THAT(Get(Dequeue(queue)), ElementsAre(1));
}

TEST_F(QueuesTest, NodesWithOneSharedNameShareTheQueue) {
  QueueSettings settings;
  settings.shared_name = "shared";
  const Output first = Queue("a", settings);
  const Output second = Queue("b", settings);
  EXPECT_EQ(Execute({Enqueue(first, {Constant(1.0f)})}), absl::OkStatus());
  EXPECT_THAT(Get(Dequeue(second)), ElementsAre(1));
  settings.capacity = 3;
  const Output other = Queue("c", settings);
  ExpectError(Error(Dequeue(other)), kInvalid,
              {"Shared queue 'shared' has capacity -1 but requested capacity was 3", "node 'c'"});
}

TEST_F(QueuesTest, QueuesOfOneNameAreOfOneKind) {
  QueueSettings settings;
  settings.shared_name = "shared";
  EXPECT_EQ(Execute({Enqueue(Queue("a", settings), {Constant(1.0f)})}), absl::OkStatus());
  settings.op = "RandomShuffleQueueV2";
  ExpectError(Error(Dequeue(Queue("b", settings))), kInvalid,
              {"has type 'FIFOQueue' but requested type was 'RandomShuffleQueue'"});
  settings = QueueSettings();
  settings.shared_name = "shared";
  settings.types = {DataType::kInt32};
  ExpectError(Error(Dequeue(Queue("c", settings), DataType::kInt32)), kInvalid,
              {"Shared queue 'shared' has component types float32 but requested component types "
               "were int32"});
  settings.types = {DataType::kFloat};
  settings.shapes = {PartialShape({2})};
  ExpectError(Error(Dequeue(Queue("d", settings))), kInvalid,
              {"has component shapes [[]] but requested component shapes were [[2]]"});
}

TEST_F(QueuesTest, APriorityQueueGivesTheSmallestFirst) {
  QueueSettings settings;
  settings.op = "PriorityQueueV2";
  const Output queue = Queue("q", settings);
  const Output priorities = Constant(Values<int64_t>({5, 1, 3}));
  EXPECT_EQ(Execute({EnqueueMany(queue, {priorities, Floats({50, 10, 30})})}), absl::OkStatus());
  const Node* const taken = Added(build.NodeOf(
      "QueueDequeueManyV2", {queue, build.Int32(3)},
      {{"component_types", std::vector<DataType>{DataType::kInt64, DataType::kFloat}}}));
  EXPECT_THAT(Get(taken->output(1)), ElementsAre(10, 30, 50));
  ExpectError(Execute({Enqueue(queue, {Constant(1.0f)})}), kInvalid,
              {"components of types [int64, float32], got [float32]"});
}

TEST_F(QueuesTest, APaddingQueueFillsUpItsBatches) {
  QueueSettings settings;
  settings.op = "PaddingFIFOQueueV2";
  settings.shapes = {PartialShape({-1, -1})};
  const Output queue = Queue("q", settings);
  for (const Shape& shape : {Shape({1, 2}), Shape({2, 1}), Shape({0, 0})}) {
    const std::vector<float> values(static_cast<size_t>(shape.num_elements()), 7);
    const Output element = Constant(Tensor::FromValues<float>(shape, values));
    EXPECT_EQ(Execute({Enqueue(queue, {element})}), absl::OkStatus());
  }
  const Tensor batch = Value(DequeueMany(queue, 3));
  EXPECT_EQ(batch.shape(), Shape({3, 2, 2}));
  EXPECT_THAT(Elements<float>(batch), ElementsAre(7, 7, 0, 0, 7, 0, 7, 0, 0, 0, 0, 0));
  ExpectError(Execute({Enqueue(queue, {Constant(1.0f)})}), kInvalid, {"Expected [?,?], got []"});
  settings.shapes = {PartialShape()};
  ExpectError(Error(Dequeue(Queue("unknown", settings))), kInvalid, {"must have known ranks"});
  settings.shapes = {};
  ExpectError(Error(Dequeue(Queue("none", settings))), kInvalid, {"1 components, got 0"});
}

TEST_F(QueuesTest, PaddingOfStringsIsEmpty) {
  QueueSettings settings;
  settings.op = "PaddingFIFOQueueV2";
  settings.types = {DataType::kString};
  settings.shapes = {PartialShape({-1})};
  const Output queue = Queue("q", settings);
  EXPECT_EQ(Execute({Enqueue(queue, {Constant(Values<std::string>({"a"}))})}), absl::OkStatus());
  EXPECT_EQ(Execute({Enqueue(queue, {Constant(Values<std::string>({"b", "c"}))})}),
            absl::OkStatus());
  const Output taken =
      Op("QueueDequeueManyV2", {queue, build.Int32(2)}, {{"component_types", settings.types}});
  EXPECT_THAT(Elements<std::string>(Value(taken)), ElementsAre("a", "", "b", "c"));
}

TEST_F(QueuesTest, AShufflingQueueLeavesItsMinimum) {
  const auto node = TryNode("q", "RandomShuffleQueueV2", {},
                            {{"component_types", std::vector<DataType>{DataType::kFloat}},
                             {"shapes", std::vector<PartialShape>{PartialShape::Scalar()}},
                             {"min_after_dequeue", 2}});
  ASSERT_TRUE(node.ok()) << node.status();
  const Output queue = (*node)->output(0);
  EXPECT_EQ(Execute({EnqueueMany(queue, {Floats({1, 2, 3, 4})})}), absl::OkStatus());
  std::vector<float> all = Get(DequeueMany(queue, 2));
  ExpectError(Late({Dequeue(queue)}), kLate, {"waits for an element of queue 'q'"});
  EXPECT_EQ(Execute({Close(queue)}), absl::OkStatus());
  for (const float value : Get(DequeueMany(queue, 5, "QueueDequeueUpToV2"))) all.push_back(value);
  EXPECT_THAT(all, UnorderedElementsAre(1, 2, 3, 4));
  ExpectError(Error(DequeueMany(queue, 5, "QueueDequeueUpToV2")), kOutOfRange,
              {"RandomShuffleQueue '", "(requested 5, current size 0)"});
}

TEST_F(QueuesTest, TheMinimumIsBelowTheCapacity) {
  for (const int64_t min : {-1, 3}) {
    const auto node = TryNode(absl::StrCat("q", min + 1), "RandomShuffleQueueV2", {},
                              {{"component_types", std::vector<DataType>{DataType::kFloat}},
                               {"capacity", 3},
                               {"min_after_dequeue", min}});
    ASSERT_TRUE(node.ok()) << node.status();
    ExpectError(
        Error(Dequeue((*node)->output(0))), kInvalid,
        {"'min_after_dequeue' must be >= 0 and below the capacity 3", absl::StrCat("got ", min)});
  }
}

TEST_F(QueuesTest, ADequeueWaitsForAnotherStep) {
  const Output queue = Queue("q");
  const Node* const enqueue = Enqueue(queue, {Constant(3.0f)});
  const Output taken = Op("Neg", {Dequeue(queue)});
  StartSession();
  BackgroundStep consumer([&] { return Run({taken}); });
  EXPECT_EQ(Execute({enqueue}), absl::OkStatus());
  const auto result = consumer.Result();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<float>(result->front()), ElementsAre(-3));
}

TEST_F(QueuesTest, AnEnqueueMayFollowTheDequeueOfItsOwnStep) {
  const Output queue = Queue("q");
  const Output taken = Dequeue(queue);
  const auto result = Run({taken}, {}, {Enqueue(queue, {Constant(5.0f)})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<float>(result->front()), ElementsAre(5));
}

TEST_F(QueuesTest, AClosedAndEmptyQueueIsOutOfRange) {
  const Output queue = Queue("q");
  EXPECT_EQ(Execute({Enqueue(queue, {Constant(1.0f)})}), absl::OkStatus());
  EXPECT_EQ(Execute({Close(queue)}), absl::OkStatus());
  EXPECT_TRUE(*Value(Op("QueueIsClosedV2", {queue})).data<bool>());
  ExpectError(Error(DequeueMany(queue, 2)), kOutOfRange, {"(requested 2, current size 1)"});
  EXPECT_THAT(Get(Dequeue(queue)), ElementsAre(1));
  const Output dequeue = Dequeue(queue);
  ExpectError(Error(dequeue), kOutOfRange,
              {"_q' is closed and has insufficient elements (requested 1, current size 0)",
               absl::StrCat("node '", dequeue.node->name(), "'")});
  ExpectError(Execute({Enqueue(queue, {Constant(1.0f)})}), kCancelled, {"_q' is closed."});
}

TEST_F(QueuesTest, ClosingEndsAStepThatWaits) {
  const Output queue = Queue("q");
  const Output taken = DequeueMany(queue, 3);
  const Node* const close = Close(queue);
  EXPECT_EQ(Execute({EnqueueMany(queue, {Floats({1, 2})})}), absl::OkStatus());
  BackgroundStep consumer([&] { return Run({taken}); });
  AwaitEmpty(queue);
  EXPECT_EQ(Execute({close}), absl::OkStatus());
  ExpectError(consumer.Result().status(), kOutOfRange, {"(requested 3, current size 2)"});
  EXPECT_EQ(Size(queue), 2);
}

TEST_F(QueuesTest, ATimeLimitSaysWhatTheStepWaitsFor) {
  QueueSettings settings;
  settings.capacity = 1;
  const Output queue = Queue("q", settings);
  const Output dequeue = Dequeue(queue);
  ExpectError(
      Late({dequeue}), kLate,
      {absl::StrCat("node '", dequeue.node->name(), "'"), "waits for an element of queue 'q'"});
  ExpectError(Late({DequeueMany(queue, 2)}), kLate, {"waits for more elements of queue 'q'"});
  const Node* const enqueue = Enqueue(queue, {Constant(1.0f)});
  EXPECT_EQ(Execute({enqueue}), absl::OkStatus());
  ExpectError(Late({}, {enqueue}), kLate, {"waits for room in queue 'q'"});
  EXPECT_EQ(Size(queue), 1);
}

TEST_F(QueuesTest, ACancelledDequeueLeavesTheElements) {
  const Output queue = Queue("q");
  EXPECT_EQ(Execute({EnqueueMany(queue, {Floats({1, 2})})}), absl::OkStatus());
  const Output taken = DequeueMany(queue, 3);
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  BackgroundStep consumer([&] { return Run({taken}, {}, {}, options); });
  AwaitEmpty(queue);
  cancellation.Cancel();
  ExpectError(consumer.Result().status(), kCancelled, {"the step was cancelled"});
  EXPECT_THAT(Get(DequeueMany(queue, 2)), ElementsAre(1, 2));
}

TEST_F(QueuesTest, ClosingTheSessionEndsWhatWaits) {
  const Output queue = Queue("q");
  EXPECT_EQ(Execute({Enqueue(queue, {Constant(1.0f)})}), absl::OkStatus());
  const Output taken = DequeueMany(queue, 2);
  BackgroundStep consumer([&] { return Run({taken}); });
  AwaitEmpty(queue);
  EXPECT_EQ(session->Close(), absl::OkStatus());
  ExpectError(
      consumer.Result().status(), kCancelled,
      {"the session was closed while the step ran", "waits for more elements of queue 'q'"});
}

TEST_F(QueuesTest, RefusesWhatDoesNotFit) {
  QueueSettings settings;
  settings.shapes = {PartialShape({2})};
  const Output queue = Queue("q", settings);
  const Output any = Queue("any", {-1, {DataType::kFloat}, {}, ""});
  const Node* const shape = Enqueue(queue, {Constant(1.0f)});
  ExpectError(Execute({shape}), kInvalid,
              {"Shape mismatch in tuple component 0. Expected [2], got []",
               absl::StrCat("node '", shape->name(), "'")});
  ExpectError(Execute({Enqueue(queue, {build.Int32(1)})}), kInvalid, {"[float32]", "got [int32]"});
  ExpectError(Execute({EnqueueMany(any, {Constant(1.0f)})}), kInvalid, {"0th dimension"});
  ExpectError(Error(Dequeue(queue, DataType::kInt32)), kInvalid, {"got [int32]"});
  ExpectError(Error(DequeueMany(queue, -1)), kInvalid, {"DequeueManyOp requested -1 < 0 elements"});
  ExpectError(Error(DequeueMany(queue, -1, "QueueDequeueUpToV2")), kInvalid,
              {"DequeueUpToOp requested -1 < 0 elements"});
  ExpectError(Error(DequeueMany(any, 1)), kInvalid,
              {"require the components to have specified shapes"});
  settings.shapes = {PartialShape({-1})};
  ExpectError(Error(Dequeue(Queue("partial", settings))), kInvalid, {"fully defined", "[?]"});
  settings.shapes = {PartialShape({1}), PartialShape({1})};
  ExpectError(Error(Dequeue(Queue("two", settings))), kInvalid,
              {"'shapes'", "1 components, got 2"});
  const Output variable = Variable("v", DataType::kFloat, PartialShape::Scalar());
  ExpectError(Error(Dequeue(variable)), kInvalid, {"'handle' is no handle of a queue"});
}

TEST_F(QueuesTest, KnowsNoTimeLimitOfItsOwn) {
  const Output dequeue =
      Op("QueueDequeueV2", {Queue("q")},
         {{"component_types", std::vector<DataType>{DataType::kFloat}}, {"timeout_ms", 10}});
  ExpectError(Error(dequeue), kInvalid, {"'timeout_ms' must be -1, got 10"});
}

// Steps of several threads, with queues that are nearly always full or empty.
TEST_F(QueuesTest, ManyStepsAtOnceLoseNothing) {
  constexpr int kThreads = 3;
  constexpr int kSteps = 200;
  QueueSettings settings;
  settings.capacity = 2;
  const Output queue = Queue("q", settings);
  const Node* const enqueue = EnqueueMany(queue, {Floats({1, 2, 3})});
  const Output taken = Op("Sum", {DequeueMany(queue, 3), build.Int32Vector({0})});
  StartSession();
  std::vector<std::thread> threads;
  std::vector<float> sums(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kSteps; ++i) EXPECT_EQ(Run({}, {}, {enqueue}).status(), absl::OkStatus());
    });
    threads.emplace_back([&, t] {
      for (int i = 0; i < kSteps; ++i) {
        const auto sum = Run({taken});
        ASSERT_TRUE(sum.ok()) << sum.status();
        sums[t] += *sum->front().data<float>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums[0] + sums[1] + sums[2], kThreads * kSteps * 6);
  EXPECT_EQ(Size(queue), 0);
}

}  // namespace
}  // namespace millstream
