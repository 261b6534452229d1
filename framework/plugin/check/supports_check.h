// Asks a kernel whether it takes a node, as a host does before it places the node.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_SUPPORTS_CHECK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_SUPPORTS_CHECK_H_

#include "framework/plugin/check/kernel_trials.h"
#include "framework/plugin/check/report.h"

namespace millstream::plugin_check {

// Whether a host may give the node to the kernel, which takes it with unknown ranks, with unknown
// sizes or with the trial's shapes. Asks twice each, and checks KERNEL-SUPPORTS unless `report` is
// null.
bool TakesNode(const Trial& trial, Reporter* report);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_SUPPORTS_CHECK_H_
