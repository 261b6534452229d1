// Plugins that harm whoever loads them: the process lives, says which file it was and what it did,
// and goes on as if the plugin were not there.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>

#include "absl/strings/str_join.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/reserved_ops.h"
#include "framework/plugin/testing/loader_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The probe stands beside the tests.
constexpr char kProbe[] = "framework/plugin/millstream_plugin_probe";

class BadPluginsTest : public LoaderTest {
 protected:
  // All that is registered, in order, with everything that choosing among kernels goes by.
  std::string RegistryDigest() const {
    std::string text;
    for (const KernelRegistration* kernel : Kernels()) {
      absl::StrAppend(&text, kernel->op, "/", kernel->device_type, "/", kernel->label, "/",
                      kernel->plugin, "/", kernel->priority, "/", kernel->flags, "/",
                      kernel->constraints.size(), "/", reinterpret_cast<uintptr_t>(kernel), "\n");
    }
    return text;
  }

  static AttrMap FloatAttrs() {
    AttrMap attrs;
    SetAttr(&attrs, "T", DataType::kFloat);
    return attrs;
  }

  static bool IsMapped(const std::string& file) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(file) != std::string::npos) return true;
    }
    return false;
  }
};

// ---- Loading kills ------------------------------------------------------------------------------

struct DeathCase {
  const char* fixture;
  const char* text;
};
class DeadlyPluginTest : public BadPluginsTest, public ::testing::WithParamInterface<DeathCase> {};

TEST_P(DeadlyPluginTest, IsRejectedByTheProbeAndTheHostGoesOn) {
  PluginLoaderOptions options;
  options.probe_program = kProbe;
  // Those that do not end are given up soon, the others not before they have ended.
  const bool hangs = absl::string_view(GetParam().text).find("400ms") != absl::string_view::npos;
  options.probe_timeout = hangs ? absl::Milliseconds(400) : kHangGuard;
  Restart(options);
  const std::string path = FixturePath(GetParam().fixture);
  const Status status = loader_->Load(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Message(status), AllOf(HasSubstr(absl::StrCat("lib", GetParam().fixture, ".so")),
                                     HasSubstr(GetParam().text)));
  const PluginRecord record = RecordOf(absl::StrCat("lib", GetParam().fixture, ".so"));
  EXPECT_EQ(record.state, PluginState::kRejected);
  EXPECT_EQ(record.stage, LoadStage::kProbe);
  EXPECT_FALSE(IsMapped(absl::StrCat("lib", GetParam().fixture, ".so")));
  // The next is loaded as if nothing had been.
  options.probe_timeout = kHangGuard;
  Restart(options);
  EXPECT_TRUE(loader_->Load(FixturePath("good")).ok());
  EXPECT_EQ(Kernels().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, DeadlyPluginTest,
    ::testing::Values(DeathCase{"crashes", "crashed (SIGILL) while loading"},
                      DeathCase{"aborts", "crashed (SIGABRT) while loading"},
                      DeathCase{"faults", "crashed (SIGSEGV) while loading"},
                      DeathCase{"exits", "ended its process (exit status 3) while loading"},
                      DeathCase{"hangs", "did not finish loading within 400ms"},
                      DeathCase{"loops", "did not finish loading within 400ms"},
                      DeathCase{"init_crashes", "crashed (SIGSEGV) in its init"},
                      DeathCase{"init_exits", "ended its process (exit status 0) in its init"},
                      DeathCase{"init_hangs", "did not finish its init within 400ms"},
                      DeathCase{"register_crashes", "crashed (SIGILL) in its registration"},
                      DeathCase{"register_exits",
                                "ended its process (exit status 0) in its registration"},
                      DeathCase{"register_hangs", "did not finish its registration within 400ms"}),
    [](const ::testing::TestParamInfo<DeathCase>& info) { return info.param.fixture; });

// ---- Loading is refused -------------------------------------------------------------------------

struct RefusalCase {
  const char* fixture;
  const char* text;
};
class RefusedPluginTest : public BadPluginsTest,
                          public ::testing::WithParamInterface<RefusalCase> {};

TEST_P(RefusedPluginTest, NothingOfItIsRegistered) {
  ReserveOp("FixtureReserved");
  ASSERT_TRUE(ops_->Register(OpSpec("FixtureReserved").Input("x: float").Build().value()).ok());
  const std::string before = RegistryDigest();
  const Status status = loader_->Load(FixturePath(GetParam().fixture)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), AllOf(HasSubstr(absl::StrCat("lib", GetParam().fixture, ".so: ")),
                                     HasSubstr(GetParam().text)));
  EXPECT_LT(Message(status).size(), 1000u);
  const PluginRecord record = RecordOf(absl::StrCat("lib", GetParam().fixture, ".so"));
  EXPECT_EQ(record.state, PluginState::kFailed);
  EXPECT_EQ(record.stage, LoadStage::kRegister);
  EXPECT_EQ(RegistryDigest(), before);
  EXPECT_FALSE(ops_->Find("AcmeOp").ok());
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, RefusedPluginTest,
    ::testing::Values(
        RefusalCase{"many_kernels",
                    "kernels of a plugin for op FixtureDouble: 513 items, at most "
                    "512 are allowed"},
        RefusalCase{"long_label", "MS_KernelDef.label has 1048576 bytes, at most 256 are allowed"},
        RefusalCase{"any_device", "kernel for op FixtureDouble on *: a device type is of letters"},
        RefusalCase{"many_attributes",
                    "op AcmeOp: MS_OpDef.attrs: 100000 items, at most 256 are allowed"},
        RefusalCase{"keyword", "op AcmeOp: input \"lambda\" is a keyword of Python"},
        RefusalCase{"same_name_twice",
                    "op AcmeOp: attribute \"a\" has the name of another argument"},
        RefusalCase{"reserved_op",
                    "op FixtureReserved: the op is one that the runtime does itself"},
        RefusalCase{"reserved_kernel",
                    "kernel for op FixtureReserved on CPU: the op is one that the runtime does"}),
    [](const ::testing::TestParamInfo<RefusalCase>& info) { return info.param.fixture; });

