// When kernels of simulated devices run, and what they ask the host for. What they compute is
// tested by the tests of //kernels.
#include "device_plugins/sim/adapted_kernel.h"

#include <algorithm>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device_plugins/sim/kernel_test_device.h"
#include "device_plugins/sim/launch.h"
#include "gmock/gmock.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::sim {
namespace {

using kernels::testing::AttrValue;
using kernels::testing::BuffersIn;
using kernels::testing::IsOk;
using kernels::testing::RegisteredKernel;
using kernels::testing::RegisteredKernels;
using kernels::testing::TensorValue;
using ::testing::Each;
using ::testing::ElementsAre;

// Input: a scalar in the device's memory. Output: as many ones.
class ShapedByAValue {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const int64_t count = *frame.input(0).data<int64_t>();
    ms::View output;
    MS_TRY(frame.Output(0, {count}, &output));
    std::fill_n(output.data<float>(), count, 1.0F);
    return ms::Status();
  }
};
const ms::Registered shaped = ms::Register<ShapedByAValue>("ShapedByAValue");

// Writes its first output before it asks for the second.
class AsksLate {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View temp;
    MS_TRY(frame.Temp(input.bytes(), &temp));
    std::memcpy(temp.raw(), input.raw(), input.bytes());
    for (uint32_t i = 0; i < 2; ++i) {
      ms::View output;
      MS_TRY(frame.Output(i, input.shape(), &output));
      std::memcpy(output.raw(), temp.raw(), input.bytes());
    }
    return ms::Status();
  }
};
const ms::Registered late = ms::Register<AsksLate>("AsksLate");

// A node with its kernel, and one execution after the other.
class Node {
 public:
  Node(std::string op, std::vector<MS_DType> outputs) {
    info_.op = std::move(op);
    info_.node_name = "n";
    info_.output_dtypes = std::move(outputs);
  }
  ~Node() {
    if (state_ != nullptr) kernel_->on_device->destroy(state_);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Node& Type(const std::string& attr, MS_DType dtype) {
    AttrValue& value = info_.attrs[attr];
    value.kind = MS_ATTR_DTYPE;
    value.dtype = dtype;
    return *this;
  }
  Node& Number(const std::string& attr, int64_t number) {
    AttrValue& value = info_.attrs[attr];
    value.kind = MS_ATTR_I64;
    value.i64 = number;
    return *this;
  }

  Node& Place(const std::string& argument, uint32_t input) {
    info_.input_ranges[argument] = {input, input + 1};
    return *this;
  }

  Node& Input(const TensorValue& value) {
    ctx_.inputs.push_back({value, nullptr});
    return *this;
  }
  Node& Variable(TensorValue* value) {
    ctx_.inputs.push_back({TensorValue::Make(MS_RESOURCE, {}), value});
    return *this;
  }

  // Computes without planned outputs.
  ms::Status Compute() {
    if (state_ == nullptr) MS_TRY(Create());
    const BuffersIn device(SimTestDevice::Get()->memory());
    std::vector<MS_TensorView> inputs;
    for (const MS_Ctx::Input& input : ctx_.inputs) {
      inputs.push_back(input.value.View(input.variable == nullptr ? MS_VIEW_HOST : 0));
    }
    ctx_.output_dtypes = info_.output_dtypes;
    ctx_.outputs.resize(info_.output_dtypes.size());
    std::vector<MS_TensorView> outputs(info_.output_dtypes.size());
    for (MS_TensorView& output : outputs) output.rank = MS_UNKNOWN_RANK;
    const uint64_t used = UINT64_MAX;
    MS_Frame frame{};
    frame.head.size = sizeof(frame);
    frame.ctx = &ctx_;
    frame.inputs = inputs.data();
    frame.outputs = outputs.data();
    frame.outputs_used = &used;
    frame.n_in = static_cast<uint32_t>(inputs.size());
    frame.n_out = static_cast<uint32_t>(outputs.size());
    SimTestDevice::Get()->Prepare(&frame);
    return ms::Status::FromAbi(kernel_->on_device->compute(state_, &frame));
  }

  template <typename T>
  std::vector<T> Output(size_t i) const {
    const T* const data = reinterpret_cast<const T*>(ctx_.outputs[i].buffer->data());
    return std::vector<T>(data, data + ctx_.outputs[i].size());
  }
  const MS_Ctx& ctx() const { return ctx_; }

 private:
  ms::Status Create() {
    for (const MS_Ctx::Input& input : ctx_.inputs) info_.input_dtypes.push_back(input.value.dtype);
    for (const RegisteredKernel& kernel : RegisteredKernels()) {
      bool fits = kernel.op == info_.op && kernel.on_device != nullptr;
      for (const auto& [attr, dtypes] : kernel.constraints) {
        fits = fits &&
               std::find(dtypes.begin(), dtypes.end(), info_.attrs[attr].dtype) != dtypes.end();
      }
      if (!fits) continue;
      kernel_ = &kernel;
      return ms::Status::FromAbi(kernel.on_device->create(kernel.on_device->user, &info_, &state_));
    }
    return ms::Internal("no kernel");
  }

  MS_KernelInfo info_;
  MS_Ctx ctx_;
  const RegisteredKernel* kernel_ = nullptr;
  void* state_ = nullptr;
};

template <typename T>
TensorValue Tensor(std::vector<int64_t> dims, const std::vector<T>& values) {
  TensorValue tensor = TensorValue::Make(ms::DTypeOf<T>(), std::move(dims));
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(tensor.buffer->data()));
  return tensor;
}

