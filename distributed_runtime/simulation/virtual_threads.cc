#include "distributed_runtime/simulation/virtual_threads.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/synchronization/internal/create_thread_identity.h"
#include "absl/synchronization/internal/kernel_timeout.h"
#include "absl/synchronization/internal/per_thread_sem.h"
#include "absl/synchronization/internal/waiter.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace millstream {
namespace {

// More than ten times what a schedule takes.
constexpr int64_t kMostTurns = 3'000'000;
// Turns take some time, so that what asks for the time twice goes on.
constexpr int64_t kTurnNanos = 1000;
// Between the times when waits end that have a limit.
constexpr int64_t kTimerNanos = 100'000'000;
// The virtual time begins in the year 2001.
constexpr int64_t kBeginNanos = 1'000'000'000'000'000'000;

}  // namespace

struct VirtualThreads::Thread {
  enum class State {
    kIdle,  // its work has ended, and it may get other work
    kReady,
    kRunning,
    kWaiting,
  };
  explicit Thread(VirtualThreads* the_owner) : owner(*the_owner) {}

  VirtualThreads& owner;
  std::thread thread;
  Turn turn;
  // Guarded by the owner's mutex.
  std::string name;
  int group = kNoGroup;
  std::function<void()> work;
  State state = State::kIdle;
  int posts = 0;
  int64_t deadline = kNever;   // of a wait
  const void* word = nullptr;  // at which it waits
};

thread_local VirtualThreads::Thread* VirtualThreads::t_thread = nullptr;

namespace {

// The virtual threads by Abseil's identities.
struct Identities {
  std::mutex mutex;
  std::unordered_map<const void*, void*> threads;
};

Identities* TheIdentities() {
  static auto* const identities = new Identities;
  return identities;
}

}  // namespace

VirtualThreads::VirtualThreads(uint64_t seed) : now_(kBeginNanos), chance_(seed) {}

VirtualThreads::~VirtualThreads() {
  is_over_ = true;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    thread->turn.Give();
    thread->thread.join();
  }
}

// What was written before a turn was given is seen by who has it next.
void VirtualThreads::Turn::Give() {
  is_given_.store(1, std::memory_order_release);
  syscall(SYS_futex, &is_given_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void VirtualThreads::Turn::Await() {
  while (is_given_.exchange(0, std::memory_order_acquire) == 0) {
    syscall(SYS_futex, &is_given_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
}

void VirtualThreads::Start(std::string name, std::function<void()> work) {
  StartIn(t_thread == nullptr ? kNoGroup : t_thread->group, std::move(name), std::move(work));
}

void VirtualThreads::StartIn(int group, std::string name, std::function<void()> work) {
  const std::unique_lock<std::mutex> lock(mutex_);
  const auto idle = std::find_if(threads_.begin(), threads_.end(), [](const auto& one) {
    return one->state == Thread::State::kIdle;
  });
  Thread* const thread = idle != threads_.end()
                             ? idle->get()
                             : threads_.emplace_back(std::make_unique<Thread>(this)).get();
  thread->name = std::move(name);
  thread->group = group;
  thread->work = std::move(work);
  thread->state = Thread::State::kReady;
  thread->posts = 0;
  if (!thread->thread.joinable()) thread->thread = std::thread([this, thread] { Loop(thread); });
}

void VirtualThreads::Freeze(int group) {
  const std::unique_lock<std::mutex> lock(mutex_);
  frozen_.insert(group);
}

void VirtualThreads::Thaw(int group) {
  const std::unique_lock<std::mutex> lock(mutex_);
  frozen_.erase(group);
}

bool VirtualThreads::IsFrozen(int group) const {
  const std::unique_lock<std::mutex> lock(mutex_);
  return frozen_.count(group) > 0;
}

void VirtualThreads::At(absl::Time time, std::function<void()> act) {
  const std::unique_lock<std::mutex> lock(mutex_);
  events_.emplace(absl::ToUnixNanos(time), std::move(act));
}

std::vector<std::string> VirtualThreads::Alive() const {
  const std::unique_lock<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->state != Thread::State::kIdle) names.push_back(thread->name);
  }
  return names;
}

void VirtualThreads::Loop(Thread* thread) {
  t_thread = thread;
  const void* const identity = absl::synchronization_internal::GetOrCreateCurrentThreadIdentity();
  {
    const std::lock_guard<std::mutex> lock(TheIdentities()->mutex);
    TheIdentities()->threads[identity] = thread;
  }
  thread->turn.Await();
  while (!is_over_) {
    std::function<void()> work = std::exchange(thread->work, nullptr);
    work();
    work = nullptr;
    std::unique_lock<std::mutex> lock(mutex_);
    thread->state = Thread::State::kIdle;
    PassTurn(thread, &lock);
  }
  t_thread = nullptr;
  const std::lock_guard<std::mutex> identities(TheIdentities()->mutex);
  TheIdentities()->threads.erase(identity);
}

bool VirtualThreads::MayRun(const Thread& thread) const {
  return thread.state == Thread::State::kReady &&
         (frozen_.empty() || frozen_.count(thread.group) == 0);
}

VirtualThreads::Thread* VirtualThreads::PickReady() {
  const auto is_ready = [this](const auto& one) { return MayRun(*one); };
  const auto ready = std::count_if(threads_.begin(), threads_.end(), is_ready);
  if (ready == 0) return nullptr;
  int left = ready == 1 ? 0 : chance_.Below(static_cast<int>(ready));
  const auto picked = std::find_if(threads_.begin(), threads_.end(),
                                   [&](const auto& one) { return is_ready(one) && left-- == 0; });
  return picked->get();
}

int64_t VirtualThreads::NextTime() const {
  int64_t next = events_.empty() ? kNever : events_.begin()->first;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->state == Thread::State::kWaiting) next = std::min(next, thread->deadline);
  }
  return next;
}

