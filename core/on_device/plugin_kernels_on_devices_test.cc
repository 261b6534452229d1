// What kernels of plugins see of their device, and what they may do with its memory.
#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/on_device/device_session_fixture.h"
#include "framework/op_registry.h"
#include "framework/plugin/dlpack.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/loader.h"
#include "framework/plugin/plugin_entry.hpp"
#include "framework/plugin/plugin_tensor.hpp"
#include "framework/plugin/registrar.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What the kernel on the simulated devices does; set by each test.
std::function<ms::Status(ms::Frame&)> call;
// What Init and Specialize saw, for each node and shape.
std::vector<MS_DeviceContext> seen_by_init;
std::vector<MS_DeviceContext> seen_by_specialize;

struct OnDevice {
  ms::Status Init(const ms::KernelInfo& info) {
    if (info.device() == nullptr) return ms::Internal("Init sees no device");
    seen_by_init.push_back(*info.device());
    return ms::Status();
  }
  ms::Status Specialize(ms::Specialization& shapes) const {
    if (shapes.device() == nullptr) return ms::Internal("Specialize sees no device");
    seen_by_specialize.push_back(*shapes.device());
    return ms::Status();
  }
  ms::Status Compute(ms::Frame& frame) const { return call(frame); }
};

// Takes vectors alone.
struct OfVectors {
  static ms::Status Supports(const ms::SupportsQuery& query) {
    if (query.input(0).rank == 1) return ms::Status();
    return ms::Unimplemented("x must be a vector, the rank is ",
                             static_cast<int32_t>(query.input(0).rank), " in op ",
                             query.info().op());
  }
  ms::Status Compute(ms::Frame& frame) const { return call(frame); }
};

struct OnHost {
  ms::Status Compute(ms::Frame& frame) const { return call(frame); }
};

ms::Status SameShape(ms::ShapeContext& context) { return context.SetOutput(0, context.input(0)); }
ms::Status AnyShape(ms::ShapeContext& context) { return context.SetOutput(0, context.Unknown()); }

const LoadedPlugin& Sim() { return *PluginLoader::Global()->DevicesOf("SIM").at(0).plugin; }

const MS_DeviceApi& SimFunctions(const ms::Frame& frame) {
  return *Sim().devices->fns(static_cast<MS_Device*>(frame.raw()->device_state));
}

ms::Status RegisterAll(MS_Registrar* registrar) {
  const auto define = [registrar](const char* name, ms::ShapeFunction shape) {
    return ms::OpDefinition(name)
        .Input("x: float")
        .Output("y: float")
        .Flags(MS_OP_STATEFUL)
        .Shape(shape)
        .RegisterWith(registrar);
  };
  MS_TRY(define("SimCall", &AnyShape));
  MS_TRY(define("SimShaped", &SameShape));
  MS_TRY(define("SimVectors", &SameShape));
  const auto on_sim = [] { return ms::KernelOptions().Device("SIM"); };
  MS_TRY(ms::KernelEntry::Of<OnDevice>("SimCall", on_sim()).RegisterWith(registrar));
  MS_TRY(ms::KernelEntry::Of<OnDevice>("SimShaped", on_sim()).RegisterWith(registrar));
  MS_TRY(ms::KernelEntry::Of<OnHost>("SimCall", ms::KernelOptions()).RegisterWith(registrar));
  MS_TRY(ms::KernelEntry::Of<OfVectors>("SimVectors", on_sim()).RegisterWith(registrar));
  return ms::KernelEntry::Of<OnHost>("SimVectors", ms::KernelOptions()).RegisterWith(registrar);
}

class PluginKernelsOnDevicesTest : public DeviceSessionTest {
 protected:
  static void SetUpTestSuite() {
    LoadSims();
    ASSERT_TRUE(ms::BindHost(HostBase()).ok());
    // Devices of a plugin that is not open have kernels of that plugin alone.
    MS_Registrar registrar(Sim().name, "sim", Sim().vendor, OpRegistry::Global());
    const ms::Status registered = RegisterAll(&registrar);
    ASSERT_TRUE(registered.ok()) << registered.message();
    ASSERT_TRUE(registrar.skipped.empty()) << registrar.skipped[0];
    ASSERT_TRUE(
        CommitRegistrations(&registrar, OpRegistry::Global(), KernelRegistry::Global(), nullptr)
            .ok());
  }
  PluginKernelsOnDevicesTest() {
    seen_by_init.clear();
    seen_by_specialize.clear();
  }
  ~PluginKernelsOnDevicesTest() override { call = nullptr; }

