#include "distributed_runtime/grpc/queue.h"

#include <grpc/support/log.h>
#include <pthread.h>

#include <utility>

#include "distributed_runtime/grpc/turn.h"
#include "distributed_runtime/look_time.h"

namespace millstream::network {
namespace {

// One reads, and one waits.
constexpr int kThreads = 2;
// How long a thread helps. What cancels its wait does not wake it meanwhile.
constexpr int64_t kHelpPatienceMillis = 1;

// From the answer to a small step to the next request, and back, through a connection of one host.
constexpr int64_t kMostLookNanos = 100'000;
constexpr int64_t kLeastLookNanos = 5'000;

// The queue, and whose turn it is to read it. Never destroyed.
struct Reading {
  grpc_completion_queue* queue = nullptr;
  Turn turn;
  // Of who has the turn, which guards them. Helpers are answered soon, which says nothing of the
  // next request.
  LookTime background_look{kMostLookNanos, kLeastLookNanos};
  LookTime helper_look{kMostLookNanos, kLeastLookNanos};
};

// The event that the calling thread completes.
struct Completing {
  Turn::Number turn = 0;  // 0: none, or it was given away
  bool is_in_background = false;
};
thread_local Completing t_completing;

void ReadInBackground(Reading* reading);

// False: the process has as many threads as it may. pthread_create and not std::thread: this is
// called through C, which no exception may cross.
bool StartThread(Reading* reading) {
  const auto run = +[](void* argument) -> void* {
    ReadInBackground(static_cast<Reading*>(argument));
    return nullptr;
  };
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run, reading) != 0) return false;
  pthread_detach(thread);
  return true;
}

bool IsPast(gpr_timespec time) { return gpr_time_cmp(gpr_now(GPR_CLOCK_MONOTONIC), time) >= 0; }

// What there is now, without a wait.
grpc_event NextNow(const Reading& reading) {
  return grpc_completion_queue_next(reading.queue, gpr_inf_past(GPR_CLOCK_MONOTONIC), nullptr);
}

// Looks for an event. GRPC_QUEUE_TIMEOUT: there was none. What a helper waits for may come by
// another thread meanwhile; it is a short time.
grpc_event Look(const Reading& reading, LookTime* time) {
  const BusyThread busy;
  grpc_event event{};
  event.type = GRPC_QUEUE_TIMEOUT;
  if (!BusyThread::MayLook()) return event;
  const int64_t nanos = time->Begin();
  if (nanos == 0) return event;
  const gpr_timespec end =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(nanos, GPR_TIMESPAN));
  do {
    event = NextNow(reading);
  } while (event.type == GRPC_QUEUE_TIMEOUT && !IsPast(end));
  time->End(event.type != GRPC_QUEUE_TIMEOUT);
  return event;
}

grpc_event Next(const Reading& reading, LookTime* time, gpr_timespec deadline) {
  const grpc_event event = Look(reading, time);
  if (event.type != GRPC_QUEUE_TIMEOUT) return event;
  return grpc_completion_queue_next(reading.queue, deadline, nullptr);
}

// False: the thread has the turn no more.
bool Complete(Reading* reading, Turn::Number turn, const grpc_event& event, bool is_in_background) {
  if (event.type != GRPC_OP_COMPLETE) return true;
  if (reading->turn.BeginCompletion(turn) && !StartThread(reading)) reading->turn.HasNotStarted();
  const BusyThread busy;
  const Completing outer = std::exchange(t_completing, {turn, is_in_background});
  static_cast<Completion*>(event.tag)->Complete(event.success != 0);
  t_completing = outer;
  return reading->turn.EndCompletion(turn);
}

void ReadInBackground(Reading* reading) {
  while (true) {
    const Turn::Number turn = reading->turn.AwaitInBackground();
    if (turn == 0) return;
    bool has_turn = true;
    while (has_turn) {
      const grpc_event event =
          Next(*reading, &reading->background_look, gpr_inf_future(GPR_CLOCK_MONOTONIC));
      has_turn = Complete(reading, turn, event, /*is_in_background=*/true);
    }
  }
}

Reading* GetReading() {
  static Reading* const reading = [] {
    grpc_init();
    auto* const made = new Reading;
    made->queue = grpc_completion_queue_create_for_next(nullptr);
    int started = 0;
    for (int i = 0; i < kThreads; ++i) started += StartThread(made) ? 1 : 0;
    GPR_ASSERT(started > 0);  // else nobody might ever read
    return made;
  }();
  return reading;
}

}  // namespace

grpc_completion_queue* Queue() { return GetReading()->queue; }

void LetOthersRead() {
  if (t_completing.turn == 0) return;
  GetReading()->turn.Give(std::exchange(t_completing.turn, 0), Turn::Reason::kReadsNoMore);
}

void KeepThread() {
  if (t_completing.turn == 0) return;
  GetReading()->turn.Give(std::exchange(t_completing.turn, 0), Turn::Reason::kWorks);
}

void Help(millstream_is_done is_done, void* user) {
  // A completion that has the turn would wait here for its own end.
  if (t_completing.turn != 0 || is_done(user) != 0) return;
  Reading* const reading = GetReading();
  const gpr_timespec end = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                        gpr_time_from_millis(kHelpPatienceMillis, GPR_TIMESPAN));
  while (true) {
    const Turn::Number turn = reading->turn.TakeToHelp(end);
    if (turn == 0) return;
    bool has_turn = true;
    while (has_turn && is_done(user) == 0) {
      const grpc_event event = Next(*reading, &reading->helper_look, end);
      has_turn = Complete(reading, turn, event, /*is_in_background=*/false);
      // Events may come without end, and none of them be the answer.
      if (has_turn && IsPast(end) && is_done(user) == 0) {
        return reading->turn.Give(turn, Turn::Reason::kReadsNoMore);
      }
    }
    if (has_turn) {
      const bool is_kept = t_completing.is_in_background;
      return reading->turn.Give(turn, is_kept ? Turn::Reason::kWorks : Turn::Reason::kHasAnswer);
    }
    if (is_done(user) != 0) return;
  }
}

}  // namespace millstream::network
