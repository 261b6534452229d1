// What all steps of a session share: its options, and the objects that they stand for.
#ifndef MILLSTREAM_CORE_STEP_SESSION_SETTINGS_H_
#define MILLSTREAM_CORE_STEP_SESSION_SETTINGS_H_

#include "core/resources/resource_manager.h"
#include "core/step/plan_features.h"
#include "core/step/session_options.h"

namespace millstream {

class NumericChecks;
class RunningSteps;
class StateBudget;

// Constant once the session is made. Compiled steps, plans and dynamic programs hold a pointer to
// their session's settings and copy none of them. The pointers must outlive them.
struct SessionSettings {
  SessionOptions options;
  PlanFeatures features;                 // by options.disabled_passes
  int intra_op_threads = 1;              // threads that one kernel may use; never 0
  int inter_op_threads = 1;              // parts of one step that may run at the same time; never 0
  ResourceManager* resources = nullptr;  // null: steps have no variables
  NumericChecks* checks = nullptr;       // null: outputs are not checked for NaN and infinities
  StateBudget* budget = nullptr;         // null: plans keep their states
  RunningSteps* running = nullptr;       // null: running steps are not listed
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_SESSION_SETTINGS_H_