template <typename T>
TensorValue OnDevice(std::vector<int64_t> dims, const std::vector<T>& values) {
  const BuffersIn device(SimTestDevice::Get()->memory());
  return Tensor<T>(std::move(dims), values);
}

float First(const TensorValue& tensor) {
  return *reinterpret_cast<const float*>(tensor.buffer->data());
}

void DescribeGather(Node* node) {
  node->Type("Tparams", MS_FLOAT32).Type("Tindices", MS_INT32).Type("Taxis", MS_INT32);
  node->Number("batch_dims", 0);
}

class AdaptedKernelTest : public ::testing::Test {
 protected:
  AdaptedKernelTest() { RegisteredKernels(); }
  ~AdaptedKernelTest() override {
    Open();
    static_cast<void>(stream()->Sync());
  }

  static Stream* stream() { return SimTestDevice::Get()->stream(); }
  static Device* device() { return SimTestDevice::Get()->device(); }

  // What is enqueued from now on waits.
  void Close() {
    gate_ = std::make_unique<std::promise<void>>();
    const std::shared_future<void> opened = gate_->get_future().share();
    ASSERT_TRUE(IsOk(Launch(reinterpret_cast<MS_Stream*>(stream()), [opened] { opened.wait(); })));
  }
  void Open() {
    if (gate_ != nullptr) gate_->set_value();
    gate_ = nullptr;
  }

 private:
  std::unique_ptr<std::promise<void>> gate_;
};

TEST_F(AdaptedKernelTest, ComputeReturnsBeforeTheWorkIsDone) {
  Node add("AddV2", {MS_FLOAT32});
  add.Type("T", MS_FLOAT32);
  add.Input(OnDevice<float>({2}, {1, 2})).Input(OnDevice<float>({2}, {10, 20}));
  Close();
  ASSERT_TRUE(IsOk(add.Compute()));
  EXPECT_THAT(add.Output<float>(0), Each(0)) << "the memory is there, and nothing in it";
  Open();
  ASSERT_TRUE(IsOk(stream()->Sync()));
  EXPECT_THAT(add.Output<float>(0), ElementsAre(11, 22));
}

TEST_F(AdaptedKernelTest, VariablesAreLockedOnlyUntilComputeReturns) {
  TensorValue weight = OnDevice<float>({1}, {1});
  Node step("ResourceApplyGradientDescent", {});
  step.Type("T", MS_FLOAT32).Variable(&weight);
  step.Input(OnDevice<float>({}, {0.5F})).Input(OnDevice<float>({1}, {4}));
  Node add("AssignAddVariableOp", {});
  add.Type("dtype", MS_FLOAT32).Variable(&weight).Input(OnDevice<float>({1}, {100}));
  Close();
  ASSERT_TRUE(IsOk(step.Compute()));
  ASSERT_TRUE(IsOk(add.Compute()));
  ASSERT_TRUE(IsOk(step.Compute()));
  EXPECT_EQ(step.ctx().held_lock_sets + add.ctx().held_lock_sets, 0);
  EXPECT_EQ(First(weight), 1);
  Open();
  ASSERT_TRUE(IsOk(stream()->Sync()));
  EXPECT_EQ(First(weight), 1 - 2 + 100 - 2);
}

