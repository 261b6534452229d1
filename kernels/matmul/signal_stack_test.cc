// Signals that come in the middle of the library's products.
#include "kernels/matmul/signal_stack.h"

#include <sys/time.h>

#include <csignal>
#include <cstdint>
#include <thread>
#include <vector>

#include "dnnl.h"
#include "gtest/gtest.h"
#include "kernels/matmul/library_threads.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kSize = 200;
volatile std::sig_atomic_t signals = 0;

void Count(int) { signals = signals + 1; }

// Sends the process a signal every so many microseconds, as a profiler does.
class Interruptions {
 public:
  explicit Interruptions(int microseconds) {
    struct sigaction action = {};
    action.sa_handler = &Count;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGALRM, &action, &previous_);
    Repeat(microseconds);
  }
  ~Interruptions() {
    Repeat(0);
    sigaction(SIGALRM, &previous_, nullptr);
  }

 private:
  static void Repeat(int microseconds) {
    itimerval interval = {};
    interval.it_interval.tv_usec = microseconds;
    interval.it_value.tv_usec = microseconds;
    setitimer(ITIMER_REAL, &interval, nullptr);
  }
  struct sigaction previous_;
};

std::vector<float> Product(int threads) {
  const std::vector<float> a(kSize * kSize, 0.5f);
  const std::vector<float> b(kSize * kSize, 2.0f);
  std::vector<float> c(kSize * kSize);
  const LibraryThreads team(threads);
  EXPECT_EQ(dnnl_sgemm('N', 'N', kSize, kSize, kSize, 1.0f, a.data(), kSize, b.data(), kSize, 0.0f,
                       c.data(), kSize),
            dnnl_success);
  return c;
}

stack_t Present() {
  stack_t present;
  EXPECT_EQ(sigaltstack(nullptr, &present), 0);
  return present;
}

// Without the stack of its own the heap is broken, and the process ends, after some hundreds.
TEST(SignalStackTest, SignalsInTheMiddleOfProductsLeaveTheHeapWhole) {
  signals = 0;
  for (const int threads : {1, 2}) {
    const std::vector<float> expected = Product(threads);
    const int before = signals;
    const Interruptions interruptions(500);
    while (signals < before + 1000) ASSERT_EQ(Product(threads), expected);
  }
}

TEST(SignalStackTest, AThreadThatHasOneKeepsIt) {
  std::thread([] {
    std::vector<char> own(1 << 16);
    stack_t stack = {};
    stack.ss_sp = own.data();
    stack.ss_size = own.size();
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    UseSignalStack(1);
    EXPECT_EQ(Present().ss_sp, own.data());
    stack.ss_flags = SS_DISABLE;
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
  }).join();
}

TEST(SignalStackTest, SoDoThreadsThatCameAfterASmallerTeam) {
  std::thread([] {
    const LibraryThreads team(4);
    int smaller = 0;
#pragma omp parallel num_threads(2) reduction(+ : smaller)
    smaller = 1;
    EXPECT_LE(smaller, 2);
    const LibraryThreads again(4);
    int size = 0;
    int have_one = 0;
#pragma omp parallel reduction(+ : size, have_one)
    {
      stack_t present;
      size = 1;
      have_one = sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE) == 0;
    }
    EXPECT_EQ(size, TeamThreads(4));
    EXPECT_EQ(have_one, size);
  }).join();
}

TEST(SignalStackTest, AThreadThatHasNoneGetsOne) {
  std::thread([] {
    if ((Present().ss_flags & SS_DISABLE) == 0) {
      GTEST_SKIP() << "every thread has a signal stack already, of the sanitizer";
    }
    UseSignalStack(1);
    EXPECT_EQ(Present().ss_flags & SS_DISABLE, 0);
    EXPECT_GE(Present().ss_size, size_t{1} << 15);
  }).join();
}

}  // namespace
}  // namespace millstream::kernels
