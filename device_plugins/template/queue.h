// Takes the place of the hardware: a queue, and a thread that runs the work in order. With a real
// device, the driver's stream does this, and this file is removed.
#ifndef MILLSTREAM_DEVICE_PLUGINS_TEMPLATE_QUEUE_H_
#define MILLSTREAM_DEVICE_PLUGINS_TEMPLATE_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace acme {

// Thread-safe.
class Queue {
 public:
  Queue() : thread_([this] { Loop(); }) {}
  // Runs the remaining work first. REQUIRES: no other thread calls a member.
  void Close() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void Push(std::function<void()> work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(work));
    ++pushed_;
    changed_.notify_all();
  }
  // Returns the position after all work that was pushed so far.
  uint64_t End() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return pushed_;
  }
  bool Reached(uint64_t place) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return done_ >= place;
  }
  void Wait(uint64_t place) const {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= place; });
  }

 private:
  void Loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // what it holds goes before anybody hears that it is done
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  mutable std::mutex mutex_;  // guards what follows, but for the thread
  mutable std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  uint64_t pushed_ = 0;
  uint64_t done_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

// A position in the work of one queue. It may outlive the queue.
struct Place {
  std::shared_ptr<const Queue> queue;  // null: there is nothing to wait for
  uint64_t place = 0;

  bool Reached() const { return queue == nullptr || queue->Reached(place); }
  void Wait() const {
    if (queue != nullptr) queue->Wait(place);
  }
};

}  // namespace acme

#endif  // MILLSTREAM_DEVICE_PLUGINS_TEMPLATE_QUEUE_H_
