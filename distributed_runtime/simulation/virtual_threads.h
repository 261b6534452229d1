// Threads of which one runs at a time, in an order that a seed chooses and in a time of their own.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_VIRTUAL_THREADS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_VIRTUAL_THREADS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "distributed_runtime/simulation/chance.h"

namespace millstream {

// Each is a thread of the operating system that waits for its turn. It runs until it waits for
// something of Abseil (Mutex, CondVar, Notification) or a SteadyCondVar, sleeps, yields or ends;
// then another one may run. When none can, the time goes on to the next event or to the end of the
// first wait with a time limit. So code that is written for real threads runs in a schedule that
// can be repeated. Time does not pass while a thread runs.
//
// Waits with a time limit end at full tenths of a second, as with a coarse timer: a step that waits
// looks every 20 milliseconds whether it is to end, which would be most of what happens. Sleeps and
// events come when they are due.
//
// A thread that waits chooses the next one itself and gives it the turn, so that a turn costs one
// change of threads, and none if the thread goes on. On one processor no other one has to be woken
// for it: see StayOnOneProcessor.
//
// Linked into a program, the .cc file replaces Abseil's waits and clock_gettime for these threads,
// and leaves all others as they are. AbslInternalPerThreadSemWait and its like are weak for such
// purposes. Waits of the standard library and on futexes would keep the turn.
//
// What only threads of the object and its owner's thread, while it is in RunUntil, read and write
// needs no lock: their turns follow one another.
class VirtualThreads {
 public:
  explicit VirtualThreads(uint64_t seed);
  // REQUIRES: Alive() is empty.
  ~VirtualThreads();
  VirtualThreads(const VirtualThreads&) = delete;
  VirtualThreads& operator=(const VirtualThreads&) = delete;

  // ---- On any thread ----
  // Adds a thread of the same group as the caller, which is kNoGroup except on one of the threads.
  // `name` is for reports.
  void Start(std::string name, std::function<void()> work);
  // Adds a thread of that group.
  void StartIn(int group, std::string name, std::function<void()> work);
  static constexpr int kNoGroup = -1;
  // The threads of a group stop, as those of a process by SIGSTOP, and go on. What they wait for
  // may come meanwhile, and time limits pass. REQUIRES: what threads of the group have locked while
  // they wait, no other group needs.
  void Freeze(int group);
  void Thaw(int group);
  bool IsFrozen(int group) const;
  // Adds an event: `act`, which must not wait, is called at that time, on the thread that has just
  // waited, which is none of these threads meanwhile.
  void At(absl::Time time, std::function<void()> act);
  absl::Time now() const { return absl::FromUnixNanos(now_); }

  // ---- On the owner's thread ----
  // Runs threads and events until nothing is left to do before that time. False if that takes too
  // many turns: the threads go round in circles.
  bool RunUntil(absl::Time time);
  // The names of the threads that have not ended.
  std::vector<std::string> Alive() const;

  // ---- On one of the threads; false: the caller is a real thread, and nothing was done ----
  static bool Sleep(absl::Duration duration);
  // Lets others run.
  static bool Yield();

  // ---- For the functions that are replaced; false: it is about a real thread ----
  // `deadline`: nanoseconds since 1970, or kNever. Sets whether the wait ended before.
  static bool WaitHere(int64_t deadline, bool* came);
  // Ends a wait of the thread, now or later.
  static bool Post(const void* identity);
  static bool ReadClock(int64_t* nanos);
  // Waits while the word has the value.
  static bool SleepAt(const void* word, uint32_t value, int64_t deadline);
  // Ends the waits at the word.
  static void WakeAt(const void* word);
  static constexpr int64_t kNever = INT64_MAX;

 private:
  struct Thread;
  static thread_local Thread* t_thread;

  // Where a thread sleeps until it has the turn.
  class Turn {
   public:
    void Give();
    void Await();

   private:
    std::atomic<uint32_t> is_given_{0};  // a futex
  };

  void Loop(Thread* thread);
  bool MayRun(const Thread& thread) const;
  Thread* PickReady();
  int64_t NextTime() const;
  bool WakeSleepers();
  // The end of a wait with this time limit.
  int64_t OnTimer(int64_t deadline) const;
  void RunEvent(std::unique_lock<std::mutex>* lock);
  // Who runs next; null: the owner's thread, because nothing is left to do before the limit, or the
  // turns are used up.
  Thread* Choose(std::unique_lock<std::mutex>* lock);
  // Gives the turn away and returns when it comes back. `from` is null on the owner's thread.
  void PassTurn(Thread* from, std::unique_lock<std::mutex>* lock);
  void Block(Thread* thread, int64_t deadline, std::unique_lock<std::mutex>* lock);

  mutable std::mutex mutex_;  // not Abseil's, whose waits are replaced
  Turn owners_turn_;
  std::vector<std::unique_ptr<Thread>> threads_;  // also those that have ended and wait for work
  std::multimap<int64_t, std::function<void()>> events_;
  std::set<int> frozen_;  // groups
  bool is_over_ = false;
  int64_t limit_ = 0;  // of RunUntil
  int64_t now_;        // nanoseconds since 1970
  int64_t turns_ = 0;
  Chance chance_;
};

// From now on this thread, and those that it begins, run on processor `number` of those that it may
// use, counted round and round.
void StayOnOneProcessor(int number);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_VIRTUAL_THREADS_H_
