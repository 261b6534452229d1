// Values that are the same in each step. Every task that reads one computes it when the step is
// compiled, so that it is not sent in each step.
#ifndef MILLSTREAM_CORE_PARTITION_LASTING_VALUES_H_
#define MILLSTREAM_CORE_PARTITION_LASTING_VALUES_H_

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/device/device_set.h"
#include "core/graph/frames.h"
#include "core/graph/prune.h"
#include "core/graph/step_signature.h"

namespace millstream {

// A constant that waits for nothing. `i`: its number in `graph`.
bool IsFreeConstant(const PrunedGraph& graph, int i);

// The nodes that compute, from constants alone, a tensor of a kilobyte or more, and the nodes that
// they read, if each is one that fold_constants replaces by its value: without state, of numbers,
// and of a known size that is no larger than a megabyte or than its inputs. A smaller tensor
// travels with others. None if `used`, the devices of the step, are all of one task, or if one of
// them has memory of its own, whose kernels may give other bits. A node that another one waits for
// by a control edge, or that is a target, stays where it is: its errors matter there.
absl::flat_hash_set<const Node*> FindLastingValues(const PrunedGraph& graph,
                                                   const FrameTree& frames,
                                                   const StepSignature& signature,
                                                   const DeviceSet& devices,
                                                   const std::vector<int>& used);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_LASTING_VALUES_H_
