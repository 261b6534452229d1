#include "framework/plugin/loader.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/option_values.h"
#include "framework/plugin/testing/loader_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AttrMap FloatAttrs() {
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  return attrs;
}

TEST_F(LoaderTest, LoadsAPlainCPlugin) {
  const StatusOr<const LoadedPlugin*> plugin = loader_->Load(FixturePath("good"));
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  EXPECT_EQ((*plugin)->name, "good");
  EXPECT_EQ((*plugin)->vendor, "Fixtures");
  EXPECT_EQ((*plugin)->version, "1.2.3");
  EXPECT_EQ((*plugin)->num_kernels, 1u);
  EXPECT_EQ((*plugin)->devices, nullptr);
  const PluginRecord record = RecordOf("libgood.so");
  EXPECT_EQ(record.state, PluginState::kReady);
  EXPECT_EQ(record.stage, LoadStage::kDone);
  EXPECT_TRUE(record.status.ok());
  EXPECT_THAT(loader_->FailureReasons(), IsEmpty());
}

TEST_F(LoaderTest, OpenMpIsToldNotToSpinForLong) {
  unsetenv("GOMP_SPINCOUNT");
  unsetenv("OMP_WAIT_POLICY");
  const StatusOr<const LoadedPlugin*> plugin = loader_->Load(FixturePath("impatient"));
  EXPECT_TRUE(plugin.ok()) << plugin.status();
  EXPECT_EQ(getenv("GOMP_SPINCOUNT"), nullptr);
}

TEST_F(LoaderTest, KernelsOfAPluginRun) {
  ASSERT_TRUE(loader_->Load(FixturePath("good")).ok());
  const StatusOr<const KernelRegistration*> kernel =
      kernels_->Find("FixtureDouble", "CPU", FloatAttrs());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ((*kernel)->plugin, "good");
  ASSERT_EQ((*kernel)->in_place.size(), 1u);

  float x[] = {1, 2, 3};
  float y[] = {0, 0, 0};
  MS_TensorView input = {};
  input.mem = MS_MemRef{x, 0, sizeof(x), MS_SPACE_HOST, 0};
  MS_TensorView output = {};
  output.mem = MS_MemRef{y, 0, sizeof(y), MS_SPACE_HOST, 0};
  MS_Frame frame = {};
  frame.head.size = sizeof(frame);
  frame.inputs = &input;
  frame.outputs = &output;
  void* state = nullptr;
  ASSERT_EQ((*kernel)->create((*kernel)->user, nullptr, &state), nullptr);
  EXPECT_EQ((*kernel)->compute(state, &frame), nullptr);
  (*kernel)->destroy(state);
  EXPECT_THAT(y, ::testing::ElementsAre(2, 4, 6));
}

TEST_F(LoaderTest, TheSameFileByAnyNameIsOnePlugin) {
  const std::string copy = folder_.Copy("one.so", "good");
  const StatusOr<const LoadedPlugin*> first = loader_->Load(copy);
  ASSERT_TRUE(first.ok()) << first.status();
  std::filesystem::create_symlink(copy, folder_.File("symbolic.so"));
  std::filesystem::create_hard_link(copy, folder_.File("hard.so"));
  for (const char* name : {"one.so", "symbolic.so", "hard.so", "./one.so"}) {
    const StatusOr<const LoadedPlugin*> again = loader_->Load(folder_.File(name));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *first);
  }
  EXPECT_EQ(Kernels().size(), 1u);
  EXPECT_EQ(loader_->Records().size(), 1u);
}

TEST_F(LoaderTest, AnotherFileOfTheSameNameIsRefused) {
  ASSERT_TRUE(loader_->Load(folder_.Copy("one.so", "good")).ok());
  const Status second =
      loader_
          ->Load(folder_.WithNote("two.so", "good", [](MS_Note* note) { note->family[0] = 'f'; }))
          .status();
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Message(second), AllOf(HasSubstr(folder_.File("one.so")),
                                     HasSubstr(folder_.File("two.so")), HasSubstr("\"good\"")));
  EXPECT_EQ(RecordOf("two.so").state, PluginState::kRejected);
}

