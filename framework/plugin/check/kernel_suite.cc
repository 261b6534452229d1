// Compares every kernel with that of the CPU plugin, in all ways in which a host may run it. There
// is one item for each kernel.
#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/kernel_trials.h"
#include "framework/plugin/check/suite.h"

namespace millstream::plugin_check {
namespace {

constexpr RunMode kPlain = {"dynamic, one thread", false, false, 1, 0xA5, 0, 0};
constexpr RunMode kForward = {"dynamic, forwarding, three threads", false, true, 3, 0x5A, 16, 0};
constexpr RunMode kPlanned = {"planned, three threads", true, false, 3, 0x3C, 0, 0};
constexpr RunMode kInPlace = {"planned in place", true, true, 3, 0x7E, 0, 0};
constexpr RunMode kTraced = {"traced", false, false, 1, 0xA5, 0, 0, false, true};
constexpr RunMode kCancelled = {"cancelled", false, false, 1, 0xA5, 0, 0, true, false};

// Rules that every execution may break.
constexpr const char* kContract[] = {"KERNEL-OUTPUTS",   "KERNEL-BOUNDS", "KERNEL-INPUTS",
                                     "KERNEL-FRAME",     "KERNEL-LOCKS",  "KERNEL-ASYNC",
                                     "KERNEL-REFERENCES"};
// Of so many trials one is also traced and cancelled, which depends little on shapes.
constexpr size_t kTrialsOfSample = 4;
constexpr auto kLateUse = std::chrono::milliseconds(5);

// One kernel's trials.
class KernelCheck {
 public:
  KernelCheck(CheckContext* context, const KernelRegistration& kernel)
      : context_(context), report_(context->report), kernel_(kernel) {}

  void Run() {
    const std::vector<Trial> trials = TrialsOf(kernel_);
    if (trials.empty()) {
      report_->Begin("KERNEL-REFERENCE", kernel_.op);
      report_->Skip(CasesOf(kernel_.op).empty()
                        ? absl::StrCat("no cases of ", kernel_.op)
                        : absl::StrCat("no cases of ", kernel_.op, " of the kernel's types"));
      return;
    }
    for (const Trial& trial : trials) {
      is_sample_ = static_cast<size_t>(&trial - trials.data()) % kTrialsOfSample == 0;
      RunTrial(trial);
      // One that never ends is not waited for again and again.
      if (broken_.count("KERNEL-ASYNC") + broken_.count("KERNEL-CANCEL") != 0) break;
    }
    for (const char* rule : kContract) {
      const bool concerned =
          std::string(rule) != "KERNEL-ASYNC" || (kernel_.flags & MS_KERNEL_ASYNC) != 0;
      if (concerned && broken_.count(rule) == 0) report_->Begin(rule, kernel_.op);
    }
  }

 private:
  // What the CPU plugin makes of it; not OK when it has no such kernel or refuses the inputs.
  StatusOr<RunResult> Reference(const Trial& trial) {
    const CheckedPlugin* const other = context_->Comparison();
    if (other == nullptr) return errors::NotFound("there is no CPU plugin to compare with");
    const StatusOr<const KernelRegistration*> kernel =
        other->registry.Find(kernel_.op, "CPU", trial.kernel_case.attrs);
    if (!kernel.ok()) return errors::NotFound("the CPU plugin has no such kernel");
    if (other == context_->plugin.get() && kernel_.device_type == "CPU") {
      return errors::NotFound("this is the CPU plugin that others are compared with");
    }
    const StatusOr<std::unique_ptr<KernelRun>> run =
        KernelRun::Create(**kernel, DeviceFor(context_, *other, "CPU"), trial.kernel_case);
    if (!run.ok()) return run.status();
    RunResult result = (*run)->Run(kPlain, nullptr);
    if (!result.status.ok()) return result.status;
    return result;
  }

  RunResult Execute(const KernelRun& run, const Trial& trial, const char* rule, const RunMode& mode,
                    const std::vector<Tensor>* planned_as) {
    const std::string what = absl::StrCat(trial.text, ", ", mode.name);
    report_->Begin(rule, what);
    RunResult result = run.Run(mode, planned_as);
    if (result.broken.empty()) return result;
    FailAll(result.broken, what);
    report_->Begin(rule, what);
    return result;
  }

  void FailAll(const BrokenRules& broken, const std::string& what) {
    for (const auto& [rule, text] : broken) {
      broken_.insert(rule);
      report_->Begin(rule, what);
      report_->Fail(text);
    }
  }

