#include "distributed_runtime/link_measures.h"

#include <algorithm>
#include <cstdint>

namespace millstream {
namespace {

using Kind = CollectiveSpec::Kind;

// Messages cost a time and bytes cost another (the model of R. Hockney, "The communication
// challenge for MPP", 1994, by which R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of
// collective communication operations in MPICH", 2005, choose algorithms). Let R be the time of a
// request and its answer, b the bytes per second that a task gets of each other one while all give
// at once, S the bytes of a tensor, n the number of members. With their members, tensors take
//
//   R + (S + result) / b
//
// and in an exchange of a task for each member, which asks for all pieces at once,
//
//   reduction       R + 3/2 R + 2 S/n / b       result S
//   reduce-scatter  R + R + S/n / b             result S/n
//   gather          R + R + S / b               result n S
//   broadcast       R + R + S / b, or more      result S
//
// This is the S / (R b) for which both take the same time.
double EvenShare(const CollectiveSpec& spec) {
  const auto count = static_cast<double>(std::max<int64_t>(spec.group_size, 2));
  switch (spec.kind) {
    case Kind::kReduce: return 0.75 * count / (count - 1);
    case Kind::kGather: return 1 / count;
    case Kind::kBroadcast:
    case Kind::kReduceScatter: break;
  }
  return 1;
}

}  // namespace

double LinkMeasures::Window::Middle() const {
  std::array<double, kSize> sorted = values_;
  const size_t count = std::min(count_, kSize);
  auto* const middle = sorted.begin() + count / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + count);
  return *middle;
}

LinkMeasures::Peer& LinkMeasures::PeerOf(absl::string_view name) {
  const auto found = peers_.find(name);
  return found == peers_.end() ? peers_[std::string(name)] : found->second;
}

double LinkMeasures::RoundTripTo(const Peer& peer) const {
  if (!peer.round_trips.empty()) return peer.round_trips.Middle();
  double shortest = 0;
  for (const auto& [name, other] : peers_) {
    if (other.round_trips.empty()) continue;
    const double one = other.round_trips.Middle();
    shortest = shortest == 0 ? one : std::min(shortest, one);
  }
  return shortest;
}

void LinkMeasures::AddRoundTrip(absl::string_view peer, absl::Duration took) {
  if (took <= absl::ZeroDuration()) return;
  absl::MutexLock lock(&mutex_);
  PeerOf(peer).round_trips.Add(absl::ToDoubleSeconds(took));
}

void LinkMeasures::AddTransfer(absl::string_view peer, size_t bytes, absl::Duration took) {
  if (bytes < kShortestTransfer) return;
  absl::MutexLock lock(&mutex_);
  Peer& from = PeerOf(peer);
  const double seconds = absl::ToDoubleSeconds(took) - RoundTripTo(from);
  if (seconds > 0) from.rates.Add(static_cast<double>(bytes) / seconds);
}

CollectiveLink LinkMeasures::link() const {
  CollectiveLink link;
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, peer] : peers_) {
    if (!peer.round_trips.empty()) {
      link.round_trip_seconds = std::max(link.round_trip_seconds, peer.round_trips.Middle());
    }
    if (peer.rates.empty()) continue;
    const double rate = peer.rates.Middle();
    const bool is_first = link.bytes_per_second == 0;
    link.bytes_per_second = is_first ? rate : std::min(link.bytes_per_second, rate);
  }
  return link;
}

size_t MostBytesWithMember(const CollectiveSpec& spec, const CollectiveLink& link) {
  if (!link.is_known()) return kUnmeasuredBytes;
  const double bytes = EvenShare(spec) * link.round_trip_seconds * link.bytes_per_second;
  return static_cast<size_t>(std::clamp(bytes, static_cast<double>(kLeastBytesWithMember),
                                        static_cast<double>(kMostBytesWithMember)));
}

}  // namespace millstream
