// The most that the host accepts from one plugin, besides MS_MAX_RANK. Each bound is far above what
// a real backend has. Within the bounds, the checks of a plugin take less than a second.
// docs/plugins.md lists the bounds.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_LIMITS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_LIMITS_H_

#include <cstdint>

namespace millstream {

// Devices of a plugin: a session makes no more of one type (ConfigProto.device_count).
inline constexpr uint64_t kMostDevices = 1024;
// Memory spaces of a device: the header knows four kinds.
inline constexpr uint64_t kMostSpaces = 16;

// Ops, kernels, kernels of one op, and types of resources that a plugin registers. Kernels of one
// op are compared in pairs, so their bound is the lower one.
inline constexpr uint64_t kMostOps = 4096;
inline constexpr uint64_t kMostKernels = 16384;
inline constexpr uint64_t kMostKernelsOfOp = 512;
inline constexpr uint64_t kMostResourceTypes = 256;

// Inputs, outputs and attributes of an op, each: all of them are parameters of one function.
inline constexpr uint64_t kMostArguments = 256;
// Constraints, host arguments and in-place pairs of a kernel, each: they name arguments of its op.
inline constexpr uint64_t kMostKernelParts = 256;
// Types of one constraint: a dtype's code has eight bits.
inline constexpr uint64_t kMostTypes = 256;

// Arguments of an event of a trace.
inline constexpr uint64_t kMostTraceArgs = 256;

// Options of a plugin, and choices of an option.
inline constexpr uint64_t kMostOptions = 1024;

// Bytes of a name: of a device type, an op, a label, a vendor.
inline constexpr uint64_t kMostNameBytes = 256;
// Bytes of any other text: a documentation, a specification, a reason, a status.
inline constexpr uint64_t kMostTextBytes = uint64_t{1} << 16;

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_LIMITS_H_
