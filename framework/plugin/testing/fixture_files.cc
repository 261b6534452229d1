#include "framework/plugin/testing/fixture_files.h"

#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace millstream {

std::string FixturePath(absl::string_view name) {
  // The working folder of a test is the root of the repository's copy that holds its data.
  return absl::StrCat("framework/plugin/testing/lib", name, ".so");
}

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  EXPECT_TRUE(file.good()) << path;
  return bytes.str();
}

size_t FindNote(const std::string& bytes) {
  // The owner stands before the description; the magic alone may stand in the code as well.
  const size_t owner = bytes.find(std::string(MS_NOTE_OWNER, sizeof(MS_NOTE_OWNER)));
  EXPECT_NE(owner, std::string::npos);
  return owner + sizeof(MS_NoteRecord::owner);
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = absl::StrCat(testing::TempDir(), "/millstream_plugin_XXXXXX");
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  path_ = std::filesystem::canonical(pattern).string();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string TemporaryFolder::Write(absl::string_view name, absl::string_view bytes) const {
  const std::string path = File(name);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(file.good()) << path;
  return path;
}

std::string TemporaryFolder::Copy(absl::string_view name, absl::string_view fixture) const {
  return Write(name, ReadBytes(FixturePath(fixture)));
}

std::string TemporaryFolder::WithNote(absl::string_view name, absl::string_view fixture,
                                      const std::function<void(MS_Note*)>& change) const {
  std::string bytes = ReadBytes(FixturePath(fixture));
  const size_t at = FindNote(bytes);
  MS_Note note = {};
  std::memcpy(&note, bytes.data() + at, sizeof(note));
  change(&note);
  std::memcpy(bytes.data() + at, &note, sizeof(note));
  return Write(name, bytes);
}

}  // namespace millstream
