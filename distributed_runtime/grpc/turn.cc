#include "distributed_runtime/grpc/turn.h"

#include <pthread.h>

#include <ctime>

namespace millstream::network {
namespace {

// Longer than a program needs from the answer of a small step to the next step, and short for a
// request of another task that comes meanwhile.
constexpr int64_t kRestMicros = 300;
// Peers take a process for lost when it does not answer pings for seconds.
constexpr int64_t kLongCompletionMillis = 50;
// Background threads that wait. More come to be while many work for peers.
constexpr size_t kMostWaiting = 4;

gpr_timespec Now() { return gpr_now(GPR_CLOCK_MONOTONIC); }

gpr_timespec AfterRest(gpr_timespec now) {
  return gpr_time_add(now, gpr_time_from_micros(kRestMicros, GPR_TIMESPAN));
}

gpr_timespec AfterLongCompletion(gpr_timespec begin) {
  return gpr_time_add(begin, gpr_time_from_millis(kLongCompletionMillis, GPR_TIMESPAN));
}

gpr_timespec Never() { return gpr_inf_future(GPR_CLOCK_MONOTONIC); }

void InitSteady(pthread_cond_t* condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

// Until the time, or a signal.
void Wait(pthread_cond_t* condition, pthread_mutex_t* mutex, gpr_timespec end) {
  if (gpr_time_cmp(end, Never()) == 0) {
    pthread_cond_wait(condition, mutex);
    return;
  }
  timespec time{};
  time.tv_sec = end.tv_sec;
  time.tv_nsec = end.tv_nsec;
  pthread_cond_timedwait(condition, mutex, &time);
}

}  // namespace

// Holds the mutex.
class Turn::Lock {
 public:
  explicit Lock(pthread_mutex_t* mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
  ~Lock() { pthread_mutex_unlock(mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t* const mutex_;
};

Turn::Turn() : since_(Now()), rest_end_(since_), look_(Never()) {
  pthread_mutex_init(&mutex_, nullptr);
  InitSteady(&background_);
  InitSteady(&helpers_);
}

Turn::~Turn() {
  pthread_cond_destroy(&helpers_);
  pthread_cond_destroy(&background_);
  pthread_mutex_destroy(&mutex_);
}

Turn::Number Turn::Take(bool is_helper) {
  holder_ = ++last_;
  is_helper_ = is_helper;
  is_completing_ = false;
  return holder_;
}

void Turn::Free(gpr_timespec rest_end, bool rests_for_all) {
  holder_ = 0;
  rest_end_ = rest_end;
  rests_for_all_ = rests_for_all;
  if (helpers_waiting_ > 0) pthread_cond_broadcast(&helpers_);
  LookUntil(rest_end);
}

// A helper gives the turn back soon, and it rests then: a look in time saves a wake-up each time.
// Of a background thread the same holds for its next completion.
gpr_timespec Turn::NextLook(gpr_timespec now, uint64_t* seen) const {
  if (holder_ == 0) return rest_end_;
  const bool is_quiet = *seen == events_;
  *seen = events_;
  if (is_completing_) return AfterLongCompletion(since_);
  if (is_helper_) return AfterRest(now);
  return is_quiet ? Never() : AfterLongCompletion(now);
}

// Any of the threads may wake. It is the watcher then, and the one before it sleeps without a limit
// when it has looked.
void Turn::LookUntil(gpr_timespec end) {
  if (waiting_ == 0 || gpr_time_cmp(look_, end) <= 0) return;
  watcher_ = nullptr;
  look_ = end;
  pthread_cond_signal(&background_);
}

Turn::Number Turn::AwaitInBackground() {
  const Lock lock(&mutex_);
  if (starting_ > 0) --starting_;
  if (holder_ == 0 && !rests_for_all_) return Take(/*is_helper=*/false);
  if (waiting_ == kMostWaiting) return 0;
  ++waiting_;
  uint64_t seen = events_;
  const void* const self = &seen;
  while (true) {
    const gpr_timespec now = Now();
    const gpr_timespec look = NextLook(now, &seen);
    const bool has_to_read = gpr_time_cmp(look, now) <= 0;
    const bool watches = watcher_ == nullptr || watcher_ == self || gpr_time_cmp(look, look_) < 0;
    if (watches) {
      watcher_ = has_to_read ? nullptr : self;
      look_ = has_to_read ? Never() : look;
    }
    if (has_to_read) break;
    Wait(&background_, &mutex_, watches ? look : Never());
  }
  --waiting_;
  return Take(/*is_helper=*/false);
}

Turn::Number Turn::TakeToHelp(gpr_timespec deadline) {
  const Lock lock(&mutex_);
  while (holder_ != 0) {
    if (is_helper_ || gpr_time_cmp(Now(), deadline) >= 0) return 0;
    ++helpers_waiting_;
    Wait(&helpers_, &mutex_, deadline);
    --helpers_waiting_;
  }
  return Take(/*is_helper=*/true);
}

bool Turn::BeginCompletion(Number turn) {
  const Lock lock(&mutex_);
  if (holder_ != turn) return false;
  ++events_;
  is_completing_ = true;
  since_ = Now();
  LookUntil(AfterLongCompletion(since_));
  if (waiting_ + starting_ > 0) return false;
  ++starting_;
  return true;
}

void Turn::HasNotStarted() {
  const Lock lock(&mutex_);
  if (starting_ > 0) --starting_;
}

bool Turn::EndCompletion(Number turn) {
  const Lock lock(&mutex_);
  if (holder_ != turn) return false;
  is_completing_ = false;
  if (is_helper_ || helpers_waiting_ == 0) return true;
  Free(AfterRest(Now()), /*rests_for_all=*/true);
  return false;
}

void Turn::Give(Number turn, Reason reason) {
  const Lock lock(&mutex_);
  if (turn == 0 || holder_ != turn) return;
  const gpr_timespec now = Now();
  Free(reason == Reason::kReadsNoMore ? now : AfterRest(now),
       /*rests_for_all=*/reason != Reason::kWorks);
}

}  // namespace millstream::network
