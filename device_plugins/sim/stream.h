// Streams: queues of work, each with a thread of its own that does one thing after the other.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_STREAM_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_STREAM_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "device_plugins/sim/event.h"
#include "device_plugins/sim/relocation.h"
#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// What a stream does, in the order in which it was asked.
struct Item {
  enum class Kind { kWork, kCopy, kHostFunction, kRecord, kWait };

  Kind kind;
  // Work, copies and host functions. What it captured goes right after it ran, in the stream's
  // thread.
  std::function<void()> run;
  // Copies: the half that is done when the device is lost in the middle.
  std::function<void()> run_half;
  std::shared_ptr<Record> record;  // the one to finish, or to wait for
  uint64_t bytes = 0;              // of a copy
  uint64_t number = 0;             // of work and copies: the n-th of its device, from 1
  uint64_t correlation = 0;        // the execution that it belongs to, for the profiler
};

class Stream;

// Makes the item of a piece of work: for the stream that will do it, and for memory that is where
// the relocation says. What was recorded is made anew for each replay.
using ItemMaker = std::function<ms::Status(const Relocation&, Stream*, Item*)>;

// The MS_Stream of these tables. Thread-safe. What is enqueued is done even if the host forgets the
// stream: Close waits for it. When the device is lost, what has not begun is left out, but for host
// functions: they are called in any case, once.
class Stream {
 public:
  // `number` is the stream's on its device; with the seed it decides the random delays.
  Stream(Device* device, uint32_t number, uint64_t seed);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device* device() const { return device_; }
  // Begins to work. `role` is an MS_STREAM_*.
  void Start(uint32_t role);
  // Waits until all is done, and ends the thread. A wait that a hung device would make endless ends
  // by losing that device. REQUIRES: Start was called; nobody else uses the stream any more.
  void Close();

  // All of these return at once. UNAVAILABLE when the device is lost; what a switch for faults
  // says.
  ms::Status Enqueue(Item item);
  // Enqueues what `make` makes, or records `make`.
  ms::Status Submit(ItemMaker make);
  // Either all of the items, which are work and copies, or none.
  ms::Status EnqueueAll(std::vector<Item> items);
  ms::Status RecordEvent(Event* event);
  // Everything enqueued later waits for the last recording of `event` before this call.
  ms::Status WaitEvent(const Event& event);

  // UNAVAILABLE when the device is lost, and only when nothing runs any more. Else what work failed
  // with (KeepFailure).
  ms::Status Query(bool* idle);
  // Waits for what was enqueued before. The same, and FAILED_PRECONDITION in the stream's own
  // thread.
  ms::Status Sync();
  // Work has failed: the next Query or Sync says so, once, with the status of what failed first
  // since the last one that did. Nothing else comes of it: the stream and the device go on.
  void KeepFailure(ms::Status failure);

  // ---- Capture ----
  // From now on Submit records. FAILED_PRECONDITION from all other functions that enqueue or ask,
  // and then from EndCapture.
  ms::Status BeginCapture();
  ms::Status EndCapture(std::vector<ItemMaker>* out);
  // OK unless the stream records, which then fails.
  ms::Status RefuseWhileRecording(const char* what);

  // Somebody has changed what this stream may be waiting for. REQUIRES: StateMutex() is held.
  void WakeUp();
  // Its work hangs. REQUIRES: StateMutex() is held.
  bool hung() const { return hung_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Clock = std::chrono::steady_clock;

  // In the stream's thread, `lock` held on entry and on return.
  void Loop();
  void Do(Item* item, Lock* lock);
  void DelayAtRandom(Lock* lock);
  void Execute(Item* item, Lock* lock);
  void HangIfTold(const Item& item, Lock* lock);
  void Finish(Record* record);
  void Await(const std::shared_ptr<Record>& record, Lock* lock);
  // Until then, or until the device is lost.
  void SleepUntil(Clock::time_point end, Lock* lock);

  // REQUIRES: StateMutex() is held.
  void Push(Item item);
  ms::Status Refuse(const char* what);
  ms::Status WaitForAll(Lock* lock);
  ms::Status TakeFailure();
  // The hung device that this stream waits for, through any number of others; null: none.
  Device* HungDevice() const;

  Device* const device_;
  const uint32_t number_;
  std::mt19937_64 random_;  // of the stream's thread alone
  std::thread thread_;      // set by Start

  // Guarded by StateMutex().
  std::condition_variable changed_;
  std::deque<Item> queue_;
  uint64_t submitted_ = 0;  // items that were ever enqueued
  uint64_t finished_ = 0;
  bool closing_ = false;
  bool hung_ = false;
  bool is_recording_ = false;
  std::vector<ItemMaker> recorded_;
  ms::Status spoiled_;  // why the recording fails
  std::shared_ptr<Record> awaited_;
  ms::Status failure_;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_STREAM_H_
