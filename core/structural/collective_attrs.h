// What the kernels of collective operations have in common.
#ifndef MILLSTREAM_CORE_STRUCTURAL_COLLECTIVE_ATTRS_H_
#define MILLSTREAM_CORE_STRUCTURAL_COLLECTIVE_ATTRS_H_

#include "core/resources/collectives.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "framework/status.h"

namespace millstream {

// The collective operations that the step of an execution takes part in.
StatusOr<ResourceRef<Collectives>> CollectivesOf(const StructuralFrame& frame);
// Reads the attributes merge_op and final_op of a reduction. INVALID_ARGUMENT if merge_op is none
// of Add, Mul, Max and Min.
Status ReadMergeAttrs(const HostKernelInfo& info, CollectiveSpec* spec);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_COLLECTIVE_ATTRS_H_