  // The value that the node gives for {1, 2, 3}.
  StatusOr<std::vector<Tensor>> RunOn(const std::string& device, const char* op = "SimCall") {
    const Output x = Placeholder(graph.UniqueName("x"), DataType::kFloat, PartialShape({3}));
    const Output y = OpOn(device, op, {x});
    return Run({y}, {{x, Values<float>({1, 2, 3})}});
  }
};

TEST_F(PluginKernelsOnDevicesTest, KnowTheDeviceFromTheFirstCallOn) {
  std::vector<uint32_t> of_views;
  MS_Frame seen = {};
  call = [&](ms::Frame& frame) -> ms::Status {
    seen = *frame.raw();
    of_views.push_back(frame.input(0).abi().mem.device_index);
    ms::View temp;
    MS_TRY(frame.DeviceTemp(8, &temp));
    of_views.push_back(temp.abi().mem.device_index);
    ms::View y;
    MS_TRY(frame.Output(0, frame.input(0).shape(), &y));
    of_views.push_back(y.abi().mem.device_index);
    const MS_MemRef to = y.abi().mem;
    const MS_MemRef from = frame.input(0).abi().mem;
    return ms::Status::FromAbi(
        SimFunctions(frame).copy_async(frame.raw()->stream, &to, &from, from.bytes));
  };
  ASSERT_TRUE(RunOn("SIM:1", "SimShaped").ok());
  EXPECT_EQ(seen.device_ordinal, 1u);
  EXPECT_THAT(of_views, ElementsAre(1u, 1u, 1u));
  ASSERT_EQ(seen_by_init.size(), 1u);
  ASSERT_EQ(seen_by_specialize.size(), 1u);
  for (const MS_DeviceContext& context : {seen_by_init[0], seen_by_specialize[0]}) {
    EXPECT_EQ(context.device, seen.device_state);
    EXPECT_EQ(context.stream, seen.stream);
    EXPECT_EQ(context.stream_native, seen.stream_native);
    EXPECT_EQ(context.device_ordinal, 1u);
  }
}

TEST_F(PluginKernelsOnDevicesTest, HaveADeviceAndAStreamWhereItsMemoryIsTheHosts) {
  MS_Frame seen = {};
  call = [&](ms::Frame& frame) -> ms::Status {
    seen = *frame.raw();
    ms::View y;
    MS_TRY(frame.Output(0, frame.input(0).shape(), &y));
    std::memcpy(y.raw(), frame.input(0).raw(), y.bytes());
    return ms::Status();
  };
  ASSERT_TRUE(RunOn("CPU:0").ok());
  EXPECT_NE(seen.device_state, nullptr);
  EXPECT_NE(seen.stream, nullptr);
}

TEST_F(PluginKernelsOnDevicesTest, GiveTheirOwnMemoryToAStep) {
  static std::atomic<int> released;
  released = 0;
  static MS_MemRef block;
  call = [](ms::Frame& frame) -> ms::Status {
    const MS_DeviceApi& device = SimFunctions(frame);
    auto* const state = static_cast<MS_Device*>(frame.raw()->device_state);
    MS_TRY(ms::Status::FromAbi(device.mem_alloc(state, MS_SPACE_DEVICE, 12, 0, &block)));
    MS_TRY(ms::Status::FromAbi(
        device.fill_async(frame.raw()->stream, &block, 0x40400000, 4, 12)));  // 3.0f
    const int64_t dim = 3;
    MS_Tensor* tensor = nullptr;
    MS_TRY(ms::Status::FromAbi(ms::host_tables.ctx->wrap_device(
        frame.raw(), &block, MS_FLOAT32, MS_Dims{&dim, 1, 0}, [](void*) { ++released; }, nullptr,
        &tensor)));
    MS_TRY(ms::Status::FromAbi(ms::host_tables.ctx->set_output(frame.raw(), 0, tensor)));
    ms::host_tables.tensor->release(tensor);
    EXPECT_EQ(released, 0);
    return ms::Status();
  };
  const StatusOr<std::vector<Tensor>> values = RunOn("SIM:0");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(Elements<float>(values->at(0)), ElementsAre(3, 3, 3));
  EXPECT_TRUE(Eventually([] { return released == 1; }));
}

