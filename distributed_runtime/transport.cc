#include "distributed_runtime/transport.h"

#include "absl/strings/cord.h"

namespace millstream {
namespace {

constexpr char kPeerLostPayload[] = "millstream/peer_lost";

}  // namespace

Status PeerLost(absl::string_view text) {
  Status status = absl::UnavailableError(text);
  status.SetPayload(kPeerLostPayload, absl::Cord());
  return status;
}

bool IsPeerLost(const Status& status) {
  return absl::IsUnavailable(status) && status.GetPayload(kPeerLostPayload).has_value();
}

}  // namespace millstream
