// The plugin as a user loads it: by its path, with options.
#include <string>
#include <vector>

#include "device_plugins/sim/sim_fixture.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/testing/stub_interfaces.h"
#include "gmock/gmock.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A loader of its own for each test: it calls the plugin's init again.
class SimPluginTest : public ::testing::Test {
 protected:
  SimPluginTest() {
    RegisterStubInterfaces();
    Restart({});
  }
  void Restart(const PluginOptions& named) {
    PluginLoaderOptions options;
    options.plugin_options["sim"] = named;
    loader_ = std::make_unique<PluginLoader>(&kernels_, OpRegistry::Global(), options);
  }
  std::vector<PluginDevice> Devices() { return loader_->DevicesOf("SIM"); }
  static uint64_t MemoryOf(const PluginDevice& device) { return device.description->mem_total; }

  KernelRegistry kernels_;
  std::unique_ptr<PluginLoader> loader_;
};

TEST_F(SimPluginTest, OffersOneDeviceUnlessItIsTold) {
  const auto plugin = loader_->Load(kSimPlugin);
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  EXPECT_EQ((*plugin)->name, "millstream_sim");
  ASSERT_EQ(Devices().size(), 1u);
  const MS_DeviceDesc& device = *Devices()[0].description;
  EXPECT_EQ(device.flags, MS_DEVICE_LINEAR_POINTERS) << "neither the host's, nor open";
  ASSERT_EQ(device.n_spaces, 3u);
  const MS_SpaceDesc& memory = *device.spaces[0];
  EXPECT_EQ(memory.space, MS_SPACE_DEVICE);
  EXPECT_EQ(memory.flags, MS_SPACE_DEVICE_VISIBLE | MS_SPACE_LINEAR) << "the host does not see it";
  EXPECT_EQ(memory.alignment, 256u);
  EXPECT_EQ(memory.granularity, 256u);
  EXPECT_EQ(memory.max_alloc, device.mem_total);
  EXPECT_EQ(memory.mode, MS_ALLOC_RAW);
  EXPECT_EQ(device.spaces[1]->space, MS_SPACE_HOST_PINNED);
  EXPECT_EQ(device.spaces[2]->space, MS_SPACE_HOST);
}

TEST_F(SimPluginTest, BringsKernelsForItsDevices) {
  ASSERT_TRUE(loader_->Load(kSimPlugin).ok());
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kInt32);
  SetAttr(&attrs, "dtype", DataType::kFloat);
  const auto random = kernels_.Find("RandomUniform", "SIM", attrs);
  ASSERT_TRUE(random.ok()) << random.status();
  EXPECT_THAT((*random)->host_args, ElementsAre("shape"));
  EXPECT_EQ((*random)->flags & MS_KERNEL_CAPTURE_SAFE, 0u) << "it draws others in each step";
  const auto add = kernels_.Find("AddV2", "SIM", attrs);
  ASSERT_TRUE(add.ok()) << add.status();
  EXPECT_NE((*add)->flags & MS_KERNEL_CAPTURE_SAFE, 0u);
  const auto assign = kernels_.Find("AssignAddVariableOp", "SIM", attrs);
  ASSERT_TRUE(assign.ok()) << assign.status();
  EXPECT_FALSE((*assign)->keeps_update_bounds) << "what the CPU's kernel declares is its own";
  EXPECT_FALSE(kernels_.Find("RandomUniform", "CPU", attrs).ok());
  SetAttr(&attrs, "T", DataType::kString);
  EXPECT_FALSE(kernels_.Find("AddV2", "SIM", attrs).ok()) << "strings are the host's";
}

TEST_F(SimPluginTest, OptionsAreOfAllDevicesOrOfOne) {
  ASSERT_TRUE(loader_->Load(kSimPlugin, {{"devices", "20"}}).status().code() ==
              absl::StatusCode::kInvalidArgument);
  Restart({{"devices", "2"}, {"memory_mb", "4"}});
  ASSERT_TRUE(loader_->Load(kSimPlugin, {{"memory_mb@1", "8"}}).ok());
  ASSERT_EQ(Devices().size(), 2u);
  EXPECT_EQ(MemoryOf(Devices()[0]), 4u << 20);
  EXPECT_EQ(MemoryOf(Devices()[1]), 8u << 20);
  EXPECT_EQ(Devices()[1].description->ordinal, 1u);
  // One device is created with an option of its own; its description does not change.
  const auto device = PluginLoader::CreateDevice(Devices()[1], {{"memory_mb", "16"}});
  ASSERT_TRUE(device.ok()) << device.status();
  uint64_t free_bytes = 0, total_bytes = 0;
  ExpectOk(device->functions->mem_info(device->device, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes, 16u << 20);
  PluginLoader::DestroyDevice(*device);
}

TEST_F(SimPluginTest, UnknownOptionsAreRefusedByTheHost) {
  const Status status = loader_->Load(kSimPlugin, {{"memory", "1"}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr(kSimPlugin), HasSubstr("unknown option \"memory\": known are devices, "
                                             "fail_init, memory_mb[@ordinal], ")));
  EXPECT_EQ(LoadStageName(loader_->Records().at(0).stage), "validate");
}

TEST_F(SimPluginTest, InitFailsWhenItIsTold) {
  const Status status = loader_->Load(kSimPlugin, {{"fail_init", "1"}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("init fails: option fail_init"));
  EXPECT_THAT(loader_->Plugins(), IsEmpty());
}

TEST_F(SimPluginTest, WithoutDevicesItSaysWhy) {
  ASSERT_TRUE(loader_->Load(kSimPlugin, {{"devices", "0"}}).ok());
  EXPECT_THAT(Devices(), IsEmpty());
  EXPECT_EQ(loader_->Records().at(0).state, PluginState::kReadyNoDevice);
  EXPECT_THAT(loader_->FailureReasons(), HasSubstr("option devices is 0"));
}

}  // namespace
}  // namespace millstream
