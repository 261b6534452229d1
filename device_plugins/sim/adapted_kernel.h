// The kernels of //kernels as kernels of simulated devices.
//
// Every kernel that is registered for the host's CPU is registered for SIM, too, as it is: same
// types, host arguments and in-place pairs. Its compute enqueues the kernel's own on the frame's
// stream (see Preparation and QueuedExecution), so the order of the host's calls is the order of
// the work, and compute returns at once. Where that is not possible it waits for the stream and
// runs in the calling thread (AwaitedExecution).
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_ADAPTED_KERNEL_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_ADAPTED_KERNEL_H_

#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// The kernel for SIM that runs `cpu`, whose strings and arrays need not outlive the call; null when
// there is none: for kernels on strings alone, and such as block or end later. What it returns
// lives for ever. `is_capture_safe`: see IsCaptureSafe.
const MS_KernelDef* AdaptKernel(const MS_KernelDef& cpu, bool is_capture_safe = false);

// Whether what the kernels of this op enqueue can be recorded: the op keeps nothing from step to
// step, so it locks no variables and draws no random numbers, and it has no strings.
bool IsCaptureSafe(const MS_OpInfo& op);

// Registers all kernels that are linked in, adapted.
ms::Status RegisterAdaptedKernels(MS_Registrar* registrar);

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_ADAPTED_KERNEL_H_
