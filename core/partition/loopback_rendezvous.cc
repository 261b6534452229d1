#include "core/partition/loopback_rendezvous.h"

#include <utility>

#include "core/partition/rendezvous_name.h"

namespace millstream {

LoopbackRendezvous::~LoopbackRendezvous() {
  Abort(errors::Cancelled("the tasks no longer run the step"));
}

StatusOr<std::string> LoopbackRendezvous::TextOf(const RendezvousKey& key) const {
  MS_ASSIGN_OR_RETURN(const RendezvousName name, RendezvousName::Of(key));
  const int source = devices_.Find(name.source);
  if (source < 0) {
    return absl::AbortedError(absl::StrCat("the device ", name.source, ", which sends ",
                                           name.tensor, ", does not exist; the devices are ",
                                           devices_.Names()));
  }
  const int64_t incarnation = devices_[source].incarnation;
  if (incarnation != name.incarnation) {
    return absl::AbortedError(
        absl::StrCat("the device ", name.source, ", which sends ", name.tensor,
                     ", was made again since the graph was cut: expected incarnation ",
                     name.incarnation, ", it is ", incarnation));
  }
  return name.ToText();
}

Status LoopbackRendezvous::Send(const RendezvousKey& key, Parcel parcel) {
  MS_ASSIGN_OR_RETURN(const std::string text, TextOf(key));
  if (parcel.tensor.is_on_device()) {
    return errors::Internal(text, ": a tensor leaves its task in host memory");
  }
  return table_.Send(text, std::move(parcel));
}

StatusOr<bool> LoopbackRendezvous::Receive(const RendezvousKey& key, Receiver* receiver,
                                           Parcel* parcel) {
  MS_ASSIGN_OR_RETURN(const std::string text, TextOf(key));
  return table_.Receive(text, receiver, parcel);
}

}  // namespace millstream
