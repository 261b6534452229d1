// Stacks in steps, on both executors: that of plans and, because of a Switch in the step, the
// dynamic one.
#include <string>
#include <vector>

#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr DataType kFloat = DataType::kFloat;

class StacksTest : public SessionTest, public ::testing::WithParamInterface<bool> {
 protected:
  Output Stack(const std::string& name, int32_t max_size = -1, DataType dtype = kFloat) {
    const auto node = TryNode(name, "StackV2", {Constant(Tensor::Scalar<int32_t>(max_size))},
                              {{"elem_type", dtype}});
    EXPECT_TRUE(node.ok()) << node.status();
    return (*node)->output(0);
  }
  Output Push(const Output& stack, const Output& element, const std::vector<Output>& after = {}) {
    return After(after, [&] { return Op("StackPushV2", {stack, element}); });
  }
  Output Pop(const Output& stack, const std::vector<Output>& after = {}) {
    return After(after, [&] { return Op("StackPopV2", {stack}, {{"elem_type", kFloat}}); });
  }
  Output Fed(const std::vector<float>& values) {
    const Output fed = Placeholder(graph.UniqueName("fed", false), kFloat);
    feeds_.push_back({fed, Values<float>(values)});
    return fed;
  }
  StatusOr<std::vector<Tensor>> RunStacks(const std::vector<Output>& fetches,
                                          std::vector<const Node*> targets = {}) {
    if (GetParam()) {
      if (!take_) {
        take_ = Placeholder("take", DataType::kBool, PartialShape::Scalar());
        feeds_.push_back({take_, Tensor::Scalar<bool>(true)});
        switch_ = Op("Switch", {Constant(1), take_}).node;
      }
      targets.push_back(switch_);
    }
    return Run(fetches, feeds_, targets);
  }
  std::vector<std::vector<float>> Floats(const std::vector<Output>& fetches) {
    const auto results = RunStacks(fetches);
    EXPECT_TRUE(results.ok()) << results.status();
    std::vector<std::vector<float>> found;
    if (!results.ok()) return found;
    for (const Tensor& tensor : *results) found.push_back(Elements<float>(tensor));
    return found;
  }
  Status ErrorOf(const Output& fetch) { return RunStacks({fetch}).status(); }

  std::vector<Feed> feeds_;

 private:
  template <typename Make>
  Output After(const std::vector<Output>& after, const Make& make) {
    std::vector<const Node*> controls;
    for (const Output& output : after) controls.push_back(output.node);
    build.set_control_inputs(controls);
    const Output made = make();
    build.set_control_inputs({});
    return made;
  }

  Output take_;
  const Node* switch_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Executors, StacksTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Dynamic" : "Plan"; });

TEST_P(StacksTest, WhatWasPushedLastComesOffFirst) {
  const Output stack = Stack("stack");
  const Output first = Push(stack, Fed({1, 2}));
  const Output second = Push(stack, Fed({3}), {first});
  const Output last = Pop(stack, {second});
  const Output rest = Pop(stack, {last});
  EXPECT_THAT(Floats({first, last, rest}),
              ElementsAre(ElementsAre(1, 2), ElementsAre(3), ElementsAre(1, 2)));
}

TEST_P(StacksTest, AStackLivesForAStep) {
  const Output stack = Stack("stack", 1);
  const Output pushed = Push(stack, Fed({1}));
  for (int step = 0; step < 3; ++step) {
    EXPECT_THAT(Floats({pushed}), ElementsAre(ElementsAre(1)));
  }
  ExpectError(ErrorOf(Pop(stack)), kInvalid, {"Stack[stack] is empty when calling Pop()."});
}

TEST_P(StacksTest, StacksOfTwoNodesAreTwo) {
  const Output one = Push(Stack("one"), Fed({1}));
  const Output other = Stack("other");
  const Output pushed = Push(other, Fed({2}), {one});
  EXPECT_THAT(Floats({Pop(other, {pushed}), one}), ElementsAre(ElementsAre(2), ElementsAre(1)));
}

TEST_P(StacksTest, AFullStackTakesNoMore) {
  const Output stack = Stack("stack", 1);
  const Output first = Push(stack, Fed({1}));
  ExpectError(ErrorOf(Push(stack, Fed({2}), {first})), kInvalid,
              {"Stack[stack] overflowed its max_size (1)", "StackPushV2"});
}

TEST_P(StacksTest, ElementsMustBeOfTheStacksType) {
  ExpectError(ErrorOf(Push(Stack("stack", -1, DataType::kInt32), Fed({1}))), kInvalid,
              {"Stack[stack] has elements of type int32, the op has float32"});
}

TEST_P(StacksTest, AClosedStackIsNotUsed) {
  const Output stack = Stack("stack");
  const Node* const close = build.NodeOf("StackCloseV2", {stack});
  EXPECT_TRUE(RunStacks({}, {close}).ok());
  build.set_control_inputs({close});
  const Output pushed = Op("StackPushV2", {stack, Fed({1})});
  build.set_control_inputs({});
  ExpectError(ErrorOf(pushed), kInvalid, {"Stack[stack] has already been closed."});
}

TEST_P(StacksTest, TheSizeIsKnownBeforeTheStep) {
  const Output size = Placeholder("size", DataType::kInt32, PartialShape::Scalar());
  feeds_.push_back({size, Tensor::Scalar<int32_t>(1)});
  const auto node = TryNode("stack", "StackV2", {size}, {{"elem_type", kFloat}});
  ASSERT_TRUE(node.ok()) << node.status();
  ExpectError(ErrorOf(Push((*node)->output(0), Fed({1}))), absl::StatusCode::kUnimplemented,
              {"argument 'max_size' must be a constant", "stack"});
}

}  // namespace
}  // namespace millstream