// Out of the device and in again, by the number that the device's description has for DLPack.
TEST_F(PluginKernelsOnDevicesTest, LendMemoryOfTheDeviceByDLPack) {
  DLDevice of_export = {};
  const void* lent = nullptr;
  const void* imported = nullptr;
  call = [&](ms::Frame& frame) -> ms::Status {
    ms::Tensor x;
    MS_TRY(ms::Tensor::OfInput(frame, 0, &x));
    DLManagedTensorVersioned* managed = nullptr;
    MS_TRY(x.ToDLPack(&managed));
    of_export = managed->dl_tensor.device;
    lent = managed->dl_tensor.data;
    ms::Tensor back;
    EXPECT_EQ(ms::Tensor::FromDLPack(managed, &back).code(), MS_UNIMPLEMENTED) << "of no device";
    MS_TRY(ms::Tensor::FromDLPack(frame, managed, &back));
    imported = back.view().raw();
    return back.SetAsOutput(frame, 0);
  };
  const StatusOr<std::vector<Tensor>> values = RunOn("SIM:1");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(Elements<float>(values->at(0)), ElementsAre(1, 2, 3));
  EXPECT_EQ(of_export.device_type, 12);  // an extension device
  EXPECT_EQ(of_export.device_id, 1);
  EXPECT_EQ(imported, lent);
}

TEST_F(PluginKernelsOnDevicesTest, TakeNoMemoryOfAnotherDeviceByDLPack) {
  DLManagedTensorVersioned* managed = nullptr;
  call = [&](ms::Frame& frame) -> ms::Status {
    ms::Tensor x;
    MS_TRY(ms::Tensor::OfInput(frame, 0, &x));
    MS_TRY(x.ToDLPack(&managed));
    return x.SetAsOutput(frame, 0);
  };
  ASSERT_TRUE(RunOn("SIM:1").ok());
  call = [&](ms::Frame& frame) -> ms::Status {
    ms::Tensor back;
    return ms::Tensor::FromDLPack(frame, managed, &back);
  };
  for (const char* device : {"SIM:0", "CPU:0"}) {
    ExpectError(RunOn(device).status(), absl::StatusCode::kUnimplemented, {"type 12"});
  }
  managed->deleter(managed);
}

TEST_F(PluginKernelsOnDevicesTest, AreToldWhyMemoryCannotBeGiven) {
  call = [](ms::Frame& frame) -> ms::Status {
    const MS_MemRef block = {frame.input(0).raw(), 0, 8, MS_SPACE_DEVICE, 0};
    const int64_t dim = 3;
    MS_Tensor* tensor = nullptr;
    return ms::Status::FromAbi(ms::host_tables.ctx->wrap_device(
        frame.raw(), &block, MS_FLOAT32, MS_Dims{&dim, 1, 0}, [](void*) {}, nullptr, &tensor));
  };
  ExpectError(RunOn("SIM:0").status(), absl::StatusCode::kInvalidArgument,
              {"memory of 8 bytes for float32[3]"});
}

