// Files: what is appended, and what the system refuses.
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "core/c_api/c_api.h"
#include "core/c_api/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream::c_api {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class FilesTest : public ::testing::Test {
 protected:
  // Each test has a folder of its own.
  FilesTest()
      : folder_(::testing::TempDir() + "/" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    ExpectOk(millstream_make_folders(folder_.c_str()));
  }
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }
  static FileHandle Create(const std::string& path) {
    millstream_file* file = nullptr;
    ExpectOk(millstream_file_create(path.c_str(), &file));
    return FileHandle(file);
  }
  static Error Append(const FileHandle& file, const std::string& bytes) {
    return millstream_file_append(file.get(), bytes.data(), bytes.size());
  }
  static std::string ContentsOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  const std::string folder_;
};

TEST_F(FilesTest, BytesAreAppendedInOrder) {
  const std::string path = PathOf("a");
  const FileHandle file = Create(path);
  ExpectOk(Append(file, std::string("one\0two", 7)));
  ExpectOk(millstream_file_append(file.get(), nullptr, 0));
  ExpectOk(Append(file, "three"));
  ExpectOk(millstream_file_sync(file.get()));
  EXPECT_EQ(ContentsOf(path), std::string("one\0twothree", 12));
  ExpectOk(millstream_file_close(file.get()));
}

TEST_F(FilesTest, AFreedFileKeepsWhatWasAppended) {
  const std::string path = PathOf("a");
  {
    const FileHandle file = Create(path);
    ExpectOk(Append(file, "kept"));
  }
  EXPECT_EQ(ContentsOf(path), "kept");
  millstream_file_free(nullptr);
}

TEST_F(FilesTest, ANameThatIsTakenIsRefused) {
  const std::string path = PathOf("a");
  ExpectOk(Append(Create(path), "old"));
  millstream_file* file = nullptr;
  const Error error = millstream_file_create(path.c_str(), &file);
  EXPECT_EQ(error.code, kAlreadyExists);
  EXPECT_EQ(error.system_error, EEXIST);
  EXPECT_EQ(error.message, path + ": File exists");
  EXPECT_EQ(file, nullptr);
  EXPECT_EQ(ContentsOf(path), "old");
}

TEST_F(FilesTest, AFolderThatIsNotThereIsNamed) {
  millstream_file* file = nullptr;
  const std::string path = PathOf("none/a");
  const Error error = millstream_file_create(path.c_str(), &file);
  EXPECT_EQ(error.code, kNotFound);
  EXPECT_EQ(error.system_error, ENOENT);
  EXPECT_EQ(error.message, path + ": No such file or directory");
}

TEST_F(FilesTest, FoldersAreMadeWithThoseAboveThem) {
  ExpectOk(millstream_make_folders(PathOf("b/c/d").c_str()));
  ExpectOk(millstream_make_folders(PathOf("b/c/d").c_str()));
  Create(PathOf("b/c/d/a"));
  const Error error = millstream_make_folders(PathOf("b/c/d/a").c_str());
  EXPECT_EQ(error.code, kAlreadyExists);
  EXPECT_EQ(error.system_error, EEXIST);
  EXPECT_THAT(error.message, EndsWith("b/c/d/a: File exists"));
}

TEST_F(FilesTest, AClosedFileTakesNothingMore) {
  const FileHandle file = Create(PathOf("a"));
  ExpectOk(millstream_file_close(file.get()));
  ExpectOk(millstream_file_close(file.get()));
  for (const Error& error : {Append(file, "lost"), Error(millstream_file_sync(file.get()))}) {
    EXPECT_EQ(error.code, kFailedPrecondition);
    EXPECT_EQ(error.system_error, 0);
    EXPECT_THAT(error.message, HasSubstr("the file is closed"));
  }
}

TEST_F(FilesTest, AFullDiskIsToldWithTheNumberOfTheSystem) {
  const std::string path = PathOf("a");
  const FileHandle file = Create(path);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 3;
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Error error = Append(file, "12345");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error.code, kResourceExhausted);
  EXPECT_EQ(error.system_error, EFBIG);
  EXPECT_EQ(error.message, path + ": File too large");
  EXPECT_EQ(ContentsOf(path), "123");
}

TEST(StatusErrnoTest, OtherErrorsHaveNone) {
  EXPECT_EQ(millstream_status_errno(nullptr), 0);
  millstream_tensor* tensor = nullptr;
  const Error error = millstream_tensor_new(-1, nullptr, 0, &tensor);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_EQ(error.system_error, 0);
}

}  // namespace
}  // namespace millstream::c_api