  void CompareWithReference(const Trial& trial, const RunResult& first) {
    report_->Begin("KERNEL-SHAPES", trial.text);
    const StatusOr<RunResult> reference = Reference(trial);
    const bool is_random = trial.kernel_case.is_random;
    if (!reference.ok()) {
      if (absl::IsNotFound(reference.status())) report_->Skip(reference.status().message());
      report_->Begin(is_random ? "KERNEL-RANDOM" : "KERNEL-REFERENCE", trial.text);
      if (absl::IsNotFound(reference.status())) {
        report_->Skip(reference.status().message());
      } else {
        report_->Expect(!first.status.ok(),
                        "the CPU plugin refuses it: ", reference.status().ToString());
      }
      return;
    }
    if (!first.status.ok()) return;
    for (size_t i = 0; i < reference->outputs.size(); ++i) {
      const Tensor& expected = reference->outputs[i];
      const Tensor& found = first.outputs[i];
      if (!expected.has_value() || !found.has_value()) continue;
      report_->Expect(found.shape() == expected.shape(), "output ", i, " has shape ",
                      found.shape().ToString(), ", expected ", expected.shape().ToString());
    }
    report_->Begin(is_random ? "KERNEL-RANDOM" : "KERNEL-REFERENCE", trial.text);
    const std::string difference = DifferenceOf(first, *reference, is_random);
    report_->Expect(difference.empty(), difference);
  }

  // Another way to run it gives what the first gave; the same bits when `exact`.
  void Again(const KernelRun& run, const Trial& trial, const char* rule, const RunMode& mode,
             const RunResult& first, bool exact) {
    const RunResult again =
        Execute(run, trial, rule, mode, mode.planned ? &first.outputs : nullptr);
    if (!again.specialized && absl::IsUnimplemented(again.status)) {
      report_->Skip("a kernel does not specialize for these shapes");
      return;
    }
    if (!report_->Expect(again.status.ok(), again.status.ToString())) return;
    const std::string difference = DifferenceOf(again, first, exact);
    report_->Expect(difference.empty(), difference);
  }

  // In a step that is stopping it may stop, or do its work as ever.
  void Cancel(const KernelRun& run, const Trial& trial, const RunResult& first) {
    const RunResult stopped = Execute(run, trial, "KERNEL-CANCEL", kCancelled, nullptr);
    if (absl::IsCancelled(stopped.status) || stopped.done_calls == 0) return;
    if (!report_->Expect(stopped.status.ok(), "it gave ", stopped.status.ToString())) return;
    const std::string difference = DifferenceOf(stopped, first, true);
    report_->Expect(difference.empty(), difference);
  }

  void RunTrial(const Trial& trial) {
    report_->Begin("KERNEL-CREATE", trial.text);
    const StatusOr<std::unique_ptr<KernelRun>> run = KernelRun::Create(
        kernel_, DeviceFor(context_, *context_->plugin, kernel_.device_type), trial.kernel_case);
    if (absl::IsUnimplemented(run.status())) {
      report_->Skip(absl::StrCat(kernel_.op, " is not there for some types"));
      return;
    }
    if (!report_->Expect(run.ok(), run.status().ToString())) return;
    RunModes(**run, trial);
    FailAll((*run)->Destroy(), trial.text);
  }

  void RunModes(const KernelRun& run, const Trial& trial) {
    const RunResult first = Execute(run, trial, "KERNEL-RUNS", kPlain, nullptr);
    // Two threads of the kernel's own may still be at it.
    if (!waited_) {
      waited_ = true;
      report_->Begin("KERNEL-AFTER", trial.text);
      std::this_thread::sleep_for(kLateUse);
    }
    if (!first.status.ok()) {
      report_->Begin("KERNEL-RUNS", trial.text);
      const StatusOr<RunResult> reference = Reference(trial);
      report_->Expect(!reference.ok() && !absl::IsNotFound(reference.status()),
                      first.status.ToString());
      return;
    }
    CompareWithReference(trial, first);
    // What forgot an output has nothing to be compared with.
    if (broken_.count("KERNEL-OUTPUTS") + broken_.count("KERNEL-ASYNC") != 0) return;
    const bool is_random = trial.kernel_case.is_random;
    Again(run, trial, "KERNEL-FORWARD", kForward, first, is_random);
    Again(run, trial, "KERNEL-PLANNED", kPlanned, first, is_random);
    if (!kernel_.in_place.empty()) Again(run, trial, "KERNEL-IN-PLACE", kInPlace, first, is_random);
    if (is_sample_) {
      Again(run, trial, "KERNEL-TRACE", kTraced, first, /*exact=*/true);
      Cancel(run, trial, first);
    }
    report_->Begin("KERNEL-STATUS", trial.text);
    report_->Expect(LiveStatuses() == statuses_, LiveStatuses() - statuses_,
                    " statuses were neither returned nor freed");
    statuses_ = LiveStatuses();
  }

  CheckContext* const context_;
  Reporter* const report_;
  const KernelRegistration& kernel_;
  std::set<std::string> broken_;
  size_t statuses_ = LiveStatuses();
  bool waited_ = false;
  bool is_sample_ = false;
};

int CountKernels(CheckContext* context) {
  return static_cast<int>(context->plugin->kernels.size());
}

void CheckKernel(CheckContext* context, int item) {
  KernelCheck(context, context->plugin->kernels[static_cast<size_t>(item)]).Run();
}

}  // namespace

Suite KernelSuite() {
  return {"kernels", /*loads_itself=*/false, /*compares=*/true, &CountKernels, &CheckKernel};
}

}  // namespace millstream::plugin_check
