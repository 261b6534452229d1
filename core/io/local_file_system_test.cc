// The files of this machine.
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/io/errno_status.h"
#include "core/io/file_system.h"
#include "core/io/local_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Existing = FileSystem::Existing;

// A new folder for each test.
class LocalFileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/files-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, absl::string_view text, Existing existing) const {
    auto file = files_->OpenForAppending(Path(name), existing);
    ASSERT_EQ(file.status(), absl::OkStatus());
    EXPECT_EQ((*file)->Append(text), absl::OkStatus());
    EXPECT_EQ((*file)->Sync(), absl::OkStatus());
    EXPECT_EQ((*file)->Close(), absl::OkStatus());
  }
  std::string Read(const std::string& name) const {
    const auto file = files_->OpenForReading(Path(name));
    if (!file.ok()) return std::string(file.status().message());
    std::string text(100, '\0');
    const StatusOr<size_t> size = (*file)->ReadAt(0, absl::MakeSpan(&text[0], text.size()));
    EXPECT_EQ(size.status(), absl::OkStatus());
    text.resize(*size);
    return text;
  }
  std::vector<std::string> Names() const { return *files_->List(folder_); }
  static int CodeOf(const Status& status) { return static_cast<int>(status.code()); }

  FileSystem* const files_ = LocalFileSystem();
  std::string folder_;
};

constexpr int kAlreadyExists = static_cast<int>(absl::StatusCode::kAlreadyExists);
constexpr int kNotFound = static_cast<int>(absl::StatusCode::kNotFound);
constexpr int kFailedPrecondition = static_cast<int>(absl::StatusCode::kFailedPrecondition);
constexpr int kInvalidArgument = static_cast<int>(absl::StatusCode::kInvalidArgument);

TEST_F(LocalFileSystemTest, AppendingRefusesReplacesOrKeepsWhatIsThere) {
  Write("a", "one", Existing::kRefuse);
  EXPECT_EQ(CodeOf(files_->OpenForAppending(Path("a"), Existing::kRefuse).status()),
            kAlreadyExists);
  EXPECT_EQ(Read("a"), "one");
  Write("a", "two", Existing::kKeep);
  EXPECT_EQ(Read("a"), "onetwo");
  Write("a", "three", Existing::kReplace);
  EXPECT_EQ(Read("a"), "three");
}

TEST_F(LocalFileSystemTest, ReadsAtAnOffsetUpToTheEnd) {
  Write("a", "abcdef", Existing::kRefuse);
  const auto file = *files_->OpenForReading(Path("a"));
  char buffer[4] = {};
  EXPECT_EQ(*file->ReadAt(1, absl::MakeSpan(buffer)), 4);
  EXPECT_EQ(std::string(buffer, 4), "bcde");
  EXPECT_EQ(*file->ReadAt(4, absl::MakeSpan(buffer)), 2);
  EXPECT_EQ(std::string(buffer, 2), "ef");
  EXPECT_EQ(*file->ReadAt(6, absl::MakeSpan(buffer)), 0);
  EXPECT_EQ(*file->ReadAt(600, absl::MakeSpan(buffer)), 0);
}

TEST_F(LocalFileSystemTest, AClosedFileTakesNothing) {
  auto file = *files_->OpenForAppending(Path("a"), Existing::kRefuse);
  EXPECT_EQ(file->Close(), absl::OkStatus());
  EXPECT_EQ(file->Close(), absl::OkStatus());
  EXPECT_EQ(file->Append("x"), errors::FailedPrecondition(Path("a"), ": the file is closed"));
  EXPECT_EQ(file->Sync(), errors::FailedPrecondition(Path("a"), ": the file is closed"));
}

// The system writes what fits, and the next call fails.
TEST_F(LocalFileSystemTest, AShortWriteGoesOnUntilTheErrorIsKnown) {
  auto file = *files_->OpenForAppending(Path("a"), Existing::kRefuse);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 4;
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status status = file->Append("abcdef");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(ErrnoOf(status), EFBIG);
  EXPECT_EQ(Read("a"), "abcd");
}

TEST_F(LocalFileSystemTest, DescribesFilesAndFolders) {
  Write("a", "abc", Existing::kRefuse);
  EXPECT_EQ(files_->Describe(Path("a"))->size, 3);
  EXPECT_FALSE(files_->Describe(Path("a"))->is_folder);
  EXPECT_TRUE(files_->Describe(folder_)->is_folder);
  EXPECT_EQ(CodeOf(files_->Describe(Path("b")).status()), kNotFound);
}

