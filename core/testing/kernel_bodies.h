// Kernels whose body the test writes: what a plugin may do, well or badly, as it stands where it is
// tried.
#ifndef MILLSTREAM_CORE_TESTING_KERNEL_BODIES_H_
#define MILLSTREAM_CORE_TESTING_KERNEL_BODIES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/host/kernel_host.h"
#include "framework/status.h"

namespace millstream {

// What the kernel does with its frame. One body may run on several threads at once.
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

// What a host function gave.
Status Taken(MS_Status* failed);

// What the host answers to a kernel that asks whether to go on.
Status CheckCancelled(MS_Frame* frame);

// Locks the variable whose handle is input 0.
Status LockFirstInput(MS_Frame* frame, MS_LockSet** locks);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_TESTING_KERNEL_BODIES_H_
