#include "core/partition/local_rendezvous.h"

#include <utility>

namespace millstream {

Status LocalRendezvous::Send(const RendezvousKey& key, Parcel parcel) {
  return table_.Send(key, std::move(parcel));
}

StatusOr<bool> LocalRendezvous::Receive(const RendezvousKey& key, Receiver* receiver,
                                        Parcel* parcel) {
  return table_.Receive(key, receiver, parcel);
}

void LocalRendezvous::Abort(const Status& error) { table_.Abort(error); }

}  // namespace millstream
