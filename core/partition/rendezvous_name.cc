#include "core/partition/rendezvous_name.h"

#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace millstream {
namespace {

constexpr size_t kNumberDigits = 16;

bool ReadNumber(absl::string_view text, uint64_t* number) {
  return text.size() == kNumberDigits && absl::SimpleHexAtoi(text, number);
}

}  // namespace

StatusOr<RendezvousName> RendezvousName::Of(const RendezvousKey& key) {
  if (key.transfer == nullptr) {
    return errors::Internal("edge ", key.edge, " has no name, and cannot leave its task");
  }
  const Node& node = *key.transfer;
  RendezvousName name;
  MS_ASSIGN_OR_RETURN(name.source, node.Attr<std::string>("send_device"));
  MS_ASSIGN_OR_RETURN(name.incarnation, node.Attr<int64_t>("send_device_incarnation"));
  MS_ASSIGN_OR_RETURN(name.destination, node.Attr<std::string>("recv_device"));
  MS_ASSIGN_OR_RETURN(const std::string tensor, node.Attr<std::string>("tensor_name"));
  name.tensor = absl::StrCat("edge_", key.edge, "_", tensor);
  name.iteration = key.iteration;
  return name;
}

std::string RendezvousName::ToText() const {
  return absl::StrCat(source, ";", absl::Hex(incarnation, absl::kZeroPad16), ";", destination, ";",
                      tensor, ";", absl::Hex(iteration, absl::kZeroPad16));
}

StatusOr<RendezvousName> RendezvousName::Parse(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ';');
  RendezvousName name;
  uint64_t incarnation = 0;
  const bool is_name = parts.size() == 5 && ReadNumber(parts[1], &incarnation) &&
                       ReadNumber(parts[4], &name.iteration) &&
                       incarnation <= uint64_t{std::numeric_limits<int64_t>::max()};
  if (!is_name) {
    return errors::InvalidArgument(
        "expected SOURCE;INCARNATION;DESTINATION;TENSOR;ITERATION, got '", text, "'");
  }
  name.source = std::string(parts[0]);
  name.incarnation = static_cast<int64_t>(incarnation);
  name.destination = std::string(parts[2]);
  name.tensor = std::string(parts[3]);
  return name;
}

}  // namespace millstream
