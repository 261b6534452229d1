#include "framework/plugin/check/silence.h"

#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millstream::plugin_check {
namespace {

// Busy loops end some time; a case that takes long on a machine that has little time for it goes
// on.
constexpr int kPatienceWithWork = 10;

// The state of a process or thread, and the time that it has used; none without such a file.
struct Stat {
  char state = '?';
  int64_t processor_ticks = 0;
};
std::optional<Stat> ReadStat(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // Its name, in parentheses, may hold anything.
  const size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(end_of_name + 1));
  constexpr int kFieldsBetween = 10;
  Stat stat;
  std::string unused;
  int64_t user = 0;
  int64_t system = 0;
  fields >> stat.state;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> unused;
  if (!(fields >> user >> system)) return std::nullopt;
  stat.processor_ticks = user + system;
  return stat;
}

bool IsRunnable(char state) { return state == 'R' || state == 'D'; }

}  // namespace

std::optional<Activity> ActivityOf(pid_t process) {
  const std::string folder = absl::StrCat("/proc/", process);
  const std::optional<Stat> whole = ReadStat(folder + "/stat");
  if (!whole.has_value()) return std::nullopt;
  Activity activity;
  activity.processor_ticks = whole->processor_ticks;
  const std::string tasks = folder + "/task";
  DIR* const handle = opendir(tasks.c_str());
  if (handle == nullptr) return std::nullopt;
  while (const dirent* const entry = readdir(handle)) {
    if (absl::StartsWith(entry->d_name, ".")) continue;
    // One that ended meanwhile has no file.
    const std::optional<Stat> task = ReadStat(absl::StrCat(tasks, "/", entry->d_name, "/stat"));
    activity.is_runnable = activity.is_runnable || (task.has_value() && IsRunnable(task->state));
  }
  closedir(handle);
  return activity;
}

void Silence::Break(absl::Duration now) {
  silent_since_ = last_look_ = now;
  idle_ = absl::ZeroDuration();
}

std::string Silence::HangAt(absl::Duration now, const std::optional<Activity>& activity) {
  const bool works = activity.has_value() &&
                     (activity->is_runnable || activity->processor_ticks != processor_ticks_);
  if (activity.has_value()) processor_ticks_ = activity->processor_ticks;
  // Who looks may have been kept waiting, too: nobody knows what was between two looks.
  idle_ = works ? absl::ZeroDuration() : idle_ + std::min(now - last_look_, interval());
  last_look_ = now;
  if (idle_ >= patience_) {
    return absl::StrCat("hung: nothing happened for ", absl::FormatDuration(patience_));
  }
  const absl::Duration most = kPatienceWithWork * patience_;
  if (now - silent_since_ < most) return "";
  return absl::StrCat("hung: it said nothing for ", absl::FormatDuration(most));
}

}  // namespace millstream::plugin_check
