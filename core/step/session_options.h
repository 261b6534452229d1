// What a session is told when it is made.
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
  // Parts of one step that may run at the same time; 0: one, on the caller's thread, which leaves
  // the cores to the kernels.
  int inter_op_threads = 0;
  std::map<std::string, int> device_count;  // logical devices by type, "CPU"; absent: what there is
  bool optimize = true;                     // false: the graph runs as written, node by node
  std::vector<std::string> disabled_passes;  // those of OptimizationNames that are off
  // Results are the same bits for any number of threads, and for any of logical CPUs.
  bool deterministic = false;
  // Steps fail at the first node that makes NaN or an infinity of inputs without; see
  // core/numerics/numeric_checks.h.
  bool check_numerics = false;
  std::string check_numerics_folder;  // where inputs are saved; empty: nowhere
  FileSystem* files = nullptr;        // of what the session writes; null: this machine's; borrowed
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  // Above 0: what requests leave open is placed by costs (core/placement/placer_costs.h), and again
  // every so many steps, as long as that makes them shorter.
  int placement_period = 0;
  int64_t build_cost_model = 1;      // how many of these are measured, the last ones; at least one
  int64_t operation_timeout_ms = 0;  // 0: none
  // How long a step that is to end, or Close, waits for kernels that do not heed it before a
  // warning in the log names them; it goes on waiting. A step warns only while its own thread is in
  // none.
  int64_t late_kernel_warning_ms = 10000;
  ForbiddenOps forbidden_ops;  // a step that has one of them is not built
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_SESSION_OPTIONS_H_
