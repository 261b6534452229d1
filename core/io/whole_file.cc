#include "core/io/whole_file.h"

#include <memory>

#include "absl/types/span.h"

namespace millstream {

StatusOr<std::string> ReadWholeFile(FileSystem* files, const std::string& path) {
  MS_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files->OpenForReading(path));
  MS_ASSIGN_OR_RETURN(const FileInfo info, files->Describe(path));
  // Some files say that they are empty and are not (those of /proc), so the end of the file
  // decides.
  std::string contents(info.size + 1, '\0');
  size_t size = 0;
  while (true) {
    const absl::Span<char> rest(&contents[size], contents.size() - size);
    MS_ASSIGN_OR_RETURN(const size_t read, file->ReadAt(size, rest));
    size += read;
    if (read < rest.size()) break;
    contents.resize(2 * contents.size());
  }
  contents.resize(size);
  return contents;
}

}  // namespace millstream
