#include <stdlib.h>

#include <filesystem>
#include <string>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/search_path.h"
#include "framework/plugin/testing/loader_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The probe stands beside the tests.
constexpr char kProbe[] = "framework/plugin/millstream_plugin_probe";

class LoaderSearchTest : public LoaderTest {
 protected:
  // The folders of the three origins, empty at first.
  LoaderSearchTest() {
    for (const std::string& folder : {User(), Package(), Installed()}) {
      std::filesystem::create_directory(folder);
    }
  }
  std::string User() const { return folder_.File("user"); }
  std::string Package() const { return folder_.File("package"); }
  std::string Installed() const { return folder_.File("installed"); }
  PluginLoaderOptions Options() const {
    PluginLoaderOptions options;
    options.user_path = {User()};
    options.install_folder = Installed();
    return options;
  }
  // Searches all three.
  Status Search(PluginLoaderOptions options) {
    Restart(std::move(options));
    EXPECT_TRUE(loader_->AddPackagePath(Package()).ok());
    return loader_->LoadInstalled();
  }
};

// Changes a variable of the environment for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), /*replace=*/1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* const name_;
};

TEST_F(LoaderSearchTest, OfAFamilyTheHighestRankIsLoaded) {
  folder_.Copy("a.so", "family_low");
  folder_.Copy("b.so", "family_high");
  folder_.Write("c.so", "not a plugin");
  folder_.Write("d.txt", "not looked at");
  ASSERT_TRUE(loader_->LoadFrom({folder_.path()}).ok());
  EXPECT_EQ(RecordOf("b.so").state, PluginState::kReady);
  EXPECT_EQ(RecordOf("a.so").state, PluginState::kShadowed);
  EXPECT_EQ(RecordOf("a.so").stage, LoadStage::kChoose);
  EXPECT_THAT(Message(RecordOf("a.so").status),
              AllOf(HasSubstr("rank 1"), HasSubstr("rank 2"), HasSubstr(folder_.File("b.so"))));
  EXPECT_EQ(RecordOf("c.so").state, PluginState::kRejected);
  EXPECT_EQ(loader_->Records().size(), 3u);
  ASSERT_EQ(loader_->Plugins().size(), 1u);
  EXPECT_EQ(loader_->Plugins()[0]->name, "family_high");
  // Also when the other is asked for by name.
  EXPECT_EQ(loader_->Load(folder_.File("a.so")).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(RecordOf("a.so").state, PluginState::kShadowed);
}

TEST_F(LoaderSearchTest, AFileThatTheCpuCannotRunIsShadowed) {
  folder_.Copy("a.so", "family_low");
  folder_.WithNote("b.so", "family_high", [](MS_Note* note) { note->cpu_bits = 1ull << 50; });
  ASSERT_TRUE(loader_->LoadFrom({folder_.path()}).ok());
  EXPECT_EQ(RecordOf("a.so").state, PluginState::kReady);
  EXPECT_EQ(RecordOf("b.so").state, PluginState::kShadowed);
  EXPECT_THAT(Message(RecordOf("b.so").status), HasSubstr("needs bit 50"));
  // By its own name it is refused.
  EXPECT_EQ(loader_->Load(folder_.File("b.so")).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(LoaderSearchTest, WhenTheBestOfAFamilyFailsTheNextIsTried) {
  folder_.Copy("a.so", "family_low");
  folder_.WithNote("b.so", "init_fails", [](MS_Note* note) {
    note->rank = 9;
    std::string("pair").copy(note->family, sizeof(note->family));
  });
  ASSERT_TRUE(loader_->LoadFrom({folder_.path()}).ok());
  EXPECT_EQ(RecordOf("b.so").state, PluginState::kFailed);
  EXPECT_EQ(RecordOf("a.so").state, PluginState::kReady);
}

TEST_F(LoaderSearchTest, AllOriginsAreSearched) {
  folder_.Copy("user/a.so", "other_kernel");
  folder_.Copy("package/b.so", "device");
  folder_.Copy("installed/c.so", "family_low");
  EXPECT_TRUE(Search(Options()).ok());
  EXPECT_EQ(loader_->Plugins().size(), 3u);
  EXPECT_EQ(RecordOf("a.so").origin, PluginOrigin::kUserPath);
  EXPECT_EQ(RecordOf("b.so").origin, PluginOrigin::kPackage);
  EXPECT_EQ(RecordOf("c.so").origin, PluginOrigin::kInstalled);
}

TEST_F(LoaderSearchTest, TheUsersFileIsTakenBeforeAnInstalledOneOfAHigherRank) {
  folder_.Copy("user/a.so", "family_low");
  folder_.Copy("installed/b.so", "family_high");
  EXPECT_TRUE(Search(Options()).ok());
  EXPECT_EQ(RecordOf("a.so").state, PluginState::kReady);
  EXPECT_EQ(RecordOf("b.so").state, PluginState::kShadowed);
  EXPECT_THAT(Message(RecordOf("b.so").status),
              AllOf(HasSubstr("(installed, rank 2)"), HasSubstr("(user path, rank 1)")));
  EXPECT_THAT(loader_->FailureReasons(), IsEmpty()) << "an alternative of it is ready";
}

TEST_F(LoaderSearchTest, AFileThatIsFoundTwiceIsOneFile) {
  folder_.Copy("user/a.so", "good");
  std::filesystem::create_hard_link(folder_.File("user/a.so"), folder_.File("installed/b.so"));
  std::filesystem::create_symlink(folder_.File("user/a.so"), folder_.File("package/c.so"));
  EXPECT_TRUE(Search(Options()).ok());
  EXPECT_EQ(loader_->Records().size(), 1u);
  EXPECT_EQ(RecordOf("a.so").origin, PluginOrigin::kUserPath);
}

TEST_F(LoaderSearchTest, AnEntryOfTheUsersPathThatDoesNotExistIsAnError) {
  folder_.Copy("installed/a.so", "good");
  PluginLoaderOptions options = Options();
  options.user_path = {folder_.File("absent")};
  const Status status = Search(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr(folder_.File("absent")));
  EXPECT_EQ(loader_->Plugins().size(), 1u) << "the other entries are loaded all the same";
  EXPECT_EQ(loader_->LoadInstalled(), status) << "it is done once";
}

TEST_F(LoaderSearchTest, PluginsThatTheUserDoesNotNameAreDisabled) {
  folder_.Copy("user/a.so", "other_kernel");
  folder_.Copy("user/b.so", "device");
  folder_.Copy("user/c.so", "family_low");
  PluginLoaderOptions options = Options();
  options.only = {"device", "pair"};  // a name and a family
  EXPECT_TRUE(Search(options).ok());
  EXPECT_EQ(RecordOf("a.so").state, PluginState::kDisabled);
  EXPECT_EQ(RecordOf("a.so").stage, LoadStage::kChoose);
  EXPECT_THAT(Message(RecordOf("a.so").status),
              AllOf(HasSubstr("named \"other_kernel\""),
                    HasSubstr("MILLSTREAM_PLUGINS (\"device,pair\")")));
  EXPECT_EQ(RecordOf("b.so").state, PluginState::kReady);
  EXPECT_EQ(RecordOf("c.so").state, PluginState::kReady);
  EXPECT_THAT(loader_->FailureReasons(), HasSubstr("DISABLED at choose"));
  // Whoever loads a file by its path wants it.
  EXPECT_TRUE(loader_->Load(folder_.File("user/a.so")).ok());
}

TEST_F(LoaderSearchTest, NoneDisablesAll) {
  folder_.Copy("installed/a.so", "good");
  PluginLoaderOptions options = Options();
  options.only = {"none"};
  EXPECT_TRUE(Search(options).ok());
  EXPECT_THAT(loader_->Plugins(), IsEmpty());
  EXPECT_EQ(RecordOf("a.so").state, PluginState::kDisabled);
}

TEST_F(LoaderSearchTest, ANameThatNoPluginHasIsWarnedOf) {
  PluginLoaderOptions options = Options();
  options.only = {"godo"};
  SetHostLogLevel(MS_LOG_WARNING);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Search(options).ok());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("names \"godo\""));
}

TEST_F(LoaderSearchTest, StrictModeMakesAFailureAnError) {
  folder_.Copy("installed/a.so", "good");
  folder_.Copy("installed/b.so", "init_fails");
  EXPECT_TRUE(Search(Options()).ok());
  PluginLoaderOptions options = Options();
  options.strict = true;
  const Status status = Search(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("MILLSTREAM_PLUGIN_STRICT"), HasSubstr("b.so"),
                                     HasSubstr("FAILED at init")));
  EXPECT_EQ(loader_->Plugins().size(), 1u);
}

