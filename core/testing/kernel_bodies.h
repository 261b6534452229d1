// Kernels whose body is in the test: correct or wrong actions of a plugin, next to the checks of
// them.
#ifndef MILLSTREAM_CORE_TESTING_KERNEL_BODIES_H_
#define MILLSTREAM_CORE_TESTING_KERNEL_BODIES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/host/kernel_host.h"
#include "framework/status.h"

namespace millstream {

// The body of a kernel. Several threads may run one body at the same time.
using KernelBody = std::function<Status(MS_Frame* frame)>;

enum class BodyKind {
  kPlain,
  kBlocking,  // registered with MS_KERNEL_BLOCKING
  kAsync,     // the body runs on a thread of its own, which then calls `done`
};

// A node with one float output, of a shape that is not known in advance. `body` lives until the
// process ends; what it refers to must be there while steps run that contain the node. Kernels are
// registered for every device by the first call.
Output AddBody(GraphBuilder* build, BodyKind kind, const std::vector<Output>& inputs,
               KernelBody body);

// Gives a scalar as output 0.
Status GiveScalar(MS_Frame* frame, float value);

// Converts the result of a host function.
Status Taken(MS_Status* failed);

// The result of the host's cancel_check.
Status CheckCancelled(MS_Frame* frame);

// Locks the variable whose handle is input 0.
Status LockFirstInput(MS_Frame* frame, MS_LockSet** locks);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_TESTING_KERNEL_BODIES_H_
