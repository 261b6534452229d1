#include "framework/plugin/probe_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "framework/plugin/cpu_bits.h"
#include "framework/plugin/host_interfaces.h"

namespace millstream {
namespace {

// Its number changes with what a probe tries.
constexpr char kHeading[] = "Millstream plugin probes 2";
// The oldest beyond these are forgotten.
constexpr size_t kMostLines = 200;

// The fields that say which file, host and machine a line is of, each with its tab.
std::string Key(const PluginFile& file) {
  return absl::StrCat(kHostVersion, "\t", absl::Hex(EnabledCpuBits()), "\t", file.inode, "\t",
                      file.modified_ns, "\t", file.bytes, "\t", file.path, "\t");
}

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::vector<std::string> lines;
  if (!std::getline(file, line) || line != kHeading) return lines;
  while (lines.size() < kMostLines && std::getline(file, line)) lines.push_back(line);
  return lines;
}

// The status code and message that end a line.
std::optional<Status> ParseOutcome(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> fields =
      absl::StrSplit(text, absl::MaxSplits('\t', 1));
  int code = 0;
  if (!absl::SimpleAtoi(fields.first, &code)) return std::nullopt;
  if (code == static_cast<int>(absl::StatusCode::kOk)) return absl::OkStatus();
  if (code == static_cast<int>(absl::StatusCode::kAborted)) {
    return absl::AbortedError(fields.second);
  }
  return std::nullopt;
}

// The folders above `path`.
void MakeFolders(const std::filesystem::path& path) {
  std::filesystem::path folder;
  for (const std::filesystem::path& part : path.parent_path()) {
    folder /= part;
    // One that exists, or cannot be made, shows when the file is opened.
    if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return;
  }
}

bool WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// All or nothing.
void ReplaceFile(const std::string& path, const std::string& bytes) {
  std::string pattern = path + ".XXXXXX";
  const int fd = mkostemp(pattern.data(), O_CLOEXEC);
  if (fd < 0) return;
  const bool written = WriteAll(fd, bytes);
  if (close(fd) != 0 || !written || std::rename(pattern.c_str(), path.c_str()) != 0) {
    unlink(pattern.c_str());
  }
}

}  // namespace

std::optional<Status> ProbeCache::Find(const PluginFile& file) const {
  if (path_.empty()) return std::nullopt;
  const std::string key = Key(file);
  for (absl::string_view line : ReadLines(path_)) {
    if (absl::ConsumePrefix(&line, key)) return ParseOutcome(line);
  }
  return std::nullopt;
}

void ProbeCache::Remember(const PluginFile& file, const Status& outcome) const {
  if (path_.empty() || file.path.find_first_of("\t\n") != std::string::npos) return;
  MakeFolders(path_);
  const std::string name = absl::StrCat("\t", file.path, "\t");
  std::string bytes = absl::StrCat(kHeading, "\n", Key(file), static_cast<int>(outcome.code()),
                                   "\t", outcome.message(), "\n");
  size_t lines = 1;
  for (const std::string& line : ReadLines(path_)) {
    // What was known of an earlier file of this name is of no use any more.
    if (lines == kMostLines || absl::StrContains(line, name)) continue;
    absl::StrAppend(&bytes, line, "\n");
    ++lines;
  }
  ReplaceFile(path_, bytes);
}

}  // namespace millstream
