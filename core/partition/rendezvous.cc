#include "core/partition/rendezvous.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace millstream {

std::string DescribeWait(const Node& node, absl::string_view device_name,
                         absl::string_view waits_for) {
  const std::string waiting = absl::StrCat(node.Describe(), ", on ", device_name);
  if (!waits_for.empty()) return absl::StrCat(waiting, ", waits for ", waits_for);
  const auto tensor = node.Attr<std::string>("tensor_name");
  const auto sender = node.Attr<std::string>("send_device");
  if (!tensor.ok() || !sender.ok()) return absl::StrCat(waiting, ", has not ended");
  return absl::StrCat(waiting, ", waits for ", *tensor, " from ", *sender);
}

Status Rendezvous::Send(RendezvousKey key, Parcel parcel) {
  Receiver* receiver = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return absl::OkStatus();
    auto found = items_.find(key);
    if (found == items_.end()) {
      items_.emplace(key, Item{nullptr, std::move(parcel)});
      return absl::OkStatus();
    }
    receiver = found->second.receiver;
    if (receiver == nullptr) {
      return absl::AlreadyExistsError("a tensor was sent twice over the same edge of a step");
    }
    items_.erase(found);
  }
  receiver->Receive(absl::OkStatus(), std::move(parcel));
  return absl::OkStatus();
}

StatusOr<bool> Rendezvous::Receive(RendezvousKey key, Receiver* receiver, Parcel* parcel) {
  absl::MutexLock lock(&mutex_);
  if (!aborted_.ok()) return aborted_;
  auto found = items_.find(key);
  if (found == items_.end()) {
    items_.emplace(key, Item{receiver, Parcel()});
    return false;
  }
  if (found->second.receiver != nullptr) {
    return errors::Internal("two receivers await the same tensor of a step");
  }
  *parcel = std::move(found->second.parcel);
  items_.erase(found);
  return true;
}

void Rendezvous::Abort(const Status& error) {
  std::vector<Receiver*> waiting;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return;
    aborted_ = error;
    for (const auto& [key, item] : items_) {
      if (item.receiver != nullptr) waiting.push_back(item.receiver);
    }
    items_.clear();
  }
  for (Receiver* receiver : waiting) receiver->Receive(error, Parcel());
}

}  // namespace millstream