bool VirtualThreads::WakeSleepers() {
  bool has_woken = false;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread->state != Thread::State::kWaiting || thread->deadline > now_) continue;
    thread->state = Thread::State::kReady;
    has_woken = true;
  }
  return has_woken;
}

bool VirtualThreads::RunUntil(absl::Time time) {
  std::unique_lock<std::mutex> lock(mutex_);
  limit_ = absl::ToUnixNanos(time);
  PassTurn(nullptr, &lock);
  return turns_ <= kMostTurns;
}

VirtualThreads::Thread* VirtualThreads::Choose(std::unique_lock<std::mutex>* lock) {
  while (true) {
    if (Thread* const thread = PickReady()) {
      if (++turns_ > kMostTurns) return nullptr;
      now_ += kTurnNanos;
      thread->state = Thread::State::kRunning;
      return thread;
    }
    const int64_t next = NextTime();
    now_ = std::max(now_, std::min(next, limit_));
    if (next > limit_) return nullptr;
    if (!WakeSleepers()) RunEvent(lock);
  }
}

void VirtualThreads::RunEvent(std::unique_lock<std::mutex>* lock) {
  std::function<void()> act = std::move(events_.begin()->second);
  events_.erase(events_.begin());
  lock->unlock();
  Thread* const thread = std::exchange(t_thread, nullptr);
  // Abseil takes the lock whose condition the thread waits for as one that it holds, and finds a
  // deadlock where the event makes the condition true.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  act();
  act = nullptr;
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kAbort);
  t_thread = thread;
  lock->lock();
}

void VirtualThreads::PassTurn(Thread* from, std::unique_lock<std::mutex>* lock) {
  Thread* const to = Choose(lock);
  if (to == from) return;
  Turn& next = to == nullptr ? owners_turn_ : to->turn;
  Turn& own = from == nullptr ? owners_turn_ : from->turn;
  // Who has the turn next would else wait for the lock.
  lock->unlock();
  next.Give();
  own.Await();
  lock->lock();
}

int64_t VirtualThreads::OnTimer(int64_t deadline) const {
  if (deadline <= now_ || deadline > kNever - kTimerNanos) return deadline;
  return (deadline + kTimerNanos - 1) / kTimerNanos * kTimerNanos;
}

void VirtualThreads::Block(Thread* thread, int64_t deadline, std::unique_lock<std::mutex>* lock) {
  thread->deadline = deadline;
  thread->state = Thread::State::kWaiting;
  PassTurn(thread, lock);
}

bool VirtualThreads::Sleep(absl::Duration duration) {
  Thread* const thread = t_thread;
  if (thread == nullptr) return false;
  VirtualThreads& owner = thread->owner;
  std::unique_lock<std::mutex> lock(owner.mutex_);
  const int64_t end = owner.now_ + absl::ToInt64Nanoseconds(duration);
  while (owner.now_ < end) owner.Block(thread, end, &lock);
  return true;
}

bool VirtualThreads::Yield() {
  Thread* const thread = t_thread;
  if (thread == nullptr) return false;
  VirtualThreads& owner = thread->owner;
  std::unique_lock<std::mutex> lock(owner.mutex_);
  thread->state = Thread::State::kReady;
  owner.PassTurn(thread, &lock);
  return true;
}

bool VirtualThreads::WaitHere(int64_t deadline, bool* came) {
  Thread* const thread = t_thread;
  if (thread == nullptr) return false;
  std::unique_lock<std::mutex> lock(thread->owner.mutex_);
  if (thread->posts == 0) thread->owner.Block(thread, thread->owner.OnTimer(deadline), &lock);
  *came = thread->posts > 0;
  if (*came) --thread->posts;
  return true;
}

