// The bytes that a task exchanges with another one.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_TRAFFIC_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_TRAFFIC_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "distributed_runtime/transport.h"

namespace millstream {

// Counts the bytes of requests and responses, in both directions. Thread-safe.
class Traffic {
 public:
  void AddSent(size_t bytes) { Add(bytes, &sent_); }
  void AddReceived(size_t bytes) { Add(bytes, &received_); }
  int64_t sent() const { return sent_.load(std::memory_order_relaxed); }
  int64_t received() const { return received_.load(std::memory_order_relaxed); }

 private:
  static void Add(size_t bytes, std::atomic<int64_t>* count) {
    count->fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }

  std::atomic<int64_t> sent_{0};
  std::atomic<int64_t> received_{0};
};

// A channel that sends through `channel`, and counts what goes through it.
std::shared_ptr<Channel> CountedChannel(std::shared_ptr<Channel> channel,
                                        std::shared_ptr<Traffic> traffic);

// A response to the task, which is counted as sent.
Respond CountedRespond(Respond respond, std::shared_ptr<Traffic> traffic);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_TRAFFIC_H_
