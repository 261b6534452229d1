#include "kernels/matmul/signal_stack.h"

#include <csignal>
#include <cstddef>

#include <sys/mman.h>
#include <unistd.h>

namespace millstream::kernels {
namespace {

// A frame alone may take 12 KiB, where a processor has much state to save.
constexpr size_t kStackBytes = 64 * 1024;

// The calling thread's, until it ends. Below it lies a page that faults.
class SignalStack {
 public:
  SignalStack() {
    stack_t present;
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* const mapped = mmap(nullptr, page + kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return;
    mprotect(mapped, page, PROT_NONE);
    mapped_ = static_cast<char*>(mapped);
    bytes_ = page + kStackBytes;
    stack_t stack = {};
    stack.ss_sp = mapped_ + page;
    stack.ss_size = kStackBytes;
    if (sigaltstack(&stack, nullptr) == 0) return;
    munmap(mapped_, bytes_);
    mapped_ = nullptr;
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  // Somebody may have set another one meanwhile, and keep this one to set it again: then it stays.
  ~SignalStack() {
    stack_t present;
    if (mapped_ == nullptr || sigaltstack(nullptr, &present) != 0) return;
    const char* const start = static_cast<const char*>(present.ss_sp);
    if (start < mapped_ || start >= mapped_ + bytes_) return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    if (sigaltstack(&none, nullptr) == 0) munmap(mapped_, bytes_);
  }

 private:
  char* mapped_ = nullptr;
  size_t bytes_ = 0;
};

void UseOwn() { static thread_local SignalStack stack; }

}  // namespace

void UseSignalStack(int team) {
  UseOwn();
  if (team <= 1) return;
    // Every time: OpenMP ends threads that a smaller team, of the library's or of anybody's, leaves
    // over, and starts others for a larger one, and does not say so.
#ifdef _OPENMP
#pragma omp parallel num_threads(team)
  UseOwn();
#endif
}

}  // namespace millstream::kernels
