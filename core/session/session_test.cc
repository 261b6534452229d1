// What a session gives its callers, feed by feed and fetch by fetch. Bad input is in
// session_errors_test.cc, what happens on several threads in session_threads_test.cc.
#include "core/session/session.h"

#include <vector>

#include "core/testing/session_fixture.h"
#include "framework/allocator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST_F(SessionTest, ListsItsDevice) {
  StartSession();
  const std::vector<DeviceInfo> devices = session->ListDevices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(devices[0].type, "CPU");
}

TEST_F(SessionTest, FetchesAConstant) {
  EXPECT_THAT(Elements<float>(Value(Constant(Values<float>({1, 2})))), ElementsAre(1, 2));
}

TEST_F(SessionTest, FeedsAPlaceholder) {
  const Output x = Placeholder("x", DataType::kFloat, {-1});
  const Output y = Op("Neg", {x});
  EXPECT_THAT(Elements<float>(Value(y, {{x, Values<float>({1, 2})}})), ElementsAre(-1, -2));
  EXPECT_THAT(Elements<float>(Value(y, {{x, Values<float>({3})}})), ElementsAre(-3));
}

TEST_F(SessionTest, FeedsAndFetchesAnyTensor) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output middle = Op("Neg", {x});
  const Output end = Op("Square", {middle});
  const auto results = Run({middle, end}, {{middle, Values<float>({3})}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Elements<float>((*results)[0]), ElementsAre(3));
  EXPECT_THAT(Elements<float>((*results)[1]), ElementsAre(9));
}

TEST_F(SessionTest, AFedPlaceholderMayOrderOthers) {
  const Output x = Placeholder("x", DataType::kFloat);
  build.set_control_inputs({x.node});
  const Output y = Op("Square", {Constant(3.0f)});
  build.set_control_inputs({});
  EXPECT_THAT(Elements<float>(Value(y, {{x, Values<float>({1})}})), ElementsAre(9));
}

TEST_F(SessionTest, FeedsReplaceConstantsAndVariables) {
  const Output two = Constant(2.0f);
  const Output w = Read(Variable("w", DataType::kFloat, PartialShape::Scalar()));
  const Output product = Op("Mul", {two, w});
  const std::vector<Feed> feeds = {{two, Tensor::Scalar<float>(3)}, {w, Tensor::Scalar<float>(5)}};
  EXPECT_THAT(Elements<float>(Value(product, feeds)), ElementsAre(15));
}

TEST_F(SessionTest, AFedShapeTakesPartInShapeArithmetic) {
  const Output shape = Constant(Values<int32_t>({2, 3}));
  const Output filled = Op("Fill", {shape, Constant(1.0f)});
  EXPECT_EQ(Value(filled).shape(), Shape({2, 3}));
  EXPECT_EQ(Value(filled, {{shape, Values<int32_t>({4, 1})}}).shape(), Shape({4, 1}));
}

TEST_F(SessionTest, FeedsThePlaceholderWithDefaultOrTakesItsDefault) {
  const Output x = Op("PlaceholderWithDefault", {Constant(Values<float>({1, 2}))},
                      {{"shape", PartialShape({-1})}});
  const Output y = Op("Neg", {x});
  EXPECT_THAT(Elements<float>(Value(y)), ElementsAre(-1, -2));
  EXPECT_THAT(Elements<float>(Value(y, {{x, Values<float>({7})}})), ElementsAre(-7));
}

TEST_F(SessionTest, GivesTheSameTensorTwiceInMemoryOfItsOwn) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output y = Op("Neg", {x});
  const auto results = Run({y, x, y, x}, {{x, Values<float>({1, 2})}});
  ASSERT_TRUE(results.ok()) << results.status();
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(Elements<float>((*results)[i]),
                i % 2 == 0 ? ElementsAre(-1, -2) : ElementsAre(1, 2));
    for (size_t k = 0; k < i; ++k) EXPECT_NE((*results)[i].raw(), (*results)[k].raw());
  }
}

