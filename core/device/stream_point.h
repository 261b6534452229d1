// Positions in the work of a device's streams, and the progress of the streams.
#ifndef MILLSTREAM_CORE_DEVICE_STREAM_POINT_H_
#define MILLSTREAM_CORE_DEVICE_STREAM_POINT_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace millstream {

// The streams of a device have the numbers 1 to kMostStreams.
inline constexpr uint32_t kMostStreams = 31;
// Stands for work outside of the known streams. It is known to be complete only when the whole
// device is idle.
inline constexpr uint32_t kNoStream = 0;

// The position after the first `sequence` marks of a stream. A stream runs its work in order, so
// all earlier points have passed when a point has. A point of kNoStream passes when the device is
// found idle afterwards, see StreamProgress.
struct StreamPoint {
  uint32_t stream = kNoStream;
  uint64_t sequence = 0;

  friend bool operator==(const StreamPoint& a, const StreamPoint& b) {
    return a.stream == b.stream && a.sequence == b.sequence;
  }
};

// The last point of each stream that is known to have passed. Thread-safe.
class StreamProgress {
 public:
  bool HasPassed(const StreamPoint& point) const {
    return point.sequence <= passed_[point.stream].load(std::memory_order_acquire);
  }
  // Records that the point has passed. An earlier point than the recorded one changes nothing.
  void Pass(const StreamPoint& point) {
    std::atomic<uint64_t>& passed = passed_[point.stream];
    uint64_t seen = passed.load(std::memory_order_relaxed);
    while (seen < point.sequence &&
           !passed.compare_exchange_weak(seen, point.sequence, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
  }

  // A new point of kNoStream, for work that began before this call.
  StreamPoint OutsideWork() {
    return {kNoStream, outside_.fetch_add(1, std::memory_order_acq_rel) + 1};
  }
  // The latest point of kNoStream. Read it before waiting for the device to become idle, and pass
  // it afterwards.
  StreamPoint LatestOutsideWork() const {
    return {kNoStream, outside_.load(std::memory_order_acquire)};
  }

 private:
  std::array<std::atomic<uint64_t>, kMostStreams + 1> passed_{};
  std::atomic<uint64_t> outside_{0};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_STREAM_POINT_H_