TEST_F(PluginKernelsOnDevicesTest, AreToldWhichTemporaryMemoryThereIsNot) {
  std::vector<std::string> refusals;
  const auto ask = [&refusals](ms::Frame& frame, uint32_t space, MS_DType dtype) {
    const int64_t dim = 2;
    MS_TensorView view = {};
    const ms::Status asked = ms::Status::FromAbi(
        ms::host_tables.ctx->allocate_temp(frame.raw(), dtype, MS_Dims{&dim, 1, 0}, space, &view));
    if (!asked.ok()) refusals.emplace_back(asked.message());
  };
  call = [&](ms::Frame& frame) -> ms::Status {
    ask(frame, MS_SPACE_DEVICE, MS_FLOAT32);
    ask(frame, MS_SPACE_HOST, MS_FLOAT32);
    ask(frame, MS_SPACE_HOST_PINNED, MS_FLOAT32);
    ask(frame, MS_SPACE_MANAGED, MS_FLOAT32);
    ask(frame, MS_SPACE_HOST, MS_STRING);
    return ms::Internal("that was all");
  };
  ASSERT_FALSE(RunOn("SIM:0").ok());
  EXPECT_THAT(refusals, ElementsAre("temporary memory in space 3, which the device lacks",
                                    "temporary memory is for types of fixed size, asked was "
                                    "string"));
  refusals.clear();
  ASSERT_FALSE(RunOn("CPU:0").ok());
  EXPECT_THAT(refusals,
              ElementsAre("temporary memory in space 1, which the device lacks",
                          "temporary memory in space 3, which the device lacks",
                          "temporary memory is for types of fixed size, asked was string"));
}

TEST_F(PluginKernelsOnDevicesTest, HaveMemoryFromThePluginForEachTensorWhereThePluginPools) {
  MS_MemStats stats = {};
  stats.head.size = sizeof(stats);
  call = [&](ms::Frame& frame) -> ms::Status {
    ms::View y;
    MS_TRY(frame.Output(0, frame.input(0).shape(), &y));
    MS_TRY(ms::Status::FromAbi(
        SimFunctions(frame).fill_async(frame.raw()->stream, &y.abi().mem, 0x3f800000, 4, 12)));
    return ms::Status::FromAbi(
        SimFunctions(frame).mem_stats(static_cast<MS_Device*>(frame.raw()->device_state), &stats));
  };
  // Allocations of the plugin in one more step of the same node.
  const auto in_a_step = [&](const std::string& device) {
    const Output x = Placeholder(graph.UniqueName("x"), DataType::kFloat, PartialShape({3}));
    const Output y = OpOn(device, "SimCall", {x});
    uint64_t before = 0;
    for (int i = 0; i < 3; ++i) {
      before = stats.num_allocs;
      EXPECT_THAT(Elements<float>(Value(y, {{x, Values<float>({1, 2, 3})}})), ElementsAre(1, 1, 1));
    }
    return stats.num_allocs - before;
  };
  EXPECT_EQ(in_a_step("SIM:0"), 0u);
  EXPECT_GE(in_a_step("SIM:2"), 2u) << "the input and the output";
}

TEST_F(PluginKernelsOnDevicesTest, TakeSomeShapesOnly) {
  call = [](ms::Frame& frame) -> ms::Status {
    ms::View y;
    return frame.Output(0, frame.input(0).shape(), &y);
  };
  const Output vector = Placeholder("vector", DataType::kFloat, PartialShape({3}));
  const Output matrix = Placeholder("matrix", DataType::kFloat, PartialShape({3, 3}));
  const Output of_vector = Op("SimVectors", {vector});
  const Output of_matrix = Op("SimVectors", {matrix});
  ASSERT_TRUE(Run({of_vector, of_matrix},
                  {{vector, Values<float>({1, 2, 3})},
                   {matrix, Values<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}).Reshaped(Shape({3, 3}))}})
                  .ok());
  StepSignature signature;
  signature.fetches = {of_vector, of_matrix};
  signature.feeds = {vector, matrix};
  const std::string explained = MakeCallable(signature)->placement_text();
  EXPECT_THAT(explained,
              HasSubstr("SIM does not take it: SimVectors for SIM (millstream_sim): x must be a "
                        "vector, the rank is 2 in op SimVectors"));
  const Output asked = OpOn("SIM:0", "SimVectors", {matrix});
  ExpectError(
      Run({asked}, {{matrix, Values<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}).Reshaped(Shape({3, 3}))}})
          .status(),
      absl::StatusCode::kInvalidArgument,
      {"Cannot assign a device for operation", "x must be a vector"});
}

}  // namespace
}  // namespace millstream
