// Which thread takes events from the queue.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_TURN_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_TURN_H_

#include <grpc/support/time.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace millstream::network {

// One thread at a time has the turn: it asks gRPC for an event, completes it, and asks for the next
// one. gRPC wakes no second thread where only one asks. Two kinds of threads take the turn:
// background threads, which have nothing else to do, and helpers, which wait for an answer and read
// it themselves, so that no thread has to be woken for it.
//
// The invariants:
// 1. Only the thread that has the turn, and is in no completion, asks gRPC for events.
// 2. A turn that is free is taken by a background thread after kRest at the latest. It rests for
//    that time after a helper has had its answer: a program that takes one step after the other
//    reads all its answers itself.
// 3. A turn whose holder has been in one completion for kLongCompletion is taken from it, so that
//    events, and with them pings of peers, do not wait for it. EndCompletion tells the holder.
// 4. A background thread that asks gRPC cannot be called back. A helper waits until that thread has
//    completed an event, and then has the turn before all others.
// 5. While an event is completed, a background thread waits or is being started, unless the process
//    has all the threads that it may: it would read if the completion gave the turn away, or lost
//    it.
// 6. Background threads that wait sleep without a limit while nothing happens. One of them, the
//    watcher, has a limit where 2 or 3 need one; who makes the need wakes one, unless a watcher
//    looks early enough by itself.
//
// The mutex guards whose turn it is. It is never held while a thread asks gRPC or completes an
// event. Thread-safe.
class Turn {
 public:
  // Of a turn. 0: none. No two turns have the same one, so that a thread that has lost its turn
  // cannot give away, or use, that of another.
  using Number = uint64_t;

  Turn();
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // For a background thread: waits until it has to read. 0: enough others wait; it must end.
  Number AwaitInBackground();
  // For a helper. 0: it has to wait for its answer without reading, because another helper reads,
  // who completes what is for this one, or a background thread has read until `deadline`.
  Number TakeToHelp(gpr_timespec deadline);

  // The holder has an event, and completes it from now on. True: no background thread waits, and
  // the caller must start one.
  bool BeginCompletion(Number turn);
  // That thread cannot be started. The next completion asks for one again.
  void HasNotStarted();
  // The event is completed. False: the thread has the turn no more.
  bool EndCompletion(Number turn);

  // Why a thread gives the turn away.
  enum class Reason {
    kReadsNoMore,  // A background thread reads at once.
    kHasAnswer,    // The turn rests for the next help.
    // The thread works for the peer whose request it has, and helps when it waits for this peer. So
    // the turn rests, but not for background threads that are awake.
    kWorks,
  };
  // Does nothing if the thread has lost it.
  void Give(Number turn, Reason reason);

 private:
  class Lock;

  // All REQUIRE that the mutex is held.
  Number Take(bool is_helper);
  void Free(gpr_timespec rest_end, bool rests_for_all);
  // When a background thread has to look again. `seen`: how many events there were at its last
  // look.
  gpr_timespec NextLook(gpr_timespec now, uint64_t* seen) const;
  // Sees to it that a background thread looks then.
  void LookUntil(gpr_timespec end);

  // Not those of gRPC, nor of the standard library: gRPC's waits end by the clock of the system, so
  // that nobody would read for an hour after that was set back by an hour, and the wait of
  // std::condition_variable needs a newer library than the wheel may.
  pthread_mutex_t mutex_;
  pthread_cond_t background_;  // background threads wait
  pthread_cond_t helpers_;     // helpers wait
  // Guarded by mutex_.
  Number holder_ = 0;
  Number last_ = 0;
  bool is_helper_ = false;      // the holder
  bool is_completing_ = false;  // the holder
  gpr_timespec since_;          // when the completion began
  uint64_t events_ = 0;
  gpr_timespec rest_end_;
  bool rests_for_all_ = true;
  size_t waiting_ = 0;             // background threads
  size_t starting_ = 0;            // background threads that do not wait as yet
  size_t helpers_waiting_ = 0;     // for a background thread
  const void* watcher_ = nullptr;  // whose look is look_; null: the next thread that looks
  gpr_timespec look_;              // of the watcher
};

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_TURN_H_
