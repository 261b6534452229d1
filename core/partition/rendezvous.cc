#include "core/partition/rendezvous.h"

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

Status WithTransfer(const Status& error, const Node& transfer) {
  if (error.ok()) return error;
  const auto tensor = transfer.Attr<std::string>("tensor_name");
  const auto sender = transfer.Attr<std::string>("send_device");
  const auto receiver = transfer.Attr<std::string>("recv_device");
  if (!tensor.ok() || !sender.ok() || !receiver.ok()) return error;
  return Status(error.code(), absl::StrCat(error.message(), " [of the tensor ", *tensor, " from ",
                                           *sender, " to ", *receiver, "]"));
}

}  // namespace millstream