TEST_F(LoaderSearchTest, StrictModeDoesNotMindWhatIsShadowedOrNotInstalled) {
  folder_.Copy("user/a.so", "family_low");
  folder_.Copy("user/b.so", "family_high");
  PluginLoaderOptions options = Options();
  options.strict = true;
  options.install_folder = folder_.File("absent");
  const Status status = Search(options);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(LoaderSearchTest, PackagesThatCannotSayWhereTheirPluginsAreAreRecorded) {
  loader_->RecordPackageError("acme_plugins", absl::InternalError("raised ImportError"));
  ASSERT_EQ(loader_->Records().size(), 1u);
  const PluginRecord record = loader_->Records()[0];
  EXPECT_EQ(record.state, PluginState::kRejected);
  EXPECT_EQ(record.stage, LoadStage::kFind);
  EXPECT_EQ(Message(record.status), "acme_plugins: raised ImportError");
}

TEST_F(LoaderSearchTest, PackagesComeTooLateAfterTheSearch) {
  EXPECT_TRUE(Search(Options()).ok());
  EXPECT_EQ(loader_->AddPackagePath(Package()).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LoaderSearchTest, WhatIsNotInstalledWithUsIsProbed) {
  folder_.Copy("user/a.so", "crashes");
  folder_.Copy("user/b.so", "good");
  PluginLoaderOptions options = Options();
  options.probe_program = kProbe;
  options.probe_cache = folder_.File("cache/probes.txt");
  EXPECT_TRUE(Search(options).ok());
  const PluginRecord record = RecordOf("a.so");
  EXPECT_EQ(record.state, PluginState::kRejected);
  EXPECT_EQ(record.stage, LoadStage::kProbe);
  EXPECT_EQ(record.status, absl::AbortedError(absl::StrCat("plugin ", folder_.File("user/a.so"),
                                                           " crashed (SIGILL) while loading")));
  EXPECT_EQ(RecordOf("b.so").state, PluginState::kReady);
  EXPECT_TRUE(std::filesystem::exists(options.probe_cache));
  EXPECT_EQ(loader_->Load(folder_.Copy("c.so", "exits")).status().code(),
            absl::StatusCode::kAborted);
}

TEST_F(LoaderSearchTest, WhatIsInstalledWithUsIsNotProbed) {
  folder_.Copy("installed/a.so", "good");
  PluginLoaderOptions options = Options();
  options.probe_program = kProbe;
  options.probe_cache = folder_.File("cache/probes.txt");
  EXPECT_TRUE(Search(options).ok());
  EXPECT_EQ(RecordOf("a.so").state, PluginState::kReady);
  EXPECT_FALSE(std::filesystem::exists(options.probe_cache));
}

TEST(PluginLoaderOptionsTest, TheInstallFolderAndTheProbeStandBesideThisProgram) {
  const PluginLoaderOptions options = PluginLoaderOptions::FromEnvironment();
  const std::filesystem::path folder = options.install_folder;
  EXPECT_EQ(folder.filename(), "plugins");
  EXPECT_TRUE(std::filesystem::exists(folder.parent_path()));
  EXPECT_EQ(options.probe_program, folder.parent_path() / "millstream_plugin_probe");
  EXPECT_THAT(options.user_path, IsEmpty());
  EXPECT_FALSE(options.only.has_value());
  EXPECT_FALSE(options.strict);
}

TEST_F(LoaderSearchTest, OptionsByNameReachThePlugin) {
  SetHostLogLevel(MS_LOG_INFO);
  folder_.Copy("user/option.so", "takes_option");
  PluginLoaderOptions options = Options();
  options.plugin_options = {{"takes_option", {{"level", "three"}}}};
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Search(options).ok());
  EXPECT_EQ(RecordOf("option.so").state, PluginState::kReady);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("three"));
  // What the caller gives goes before it.
  Restart(options);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(loader_->Load(folder_.File("user/option.so"), {{"level", "four"}}).ok());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("four"));
  EXPECT_THAT(log, ::testing::Not(HasSubstr("three")));
}

