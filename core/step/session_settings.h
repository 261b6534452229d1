// The settings that all steps of a session share: its options, and objects that follow from them.
#ifndef MILLSTREAM_CORE_STEP_SESSION_SETTINGS_H_
#define MILLSTREAM_CORE_STEP_SESSION_SETTINGS_H_

#include "core/resources/resource_manager.h"
#include "core/step/plan_features.h"
#include "core/step/session_options.h"

namespace millstream {

class NumericChecks;
class RunningSteps;
class StateBudget;

// Constant after the session is created. Compiled steps, plans and dynamic programs point to it and
// do not copy it. REQUIRES: the objects that the pointers name outlive the steps.
struct SessionSettings {
  SessionOptions options;
  PlanFeatures features;                 // from options.disabled_passes
  int intra_op_threads = 1;              // threads that one kernel may use; never 0
  int inter_op_threads = 1;              // parts of one step that may run at the same time; never 0
  ResourceManager* resources = nullptr;  // null: steps have no variables
  NumericChecks* checks = nullptr;       // null: outputs are not checked for NaN and infinities
  StateBudget* budget = nullptr;         // null: plans keep their states
  RunningSteps* running = nullptr;       // null: running steps are not listed
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_SESSION_SETTINGS_H_