TEST_F(SessionTest, AFedTensorIsNeitherWrittenNorGivenBack) {
  const Output x = Placeholder("x", DataType::kFloat, {3});
  // All of these may work in place on memory that is the runtime's.
  const Output y = Op("Square", {Op("Neg", {Op("Identity", {x})})});
  const Tensor fed = Values<float>({1, 2, 3});
  const auto results = Run({y, x}, {{x, fed}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Elements<float>(fed), ElementsAre(1, 2, 3));
  EXPECT_NE((*results)[1].raw(), fed.raw());
}

TEST_F(SessionTest, AFetchedConstantIsTheCallersToWrite) {
  const Output c = Constant(Values<float>({1, 2}));
  const Tensor first = Value(c);
  first.data<float>()[0] = 100;
  EXPECT_THAT(Elements<float>(Value(c)), ElementsAre(1, 2));
}

TEST_F(SessionTest, AFetchedResultOutlivesLaterSteps) {
  const Output x = Placeholder("x", DataType::kFloat, {2});
  const Output y = Op("Neg", {x});
  std::vector<Tensor> kept;
  for (int i = 0; i < 5; ++i) {
    const float value = static_cast<float>(i);
    kept.push_back(Value(y, {{x, Values<float>({value, value})}}));
  }
  for (int i = 0; i < 5; ++i) EXPECT_THAT(Elements<float>(kept[i]), Each(-static_cast<float>(i)));
}

TEST_F(SessionTest, AFetchedVariableDoesNotChangeLater) {
  const Output w = Variable("w", DataType::kFloat, {2});
  const Output value = Read(w);
  const Node* one = Assign(w, Constant(Values<float>({1, 1})));
  const Node* two = Assign(w, Constant(Values<float>({2, 2})));
  ASSERT_EQ(Execute({one}), absl::OkStatus());
  const Tensor before = Value(value);
  ASSERT_EQ(Execute({two}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(before), ElementsAre(1, 1));
  before.data<float>()[0] = 50;
  EXPECT_THAT(Elements<float>(Value(value)), ElementsAre(2, 2));
}

TEST_F(SessionTest, ControlInputsOrderReadsAndWrites) {
  const Output w = Variable("w", DataType::kFloat, PartialShape::Scalar());
  ASSERT_EQ(Execute({Assign(w, Constant(1.0f))}), absl::OkStatus());
  const Output before = Read(w);
  const Node* write = Assign(w, Op("Add", {before, Constant(10.0f)}), {before.node});
  const Output after = Read(w, {write});
  const auto results = Run({after, before});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Elements<float>((*results)[0]), ElementsAre(11));
  EXPECT_THAT(Elements<float>((*results)[1]), ElementsAre(1));
}

TEST_F(SessionTest, VariablesLiveFromStepToStepAndInOneSession) {
  const Output w = Variable("w", DataType::kFloat, PartialShape::Scalar());
  const Output value = Read(w);
  const Node* add = build.NodeOf("AssignAddVariableOp", {w, Constant(1.0f)});
  ASSERT_EQ(Execute({Assign(w, Constant(0.0f))}), absl::OkStatus());
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Execute({add}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(value)), ElementsAre(3));
  StartSession();
  EXPECT_EQ(Error(value).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SessionTest, TheGraphMayGrowBetweenSteps) {
  const Output x = Constant(2.0f);
  const Output y = Op("Square", {x});
  EXPECT_THAT(Elements<float>(Value(y)), ElementsAre(4));
  EXPECT_THAT(Elements<float>(Value(Op("Neg", {y}))), ElementsAre(-4));
}

TEST_F(SessionTest, RandomNodesGoOnWhereTheLastStepStopped) {
  const Output random = Op("RandomUniform", {Constant(Values<int32_t>({4}))},
                           {{"dtype", DataType::kFloat}, {"seed", 3}, {"seed2", 5}});
  const Tensor first = Value(random);
  const Tensor second = Value(random);
  EXPECT_FALSE(TensorsEqual(first, second));
  StartSession();
  EXPECT_TRUE(TensorsEqual(Value(random), first));
  // Another executable of the same session goes on with the same stream.
  const Output shifted = Op("Identity", {random});
  EXPECT_TRUE(TensorsEqual(Value(shifted), second));
}

TEST_F(SessionTest, ACallableRunsItsSignature) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output y = Op("Neg", {x});
  const std::unique_ptr<Callable> callable = MakeCallable({{x}, {y, y}, {}});
  const std::vector<Tensor> feeds = {Values<float>({1, 2})};
  std::vector<Tensor> results(2);
  ASSERT_EQ(callable->Run(feeds, absl::MakeSpan(results), RunOptions()), absl::OkStatus());
  EXPECT_THAT(Elements<float>(results[0]), ElementsAre(-1, -2));
  EXPECT_THAT(Elements<float>(results[1]), ElementsAre(-1, -2));
}

