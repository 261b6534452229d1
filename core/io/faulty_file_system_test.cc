#include "core/io/faulty_file_system.h"

#include <cerrno>
#include <memory>

#include "core/io/errno_status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Existing = FileSystem::Existing;
using Names = FaultyFileSystem::Names;

std::unique_ptr<AppendableFile> New(FaultyFileSystem* files, const std::string& path) {
  return *files->OpenForAppending(path, Existing::kRefuse);
}

TEST(FaultyFileSystemTest, TheOperationOfTheNumberFailsAndNoOther) {
  FaultyFileSystem files;
  files.FailOperation(2, ErrnoStatus(ENOSPC, "a"));
  const auto file = New(&files, "a");
  EXPECT_EQ(ErrnoOf(file->Append("abcd")), ENOSPC);
  EXPECT_THAT(files.Contents(), ElementsAre(Pair("a", "ab")));
  EXPECT_EQ(file->Append("c"), absl::OkStatus());
  EXPECT_EQ(files.num_operations(), 3);
}

TEST(FaultyFileSystemTest, AllOperationsFromTheNumberOnFail) {
  FaultyFileSystem files;
  files.FailFrom(2, ErrnoStatus(EIO, "a"));
  EXPECT_TRUE(files.MakeFolders("x").ok());
  EXPECT_EQ(ErrnoOf(files.MakeFolders("y")), EIO);
  EXPECT_EQ(ErrnoOf(files.MakeFolders("y")), EIO);
  files.FailOperation(0, absl::OkStatus());
  EXPECT_TRUE(files.MakeFolders("y").ok());
}

TEST(FaultyFileSystemTest, ACrashLosesContentsThatWereNotSynced) {
  FaultyFileSystem files;
  const auto file = New(&files, "a");
  EXPECT_EQ(file->Append("one"), absl::OkStatus());
  EXPECT_EQ(file->Sync(), absl::OkStatus());
  EXPECT_EQ(file->Append("two"), absl::OkStatus());
  files.Crash(Names::kCurrent);
  EXPECT_THAT(files.Contents(), ElementsAre(Pair("a", "one")));
  EXPECT_TRUE(absl::IsUnavailable(file->Append("three")));
  EXPECT_TRUE(absl::IsUnavailable(file->Sync()));
}

TEST(FaultyFileSystemTest, ACrashLosesNamesThatWereNotSynced) {
  FaultyFileSystem files;
  EXPECT_EQ(files.MakeFolders("x/y"), absl::OkStatus());
  EXPECT_EQ(New(&files, "x/y/a")->Append("one"), absl::OkStatus());
  EXPECT_EQ(New(&files, "b")->Append("one"), absl::OkStatus());
  EXPECT_EQ(files.SyncFolder("x/y"), absl::OkStatus());
  EXPECT_EQ(files.Rename("x/y/a", "x/y/c", Existing::kRefuse), absl::OkStatus());
  files.Crash(Names::kSynced);
  EXPECT_THAT(files.Contents(), ElementsAre(Pair("x/y/a", "")));
}

TEST(FaultyFileSystemTest, ACrashReleasesLocks) {
  FaultyFileSystem files;
  const auto held = files.Lock("a");
  EXPECT_TRUE(held.ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(files.Lock("a").status()));
  EXPECT_TRUE(files.Lock("b").ok());
  files.Crash(Names::kSynced);
  EXPECT_TRUE(files.Lock("a").ok());
}

TEST(FaultyFileSystemTest, AnswersAsTheLocalFilesDo) {
  FaultyFileSystem files;
  EXPECT_EQ(ErrnoOf(files.OpenForReading("a").status()), ENOENT);
  EXPECT_EQ(ErrnoOf(files.OpenForAppending("x/a", Existing::kKeep).status()), ENOENT);
  EXPECT_EQ(files.MakeFolders("x/y"), absl::OkStatus());
  EXPECT_EQ(New(&files, "x/a")->Append("abcdef"), absl::OkStatus());
  EXPECT_EQ(ErrnoOf(files.OpenForAppending("x/a", Existing::kRefuse).status()), EEXIST);
  EXPECT_EQ(ErrnoOf(files.MakeFolders("x/a")), EEXIST);
  EXPECT_EQ(ErrnoOf(files.MakeFolders("x/a/b")), ENOTDIR);
  EXPECT_EQ(ErrnoOf(files.Remove("x")), EISDIR);
  EXPECT_THAT(*files.List("x"), ElementsAre("a", "y"));
  EXPECT_TRUE(files.Describe("x")->is_folder);
  EXPECT_EQ(files.Describe("x/a")->size, 6);
  char buffer[4] = {};
  EXPECT_EQ(*(*files.OpenForReading("x/a"))->ReadAt(4, absl::MakeSpan(buffer)), 2);
  EXPECT_EQ(files.Rename("x/a", "x/b", Existing::kRefuse), absl::OkStatus());
  EXPECT_EQ(files.Link("x/b", "x/c"), absl::OkStatus());
  EXPECT_EQ(ErrnoOf(files.Link("x/b", "x/c")), EEXIST);
  EXPECT_EQ(ErrnoOf(files.Link("x/d", "x/e")), ENOENT);
  EXPECT_EQ(files.Remove("x/b"), absl::OkStatus());
  EXPECT_EQ(files.Contents()["x/c"], "abcdef");
  EXPECT_EQ(files.Remove("x/c"), absl::OkStatus());
  EXPECT_THAT(files.Contents(), IsEmpty());
}

}  // namespace
}  // namespace millstream
