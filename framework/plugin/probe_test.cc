#include "framework/plugin/probe.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/probe_cache.h"
#include "framework/plugin/testing/fixture_files.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr char kProbe[] = "framework/plugin/millstream_plugin_probe";
constexpr absl::Duration kPatience = kHangGuard;

PluginFile Fixture(absl::string_view name) {
  const StatusOr<PluginFile> file = ReadPluginFile(FixturePath(name));
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *file : PluginFile();
}

std::string Text(const PluginFile& file, absl::string_view end) {
  return absl::StrCat("plugin ", file.path, " ", end);
}

TEST(ProbePluginTest, WhatLoadsPasses) {
  // Those that fail in order are for the loader to judge.
  for (const char* name :
       {"good", "device", "ops", "entry_fails", "no_entry", "undefined_symbol", "wrong_magic",
        "null_plugin", "misaligned", "null_init", "init_fails", "register_fails", "many_kernels"}) {
    const ProbeOutcome outcome = ProbePlugin(kProbe, Fixture(name), kPatience);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_TRUE(outcome.is_final) << name;
  }
}

TEST(ProbePluginTest, ACrashIsNamedByItsSignal) {
  const PluginFile file = Fixture("crashes");
  const ProbeOutcome outcome = ProbePlugin(kProbe, file, kPatience);
  EXPECT_EQ(outcome.status, absl::AbortedError(Text(file, "crashed (SIGILL) while loading")));
  EXPECT_TRUE(outcome.is_final);
}

TEST(ProbePluginTest, APluginThatEndsTheProcessIsCaught) {
  const PluginFile file = Fixture("exits");
  EXPECT_EQ(ProbePlugin(kProbe, file, kPatience).status,
            absl::AbortedError(Text(file, "ended its process (exit status 3) while loading")));
}

TEST(ProbePluginTest, APluginThatHangsIsKilled) {
  const PluginFile file = Fixture("hangs");
  const ProbeOutcome outcome = ProbePlugin(kProbe, file, absl::Milliseconds(200));
  EXPECT_EQ(outcome.status, absl::AbortedError(Text(file, "did not finish loading within 200ms")));
  EXPECT_FALSE(outcome.is_final) << "the machine may have been busy";
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no process of it is left";
  EXPECT_EQ(errno, ECHILD);
}

TEST(ProbePluginTest, AProcessThatIgnoresItsChildrenProbesAllTheSame) {
  const auto previous = std::signal(SIGCHLD, SIG_IGN);
  const Status good = ProbePlugin(kProbe, Fixture("good"), kPatience).status;
  const Status bad = ProbePlugin(kProbe, Fixture("crashes"), kPatience).status;
  std::signal(SIGCHLD, previous);
  EXPECT_TRUE(good.ok()) << good;
  EXPECT_EQ(bad.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(bad.message()), HasSubstr("while loading"));
}

TEST(ProbePluginTest, AMissingProbeIsNoFaultOfThePlugin) {
  const ProbeOutcome outcome = ProbePlugin("/no/such/program", Fixture("crashes"), kPatience);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_FALSE(outcome.is_final);
}

class ProbeCacheTest : public ::testing::Test {
 protected:
  std::string Path() const { return folder_.File("deep/er/probes.txt"); }
  ProbeCache Cache() const { return ProbeCache(Path()); }

  TemporaryFolder folder_;
};

TEST_F(ProbeCacheTest, RemembersOutcomesOfSeveralFiles) {
  const PluginFile good = Fixture("good");
  const PluginFile bad = Fixture("crashes");
  EXPECT_FALSE(Cache().Find(good).has_value());
  Cache().Remember(good, absl::OkStatus());
  Cache().Remember(bad, absl::AbortedError("crashed\tbadly"));
  ASSERT_TRUE(Cache().Find(good).has_value());
  EXPECT_TRUE(Cache().Find(good)->ok());
  EXPECT_EQ(Cache().Find(bad), absl::AbortedError("crashed\tbadly"));
  struct stat info = {};
  ASSERT_EQ(stat(Path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u) << "the user's alone";
}

TEST_F(ProbeCacheTest, AChangedFileIsAnotherFile) {
  const PluginFile file = Fixture("good");
  Cache().Remember(file, absl::OkStatus());
  PluginFile changed = file;
  ++changed.modified_ns;
  EXPECT_FALSE(Cache().Find(changed).has_value());
  changed = file;
  ++changed.bytes;
  EXPECT_FALSE(Cache().Find(changed).has_value());
  changed = file;
  ++changed.inode;
  EXPECT_FALSE(Cache().Find(changed).has_value());
  // It takes the place of what was known of that path.
  Cache().Remember(changed, absl::AbortedError("crashed"));
  EXPECT_FALSE(Cache().Find(file).has_value());
  EXPECT_TRUE(Cache().Find(changed).has_value());
}

TEST_F(ProbeCacheTest, DamageIsIgnoredAndMended) {
  const PluginFile file = Fixture("good");
  Cache().Remember(file, absl::OkStatus());
  std::string bytes = ReadBytes(Path());
  bytes.back() = 'x';  // in the place of the line's end
  bytes.replace(bytes.rfind('\t'), 1, "?");
  folder_.Write("deep/er/probes.txt", bytes);
  EXPECT_FALSE(Cache().Find(file).has_value());
  folder_.Write("deep/er/probes.txt", std::string("\0\xff no heading", 13));
  EXPECT_FALSE(Cache().Find(file).has_value());
  Cache().Remember(file, absl::OkStatus());
  EXPECT_TRUE(Cache().Find(file).has_value());
}

TEST_F(ProbeCacheTest, AnUnwritableOrMissingCacheRemembersNothing) {
  const PluginFile file = Fixture("good");
  folder_.Write("file", "");
  for (const std::string& path : {std::string(), folder_.File("file/probes.txt"), folder_.path()}) {
    ProbeCache(path).Remember(file, absl::OkStatus());
    EXPECT_FALSE(ProbeCache(path).Find(file).has_value()) << path;
  }
}

TEST_F(ProbeCacheTest, ALongMemoryForgetsTheOldest) {
  PluginFile file = Fixture("good");
  const std::string first = file.path;
  for (int i = 0; i < 250; ++i) {
    Cache().Remember(file, absl::OkStatus());
    file.path = absl::StrCat(first, i);
  }
  file.path = first;
  EXPECT_FALSE(Cache().Find(file).has_value());
  file.path = absl::StrCat(first, 248);
  EXPECT_TRUE(Cache().Find(file).has_value());
}

TEST_F(ProbeCacheTest, AProbeRunsOnce) {
  const PluginFile bad = Fixture("crashes");
  const Status first = ProbePluginOnce(kProbe, Path(), bad, kPatience);
  EXPECT_EQ(first.code(), absl::StatusCode::kAborted);
  // Without a program this would be OK.
  EXPECT_EQ(ProbePluginOnce("/no/such/program", Path(), bad, kPatience), first);
  // A timeout is tried again.
  const PluginFile slow = Fixture("hangs");
  EXPECT_FALSE(ProbePluginOnce(kProbe, Path(), slow, absl::Milliseconds(50)).ok());
  EXPECT_TRUE(ProbePluginOnce("/no/such/program", Path(), slow, kPatience).ok());
}

}  // namespace
}  // namespace millstream