TEST_F(SessionTest, StringsPassThrough) {
  const Output s = Placeholder("s", DataType::kString);
  const Output same = Op("Identity", {s});
  const Tensor fed = Values<std::string>({"one", "a string that is too long to stand inside"});
  EXPECT_THAT(Elements<std::string>(Value(same, {{s, fed}})),
              ElementsAre("one", "a string that is too long to stand inside"));
}

TEST_F(SessionTest, EmptyTensorsPassThrough) {
  const Output x = Placeholder("x", DataType::kFloat, {-1, 3});
  const Tensor empty = Tensor::Create(DataType::kFloat, {0, 3}).value();
  EXPECT_EQ(Value(Op("Neg", {x}), {{x, empty}}).shape(), Shape({0, 3}));
}

TEST_F(SessionTest, ClosingFreesTheVariablesAndRefusesSteps) {
  const Output w = Variable("w", DataType::kFloat, {1 << 20});
  const Output big = Op("Fill", {Constant(Values<int32_t>({1 << 20})), Constant(1.0f)});
  ASSERT_EQ(Execute({Assign(w, big)}), absl::OkStatus());
  const int64_t before = HostAllocator()->stats().bytes_in_use;
  ASSERT_EQ(session->Close(), absl::OkStatus());
  EXPECT_LE(HostAllocator()->stats().bytes_in_use, before - (4 << 20));
  ExpectError(Run({Read(w)}).status(), absl::StatusCode::kFailedPrecondition, {"closed"});
  EXPECT_EQ(session->Close(), absl::OkStatus());
}

TEST_F(SessionTest, StepsOfManyShapesKeepLittleMemory) {
  const Output x = Placeholder("x", DataType::kFloat, {-1});
  const Output sum = Op("Sum", {Op("Square", {Op("Neg", {x})}), Constant(Values<int32_t>({0}))});
  const int64_t before = HostAllocator()->stats().bytes_in_use;
  constexpr int64_t kElements = 4 << 20;
  for (int i = 0; i < 30; ++i) {
    Value(sum, {{x, Tensor::Create(DataType::kFloat, {kElements + i}).value()}});
  }
  EXPECT_LE(HostAllocator()->stats().bytes_in_use - before, 4 * 2 * 4 * kElements + (80 << 20));
}

TEST_F(SessionTest, ClosingFreesWhatCallablesKeep) {
  const Output x = Placeholder("x", DataType::kFloat, {1 << 20});
  const Output sum = Op("Sum", {Op("Neg", {x}), Constant(Values<int32_t>({0}))});
  StartSession();
  StepSignature signature;
  signature.feeds = {x};
  signature.fetches = {sum};
  const std::unique_ptr<Callable> callable = MakeCallable(signature);
  const Tensor fed = Tensor::Create(DataType::kFloat, {1 << 20}).value();
  Tensor fetched;
  ASSERT_EQ(callable->Run({fed}, absl::MakeSpan(&fetched, 1), RunOptions()), absl::OkStatus());
  const int64_t before = HostAllocator()->stats().bytes_in_use;
  ASSERT_EQ(session->Close(), absl::OkStatus());
  EXPECT_LE(HostAllocator()->stats().bytes_in_use, before - (4 << 20));
}

TEST_F(SessionTest, SoftPlacementMovesNodesThatAskForAnotherDevice) {
  const Output x = Constant(2.0f);
  build.set_device("/gpu:0");
  const Output y = Op("Square", {x});
  build.set_device("");
  ExpectError(Error(y), absl::StatusCode::kInvalidArgument,
              {y.node->name(), "Cannot assign a device", "/gpu:0", "CPU:0"});
  SessionOptions options;
  options.allow_soft_placement = true;
  StartSession(options);
  EXPECT_THAT(Elements<float>(Value(y)), ElementsAre(4));
}

}  // namespace
}  // namespace millstream
