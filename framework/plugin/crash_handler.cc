#include "framework/plugin/crash_handler.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "absl/base/call_once.h"
#include "framework/plugin/host_interfaces.h"

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

// All that may be done here: nothing that allocates or locks.
void Write(const char* text, size_t size) {
  if (write(STDERR_FILENO, text, size) < 0) return;
}
void Write(const char* text) { Write(text, std::strlen(text)); }

void Handle(int number, siginfo_t* info, void*) {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i].number != number) continue;
    const absl::string_view breadcrumb = HostBreadcrumb();
    if (!breadcrumb.empty()) {
      Write("millstream error: ");
      Write(kSignals[i].name);
      Write(" in ");
      Write(breadcrumb.data(), breadcrumb.size());
      Write("\n");
    }
    // A faulting instruction runs again when this returns, and then meets the earlier action; a
    // signal that was sent is sent again.
    sigaction(number, &previous[i], nullptr);
    if (info->si_code <= 0) raise(number);
  }
}

}  // namespace

void InstallCrashHandler() {
  static absl::once_flag once;
  absl::call_once(once, [] {
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
