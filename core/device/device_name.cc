#include "core/device/device_name.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace millstream {
namespace {

Status BadPart(absl::string_view part, absl::string_view text) {
  return errors::InvalidArgument("'", part, "' is no part of a device name, in '", text,
                                 "': expected /job:NAME, /replica:N, /task:N or /device:TYPE:N");
}

// "*" leaves the number open.
bool ParseNumber(absl::string_view text, std::optional<int>* out) {
  if (text == "*") return true;
  int number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0) return false;
  *out = number;
  return true;
}

// "CPU:0", "CPU" or "*".
bool ParseTypeAndIndex(absl::string_view text, DeviceName* name) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ':');
  if (words.size() > 2 || words[0].empty()) return false;
  if (words[0] != "*") name->type = absl::AsciiStrToUpper(words[0]);
  return words.size() == 1 || ParseNumber(words[1], &name->index);
}

bool ParsePart(absl::string_view part, DeviceName* name) {
  const std::pair<absl::string_view, absl::string_view> words =
      absl::StrSplit(part, absl::MaxSplits(':', 1));
  const std::string key = absl::AsciiStrToLower(words.first);
  if (key == "job") {
    name->job = std::string(words.second);
    return !words.second.empty();
  }
  if (key == "replica") return ParseNumber(words.second, &name->replica);
  if (key == "task") return ParseNumber(words.second, &name->task);
  if (key == "device") return ParseTypeAndIndex(words.second, name);
  return ParseTypeAndIndex(part, name);  // the short form, "cpu:0"
}

template <typename T>
bool PartFits(const std::optional<T>& wanted, const std::optional<T>& given) {
  return !wanted.has_value() || wanted == given;
}

}  // namespace

StatusOr<DeviceName> DeviceName::Parse(absl::string_view text) {
  DeviceName name;
  for (absl::string_view part : absl::StrSplit(text, '/', absl::SkipEmpty())) {
    if (!ParsePart(part, &name)) return BadPart(part, text);
  }
  return name;
}

bool DeviceName::Fits(const DeviceName& device) const {
  return PartFits(job, device.job) && PartFits(replica, device.replica) &&
         PartFits(task, device.task) && PartFits(type, device.type) &&
         PartFits(index, device.index);
}

std::string DeviceName::ToString() const {
  std::string text;
  if (job.has_value()) absl::StrAppend(&text, "/job:", *job);
  if (replica.has_value()) absl::StrAppend(&text, "/replica:", *replica);
  if (task.has_value()) absl::StrAppend(&text, "/task:", *task);
  if (type.has_value() || index.has_value()) {
    absl::StrAppend(&text, "/device:", type.value_or("*"), ":",
                    index.has_value() ? absl::StrCat(*index) : "*");
  }
  return text;
}

}  // namespace millstream