TEST_F(LoaderSearchTest, OptionsOfAPluginThatTakesNoneAreItsFailure) {
  folder_.Copy("user/good.so", "good");
  PluginLoaderOptions options = Options();
  options.plugin_options = {{"good", {{"level", "three"}}}};
  EXPECT_TRUE(Search(options).ok());
  EXPECT_EQ(RecordOf("good.so").state, PluginState::kFailed);
  EXPECT_THAT(Message(RecordOf("good.so").status), HasSubstr("takes no options, got \"level\""));
}

TEST_F(LoaderSearchTest, OptionsOfAPluginThatIsNotThereAreWarnedOf) {
  SetHostLogLevel(MS_LOG_WARNING);
  PluginLoaderOptions options = Options();
  options.plugin_options = {{"no_such", {{"level", "three"}}}};
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Search(options).ok());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("MILLSTREAM_PLUGIN_OPTIONS names \"no_such\", but no plugin"));
}

TEST_F(LoaderSearchTest, OptionsThatCannotBeReadAreAnErrorOfEveryLoad) {
  const Variable variable(kPluginOptionsVariable, "level=3");
  PluginLoaderOptions options = PluginLoaderOptions::FromEnvironment();
  const std::string text = "MILLSTREAM_PLUGIN_OPTIONS: \"level=3\" is no option";
  EXPECT_THAT(Message(Search(options)), HasSubstr(text));
  EXPECT_THAT(Message(loader_->LoadInstalled()), HasSubstr(text)) << "again";
  EXPECT_THAT(Message(loader_->LoadFrom({User()})), HasSubstr(text));
  EXPECT_THAT(Message(loader_->Load(FixturePath("good")).status()), HasSubstr(text));
  EXPECT_THAT(loader_->Plugins(), IsEmpty());
}

