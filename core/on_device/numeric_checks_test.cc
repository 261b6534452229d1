// Sessions that look for NaN and infinities find them in the memory of devices, too.
#include "core/numerics/numeric_checks.h"

#include <limits>
#include <string>
#include <vector>

#include "core/on_device/device_session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

SessionOptions Checking() {
  SessionOptions options;
  options.check_numerics = true;
  options.check_numerics_folder = ::testing::TempDir();
  return options;
}

class NumericChecksTest : public DeviceSessionTest {
 protected:
  NumericChecksTest() : DeviceSessionTest({{"delay_us", 300}}, Checking()) {}

  Output VariableOn(const std::string& device, const std::string& name, const Tensor& initial) {
    const Output handle =
        On(device, [&] { return Variable(name, initial.dtype(), PartialShape(initial.shape())); });
    EXPECT_EQ(Execute({Assign(handle, Constant(initial))}), absl::OkStatus());
    return handle;
  }
};

TEST_F(NumericChecksTest, TheNodeIsNamedWithTheRangesOfItsInputs) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(3));
  const Output doubled = OpOn("SIM:0", "Add", {x, x});
  const Output logarithm = NodeOn("SIM:0", "logarithm", "Log", {doubled});
  const Output y = OpOn("SIM:0", "Neg", {OpOn("SIM:0", "Exp", {logarithm})});
  EXPECT_EQ(Run({y}, {{x, Values<float>({1, 2, 3})}}).status(), absl::OkStatus());
  ExpectError(Error(y, {{x, Values<float>({2, 0, 0})}}), absl::StatusCode::kInvalidArgument,
              {"the first numbers of the step that are not finite, in output 0: 1.38629 to 1.38629"
               ", 2 infinities of 3",
               "node 'logarithm' (op Log)", "ranges: x 0 to 4", "replay: millstream replay ",
               "device: /job:localhost/replica:0/task:0/device:SIM:0"});
}

TEST_F(NumericChecksTest, InABranchTheNodeIsNamedToo) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape({}));
  const Output is_small = OpOn("SIM:0", "Less", {x, Constant(2.0f)});
  const Node* const branch = On("SIM:0", [&] { return build.NodeOf("Switch", {x, is_small}); });
  const Output large = OpOn("SIM:0", "Neg", {branch->output(0)});
  const Output small = OpOn("SIM:0", "Log", {branch->output(1)});
  const Output either = On("SIM:0", [&] {
    return build.Variadic("Merge", {{large, small}})->output(0);
  });
  EXPECT_THAT(Elements<float>(Value(either, {{x, Tensor::Scalar<float>(1)}})), ElementsAre(0));
  EXPECT_THAT(Elements<float>(Value(either, {{x, Tensor::Scalar<float>(3)}})), ElementsAre(-3));
  ExpectError(Error(either, {{x, Tensor::Scalar<float>(-1)}}), absl::StatusCode::kInvalidArgument,
              {"in output 0: 1 NaN of 1", "(op Log)", "-1 to -1"});
}

TEST_F(NumericChecksTest, AnUpdateThatSpoilsAVariableIsNamed) {
  const Output w = VariableOn("SIM:0", "w", Values<float>({3e38f, 1}));
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Node* const add = On("SIM:0", [&] { return build.NodeOf("AssignAddVariableOp", {w, x}); });
  EXPECT_EQ(Execute({add}, {{x, Values<float>({1, 1})}}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(
                  OpOn("SIM:0", "ReadVariableOp", {w}, {{"dtype", AttrValue(DataType::kFloat)}}))),
              ElementsAre(3e38f, 2));
  ExpectError(Execute({add}, {{x, Values<float>({3e38f, 1})}}), absl::StatusCode::kInvalidArgument,
              {"in the variable w: 3 to 3, 1 infinity of 2", "(op AssignAddVariableOp)",
               "ranges: resource 2 to 3e+38; value 1 to 3e+38", "replay: millstream replay "});
}

TEST_F(NumericChecksTest, WhatComesInWithTheInputsIsNoFaultOfTheNode) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output y = OpOn("SIM:0", "Mul", {x, Constant(2.0f)});
  const Output moved = OpOn("SIM:1", "Add", {y, y});
  EXPECT_THAT(Elements<float>(Value(moved, {{x, Values<float>({1, infinity})}})),
              ElementsAre(4, infinity));
}

// The wait for a value ends with the step.
TEST_F(NumericChecksTest, AStepThatIsToStopDoesNotWaitForTheDevice) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(1));
  const Output y = OpOn("SIM:2", "Exp", {x});
  Set(2, "hang_work", 1);
  RunOptions options;
  options.timeout_ms = 50;
  const Status status = RunUntilItHangs(2, [&] {
    return Run({y}, {{x, Values<float>({1})}}, {}, options).status();
  });
  Set(2, "hang_work", 0);
  ExpectError(status, absl::StatusCode::kDeadlineExceeded, {});
}

}  // namespace
}  // namespace millstream
