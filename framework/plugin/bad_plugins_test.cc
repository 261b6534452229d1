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
                      DeathCase{"loops", "did not finish loading within 400ms"}),
    [](const ::testing::TestParamInfo<DeathCase>& info) { return info.param.fixture; });

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
  for (const char* fixture : {"register_fails", "ignores_refusal", "kernel_tie", "init_fails"}) {
    EXPECT_FALSE(loader_->Load(FixturePath(fixture)).ok()) << fixture;
    EXPECT_EQ(RegistryDigest(), before) << fixture;
  }
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
