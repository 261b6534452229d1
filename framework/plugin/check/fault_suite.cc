// Kernels when memory is exhausted, and kernels that several threads call at the same time. There
// is one item for each kernel.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
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

// Of the nodes that a host may give to the kernel the one with the largest inputs; none when there
// are no cases.
std::optional<Trial> LargestTrial(const KernelRegistration& kernel) {
  std::optional<Trial> largest;
  size_t most_bytes = 0;
  for (const Trial& trial : TrialsOf(kernel)) {
    if (!TakesNode(trial, nullptr)) continue;
    size_t bytes = 0;
    for (const CaseInput& input : trial.kernel_case.inputs) bytes += input.value.bytes();
    if (largest.has_value() && bytes <= most_bytes) continue;
    largest = trial;
    most_bytes = bytes;
  }
  return largest;
}

// The kernel of that trial; null when the rule is skipped.
std::unique_ptr<KernelRun> CreateForRule(CheckContext* context, const char* rule,
                                         const Trial& trial) {
  context->report->Begin(rule, trial.text);
  StatusOr<std::unique_ptr<KernelRun>> run = CreateRun(context, trial);
  if (run.ok()) return *std::move(run);
  context->report->Skip("a kernel cannot be created");
  return nullptr;
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
  const std::optional<Trial> trial = LargestTrial(kernel);
  if (!trial.has_value()) return;
  const auto run = CreateForRule(context, "FAULT-MEMORY", *trial);
  if (run == nullptr) return;
  const RunMode plain = {"dynamic", false, false, 1, 0xA5, 0, 0};
  const RunResult first = run->Run(plain, nullptr);
  if (!first.status.ok() || first.allocations == 0) {
    context->report->Skip(first.status.ok() ? "a kernel allocates nothing"
                                            : "a kernel refuses its largest inputs");
    return;
  }
  for (int n = 1; n <= std::min(first.allocations, kMostFailures); ++n) {
    ExpectRefusal(*run, *trial, n, context->report);
  }
  for (const auto& [rule, text] : run->Destroy()) {
    context->report->Fail(absl::StrCat(rule, ": ", text));
  }
}

void CheckThreads(CheckContext* context, int item) {
  const KernelRegistration& kernel = BeginKernel(context, item);
  const std::optional<Trial> trial = LargestTrial(kernel);
  if (!trial.has_value()) return;
  const auto run = CreateForRule(context, "THREADS-STATE", *trial);
  if (run == nullptr) return;
  if (MayDiffer(kernel)) {
    context->report->Skip(absl::StrCat(kernel.op, " is stateful, so that its results may differ"));
    return;
  }
  const RunMode mode = {"at the same time", false, false, 1, 0xA5, 0, 0};
  const RunResult expected = run->Run(mode, nullptr);
  std::atomic<int> different{0};
  std::vector<std::thread> team;
  for (int i = 0; i < kThreads; ++i) {
    team.emplace_back([&] {
      for (int k = 0; k < kRunsOfThread; ++k) {
        const RunResult found = run->Run(mode, nullptr);
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
