// Kernels when memory is exhausted, and kernels that several threads call at the same time. There
// is one item for each kernel.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/kernel_trials.h"
#include "framework/plugin/check/suite.h"
#include "framework/plugin/check/supports_check.h"

namespace millstream::plugin_check {
namespace {

constexpr int kMostFailures = 4;
constexpr int kThreads = 4;
constexpr int kRunsOfThread = 8;

int CountKernels(CheckContext* context) {
  return static_cast<int>(context->plugin->kernels.size());
}

// Of nodes that a host may give to the kernel.
std::vector<Trial> TrialsOfHosts(const KernelRegistration& kernel) {
  std::vector<Trial> trials = TrialsOf(kernel);
  trials.erase(std::remove_if(trials.begin(), trials.end(),
                              [](const Trial& trial) { return !TakesNode(trial, nullptr); }),
               trials.end());
  return trials;
}

// The trial with the largest inputs; null when the kernel has none.
const Trial* LargestOf(const std::vector<Trial>& trials) {
  const auto bytes = [](const Trial& trial) {
    size_t sum = 0;
    for (const CaseInput& input : trial.kernel_case.inputs) sum += input.value.bytes();
    return sum;
  };
  const auto largest =
      std::max_element(trials.begin(), trials.end(),
                       [&bytes](const Trial& a, const Trial& b) { return bytes(a) < bytes(b); });
  return largest == trials.end() ? nullptr : &*largest;
}

StatusOr<std::unique_ptr<KernelRun>> Create(CheckContext* context, const Trial& trial) {
  return KernelRun::Create(*trial.kernel,
                           DeviceFor(context, *context->plugin, trial.kernel->device_type),
                           trial.kernel_case);
}

void ExpectRefusal(const KernelRun& run, const Trial& trial, int n, Reporter* report) {
  RunMode mode = {"without memory", false, false, 1, 0xA5, 0, n};
  report->Begin("FAULT-MEMORY", absl::StrCat(trial.text, ", allocation ", n, " fails"));
  const size_t statuses = LiveStatuses();
  const RunResult result = run.Run(mode, nullptr);
  report->Expect(absl::IsResourceExhausted(result.status), "compute gave ",
                 result.status.ToString());
  for (const auto& [rule, text] : result.broken) report->Fail(absl::StrCat(rule, ": ", text));
  report->Expect(LiveStatuses() == statuses, "a status was neither returned nor freed");
}

void CheckFaults(CheckContext* context, int item) {
  const KernelRegistration& kernel = BeginKernel(context, item);
  const std::vector<Trial> trials = TrialsOfHosts(kernel);
  const Trial* const trial = LargestOf(trials);
  if (trial == nullptr) return;
  context->report->Begin("FAULT-MEMORY", trial->text);
  const auto run = Create(context, *trial);
  if (!run.ok()) {
    context->report->Skip("a kernel cannot be created");
    return;
  }
  const RunMode plain = {"dynamic", false, false, 1, 0xA5, 0, 0};
  const RunResult first = (*run)->Run(plain, nullptr);
  if (!first.status.ok() || first.allocations == 0) {
    context->report->Skip(first.status.ok() ? "a kernel allocates nothing"
                                            : "a kernel refuses its largest inputs");
    return;
  }
  for (int n = 1; n <= std::min(first.allocations, kMostFailures); ++n) {
    ExpectRefusal(**run, *trial, n, context->report);
  }
  for (const auto& [rule, text] : (*run)->Destroy()) {
    context->report->Fail(absl::StrCat(rule, ": ", text));
  }
}

void CheckThreads(CheckContext* context, int item) {
  const KernelRegistration& kernel = BeginKernel(context, item);
  const std::vector<Trial> trials = TrialsOfHosts(kernel);
  const Trial* const trial = LargestOf(trials);
  if (trial == nullptr) return;
  context->report->Begin("THREADS-STATE", trial->text);
  if (MayDiffer(kernel)) {
    context->report->Skip(absl::StrCat(kernel.op, " is stateful, so that its results may differ"));
    return;
  }
  const auto run = Create(context, *trial);
  if (!run.ok()) {
    context->report->Skip("a kernel cannot be created");
    return;
  }
  const RunMode mode = {"at the same time", false, false, 1, 0xA5, 0, 0};
  const RunResult expected = (*run)->Run(mode, nullptr);
  std::atomic<int> different{0};
  std::vector<std::thread> team;
  for (int i = 0; i < kThreads; ++i) {
    team.emplace_back([&] {
      for (int k = 0; k < kRunsOfThread; ++k) {
        const RunResult found = (*run)->Run(mode, nullptr);
        const bool same = found.status.code() == expected.status.code() &&
                          (!found.status.ok() || DifferenceOf(found, expected, true).empty());
        if (!same) ++different;
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  context->report->Expect(different == 0, different.load(), " of ", kThreads * kRunsOfThread,
                          " runs gave other bits than the first");
}

}  // namespace

Suite FaultSuite() {
  return {"faults", /*loads_itself=*/false, /*compares=*/true, &CountKernels, &CheckFaults};
}
Suite ThreadSuite() {
  return {"threads", /*loads_itself=*/false, /*compares=*/true, &CountKernels, &CheckThreads};
}

}  // namespace millstream::plugin_check
