#include "framework/plugin/crash_handler.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "absl/base/call_once.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/running_code.h"
#include "framework/plugin/signal_stack.h"

namespace millstream {
namespace {

struct Signal {
  int number;
  const char* name;
};
constexpr std::array<Signal, 5> kSignals = {{
    {SIGSEGV, "SIGSEGV"},
    {SIGBUS, "SIGBUS"},
    {SIGILL, "SIGILL"},
    {SIGFPE, "SIGFPE"},
    {SIGABRT, "SIGABRT"},
}};

// What was set before us, by position in kSignals.
std::array<struct sigaction, kSignals.size()> previous;

// What the thread is doing: code of a plugin, and what that said of itself. False: nothing of one.
bool WriteLine(const char* event) {
  const RunningCode* const code = running_code;
  const absl::string_view breadcrumb = HostBreadcrumb();
  if (code == nullptr && breadcrumb.empty()) return false;
  CrashLine line;
  line.Append("millstream error: ");
  line.Append(event);
  line.Append(" in ");
  if (code != nullptr) code->describe(code->what, &line);
  if (code != nullptr && !breadcrumb.empty()) line.Append(": ");
  line.Append(breadcrumb);
  // All that may be done here: nothing that allocates or locks.
  if (write(STDERR_FILENO, line.text().data(), line.text().size()) < 0) return true;
  return write(STDERR_FILENO, "\n", 1) <= 1;
}

std::atomic<pid_t> installed_in{0};

// A plugin that calls exit(0) would end the user's program as if all had gone well. A child that it
// forked may end as it likes.
void HandleExit() {
  if (getpid() != installed_in || !WriteLine("exit")) return;
  std::fflush(nullptr);
  _exit(EXIT_FAILURE);
}

void Handle(int number, siginfo_t* info, void*) {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i].number != number) continue;
    WriteLine(kSignals[i].name);
    // A faulting instruction runs again when this returns, and then meets the earlier action; a
    // signal that was sent is sent again.
    sigaction(number, &previous[i], nullptr);
    if (info->si_code <= 0) raise(number);
  }
}

}  // namespace

void InstallCrashHandler() {
  EnsureSignalStack();
  installed_in = getpid();  // not only once: a child may load plugins itself
  static absl::once_flag once;
  absl::call_once(once, [] {
    std::atexit(&HandleExit);
    for (size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction action = {};
      action.sa_sigaction = &Handle;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigemptyset(&action.sa_mask);
      sigaction(kSignals[i].number, &action, &previous[i]);
    }
  });
}

}  // namespace millstream
