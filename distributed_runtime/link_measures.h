// How fast a task reaches the others, and which tensors come with the members of collective
// operations by that.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_LINK_MEASURES_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_LINK_MEASURES_H_

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/resources/collective_meetings.h"

namespace millstream {

// What the messages of collective operations show of the connections of one task. Whoever answers
// says how long it had the request; the rest of the time is the network's, and of who sends and
// receives. Of each peer the middle one of the last measures counts, because single ones are
// disturbed by whatever else the machines do. Thread-safe.
class LinkMeasures {
 public:
  // A shorter piece of a tensor shows the time of a message rather than that of its bytes.
  static constexpr size_t kShortestTransfer = size_t{64} << 10;

  // How long a small request and its answer took, without the time that the peer had it.
  void AddRoundTrip(absl::string_view peer, absl::Duration took) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same of a request that was answered by so many bytes. Does nothing if these are few.
  void AddTransfer(absl::string_view peer, size_t bytes, absl::Duration took)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Of the slowest peer, because operations wait for that.
  CollectiveLink link() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The last measures.
  class Window {
   public:
    void Add(double value) { values_[count_++ % kSize] = value; }
    bool empty() const { return count_ == 0; }
    // REQUIRES: there is one.
    double Middle() const;

   private:
    static constexpr size_t kSize = 15;
    std::array<double, kSize> values_{};
    size_t count_ = 0;
  };
  struct Peer {
    Window round_trips;  // seconds
    Window rates;        // bytes per second
  };
  // Of the peer; where nothing is known of that, the shortest one that is known, or 0.
  double RoundTripTo(const Peer& peer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Peer& PeerOf(absl::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<std::string, Peer, std::less<>> peers_ ABSL_GUARDED_BY(mutex_);
};

// Bytes of the largest tensor that comes with its member, so that the leader answers with the
// result. Larger ones stay in their tasks, which exchange them: that takes more messages, and fewer
// bytes. It depends only on what all members of the group know. Where nothing is measured, it is
// kUnmeasuredBytes.
size_t MostBytesWithMember(const CollectiveSpec& spec, const CollectiveLink& link);

inline constexpr size_t kUnmeasuredBytes = size_t{32} << 10;
// Whatever is measured.
inline constexpr size_t kLeastBytesWithMember = size_t{4} << 10;
inline constexpr size_t kMostBytesWithMember = size_t{1} << 20;

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_LINK_MEASURES_H_
