// The options of a session.
#ifndef MILLSTREAM_CORE_STEP_SESSION_OPTIONS_H_
#define MILLSTREAM_CORE_STEP_SESSION_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "framework/forbidden_ops.h"

namespace millstream {

class FileSystem;

struct SessionOptions {
  int intra_op_threads = 0;  // inside one kernel; 0: what affinity and cgroups allow
  // The parts of one step that may run at the same time. 0: one part, on the caller's thread, which
  // leaves the cores to the kernels.
  int inter_op_threads = 0;
  std::map<std::string, int> device_count;   // logical devices by type ("CPU"); missing: all
  bool optimize = true;                      // false: the graph runs as written, node by node
  std::vector<std::string> disabled_passes;  // names of OptimizationNames that are off
  // Results have the same bits for any number of threads and of logical CPUs.
  bool deterministic = false;
  // A step fails at the first node that makes NaN or an infinity from finite inputs; see
  // core/numerics/numeric_checks.h.
  bool check_numerics = false;
  std::string check_numerics_folder;  // the folder for saved inputs; empty: none are saved
  FileSystem* files = nullptr;        // for files that the session writes; borrowed; null: local
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  // Above 0: nodes without a full request are placed by costs (core/placement/placer_costs.h), and
  // placed again after each period of this number of steps, until the placement is settled.
  int placement_period = 0;
  int64_t build_cost_model = 1;      // measured steps at the end of each period; at least 1
  int64_t operation_timeout_ms = 0;  // 0: none
  // If a stopped step, or Close, waits longer than this for running kernels, a warning in the log
  // names them, and the wait continues. A step cannot warn while its own thread runs a kernel.
  int64_t late_kernel_warning_ms = 10000;
  ForbiddenOps forbidden_ops;  // a step with one of these ops is an error
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_SESSION_OPTIONS_H_
