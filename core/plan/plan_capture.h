// Rows of instructions whose work a device records once, and enqueues as a whole in later steps
// ("ms.capture/1", switch `capture` of PlanFeatures).
//
// The first step of a StepState calls the kernels. The second one records their work on a stream of
// its own and enqueues what was recorded, and so do later steps. Addresses in the slab stay the
// same. What lies elsewhere (copies of feeds, values of variables, fetched results) may have moved,
// and the device is told where to before the work is enqueued. If a device refuses to record or to
// follow, the kernels are called as in the first step. Traced steps call them, too.
#ifndef MILLSTREAM_CORE_PLAN_PLAN_CAPTURE_H_
#define MILLSTREAM_CORE_PLAN_PLAN_CAPTURE_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/device/device_capture.h"
#include "core/plan/plan.h"
#include "framework/plugin/plugin.h"

namespace millstream {

// The recorded work of one row in one StepState.
struct RowGraph {
  std::unique_ptr<WorkGraph> graph;  // null: nothing is recorded
  std::vector<MS_MemRef> recorded;   // places of CapturedRow::moving_roots when it was recorded
  std::vector<MS_MemRef> current;    // at the last Update
  // Pairs of moving roots that had one place when it was recorded.
  std::vector<std::pair<size_t, size_t>> shared;
  int num_recordings = 0;
  bool is_given_up = false;  // the kernels are called in all steps of this state
};

// Fills plan->captured_rows. An instruction can be recorded if its kernel has
// MS_KERNEL_CAPTURE_SAFE and ends when its call returns; if all its shapes are known, and its
// outputs have memory before it runs; if its inputs in host memory are constants; and if nothing
// checks its results. Between such instructions may stand reads of variables, and copies to the
// device of what is there before the row. They can run before all of the row, because nothing in it
// writes a variable. A row has at least two instructions that are recorded. REQUIRES: the plan is
// laid out.
void FindCapturedRows(Plan* plan);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_CAPTURE_H_