TEST_F(AdaptedKernelTest, RandomNumbersAreReservedWhenTheNodeIsComputed) {
  Node random("RandomUniform", {MS_FLOAT32});
  random.Type("dtype", MS_FLOAT32).Type("T", MS_INT32).Number("seed", 1).Number("seed2", 2);
  random.Input(Tensor<int32_t>({1}, {4}));
  Close();
  ASSERT_TRUE(IsOk(random.Compute()));
  const uint64_t after_one = random.ctx().philox_counter[0];
  EXPECT_GT(after_one, 0u);
  ASSERT_TRUE(IsOk(random.Compute()));
  EXPECT_EQ(random.ctx().philox_counter[0], 2 * after_one);
  Open();
  ASSERT_TRUE(IsOk(stream()->Sync()));
  EXPECT_GT(random.Output<float>(0)[0], 0);
}

TEST_F(AdaptedKernelTest, WhatFailsLaterIsSaidOnceAndTheDeviceGoesOn) {
  Node gather("GatherV2", {MS_FLOAT32});
  DescribeGather(&gather);
  const TensorValue indices = OnDevice<int32_t>({1}, {7});
  gather.Input(OnDevice<float>({2}, {1, 2})).Input(indices).Input(Tensor<int32_t>({}, {0}));
  ASSERT_TRUE(IsOk(gather.Compute()));
  const ms::Status status = stream()->Sync();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "node 'n' (op GatherV2) on SIM:0: indices[0] = 7 is not in [0, 2)");
  EXPECT_TRUE(IsOk(stream()->Sync()));
  *reinterpret_cast<int32_t*>(indices.buffer->data()) = 1;
  ASSERT_TRUE(IsOk(gather.Compute()));
  ASSERT_TRUE(IsOk(stream()->Sync()));
  EXPECT_THAT(gather.Output<float>(0), ElementsAre(2));
}

TEST_F(AdaptedKernelTest, ArgumentsMustBeWhereTheKernelHasThem) {
  const TensorValue params = OnDevice<float>({2}, {1, 2});
  const TensorValue indices = OnDevice<int32_t>({1}, {1});
  const TensorValue axis = Tensor<int32_t>({}, {0});
  const auto compute = [](const TensorValue& params, const TensorValue& indices,
                          const TensorValue& axis) {
    Node gather("GatherV2", {MS_FLOAT32});
    DescribeGather(&gather);
    gather.Place("axis", 2).Input(params).Input(indices).Input(axis);
    const ms::Status status = gather.Compute();
    EXPECT_TRUE(IsOk(stream()->Sync()));
    return std::string(status.message());
  };
  EXPECT_EQ(compute(params, indices, axis), "");
  EXPECT_EQ(compute(params, Tensor<int32_t>({1}, {1}), axis),
            "input 1 is no host argument, but does not lie in the device's memory");
  EXPECT_EQ(compute(params, indices, OnDevice<int32_t>({}, {0})),
            "input 2 is a host argument, but lies in the device's memory");
}

TEST_F(AdaptedKernelTest, ShapesThatDoNotFitAreComputesError) {
  Node add("AddV2", {MS_FLOAT32});
  add.Type("T", MS_FLOAT32);
  add.Input(OnDevice<float>({2}, {1, 2})).Input(OnDevice<float>({3}, {1, 2, 3}));
  EXPECT_EQ(add.Compute().code(), MS_INVALID_ARGUMENT);
  EXPECT_TRUE(IsOk(stream()->Sync()));
}

TEST_F(AdaptedKernelTest, OutputsOfShapesThatDependOnValuesAreThereWhenComputeReturns) {
  Node unique("Unique", {MS_FLOAT32, MS_INT32});
  unique.Type("T", MS_FLOAT32).Type("out_idx", MS_INT32);
  const TensorValue x = OnDevice<float>({3}, {0, 0, 0});
  unique.Input(x);
  // The values come from work that was enqueued before.
  ASSERT_TRUE(IsOk(Launch(reinterpret_cast<MS_Stream*>(stream()),
                          [x] { reinterpret_cast<float*>(x.buffer->data())[1] = 5; })));
  ASSERT_TRUE(IsOk(unique.Compute()));
  EXPECT_THAT(unique.Output<float>(0), ElementsAre(0, 5));
  EXPECT_THAT(unique.Output<int32_t>(1), ElementsAre(0, 1, 0));
}