class RefusedDevicesTest : public BadPluginsTest,
                           public ::testing::WithParamInterface<RefusalCase> {};

TEST_P(RefusedDevicesTest, ThePluginHasNone) {
  ASSERT_TRUE(loader_->Load(FixturePath(GetParam().fixture)).ok());
  EXPECT_TRUE(loader_->Devices().empty());
  const PluginRecord record = RecordOf(absl::StrCat("lib", GetParam().fixture, ".so"));
  EXPECT_EQ(record.state, PluginState::kReadyNoDevice);
  EXPECT_EQ(record.stage, LoadStage::kEnumerate);
  EXPECT_EQ(record.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(record.status),
              AllOf(HasSubstr(absl::StrCat("lib", GetParam().fixture, ".so: ")),
                    HasSubstr(GetParam().text)));
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, RefusedDevicesTest,
    ::testing::Values(
        RefusalCase{"device_many",
                    "ms.devices/1.enumerate: 2147483648 items, at most 1024 are allowed"},
        RefusalCase{"device_growing", "told of 17 devices, and asked for these of 18"},
        RefusalCase{"device_null", "device 0: its MS_DeviceDesc is null"},
        RefusalCase{"device_slash", "device 0: device type \"FIX/TURE\" must be of letters"},
        RefusalCase{"device_null_spaces",
                    "device 0: MS_DeviceDesc.spaces: 1 items, and the array is null"},
        RefusalCase{"device_null_space", "device 0: MS_DeviceDesc.spaces[0] is null"},
        RefusalCase{"device_long_name", "device 0: MS_DeviceDesc.name has 1048576 bytes"},
        RefusalCase{"device_no_text", "device 0: MS_DeviceDesc.name has 18 bytes, and its data"}),
    [](const ::testing::TestParamInfo<RefusalCase>& info) { return info.param.fixture; });

// ---- Devices of others --------------------------------------------------------------------------

TEST_F(BadPluginsTest, AKernelForAnothersClosedDeviceIsNotUsed) {
  for (const bool is_open : {false, true}) {
    Restart(PluginLoaderOptions());
    // Before the devices are known, and after.
    ASSERT_TRUE(loader_->Load(FixturePath("foreign_kernel")).ok());
    ASSERT_TRUE(loader_->Load(FixturePath(is_open ? "device_open" : "device")).ok());
    ASSERT_EQ(loader_->Devices().size(), 1u);
    const auto kernel = kernels_->Find("FixtureDouble", "FIXTURE", FloatAttrs());
    EXPECT_EQ(kernel.ok(), is_open);
    if (is_open) continue;
    EXPECT_THAT(
        Message(kernel.status()),
        HasSubstr("FIXTURE kernels (foreign_kernel): are not plugin device's, whose devices "
                  "are not open to kernels of others (MS_DEVICE_OPEN)"));
  }
}

TEST_F(BadPluginsTest, ADeviceTypeIsThatOfOnePlugin) {
  ASSERT_TRUE(loader_->Load(FixturePath("device")).ok());
  ASSERT_TRUE(loader_->Load(FixturePath("device_again")).ok());
  EXPECT_EQ(loader_->Devices().size(), 1u);
  const PluginRecord record = RecordOf("libdevice_again.so");
  EXPECT_EQ(record.state, PluginState::kReadyNoDevice);
  EXPECT_THAT(Message(record.status),
              AllOf(HasSubstr("device type FIXTURE is that of plugin "), HasSubstr("libdevice.so"),
                    HasSubstr("not both are MS_DEVICE_OPEN")));
}

