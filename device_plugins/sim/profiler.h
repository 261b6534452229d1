// What the streams of simulated devices did and when, for "ms.profiler/1".
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_PROFILER_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_PROFILER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// One for all devices. Thread-safe.
class Profiler {
 public:
  using Clock = std::chrono::steady_clock;
  // The most events that are kept until flush; the others are counted.
  static constexpr size_t kMostEvents = 1 << 20;

  static Profiler& Get();

  // `kinds`: bit k says that events of kind k are wanted. `now_ns` is the host's time now.
  void Start(uint64_t kinds, uint64_t now_ns);
  void Stop();
  // Gives what was recorded since Start, and forgets it.
  ms::Status Flush(MS_TraceSink* sink);

  // What the thread enqueues until Pop belongs to the execution `id`. They nest.
  static void Push(uint64_t id);
  static void Pop();
  // The id of the thread; 0: none.
  static uint64_t Current();

  struct Event {
    uint64_t correlation = 0;
    uint32_t kind = MS_TRACE_KERNEL;
    uint32_t device = 0;
    uint32_t stream = 0;
    uint64_t bytes = 0;  // of a copy
    Clock::time_point begin;
    Clock::time_point end;
  };
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
  void Record(const Event& event);

 private:
  std::atomic<bool> is_on_{false};
  std::mutex mutex_;  // guards the rest
  uint64_t kinds_ = 0;
  int64_t host_minus_ours_ = 0;  // nanoseconds
  uint64_t dropped_ = 0;
  std::vector<Event> events_;
};

// The functions of the interface.
const MS_ProfilerApi* ProfilerTable();

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_PROFILER_H_
