// Runs suites in processes of their own, so that a plugin that crashes or hangs does not take the
// report with it.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_RUNNER_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_RUNNER_H_

#include "absl/time/time.h"
#include "framework/plugin/check/report.h"
#include "framework/plugin/check/suite.h"

namespace millstream::plugin_check {

// Runs all items of `suite`. A process that says nothing and is idle for `patience`, or that works
// in silence for ten times as long, is killed, and the rule that ran fails; so it does when the
// process dies. The items after it go on in another process. If none can be started, the suite
// ends, and its rules are skipped unless they have failed.
// REQUIRES: this process has one thread and has loaded no plugin.
void RunSuite(const Suite& suite, const CheckSettings& settings, absl::Duration patience,
              Report* report);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_RUNNER_H_
