// Nodes of a step on several devices run late where that takes less memory.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/on_device/device_session_fixture.h"
#include "core/session/executable.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int kTensors = 12;
constexpr int64_t kSize = 256;
constexpr size_t kTensorBytes = kSize * kSize * sizeof(float);

class LateReceivesTest : public DeviceSessionTest {
 protected:
  struct Result {
    std::vector<float> values;
    size_t peak = 0;  // of the device
  };

  // On devices of its own, with the optimization or without.
  Result Step(const StepSignature& signature, bool late, const std::vector<Tensor>& feeds = {}) {
    StatusOr<DeviceList> devices = CreateDevices({});
    EXPECT_TRUE(devices.ok()) << devices.status();
    ResourceManager resources;
    ExecutableContext context;
    context.graph = &graph;
    context.SetDevices(*devices);
    context.settings.resources = &resources;
    context.settings.features.late_receives = late;
    Result result;
    {
      const StatusOr<std::unique_ptr<Executable>> step = Executable::Create(&context, signature);
      EXPECT_TRUE(step.ok()) << step.status();
      Tensor value;
      EXPECT_EQ((*step)->Run(feeds, absl::MakeSpan(&value, 1), RunOptions()), absl::OkStatus());
      result.values = Elements<float>(value);
      for (const auto& device : *devices) {
        if (device->memory() == nullptr) continue;
        result.peak = std::max(result.peak, device->memory()->stats().peak_in_use);
      }
    }
    resources.Reset({});
    for (const auto& device : *devices) {
      if (device->memory() != nullptr) device->memory()->Close();
    }
    return result;
  }

  Output Matrix(float scale) {
    std::vector<float> values(kSize * kSize);
    for (size_t i = 0; i < values.size(); ++i) values[i] = scale * static_cast<float>(i % 13) - 6;
    return Constant(Values(values).Reshaped(Shape({kSize, kSize})));
  }
};

// The program first makes all of them on the device, and then uses one after the other.
TEST_F(LateReceivesTest, WhatIsReadLateIsReceivedLate) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape({kSize, kSize}));
  const Output weights = Matrix(0.01f);
  std::vector<Output> products;
  for (int i = 0; i < kTensors; ++i) {
    const Output made = OpOn("CPU:0", "Mul", {x, Constant(static_cast<float>(i))});
    products.push_back(OpOn("SIM:0", "MatMul", {made, weights}));
  }
  Output sum = products[0];
  for (const Output& product : products) sum = OpOn("SIM:0", "MatMul", {sum, product});
  StepSignature signature;
  signature.feeds = {x};
  signature.fetches = {sum};
  const std::vector<float> fed(kSize * kSize, 0.01f);
  const std::vector<Tensor> feeds = {Values(fed).Reshaped(Shape({kSize, kSize}))};
  const Result without = Step(signature, false, feeds);
  const Result with = Step(signature, true, feeds);
  EXPECT_EQ(with.values, without.values);
  EXPECT_GE(without.peak, kTensors * kTensorBytes);
  EXPECT_LE(with.peak, without.peak / 2) << without.peak;
  RecordProperty("peak_with", std::to_string(with.peak));
  RecordProperty("peak_without", std::to_string(without.peak));
}

// No edge says that a read comes before the change behind it: the program's order does.
TEST_F(LateReceivesTest, WhatUsesStateStaysInOrder) {
  const Output w = On("SIM:0", [&] {
    return Variable("w", DataType::kFloat, PartialShape({kSize, kSize}));
  });
  const Node* const initialize = Assign(w, Matrix(1));
  std::vector<Output> products;
  std::vector<const Node*> changes;
  for (int i = 0; i < kTensors; ++i) {
    const Output before = On("SIM:0", [&] { return Read(w); });
    changes.push_back(On("SIM:0", [&] {
      return build.NodeOf("AssignAddVariableOp", {w, Matrix(0.5f)});
    }));
    products.push_back(OpOn("SIM:0", "MatMul", {before, Matrix(0.01f)}));
  }
  Output sum = OpOn("CPU:0", "Neg", {products[0]});
  for (const Output& product : products) sum = OpOn("CPU:0", "Add", {sum, product});
  const auto value = [&] {
    EXPECT_EQ(Execute({initialize}), absl::OkStatus());
    const StatusOr<std::vector<Tensor>> values = Run({sum}, {}, changes);
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? Elements<float>((*values)[0]) : std::vector<float>();
  };
  const std::vector<float> late = value();
  SessionOptions as_written;
  as_written.disabled_passes = {"late_receives"};
  StartSession(as_written);
  EXPECT_EQ(value(), late);
}

}  // namespace
}  // namespace millstream
