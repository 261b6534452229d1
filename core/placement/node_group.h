// A group of nodes that go to the same device: what they ask for, and which types cannot run them.
#ifndef MILLSTREAM_CORE_PLACEMENT_NODE_GROUP_H_
#define MILLSTREAM_CORE_PLACEMENT_NODE_GROUP_H_

#include <string>
#include <vector>

#include "core/device/device_name.h"

namespace millstream {

struct NodeGroup {
  DeviceName wanted;
  int wanted_by = -1;                    // the member whose request counts; -1: no request
  std::vector<std::string> unsupported;  // types that lack a kernel for some member
};

// Adds one request to another; false when they contradict each other, and `into` is of no use then.
bool Combine(const DeviceName& from, DeviceName* into);

// Adds types that lack a kernel to those of the group.
void AddMissing(const std::vector<std::string>& types, NodeGroup* group);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_NODE_GROUP_H_