TEST(PluginLoaderOptionsTest, TheEnvironmentSteers) {
  const Variable named(kPluginOptionsVariable, "a:b=c");
  const Variable path(kPluginPathVariable, "/one:/two.so:");
  const Variable plugins(kPluginsVariable, "a, b");
  const Variable strict(kPluginStrictVariable, "1");
  const Variable probe(kPluginProbeVariable, "0");
  const PluginLoaderOptions options = PluginLoaderOptions::FromEnvironment();
  EXPECT_THAT(options.user_path, ElementsAre("/one", "/two.so"));
  ASSERT_TRUE(options.only.has_value());
  EXPECT_THAT(*options.only, ElementsAre("a", "b"));
  EXPECT_TRUE(options.strict);
  EXPECT_EQ(options.probe_program, "");
  EXPECT_TRUE(options.status.ok()) << options.status;
  EXPECT_EQ(options.plugin_options, (NamedPluginOptions{{"a", {{"b", "c"}}}}));
}

TEST(PluginLoaderOptionsTest, TheCacheIsInTheUsersCacheFolder) {
  const Variable cache("XDG_CACHE_HOME", "/somewhere");
  EXPECT_EQ(PluginLoaderOptions::FromEnvironment().probe_cache,
            "/somewhere/millstream/plugin_probes.txt");
}

}  // namespace
}  // namespace millstream
