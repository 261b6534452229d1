#include "framework/plugin/check/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "framework/plugin/check/rules.h"
#include "framework/plugin/check/silence.h"
#include "framework/plugin/host_interfaces.h"

namespace millstream::plugin_check {
namespace {

// A plugin that kills its process this often in one suite is not tried any further.
constexpr int kMostDeaths = 20;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};

int report_descriptor = -1;

// Tells what the plugin said it was doing, and dies as it would have.
void TellBreadcrumb(int signal) {
  const absl::string_view crumb = HostBreadcrumb();
  char line[300] = "C\t";
  size_t size = 2;
  const char kPrefix[] = "(breadcrumb: ";
  if (!crumb.empty()) {
    std::memcpy(line + size, kPrefix, sizeof(kPrefix) - 1);
    size += sizeof(kPrefix) - 1;
    std::memcpy(line + size, crumb.data(), crumb.size());
    size += crumb.size();
    line[size++] = ')';
    line[size++] = '\n';
    if (write(report_descriptor, line, size) < 0) _exit(1);
  }
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void PrepareChild(int descriptor) {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  // The report is on stdout, and a plugin's chatter is none of it.
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  report_descriptor = descriptor;
  for (const int signal : kSignals) ::signal(signal, &TellBreadcrumb);
}

void SkipSuite(const Suite& suite, Reporter* reporter, absl::string_view reason) {
  for (const Rule& rule : Rules()) {
    if (absl::string_view(suite.name) != rule.suite) continue;
    reporter->Begin(rule.id);
    reporter->Skip(reason);
  }
}

// The child's work; never returns.
[[noreturn]] void RunItems(const Suite& suite, const CheckSettings& settings, int first,
                           int descriptor) {
  PrepareChild(descriptor);
  Reporter reporter(descriptor);
  CheckContext context;
  context.settings = &settings;
  context.report = &reporter;
  if (!suite.loads_itself) {
    StatusOr<std::unique_ptr<CheckedPlugin>> plugin = LoadChecked(settings.path, settings.options);
    if (!plugin.ok()) {
      SkipSuite(suite, &reporter, "the plugin cannot be loaded, see the rules of load");
      reporter.EndItem();
      _exit(0);
    }
    context.plugin = *std::move(plugin);
    if (suite.compares && !settings.reference.empty()) {
      StatusOr<PluginFile> file = ReadPluginFile(settings.reference);
      const bool same = file.ok() && file->inode == context.plugin->file.inode &&
                        file->device == context.plugin->file.device;
      if (!same) {
        StatusOr<std::unique_ptr<CheckedPlugin>> reference = LoadChecked(settings.reference, {});
        if (reference.ok()) context.reference = *std::move(reference);
      }
    }
  }
  const int count = suite.count(&context);
  if (count == 0) {
    SkipSuite(suite, &reporter, "the plugin registers no kernels");
    reporter.EndItem();
  }
  const int last = suite.loads_itself ? std::min(first + 1, count) : count;
  for (int item = first; item < last; ++item) {
    reporter.BeginItem(item);
    suite.run(&context, item);
    reporter.EndItem();
  }
  // At once: what the plugin wants to run at exit is not asked for.
  _exit(last < count ? 2 : 0);
}

std::string EndOf(pid_t child, const std::string& hang) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!hang.empty()) return hang;
  if (WIFSIGNALED(status)) {
    const char* const name = sigabbrev_np(WTERMSIG(status));
    return absl::StrCat("crashed (SIG", name == nullptr ? "?" : name, ")");
  }
  return absl::StrCat("ended its process (exit status ", WEXITSTATUS(status), ")");
}

absl::Duration Now() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// Reads lines until the child is gone or hangs; says how it hangs, or nothing.
std::string ReadLines(pid_t child, int reader, absl::Duration patience, Report* report) {
  Silence silence(patience, Now());
  std::string rest;
  while (true) {
    pollfd poller = {reader, POLLIN, 0};
    const auto milliseconds = absl::ToInt64Milliseconds(silence.interval());
    const int ready = poll(&poller, 1, static_cast<int>(milliseconds));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      std::string hang = silence.HangAt(Now(), ActivityOf(child));
      if (!hang.empty()) return hang;
      continue;
    }
    char bytes[4096];
    const ssize_t got = read(reader, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return "";
    silence.Break(Now());
    rest.append(bytes, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      report->Read(absl::string_view(rest).substr(begin, end - begin));
      begin = end + 1;
    }
    rest.erase(0, begin);
  }
}

struct ChildEnd {
  int died_at = -1;   // the item, when it did not complete
  bool more = false;  // there are items after the last that completed
};

// The suite has no process, or none for its further items. Each item may check any of its rules.
ChildEnd NotStarted(const Suite& suite, Report* report) {
  const std::string reason = absl::StrCat("a process cannot be started: ", std::strerror(errno));
  for (const Rule& rule : Rules()) {
    if (absl::string_view(suite.name) == rule.suite) report->CutShort(rule.id, reason);
  }
  return {};
}

ChildEnd RunChild(const Suite& suite, const CheckSettings& settings, int first,
                  absl::Duration patience, Report* report) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return NotStarted(suite, report);
  const pid_t child = fork();
  if (child < 0) {
    const ChildEnd none = NotStarted(suite, report);
    close(ends[0]);
    close(ends[1]);
    return none;
  }
  if (child == 0) {
    close(ends[0]);
    RunItems(suite, settings, first, ends[1]);
  }
  close(ends[1]);
  const std::string hang = ReadLines(child, ends[0], patience, report);
  close(ends[0]);
  if (!hang.empty()) {
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
  }
  const std::string end = EndOf(child, hang);
  ChildEnd result;
  result.died_at = report->Close(end);
  result.more = absl::StrContains(end, "exit status 2");
  return result;
}

}  // namespace

void RunSuite(const Suite& suite, const CheckSettings& settings, absl::Duration patience,
              Report* report) {
  int deaths = 0;
  for (int first = 0; deaths < kMostDeaths;) {
    const ChildEnd end = RunChild(suite, settings, first, patience, report);
    if (end.died_at >= 0) {
      ++deaths;
      first = end.died_at + 1;
    } else if (end.more) {
      ++first;
    } else {
      return;
    }
  }
}

}  // namespace millstream::plugin_check
