// Steps on devices that have their own memory: the same values as on the CPU.
#include <vector>

#include "core/on_device/device_session_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

class StepsTest : public DeviceSessionTest {
 protected:
  StepsTest() : DeviceSessionTest({{"delay_us", 300}}) {}

  Output VariableOn(const std::string& device, const std::string& name, const Tensor& initial) {
    const Output handle =
        On(device, [&] { return Variable(name, initial.dtype(), PartialShape(initial.shape())); });
    EXPECT_EQ(Execute({Assign(handle, Constant(initial))}), absl::OkStatus());
    return handle;
  }
};

TEST_F(StepsTest, WhatIsFedIsComputedWithAndFetched) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(3));
  const Output y = OpOn("SIM:0", "Neg", {x});
  const Output z = OpOn("SIM:0", "Mul", {y, Constant(Values<float>({1, 2, 3}))});
  EXPECT_THAT(Elements<float>(Value(z, {{x, Values<float>({1, 2, 3})}})), ElementsAre(-1, -4, -9));
  EXPECT_THAT(Elements<float>(Value(y, {{x, Values<float>({5, 6, 7})}})), ElementsAre(-5, -6, -7));
}

TEST_F(StepsTest, AVariableIsKeptInTheDevicesMemory) {
  const Output w = VariableOn("SIM:0", "w", Values<float>({1, 2}));
  const Node* const add = On("SIM:0", [&] {
    return build.NodeOf("AssignAddVariableOp", {w, Constant(Values<float>({10, 20}))});
  });
  EXPECT_EQ(Execute({add}), absl::OkStatus());
  EXPECT_EQ(Execute({add}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(Read(w))), ElementsAre(21, 42));
}

// A value comes from the device through pinned memory, which goes with the device.
TEST_F(StepsTest, AVariableOfTheHostHasItsValueInHostMemory) {
  const Output w =
      On("CPU:0", [&] { return Variable("w", DataType::kFloat, PartialShape::Vector(2)); });
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output y = OpOn("SIM:0", "Neg", {x});
  const Node* const assign = On("CPU:0", [&] { return Assign(w, y); });
  const Output value = On("CPU:0", [&] { return Read(w); });
  for (float i = 0; i < 20; ++i) {
    EXPECT_EQ(Execute({assign}, {{x, Values<float>({i, -i})}}), absl::OkStatus());
    EXPECT_THAT(Elements<float>(Value(value)), ElementsAre(-i, i));
    // The thread that ended the step may hold its memory for a moment after the answer.
    EXPECT_TRUE(Eventually([&] { return session->Trim().ok() && UsesOfSims(0).registered == 0; }));
  }
}

TEST_F(StepsTest, AValueThatWasReadStaysAsItWas) {
  const Output w = VariableOn("SIM:0", "w", Values<float>({1, 2}));
  const Output before = On("SIM:0", [&] { return Read(w); });
  const Node* const add = On("SIM:0", [&] {
    build.set_control_inputs({before.node});
    const Node* node = build.NodeOf("AssignAddVariableOp", {w, Constant(Values<float>({1, 1}))});
    build.set_control_inputs({});
    return node;
  });
  const StatusOr<std::vector<Tensor>> values = Run({before}, {}, {add});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(Elements<float>((*values)[0]), ElementsAre(1, 2));
  EXPECT_THAT(Elements<float>(Value(Read(w))), ElementsAre(2, 3));
}

TEST_F(StepsTest, TensorsGoFromDeviceToDeviceAndToTheHost) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output a = OpOn("SIM:0", "Add", {x, Constant(1.0f)});
  const Output b = OpOn("SIM:1", "Mul", {a, Constant(2.0f)});
  const Output c = OpOn("CPU:0", "Add", {b, a});
  const Output d = OpOn("SIM:2", "Mul", {c, b});
  for (float i = 0; i < 20; ++i) {
    const float first = i + 1;
    const float second = 2 * first;
    EXPECT_THAT(
        Elements<float>(Value(d, {{x, Values<float>({i, i})}})),
        ElementsAre(FloatEq((first + second) * second), FloatEq((first + second) * second)));
  }
}

// The axis is computed on the device and wanted by the host.
TEST_F(StepsTest, AHostArgumentMayComeFromTheDevice) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape({2, 2}));
  const Output axis = Placeholder("axis", DataType::kInt32, PartialShape::Vector(1));
  const Output negative = OpOn("SIM:0", "Neg", {axis});
  const Output sum = OpOn("SIM:0", "Sum", {x, negative}, {{"keep_dims", AttrValue(false)}});
  const Tensor square = Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4});
  EXPECT_THAT(Elements<float>(Value(sum, {{x, square}, {axis, Values<int32_t>({1})}})),
              ElementsAre(3, 7));
  EXPECT_THAT(Elements<float>(Value(sum, {{x, square}, {axis, Values<int32_t>({0})}})),
              ElementsAre(4, 6));
}

TEST_F(StepsTest, AKernelOfTheDeviceReadsWhatTheHostComputed) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape({-1, 2}));
  const Output shape = OpOn("SIM:0", "Shape", {x});
  const Output doubled = OpOn("SIM:0", "Add", {shape, shape});
  const Tensor square = Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4});
  EXPECT_THAT(Elements<int32_t>(Value(doubled, {{x, square}})), ElementsAre(4, 4));
}

TEST_F(StepsTest, ABranchOnTheDeviceIsTakenByAValueOfTheDevice) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape({}));
  const Output is_small = OpOn("SIM:0", "Less", {x, Constant(2.0f)});
  const Node* const branch = On("SIM:0", [&] { return build.NodeOf("Switch", {x, is_small}); });
  const Output large = OpOn("SIM:0", "Neg", {branch->output(0)});
  const Output small = OpOn("SIM:0", "Square", {branch->output(1)});
  const Output either = On("SIM:0", [&] {
    return build.Variadic("Merge", {{large, small}})->output(0);
  });
  EXPECT_THAT(Elements<float>(Value(either, {{x, Tensor::Scalar<float>(1.5f)}})),
              ElementsAre(2.25f));
  EXPECT_THAT(Elements<float>(Value(either, {{x, Tensor::Scalar<float>(3)}})), ElementsAre(-3));
}

TEST_F(StepsTest, EmptyTensorsAndScalarsComeThrough) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output y = OpOn("SIM:0", "Neg", {x});
  EXPECT_THAT(Elements<float>(Value(y, {{x, Values<float>({})}})), ElementsAre());
  EXPECT_THAT(Elements<float>(Value(y, {{x, Tensor::Scalar<float>(4)}})), ElementsAre(-4));
}

}  // namespace
}  // namespace millstream
