#include "distributed_runtime/look_time.h"

#include <sched.h>

#include <atomic>

namespace millstream {
namespace {

std::atomic<int> g_busy{0};
std::atomic<int> g_awaited{0};
thread_local int t_depth = 0;  // of objects; a thread counts once

// That the process may use, as it was when it was first asked.
int Cores() {
  static const int cores = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  }();
  return cores;
}

}  // namespace

BusyThread::BusyThread() {
  if (t_depth++ == 0) g_busy.fetch_add(1, std::memory_order_relaxed);
}

BusyThread::~BusyThread() {
  if (--t_depth == 0) g_busy.fetch_sub(1, std::memory_order_relaxed);
}

bool BusyThread::MayLook() {
  return g_busy.load(std::memory_order_relaxed) < Cores() &&
         g_awaited.load(std::memory_order_relaxed) <= Cores();
}

AwaitedAnswer::AwaitedAnswer() { g_awaited.fetch_add(1, std::memory_order_relaxed); }

AwaitedAnswer::~AwaitedAnswer() { g_awaited.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace millstream