bool VirtualThreads::Post(const void* identity) {
  Thread* thread = nullptr;
  {
    const std::lock_guard<std::mutex> lock(TheIdentities()->mutex);
    const auto found = TheIdentities()->threads.find(identity);
    if (found == TheIdentities()->threads.end()) return false;
    thread = static_cast<Thread*>(found->second);
  }
  const std::lock_guard<std::mutex> lock(thread->owner.mutex_);
  ++thread->posts;
  if (thread->state == Thread::State::kWaiting) thread->state = Thread::State::kReady;
  return true;
}

bool VirtualThreads::ReadClock(int64_t* nanos) {
  if (t_thread == nullptr) return false;
  *nanos = t_thread->owner.now_;
  return true;
}

bool VirtualThreads::SleepAt(const void* word, uint32_t value, int64_t deadline) {
  Thread* const thread = t_thread;
  if (thread == nullptr) return false;
  std::unique_lock<std::mutex> lock(thread->owner.mutex_);
  if (static_cast<const std::atomic<uint32_t>*>(word)->load() != value) return true;
  thread->word = word;
  thread->owner.Block(thread, thread->owner.OnTimer(deadline), &lock);
  thread->word = nullptr;
  return true;
}

void VirtualThreads::WakeAt(const void* word) {
  std::vector<Thread*> threads;
  {
    const std::lock_guard<std::mutex> lock(TheIdentities()->mutex);
    for (const auto& [identity, thread] : TheIdentities()->threads) {
      threads.push_back(static_cast<Thread*>(thread));
    }
  }
  for (Thread* const thread : threads) {
    const std::lock_guard<std::mutex> lock(thread->owner.mutex_);
    const bool is_waiting = thread->state == Thread::State::kWaiting;
    if (is_waiting && thread->word == word) thread->state = Thread::State::kReady;
  }
}

void StayOnOneProcessor(int number) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  std::vector<int> processors;
  for (int one = 0; one < CPU_SETSIZE; ++one) {
    if (CPU_ISSET(one, &allowed)) processors.push_back(one);
  }
  if (processors.empty()) return;
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  CPU_SET(processors[static_cast<size_t>(number) % processors.size()], &chosen);
  sched_setaffinity(0, sizeof(chosen), &chosen);
}

}  // namespace millstream

// ---- What is replaced ----

extern "C" {

void ABSL_INTERNAL_C_SYMBOL(AbslInternalPerThreadSemPost)(
    absl::base_internal::ThreadIdentity* identity) {
  if (millstream::VirtualThreads::Post(identity)) return;
  absl::synchronization_internal::Waiter::GetWaiter(identity)->Post();
}

bool ABSL_INTERNAL_C_SYMBOL(AbslInternalPerThreadSemWait)(
    absl::synchronization_internal::KernelTimeout timeout) {
  int64_t deadline = millstream::VirtualThreads::kNever;
  if (timeout.has_timeout()) {
    deadline = absl::ToUnixNanos(absl::TimeFromTimespec(timeout.MakeAbsTimespec()));
  }
  bool came = false;
  if (millstream::VirtualThreads::WaitHere(deadline, &came)) return came;
  auto* const identity = absl::synchronization_internal::GetOrCreateCurrentThreadIdentity();
  return absl::synchronization_internal::Waiter::GetWaiter(identity)->Wait(timeout);
}

// What a thread does that waits, in Mutex, for one that is about to go on.
void ABSL_INTERNAL_C_SYMBOL(AbslInternalMutexYield)() {
  if (!millstream::VirtualThreads::Yield()) sched_yield();
}

void ABSL_INTERNAL_C_SYMBOL(AbslInternalSleepFor)(absl::Duration duration) {
  if (millstream::VirtualThreads::Sleep(duration)) return;
  struct timespec left = absl::ToTimespec(duration);
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

// SteadyCondVar (framework/steady_time.cc).
void MillstreamSleepAt(const void* word, uint32_t value, const struct timespec* end) {
  int64_t deadline = millstream::VirtualThreads::kNever;
  if (end != nullptr) deadline = absl::ToInt64Nanoseconds(absl::DurationFromTimespec(*end));
  if (millstream::VirtualThreads::SleepAt(word, value, deadline)) return;
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, end, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void MillstreamWakeAt(const void* word, int count) {
  millstream::VirtualThreads::WakeAt(word);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// By which Abseil finds the ends of waits that have a duration.
int gettimeofday(struct timeval* time, void* zone) noexcept {
  struct timespec now;
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  *time = absl::ToTimeval(absl::TimeFromTimespec(now));
  return result;
}

int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  int64_t nanos = 0;
  const bool is_replaced = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
  if (!is_replaced || !millstream::VirtualThreads::ReadClock(&nanos)) {
    return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  }
  *time = absl::ToTimespec(absl::FromUnixNanos(nanos) - absl::UnixEpoch());
  return 0;
}

}  // extern "C"