TEST_F(LoaderTest, FilesThatAreNoPluginsAreRejectedAndRecorded) {
  const std::string text = folder_.Write("text.so", "just a text");
  EXPECT_EQ(loader_->Load(text).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(loader_->Load(folder_.path()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(loader_->Load(folder_.File("absent.so")).status().code(), absl::StatusCode::kNotFound);
  const std::string good = ReadBytes(FixturePath("good"));
  const std::string cut = folder_.Write("cut.so", good.substr(0, good.size() / 2));
  EXPECT_EQ(loader_->Load(cut).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(loader_->Load(folder_.Write("empty.so", "")).status().code(),
            absl::StatusCode::kInvalidArgument);

  EXPECT_EQ(RecordOf("absent.so").stage, LoadStage::kFind);
  for (const char* name : {"text.so", "cut.so", "empty.so"}) {
    const PluginRecord record = RecordOf(name);
    EXPECT_EQ(record.state, PluginState::kRejected) << name;
    EXPECT_EQ(record.stage, LoadStage::kPreflight) << name;
    EXPECT_THAT(Message(record.status),
                HasSubstr("not a Millstream plugin: " + folder_.File(name)));
  }
  EXPECT_THAT(loader_->FailureReasons(), HasSubstr("REJECTED at preflight: not a Millstream"));
  // What was broken may be mended.
  folder_.Copy("text.so", "good");
  EXPECT_TRUE(loader_->Load(text).ok());
  EXPECT_EQ(RecordOf("text.so").state, PluginState::kReady);
}

TEST_F(LoaderTest, OtherAbiVersionsAreRejectedBeforeTheirCodeRuns) {
  const std::string major =
      folder_.WithNote("major.so", "good", [](MS_Note* note) { note->abi_major = 9; });
  const std::string minor =
      folder_.WithNote("minor.so", "good", [](MS_Note* note) { note->min_host_minor = 1000; });
  const std::string host = absl::StrCat("host has ", MS_ABI_MAJOR, ".", MS_ABI_MINOR);
  for (const std::string& path : {major, minor}) {
    const Status status = loader_->Load(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), AllOf(HasSubstr(path), HasSubstr("needs ABI "), HasSubstr(host)));
  }
  EXPECT_EQ(RecordOf("major.so").state, PluginState::kRejected);
  EXPECT_THAT(Message(RecordOf("minor.so").status), HasSubstr(".1000"));
}

// What a fixture that fails must leave behind.
struct FailureCase {
  const char* fixture;
  LoadStage stage;
  absl::StatusCode code;
  const char* text;
};
class FailingPluginTest : public LoaderTest, public ::testing::WithParamInterface<FailureCase> {};

TEST_P(FailingPluginTest, IsFailedWithItsReasonAndRegistersNothing) {
  const FailureCase& expected = GetParam();
  const Status status = loader_->Load(FixturePath(expected.fixture)).status();
  EXPECT_EQ(status.code(), expected.code) << status;
  EXPECT_THAT(Message(status), HasSubstr(expected.text));
  const std::string file = absl::StrCat("lib", expected.fixture, ".so");
  EXPECT_THAT(Message(status), HasSubstr(file));
  const PluginRecord record = RecordOf(file);
  EXPECT_EQ(record.state, PluginState::kFailed);
  EXPECT_EQ(LoadStageName(record.stage), LoadStageName(expected.stage));
  EXPECT_EQ(record.status, status);
  EXPECT_THAT(Kernels(), IsEmpty());
  EXPECT_THAT(loader_->Plugins(), IsEmpty());
  // The second time says the same.
  EXPECT_EQ(loader_->Load(FixturePath(expected.fixture)).status(), status);
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, FailingPluginTest,
    ::testing::Values(
        FailureCase{"undefined_symbol", LoadStage::kOpen, absl::StatusCode::kNotFound,
                    "undefined symbol: code_that_nobody_defines"},
        FailureCase{"no_entry", LoadStage::kEntry, absl::StatusCode::kInvalidArgument,
                    "does not export ms_plugin_entry"},
        FailureCase{"null_plugin", LoadStage::kEntry, absl::StatusCode::kInvalidArgument,
                    "its entry point gave no MS_Plugin"},
        FailureCase{"misaligned", LoadStage::kEntry, absl::StatusCode::kInvalidArgument,
                    "its entry point gave a misaligned MS_Plugin"},
        FailureCase{"entry_fails", LoadStage::kEntry, absl::StatusCode::kUnavailable,
                    "the fixture's entry fails"},
        FailureCase{"wrong_magic", LoadStage::kEntry, absl::StatusCode::kInvalidArgument,
                    "its MS_Plugin has magic 0x1234, expected 0x4d494c4c504c5547"},
        FailureCase{"wrong_major", LoadStage::kEntry, absl::StatusCode::kFailedPrecondition,
                    "needs ABI 77."},
        FailureCase{"short_struct", LoadStage::kEntry, absl::StatusCode::kInvalidArgument,
                    "its MS_Plugin has 16 bytes, needed are 136"},
        FailureCase{"other_name", LoadStage::kEntry, absl::StatusCode::kInvalidArgument,
                    "calls itself \"somebody_else\", but its note says \"other_name\""},
        FailureCase{"null_init", LoadStage::kValidate, absl::StatusCode::kUnimplemented,
                    "MS_Plugin.init is null"},
        FailureCase{"device_without_copy", LoadStage::kValidate, absl::StatusCode::kUnimplemented,
                    "ms.device/1.copy_async is null"},
        FailureCase{"device_without_interface", LoadStage::kValidate,
                    absl::StatusCode::kUnimplemented, "ms.devices/1 is missing"},
        FailureCase{"device_one_table", LoadStage::kValidate, absl::StatusCode::kInvalidArgument,
                    "asked for ms.devices/1, it gave a table of \"ms.device/1\""},
        FailureCase{"init_fails", LoadStage::kInit, absl::StatusCode::kUnavailable,
                    "the fixture's init fails"},
        FailureCase{"device_throws", LoadStage::kInit, absl::StatusCode::kInternal,
                    "thrown by the fixture's init"},
        FailureCase{"register_fails", LoadStage::kRegister, absl::StatusCode::kAborted,
                    "the fixture's registration fails half way"}),
    [](const ::testing::TestParamInfo<FailureCase>& info) { return info.param.fixture; });

TEST_F(LoaderTest, OptionsAreCheckedAgainstTheSchemaBeforeInit) {
  const std::string path = folder_.Copy("options.so", "ops");
  const Status bad = loader_->Load(path, {{"mode", "fast"}, {"level", "12"}}).status();
  EXPECT_EQ(bad.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(bad), AllOf(HasSubstr(path), HasSubstr("option level must be a whole number "
                                                             "in [0, 9], got \"12\"")));
  EXPECT_EQ(RecordOf("options.so").stage, LoadStage::kValidate);
  EXPECT_EQ(RecordOf("options.so").state, PluginState::kFailed);
}

TEST_F(LoaderTest, GoodOptionsAndDefaultsAreWhatKernelsRead) {
  ASSERT_TRUE(loader_->Load(FixturePath("ops"), {{"mode", "exact"}, {"level@1", "5"}}).ok());
  EXPECT_EQ(*FindOptionValue("ops", "mode"), "exact");
  EXPECT_EQ(*FindOptionValue("ops", "level"), "3");
  EXPECT_EQ(*FindOptionValue("ops", "level@1"), "5");
}

TEST_F(LoaderTest, AKernelTieIsRecordedOfTheLaterPlugin) {
  ASSERT_TRUE(loader_->Load(FixturePath("good")).ok());
  const StatusOr<const LoadedPlugin*> later = loader_->Load(FixturePath("kernel_tie"));
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_TRUE(RecordOf("libgood.so").ties.empty());
  EXPECT_THAT(RecordOf("libkernel_tie.so").ties,
              ElementsAre(AllOf(HasSubstr("FixtureDouble"), HasSubstr("(good)"),
                                HasSubstr("(kernel_tie)"))));
  EXPECT_EQ(Kernels().size(), 2u);
}

TEST_F(LoaderTest, DevicesAreEnumeratedAndCreated) {
  const StatusOr<const LoadedPlugin*> plugin = loader_->Load(FixturePath("device"));
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  EXPECT_EQ((*plugin)->version, "2.0");
  EXPECT_THAT(loader_->DevicesOf("CPU"), IsEmpty());
  const std::vector<PluginDevice> devices = loader_->DevicesOf("FIXTURE");
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].plugin, *plugin);
  EXPECT_EQ(devices[0].description->n_spaces, 1u);

  const StatusOr<OpenDevice> device = PluginLoader::CreateDevice(devices[0]);
  ASSERT_TRUE(device.ok()) << device.status();
  MS_MemRef memory = {};
  ASSERT_EQ(device->functions->mem_alloc(device->device, MS_SPACE_HOST, 100, 64, &memory), nullptr);
  EXPECT_NE(memory.base, nullptr);
  device->functions->mem_free(device->device, &memory);
  PluginLoader::DestroyDevice(*device);
}

TEST_F(LoaderTest, TablesAreAskedForOnce) {
  ASSERT_TRUE(loader_->Load(FixturePath("device_fickle")).ok());
  const std::vector<PluginDevice> devices = loader_->Devices();
  ASSERT_EQ(devices.size(), 1u);
  const StatusOr<OpenDevice> open = PluginLoader::CreateDevice(devices[0]);
  ASSERT_TRUE(open.ok()) << open.status();
  PluginLoader::DestroyDevice(*open);
}

TEST_F(LoaderTest, SeveralLogicalDevicesStandOnOneOrdinal) {
  ASSERT_TRUE(loader_->Load(FixturePath("device")).ok());
  const PluginDevice description = loader_->DevicesOf("FIXTURE").at(0);
  std::vector<OpenDevice> devices;
  for (int i = 0; i < 3; ++i) {
    const StatusOr<OpenDevice> device = PluginLoader::CreateDevice(description);
    ASSERT_TRUE(device.ok()) << device.status();
    devices.push_back(*device);
  }
  EXPECT_NE(devices[0].device, devices[1].device);
  EXPECT_NE(devices[1].device, devices[2].device);
  // Each has memory of its own account.
  MS_MemRef memory = {};
  ASSERT_EQ(devices[1].functions->mem_alloc(devices[1].device, MS_SPACE_HOST, 100, 64, &memory),
            nullptr);
  for (int i = 0; i < 3; ++i) {
    MS_MemStats stats = {};
    stats.head.size = sizeof(stats);
    ASSERT_EQ(devices[i].functions->mem_stats(devices[i].device, &stats), nullptr);
    EXPECT_EQ(stats.in_use, i == 1 ? 100u : 0u);
  }
  devices[1].functions->mem_free(devices[1].device, &memory);
  for (const OpenDevice& device : devices) PluginLoader::DestroyDevice(device);
}

TEST_F(LoaderTest, APluginWithoutItsDeviceSaysWhy) {
  ASSERT_TRUE(loader_->Load(FixturePath("device_not_there")).ok());
  EXPECT_THAT(loader_->Devices(), IsEmpty());
  const PluginRecord record = RecordOf("libdevice_not_there.so");
  EXPECT_EQ(record.state, PluginState::kReadyNoDevice);
  EXPECT_EQ(record.stage, LoadStage::kEnumerate);
  EXPECT_THAT(loader_->FailureReasons(), HasSubstr("no such card in this machine"));
}

TEST_F(LoaderTest, OptionsReachAPluginThatTakesSome) {
  SetHostLogLevel(MS_LOG_INFO);
  testing::internal::CaptureStderr();
  const Status status = loader_->Load(FixturePath("takes_option"), {{"level", "three"}}).status();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("three"));
}

