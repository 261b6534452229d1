#include "framework/plugin/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/time/time.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/probe_cache.h"
#include "framework/plugin/probe_report.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// Where the probe writes its report.
constexpr int kReportDescriptor = 3;

// Both ends of a pipe; the ends close themselves.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) ends_[0] = ends_[1] = -1;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    CloseWriter();
    if (ends_[0] >= 0) close(ends_[0]);
  }
  bool ok() const { return ends_[0] >= 0; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void CloseWriter() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

// How the child is started: silent, with no descriptor of ours but the report's, in a process group
// of its own, with signals as they are in a fresh process.
class SpawnSettings {
 public:
  explicit SpawnSettings(int report) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, report, kReportDescriptor);
    posix_spawn_file_actions_addclosefrom_np(&actions_, kReportDescriptor + 1);
    for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0);
    }
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

enum class Report { kDone, kEnded, kTimeout };

// Waits for the end of the report, or for the end of the process that would have written it.
// `*stage` becomes the last byte before that.
Report AwaitReport(int reader, absl::Duration timeout, char* stage) {
  const absl::Time deadline = SteadyNow() + timeout;
  while (true) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - SteadyNow());
    pollfd poller = {reader, POLLIN, 0};
    const int ready = poll(&poller, 1, static_cast<int>(left > 0 ? left : 0));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Report::kTimeout;
    char byte = 0;
    const ssize_t got = read(reader, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1) return Report::kEnded;
    if (byte == kProbeDone) return Report::kDone;
    *stage = byte;
  }
}

// What was under way after the byte.
struct Stage {
  const char* during;  // "while loading"
  const char* what;    // "loading"
};
Stage StageAfter(char byte) {
  if (byte == kProbeEntered) return {"in its init", "its init"};
  if (byte == kProbeInitialized) return {"in its registration", "its registration"};
  return {"while loading", "loading"};
}

std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal) : absl::StrCat("SIG", name);
}

// How the child ended. A process that reaps its children by itself leaves nothing to know.
std::string Reap(pid_t child) {
  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = waitpid(child, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  if (reaped < 0) return "did not survive";
  if (WIFSIGNALED(status)) return absl::StrCat("crashed (", SignalName(WTERMSIG(status)), ")");
  return absl::StrCat("ended its process (exit status ", WEXITSTATUS(status), ")");
}

ProbeOutcome Unprobed(const std::string& program, const PluginFile& file, int error) {
  HostLog(
      error == ENOENT ? MS_LOG_DEBUG : MS_LOG_WARNING,
      absl::StrCat("plugin ", file.path, " is not probed: ", program, ": ", std::strerror(error)));
  return {absl::OkStatus(), /*is_final=*/false};
}

}  // namespace

ProbeOutcome ProbePlugin(const std::string& program, const PluginFile& file,
                         absl::Duration timeout) {
  Pipe pipe;
  if (!pipe.ok()) return Unprobed(program, file, errno);
  char* const arguments[] = {const_cast<char*>(program.c_str()),
                             const_cast<char*>(file.path.c_str()), nullptr};
  pid_t child = 0;
  const SpawnSettings settings(pipe.writer());
  const int error = posix_spawn(&child, program.c_str(), settings.actions(), settings.attributes(),
                                arguments, environ);
  if (error != 0) return Unprobed(program, file, error);
  pipe.CloseWriter();
  char last = 0;
  const Report report = AwaitReport(pipe.reader(), timeout, &last);
  const Stage stage = StageAfter(last);
  // With whatever it started. One that has ended already keeps the status that it ended with.
  kill(-child, SIGKILL);
  const std::string end = Reap(child);
  switch (report) {
    case Report::kDone: return {absl::OkStatus(), /*is_final=*/true};
    case Report::kEnded:
      return {absl::AbortedError(absl::StrCat("plugin ", file.path, " ", end, " ", stage.during)),
              /*is_final=*/true};
    case Report::kTimeout: break;
  }
  return {absl::AbortedError(absl::StrCat("plugin ", file.path, " did not finish ", stage.what,
                                          " within ", absl::FormatDuration(timeout))),
          /*is_final=*/false};
}

Status ProbePluginOnce(const std::string& program, const std::string& cache_file,
                       const PluginFile& file, absl::Duration timeout) {
  const ProbeCache cache(cache_file);
  if (std::optional<Status> known = cache.Find(file); known.has_value()) return *known;
  const ProbeOutcome outcome = ProbePlugin(program, file, timeout);
  if (outcome.is_final) cache.Remember(file, outcome.status);
  return outcome.status;
}

}  // namespace millstream