TEST_F(BadPluginsTest, APluginThatClosesItselfStaysMapped) {
  ASSERT_TRUE(loader_->Load(FixturePath("closes_itself")).ok());
  EXPECT_TRUE(IsMapped("libcloses_itself.so"));
  EXPECT_EQ(Kernels().at(0)->plugin, "closes_itself");
}

TEST_F(BadPluginsTest, AFileThatCannotBeReadIsNamed) {
  const std::string path = folder_.Copy("closed.so", "good");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  // The superuser reads everything: somebody else tries.
  const bool is_root = geteuid() == 0;
  ASSERT_TRUE(!is_root || seteuid(65534) == 0);
  const Status status = loader_->Load(path).status();
  ASSERT_TRUE(!is_root || seteuid(0) == 0);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(Message(status), AllOf(HasSubstr(path), HasSubstr("Permission denied")));
  const PluginRecord record = RecordOf("closed.so");
  EXPECT_EQ(record.state, PluginState::kRejected);
}

// ---- Registration -------------------------------------------------------------------------------

TEST_F(BadPluginsTest, ARegistrationThatFailsHalfWayLeavesTheRegistryAsItWas) {
  ASSERT_TRUE(loader_->Load(FixturePath("good")).ok());
  const std::string before = RegistryDigest();
  ASSERT_THAT(before, HasSubstr("/good/"));
  for (const char* fixture : {"register_fails", "init_fails"}) {
    EXPECT_FALSE(loader_->Load(FixturePath(fixture)).ok()) << fixture;
    EXPECT_EQ(RegistryDigest(), before) << fixture;
  }
}

TEST_F(BadPluginsTest, AKernelForAnOpThatTheHostLacksCostsThatKernelAlone) {
  ASSERT_TRUE(loader_->Load(FixturePath("ignores_refusal")).ok());
  const PluginRecord record = RecordOf("libignores_refusal.so");
  EXPECT_EQ(record.state, PluginState::kReady);
  EXPECT_EQ(record.num_kernels, 1u);
  EXPECT_EQ(record.num_kernels_skipped, 1u);
  EXPECT_THAT(record.skipped, ElementsAre(HasSubstr("kernel for op NoSuchOp on CPU")));
  EXPECT_TRUE(kernels_->Find("FixtureDouble", "CPU", FloatAttrs()).ok());
}

TEST_F(BadPluginsTest, ATieCostsNobodyAPlugin) {
  ASSERT_TRUE(loader_->Load(FixturePath("good")).ok());
  ASSERT_TRUE(loader_->Load(FixturePath("kernel_tie")).ok());
  EXPECT_EQ(RecordOf("libkernel_tie.so").state, PluginState::kReady);
  EXPECT_THAT(RecordOf("libkernel_tie.so").ties, ElementsAre(HasSubstr("plugin good serves")));
  EXPECT_EQ((*kernels_->Find("FixtureDouble", "CPU", FloatAttrs()))->plugin, "good");
}

TEST_F(BadPluginsTest, APluginOverridesAnotherByPriority) {
  ASSERT_TRUE(loader_->Load(FixturePath("good")).ok());
  ASSERT_TRUE(loader_->Load(FixturePath("other_kernel")).ok());
  const auto kernel = kernels_->Find("FixtureDouble", "CPU", FloatAttrs());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ((*kernel)->plugin, "other_kernel");
  EXPECT_EQ(Kernels().size(), 2u);
}

// ---- The end ------------------------------------------------------------------------------------

TEST_F(BadPluginsTest, AfterShutdownThePluginStaysMapped) {
  ASSERT_TRUE(loader_->Load(FixturePath("good")).ok());
  EXPECT_TRUE(loader_->Shutdown().ok());
  loader_.reset();
  EXPECT_TRUE(IsMapped("libgood.so"));
  // What somebody still holds can be called.
  void* state = nullptr;
  const KernelRegistration& kernel = *Kernels().at(0);
  EXPECT_EQ(kernel.create(kernel.user, nullptr, &state), nullptr);
  kernel.destroy(state);
}

TEST_F(BadPluginsTest, AChildThatIsForkedAfterLoadingUsesAndEndsThePlugin) {
  ASSERT_TRUE(loader_->Load(FixturePath("device")).ok());
  ASSERT_EQ(loader_->Devices().size(), 1u);
  const pid_t child = fork();
  if (child == 0) {
    const StatusOr<OpenDevice> device = PluginLoader::CreateDevice(loader_->Devices().at(0));
    if (!device.ok()) _exit(1);
    PluginLoader::DestroyDevice(*device);
    _exit(loader_->Shutdown().ok() ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  // Nothing of it happened here.
  EXPECT_EQ(loader_->Devices().size(), 1u);
  EXPECT_TRUE(loader_->Shutdown().ok());
}

}  // namespace
}  // namespace millstream