TEST_F(LoaderTest, OptionsThatNobodyTakesAreRefused) {
  const Status unknown = loader_->Load(FixturePath("takes_option"), {{"size", "1"}}).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(unknown), HasSubstr("the fixture does not know it"));
  EXPECT_EQ(RecordOf("libtakes_option.so").stage, LoadStage::kInit);
  const Status none = loader_->Load(FixturePath("good"), {{"size", "1"}}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(none),
              AllOf(HasSubstr("libgood.so takes no options"), HasSubstr("\"size\"")));
  EXPECT_EQ(RecordOf("libgood.so").state, PluginState::kFailed);
  EXPECT_THAT(Kernels(), IsEmpty());
}

TEST_F(LoaderTest, APluginThatRegistersTooLateIsToldSo) {
  ASSERT_TRUE(loader_->Load(FixturePath("registers_late")).ok());
  const size_t before = Kernels().size();
  SetHostLogLevel(MS_LOG_INFO);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(loader_->Shutdown().ok());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("registers something after its register_all has returned"));
  EXPECT_EQ(Kernels().size(), before);
}

TEST_F(LoaderTest, ShutdownCallsThePluginsTheLastLoadedFirst) {
  ASSERT_TRUE(loader_->Load(FixturePath("good")).ok());
  ASSERT_TRUE(loader_->Load(FixturePath("device")).ok());
  const StatusOr<OpenDevice> device = PluginLoader::CreateDevice(loader_->Devices().at(0));
  ASSERT_TRUE(device.ok()) << device.status();
  const Status busy = loader_->Shutdown();
  EXPECT_EQ(busy.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(busy), AllOf(HasSubstr("libdevice.so"), HasSubstr("1 open device")));
  PluginLoader::DestroyDevice(*device);

  SetHostLogLevel(MS_LOG_INFO);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(loader_->Shutdown().ok());
  EXPECT_TRUE(loader_->Shutdown().ok()) << "the second time nothing is left to do";
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t device_at = log.find("shutdown of device");
  const size_t good_at = log.find("shutdown of good");
  ASSERT_NE(device_at, std::string::npos) << log;
  ASSERT_NE(good_at, std::string::npos) << log;
  EXPECT_LT(device_at, good_at);
  EXPECT_EQ(log.find("shutdown of good", good_at + 1), std::string::npos);

  EXPECT_EQ(loader_->Load(FixturePath("takes_option")).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(loader_->Devices(), IsEmpty());
}

}  // namespace
}  // namespace millstream
