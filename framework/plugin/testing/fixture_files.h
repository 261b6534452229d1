// Files for tests of the loader: the fixtures, and broken copies of them.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_FIXTURE_FILES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_FIXTURE_FILES_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "framework/plugin/plugin.h"

namespace millstream {

// The shared object of a fixture (see BUILD), such as "good".
std::string FixturePath(absl::string_view name);

std::string ReadBytes(const std::string& path);

// Where the note stands in the bytes of a plugin file.
size_t FindNote(const std::string& bytes);

// A folder that goes with its files at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const { return path_ + "/" + std::string(name); }
  // Each of these writes a file and gives its path.
  std::string Write(absl::string_view name, absl::string_view bytes) const;
  std::string Copy(absl::string_view name, absl::string_view fixture) const;
  // A copy of a fixture with another note.
  std::string WithNote(absl::string_view name, absl::string_view fixture,
                       const std::function<void(MS_Note*)>& change) const;

 private:
  std::string path_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_FIXTURE_FILES_H_
