// Places in the work of a device's streams, and how far the streams are.
#ifndef MILLSTREAM_CORE_DEVICE_STREAM_POINT_H_
#define MILLSTREAM_CORE_DEVICE_STREAM_POINT_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace millstream {

// Streams of a device have numbers from 1 on, up to this.
inline constexpr uint32_t kMostStreams = 31;
// The number of no stream: for work that somebody does outside of all streams, of which only the
// device as a whole can tell that it is done.
inline constexpr uint32_t kNoStream = 0;

// After the first `sequence` pieces of work that were enqueued on a stream. A stream runs its work
// in order, so a point that has passed takes all before it along. For kNoStream: after the first
// time that the device was found idle from then on, see StreamProgress.
struct StreamPoint {
  uint32_t stream = kNoStream;
  uint64_t sequence = 0;

  friend bool operator==(const StreamPoint& a, const StreamPoint& b) {
    return a.stream == b.stream && a.sequence == b.sequence;
  }
};

// The point of each stream that is known to have passed. Thread-safe.
class StreamProgress {
 public:
  bool HasPassed(const StreamPoint& point) const {
    return point.sequence <= passed_[point.stream].load(std::memory_order_acquire);
  }
  // Points of a stream pass in order; of two threads that report, the later point counts.
  void Pass(const StreamPoint& point) {
    std::atomic<uint64_t>& passed = passed_[point.stream];
    uint64_t seen = passed.load(std::memory_order_relaxed);
    while (seen < point.sequence &&
           !passed.compare_exchange_weak(seen, point.sequence, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
  }

  // A point of kNoStream for work that was begun before this call.
  StreamPoint OutsideWork() {
    return {kNoStream, outside_.fetch_add(1, std::memory_order_acq_rel) + 1};
  }
  // To be read before the device is asked to become idle, and passed once it has.
  StreamPoint LatestOutsideWork() const {
    return {kNoStream, outside_.load(std::memory_order_acquire)};
  }

 private:
  std::array<std::atomic<uint64_t>, kMostStreams + 1> passed_{};
  std::atomic<uint64_t> outside_{0};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_STREAM_POINT_H_
