// The name of a rendezvous key between tasks.
#ifndef MILLSTREAM_CORE_PARTITION_RENDEZVOUS_NAME_H_
#define MILLSTREAM_CORE_PARTITION_RENDEZVOUS_NAME_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/partition/rendezvous.h"
#include "framework/status.h"

namespace millstream {

// The Send and the Receive of one tensor have the same name, in any tasks. It is unique within one
// step.
struct RendezvousName {
  std::string source;       // the device that sends, by its full name
  int64_t incarnation = 0;  // of that device; see DeviceDescription
  std::string destination;  // the device that receives
  std::string tensor;       // "edge_3_a:0": the edge and the tensor ("^a": a control edge)
  uint64_t iteration = 0;   // see RendezvousKey

  // From the attributes of the key's node. INTERNAL if the key has no node, or the node no names.
  static StatusOr<RendezvousName> Of(const RendezvousKey& key);
  // The key text: "SOURCE;INCARNATION;DESTINATION;TENSOR;ITERATION", with both numbers as 16
  // hexadecimal digits.
  std::string ToText() const;
  // The reverse of ToText. INVALID_ARGUMENT, with the text, if it is not of that form.
  static StatusOr<RendezvousName> Parse(absl::string_view text);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_RENDEZVOUS_NAME_H_