TEST_F(AdaptedKernelTest, AKernelOfSuchAnOpThatIsNotListedFails) {
  Node node("ShapedByAValue", {MS_FLOAT32});
  node.Input(OnDevice<int64_t>({}, {3}));
  ASSERT_TRUE(IsOk(node.Compute()));
  EXPECT_EQ(stream()->Sync().message(),
            "node 'n' (op ShapedByAValue) on SIM:0: output 0 was planned as [0] but the kernel "
            "found [3]");
}

TEST_F(AdaptedKernelTest, AnOutputThatIsAskedForLateIsThereToo) {
  Node node("AsksLate", {MS_FLOAT32, MS_FLOAT32});
  node.Input(OnDevice<float>({2}, {1, 2}));
  Close();
  ASSERT_TRUE(IsOk(node.Compute()));
  EXPECT_THAT(node.Output<float>(0), Each(0));
  Open();
  ASSERT_TRUE(IsOk(stream()->Sync()));
  EXPECT_THAT(node.Output<float>(0), ElementsAre(1, 2));
  EXPECT_THAT(node.Output<float>(1), ElementsAre(1, 2));
}

TEST_F(AdaptedKernelTest, AFaultOfTheDeviceIsComputesErrorAndUnlocks) {
  TensorValue weight = OnDevice<float>({1}, {1});
  Node add("AssignAddVariableOp", {});
  add.Type("dtype", MS_FLOAT32).Variable(&weight).Input(OnDevice<float>({1}, {100}));
  ASSERT_TRUE(IsOk(device()->Set("fail_work", "1")));
  const ms::Status status = add.Compute();
  EXPECT_EQ(status.code(), MS_INTERNAL);
  EXPECT_NE(status.message().find("switch fail_work"), std::string_view::npos);
  EXPECT_EQ(add.ctx().held_lock_sets, 0);
  ASSERT_TRUE(IsOk(add.Compute()));
  ASSERT_TRUE(IsOk(stream()->Sync()));
  EXPECT_EQ(First(weight), 101);
}

TEST_F(AdaptedKernelTest, ADelayChangesNoBit) {
  std::vector<float> expected;
  for (const char* const delay : {"0", "300", "20"}) {
    ASSERT_TRUE(IsOk(device()->Set("delay_us", delay)));
    TensorValue weight = OnDevice<float>({1}, {1});
    const TensorValue gradient = OnDevice<float>({1}, {0.1F});
    Node step("ResourceApplyGradientDescent", {});
    step.Type("T", MS_FLOAT32).Variable(&weight);
    step.Input(OnDevice<float>({}, {0.3F})).Input(gradient);
    Node square("AssignAddVariableOp", {});
    square.Type("dtype", MS_FLOAT32).Variable(&weight).Input(weight);
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(IsOk(step.Compute()));
      ASSERT_TRUE(IsOk(square.Compute()));
    }
    ASSERT_TRUE(IsOk(stream()->Sync()));
    expected.push_back(First(weight));
  }
  EXPECT_THAT(expected, Each(expected[0]));
  EXPECT_NE(expected[0], 1);
}

TEST_F(AdaptedKernelTest, WorkLeavesNothingInTheDevicesMemory) {
  const uint64_t before = device()->memory()->FreeBytes();
  for (int i = 0; i < 20; ++i) {
    Node add("AddV2", {MS_FLOAT32});
    add.Type("T", MS_FLOAT32);
    add.Input(OnDevice<float>({2}, {1, 2})).Input(OnDevice<float>({2}, {10, 20}));
    ASSERT_TRUE(IsOk(add.Compute()));
    ASSERT_TRUE(IsOk(stream()->Sync()));
  }
  EXPECT_EQ(device()->memory()->FreeBytes(), before);
}

TEST_F(AdaptedKernelTest, OnlyKernelsOfStringsAreLeftOut) {
  const std::vector<MS_DType> strings = {MS_STRING};
  for (const RegisteredKernel& kernel : RegisteredKernels()) {
    const auto& constraints = kernel.constraints;
    const bool is_of_strings =
        std::any_of(constraints.begin(), constraints.end(),
                    [&strings](const auto& constraint) { return constraint.second == strings; });
    EXPECT_EQ(kernel.on_device == nullptr, is_of_strings) << kernel.op;
  }
  EXPECT_GT(RegisteredKernels().size(), 200u) << "one or more for each op";
}

}  // namespace
}  // namespace millstream::sim
