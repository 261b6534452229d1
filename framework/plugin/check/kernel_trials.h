// What the suites about kernels share: which nodes a kernel is tried with, where it runs, and when
// two results are the same.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_KERNEL_TRIALS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_KERNEL_TRIALS_H_

#include <memory>
#include <string>
#include <vector>

#include "framework/plugin/check/kernel_cases.h"
#include "framework/plugin/check/kernel_run.h"
#include "framework/plugin/check/suite.h"

namespace millstream::plugin_check {

// One node and its inputs for one kernel.
struct Trial {
  const KernelRegistration* kernel;
  KernelCase kernel_case;
  std::string text;  // "Add(T float32) [3,5]", for messages
};

// The cases of the kernel's op that are of types it is registered for. With none, *why says why,
// unless it is null.
std::vector<Trial> TrialsOf(const KernelRegistration& kernel, std::string* why = nullptr);

// The items of a suite with one for each kernel.
int CountKernels(CheckContext* context);
// The kernel of an item, which the report's counts then know.
const KernelRegistration& BeginKernel(CheckContext* context, int item);

// Whether two executions may give different results: of an own op that is stateful.
bool MayDiffer(const KernelRegistration& kernel);

// A device of that type, of the plugin or of what it is compared with; null when there is none:
// the kernel then gets a frame without a device. Lives as long as the process.
const CheckedDevice* DeviceFor(CheckContext* context, const CheckedPlugin& plugin,
                               const std::string& type);

StatusOr<std::unique_ptr<KernelRun>> CreateRun(CheckContext* context, const Trial& trial);

// Empty when the results agree: equal bits when `exact`, else equal shapes and a small normalised
// mean square of the difference, and equal bits where there are no fractions.
std::string DifferenceOf(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                         bool exact);
// The same of outputs, variables and the random stream.
std::string DifferenceOf(const RunResult& found, const RunResult& expected, bool exact);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_KERNEL_TRIALS_H_