TEST_F(LocalFileSystemTest, RenameRefusesOrReplacesWhatIsThere) {
  Write("a", "one", Existing::kRefuse);
  Write("b", "two", Existing::kRefuse);
  EXPECT_EQ(CodeOf(files_->Rename(Path("a"), Path("b"), Existing::kRefuse)), kAlreadyExists);
  EXPECT_EQ(Read("b"), "two");
  EXPECT_EQ(CodeOf(files_->Rename(Path("a"), Path("b"), Existing::kKeep)), kInvalidArgument);
  EXPECT_EQ(files_->Rename(Path("a"), Path("c"), Existing::kRefuse), absl::OkStatus());
  EXPECT_EQ(files_->Rename(Path("c"), Path("b"), Existing::kReplace), absl::OkStatus());
  EXPECT_EQ(Read("b"), "one");
  EXPECT_THAT(Names(), ElementsAre("b"));
  EXPECT_EQ(CodeOf(files_->Rename(Path("a"), Path("b"), Existing::kReplace)), kNotFound);
}

TEST_F(LocalFileSystemTest, RenameByLinkRefusesWhatIsThere) {
  Write("a", "one", Existing::kRefuse);
  Write("b", "two", Existing::kRefuse);
  EXPECT_EQ(CodeOf(RenameByLink(Path("a"), Path("b"))), kAlreadyExists);
  EXPECT_EQ(Read("b"), "two");
  EXPECT_EQ(RenameByLink(Path("a"), Path("c")), absl::OkStatus());
  EXPECT_EQ(Read("c"), "one");
  EXPECT_THAT(Names(), ElementsAre("b", "c"));
}

TEST_F(LocalFileSystemTest, RemovesFilesAndSaysWhichIsNotThere) {
  Write("a", "one", Existing::kRefuse);
  EXPECT_EQ(files_->Remove(Path("a")), absl::OkStatus());
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_EQ(files_->Remove(Path("a")).message(), Path("a") + ": No such file or directory");
}

TEST_F(LocalFileSystemTest, MakesAllFoldersThatAreMissing) {
  EXPECT_EQ(files_->MakeFolders(Path("x/y//z/")), absl::OkStatus());
  EXPECT_EQ(files_->MakeFolders(Path("x/y/z")), absl::OkStatus());
  Write("x/y/z/a", "one", Existing::kRefuse);
  EXPECT_EQ(CodeOf(files_->MakeFolders(Path("x/y/z/a"))), kAlreadyExists);
  EXPECT_EQ(CodeOf(files_->MakeFolders(Path("x/y/z/a/b"))), kFailedPrecondition);
  EXPECT_EQ(CodeOf(files_->MakeFolders("")), kNotFound);
}

TEST_F(LocalFileSystemTest, ListsSortedNames) {
  Write("b", "", Existing::kRefuse);
  Write("a", "", Existing::kRefuse);
  EXPECT_EQ(files_->MakeFolders(Path("c/d")), absl::OkStatus());
  EXPECT_THAT(Names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(CodeOf(files_->List(Path("e")).status()), kNotFound);
  EXPECT_EQ(CodeOf(files_->List(Path("a")).status()), kFailedPrecondition);
}

TEST_F(LocalFileSystemTest, SyncsFoldersAlone) {
  Write("a", "", Existing::kRefuse);
  EXPECT_EQ(files_->SyncFolder(folder_), absl::OkStatus());
  EXPECT_EQ(CodeOf(files_->SyncFolder(Path("a"))), kFailedPrecondition);
  EXPECT_EQ(CodeOf(files_->SyncFolder(Path("b"))), kNotFound);
}

TEST_F(LocalFileSystemTest, AFileHasTwoNames) {
  Write("a", "one", Existing::kRefuse);
  EXPECT_EQ(files_->Link(Path("a"), Path("b")), absl::OkStatus());
  EXPECT_EQ(CodeOf(files_->Link(Path("a"), Path("b"))), kAlreadyExists);
  EXPECT_EQ(CodeOf(files_->Link(Path("none"), Path("c"))), kNotFound);
  EXPECT_EQ(files_->Remove(Path("a")), absl::OkStatus());
  EXPECT_EQ(Read("b"), "one");
}

TEST_F(LocalFileSystemTest, ALockIsAFileAndHeldOnce) {
  auto held = files_->Lock(Path("a"));
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_EQ(CodeOf(files_->Lock(Path("a")).status()), kFailedPrecondition);
  EXPECT_TRUE(files_->Lock(Path("b")).ok());
  held->reset();
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_TRUE(files_->Lock(Path("a")).ok());
  EXPECT_EQ(CodeOf(files_->Lock(Path("none/a")).status()), kNotFound);
  Write("a", "left by a process that was killed", Existing::kRefuse);
  EXPECT_TRUE(files_->Lock(Path("a")).ok());
}

TEST(FolderOfTest, IsTheFolderThatHasTheName) {
  EXPECT_EQ(FolderOf("a/b/c"), "a/b");
  EXPECT_EQ(FolderOf("a/b/"), "a");
  EXPECT_EQ(FolderOf("a//b"), "a");
  EXPECT_EQ(FolderOf("/a/b"), "/a");
  EXPECT_EQ(FolderOf("/a"), "/");
  EXPECT_EQ(FolderOf("/"), "/");
  EXPECT_EQ(FolderOf("a"), ".");
  EXPECT_EQ(FolderOf(""), ".");
}

}  // namespace
}  // namespace millstream
