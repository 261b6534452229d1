// The files of inputs that a step with numeric checks saves: whole or not there, whatever fails.
#include <cerrno>
#include <map>
#include <string>

#include "core/import/graph_def.h"
#include "core/io/errno_status.h"
#include "core/io/faulty_file_system.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Names = FaultyFileSystem::Names;

// Looks for the name, open, append, sync, close, rename, sync of the folder.
constexpr int kOperations = 7;
constexpr int kSyncOfFolder = 7;

class ReplayFilesTest : public SessionTest {
 protected:
  void SetUp() override {
    StartChecking();
    ASSERT_EQ(files_.MakeFolders("saved"), absl::OkStatus());
    const Output x = Constant(Values<float>({2, 0}));
    infinite_ = build.Named("root", "Log", {{x}}, {})->output(0);
    files_.FailOperation(0, absl::OkStatus());
  }
  void StartChecking() {
    SessionOptions options;
    options.check_numerics = true;
    options.check_numerics_folder = "saved";
    options.files = &files_;
    StartSession(options);
  }

  // Runs the step that fails, and returns its message.
  std::string FailedStep() {
    const Status status = Run({infinite_}).status();
    ExpectError(status, absl::StatusCode::kInvalidArgument,
                {"the first numbers of the step that are not finite, in output 0",
                 "node 'root' (op Log)", "ranges: x 0 to 2"});
    return std::string(status.message());
  }
  // Each file has a replay's name and is a GraphDef of the node and its input.
  void ExpectWhole(const std::map<std::string, std::string>& contents) {
    for (const auto& [path, bytes] : contents) {
      EXPECT_TRUE(path.rfind("saved/root-", 0) == 0 && path.substr(path.size() - 3) == ".pb")
          << path;
      Graph saved;
      const StatusOr<ImportResult> nodes = ImportGraphDef(&saved, bytes);
      ASSERT_EQ(nodes.status(), absl::OkStatus());
      EXPECT_THAT(nodes->nodes, SizeIs(2));
    }
  }

  FaultyFileSystem files_;
  Output infinite_;
};

TEST_F(ReplayFilesTest, AStepSavesAWholeFileAndSaysWhere) {
  const std::string message = FailedStep();
  EXPECT_EQ(files_.num_operations(), kOperations);
  const auto contents = files_.Contents();
  ASSERT_THAT(contents, SizeIs(1));
  ExpectWhole(contents);
  EXPECT_THAT(message, HasSubstr("replay: millstream replay " + contents.begin()->first));
}

TEST_F(ReplayFilesTest, EveryStepSavesAFileOfItsOwn) {
  for (int i = 0; i < 3; ++i) FailedStep();
  EXPECT_THAT(files_.Contents(), SizeIs(3));
  ExpectWhole(files_.Contents());
}

// Another session's, or an earlier process's.
TEST_F(ReplayFilesTest, AFileThatIsThereStaysAsItIs) {
  FailedStep();
  const auto before = files_.Contents();
  StartChecking();
  FailedStep();
  const auto after = files_.Contents();
  EXPECT_THAT(after, SizeIs(2));
  EXPECT_EQ(after.at(before.begin()->first), before.begin()->second);
}

TEST_F(ReplayFilesTest, AFailingOperationLeavesNoFileAndTheErrorNamesTheNode) {
  for (int n = 2; n < kSyncOfFolder; ++n) {
    files_.FailOperation(n, ErrnoStatus(ENOSPC, "saved/root"));
    const std::string message = FailedStep();
    EXPECT_THAT(message, HasSubstr("not saved: saved/root: No space left on device")) << n;
    EXPECT_THAT(message, Not(HasSubstr("replay"))) << n;
    EXPECT_THAT(files_.Contents(), IsEmpty()) << n;
  }
}

TEST_F(ReplayFilesTest, AFileWhoseNameMayBeLostIsWholeAndNotCounted) {
  files_.FailOperation(kSyncOfFolder, ErrnoStatus(EIO, "saved"));
  EXPECT_THAT(FailedStep(), HasSubstr("not saved: saved: Input/output error"));
  EXPECT_THAT(files_.Contents(), SizeIs(1));
  ExpectWhole(files_.Contents());
}

// To look for the name is a precaution: the file is not written over without it either.
TEST_F(ReplayFilesTest, AFailingLookForTheNameLosesNothing) {
  files_.FailOperation(1, ErrnoStatus(EIO, "saved"));
  EXPECT_THAT(FailedStep(), HasSubstr("replay: "));
  EXPECT_THAT(files_.Contents(), SizeIs(1));
  ExpectWhole(files_.Contents());
}

TEST_F(ReplayFilesTest, ACrashLeavesWholeReplaysOnly) {
  for (int n = 1; n <= kOperations + 1; ++n) {
    for (const Names names : {Names::kSynced, Names::kCurrent}) {
      files_.FailFrom(n, ErrnoStatus(EIO, "saved"));
      FailedStep();
      files_.Crash(names);
      std::map<std::string, std::string> replays;
      for (const auto& [path, bytes] : files_.Contents()) {
        if (path.find(".tmp") == std::string::npos) replays[path] = bytes;
      }
      ExpectWhole(replays);
    }
  }
}

}  // namespace
}  // namespace millstream
