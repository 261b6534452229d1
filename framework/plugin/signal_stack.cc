#include "framework/plugin/signal_stack.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace millstream {
namespace {

// The crash handler needs little; what was set before it, a Python interpreter's for example, more.
constexpr size_t kBytes = size_t{64} << 10;

// Takes the stack away as the thread ends.
struct Owner {
  ~Owner() {
    if (stack == nullptr) return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(stack, bytes);
  }
  void* stack = nullptr;
  size_t bytes = 0;
};
thread_local Owner owner;

}  // namespace

__thread bool has_signal_stack __attribute__((tls_model("initial-exec"))) = false;

void MakeSignalStack() {
  has_signal_stack = true;
  stack_t present = {};
  if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
  // Registers alone may take more than the usual least size.
  const size_t bytes = std::max<size_t>(kBytes, static_cast<size_t>(sysconf(_SC_SIGSTKSZ)));
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = bytes;
  if (sigaltstack(&stack, nullptr) != 0) {
    munmap(memory, bytes);
    return;
  }
  owner.stack = memory;
  owner.bytes = bytes;
}

}  // namespace millstream
