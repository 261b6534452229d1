// Runs every kernel in all ways in which a host may run it, and compares it with that of the CPU
// plugin, unless the op is the plugin's own. There is one item for each kernel.
#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "absl/algorithm/container.h"
#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/kernel_trials.h"
#include "framework/plugin/check/own_op_cases.h"
#include "framework/plugin/check/suite.h"
#include "framework/plugin/check/supports_check.h"

namespace millstream::plugin_check {
namespace {

constexpr RunMode kPlain = {"dynamic, one thread", false, false, 1, 0xA5, 0, 0};
constexpr RunMode kForward = {"dynamic, forwarding, three threads", false, true, 3, 0x5A, 16, 0};
constexpr RunMode kPlanned = {"planned, three threads", true, false, 3, 0x3C, 0, 0};
constexpr RunMode kInPlace = {"planned in place", true, true, 3, 0x7E, 0, 0};
constexpr RunMode kTraced = {"traced", false, false, 1, 0xA5, 0, 0, false, true};
constexpr RunMode kCancelled = {"cancelled", false, false, 1, 0xA5, 0, 0, true, false};
constexpr RunMode kExact = {
    "deterministic, one thread", false, false, 1, 0xA5, 0, 0, false, false, true};
constexpr RunMode kExactOnThree = {
    "deterministic, three threads", false, false, 3, 0x5A, 0, 0, false, false, true};

// Rules that every execution may break.
constexpr const char* kContract[] = {"KERNEL-OUTPUTS", "KERNEL-BOUNDS",    "KERNEL-INPUTS",
                                     "KERNEL-FRAME",   "KERNEL-WRAPPED",   "KERNEL-LOCKS",
                                     "KERNEL-ASYNC",   "KERNEL-REFERENCES"};
// By which a kernel says that inputs that were drawn for its op are none that it takes.
constexpr absl::StatusCode kRefusals[] = {
    absl::StatusCode::kInvalidArgument, absl::StatusCode::kOutOfRange,
    absl::StatusCode::kFailedPrecondition, absl::StatusCode::kUnimplemented,
    absl::StatusCode::kNotFound};
// Of so many trials one is also traced and cancelled, which depends little on shapes.
constexpr size_t kTrialsOfSample = 4;
constexpr auto kLateUse = std::chrono::milliseconds(5);

// One kernel's trials.
class KernelCheck {
 public:
  KernelCheck(CheckContext* context, const KernelRegistration& kernel)
      : context_(context), report_(context->report), kernel_(kernel), own_op_(FindOwnOp(kernel)) {}

  void Run() {
    std::string why;
    // The shape function of an own op may crash.
    if (own_op_ != nullptr) report_->Begin("KERNEL-SHAPES", kernel_.op);
    const std::vector<Trial> trials = TrialsOf(kernel_, &why);
    if (trials.empty()) {
      report_->Begin(own_op_ == nullptr ? "KERNEL-REFERENCE" : "KERNEL-RUNS", kernel_.op);
      report_->Skip(why);
      return;
    }
    for (const Trial& trial : trials) {
      is_sample_ = static_cast<size_t>(&trial - trials.data()) % kTrialsOfSample == 0;
      RunTrial(trial);
      // One that never ends is not waited for again and again.
      if (broken_.count("KERNEL-ASYNC") + broken_.count("KERNEL-CANCEL") != 0) break;
    }
    for (const char* rule : kContract) {
      if (has_run_ && IsConcerned(rule) && broken_.count(rule) == 0)
        report_->Begin(rule, kernel_.op);
    }
  }

 private:
  bool IsConcerned(absl::string_view rule) const {
    if (rule == "KERNEL-ASYNC") return (kernel_.flags & MS_KERNEL_ASYNC) != 0;
    return rule != "KERNEL-WRAPPED" || has_wrapped_;
  }

  bool IsRefusalOfDrawn(const Status& status) const {
    return own_op_ != nullptr && absl::c_linear_search(kRefusals, status.code());
  }

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
    has_run_ = true;
    has_wrapped_ = has_wrapped_ || result.has_wrapped;
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

  // An own op has no reference but its shape function, which has accepted the inputs.
  void CompareWithShapeFunction(const Trial& trial, const RunResult& first) {
    report_->Begin("KERNEL-REFERENCE", trial.text);
    report_->Skip("there is nothing to compare own ops with");
    report_->Begin("KERNEL-SHAPES", trial.text);
    const auto known = InferOutputShapes(*own_op_, trial.kernel_case, /*shapes_known=*/true);
    const auto unknown = InferOutputShapes(*own_op_, trial.kernel_case, /*shapes_known=*/false);
    if (!report_->Expect(known.ok(), "asked again, the shape function gives ",
                         known.status().ToString()) ||
        !report_->Expect(unknown.ok(), "for inputs of unknown shape the shape function gives ",
                         unknown.status().ToString())) {
      return;
    }
    for (size_t i = 0; i < known->size(); ++i) {
      const PartialShape& expected = (*known)[i];
      has_known_shapes_ = has_known_shapes_ && expected.IsFullyKnown();
      report_->Expect((*unknown)[i].IsCompatibleWith(expected), "the shape function says ",
                      (*unknown)[i].ToString(), " of output ", i, ", and ", expected.ToString(),
                      " when it knows the inputs' shapes");
      if (!first.outputs[i].has_value()) continue;
      const Shape& found = first.outputs[i].shape();
      report_->Expect(expected.IsCompatibleWith(found), "output ", i, " has shape ",
                      found.ToString(), ", the shape function says ", expected.ToString());
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
    ExpectSame(again, first, exact);
  }

  void ExpectSame(const RunResult& found, const RunResult& expected, bool exact) {
    if (MayDiffer(kernel_)) {
      report_->Skip(absl::StrCat(kernel_.op, " is stateful, so that its results may differ"));
      return;
    }
    const std::string difference = DifferenceOf(found, expected, exact);
    report_->Expect(difference.empty(), difference);
  }

  // In a step that is stopping it may stop, or do its work as ever.
  void Cancel(const KernelRun& run, const Trial& trial, const RunResult& first) {
    const RunResult stopped = Execute(run, trial, "KERNEL-CANCEL", kCancelled, nullptr);
    if (absl::IsCancelled(stopped.status) || stopped.done_calls == 0) return;
    if (!report_->Expect(stopped.status.ok(), "it gave ", stopped.status.ToString())) return;
    ExpectSame(stopped, first, /*exact=*/true);
  }

  // What the flag of the kernel promises.
  void RunDeterministic(const KernelRun& run, const Trial& trial) {
    const RunResult first = Execute(run, trial, "KERNEL-DETERMINISTIC", kExact, nullptr);
    if (!report_->Expect(first.status.ok(), first.status.ToString())) return;
    Again(run, trial, "KERNEL-DETERMINISTIC", kExactOnThree, first, /*exact=*/true);
  }

  void RunTrial(const Trial& trial) {
    const bool is_taken = TakesNode(trial, report_);
    FailAll(TakeMisuses(), trial.text);
    report_->Begin("KERNEL-CREATE", trial.text);
    if (!is_taken) {
      report_->Skip(absl::StrCat("supports of ", kernel_.op, " refuses some nodes"));
      return;
    }
    const StatusOr<std::unique_ptr<KernelRun>> run = CreateRun(context_, trial);
    if (absl::IsUnimplemented(run.status())) {
      report_->Skip(absl::StrCat(kernel_.op, " is not there for some types"));
      return;
    }
    if (IsRefusalOfDrawn(run.status())) {
      report_->Skip(absl::StrCat(kernel_.op, " refuses some of the drawn attributes"));
      return;
    }
    if (!report_->Expect(run.ok(), run.status().ToString())) return;
    RunModes(**run, trial);
    FailAll((*run)->Destroy(), trial.text);
  }

  void RunModes(const KernelRun& run, const Trial& trial) {
    const RunResult first = Execute(run, trial, "KERNEL-RUNS", kPlain, nullptr);
    if (!first.status.ok()) ExpectRefusal(trial, first.status);
    // Two threads of the kernel's own may still be at it.
    if (!waited_) {
      waited_ = true;
      report_->Begin("KERNEL-AFTER", trial.text);
      std::this_thread::sleep_for(kLateUse);
    }
    if (first.status.ok()) RunOtherModes(run, trial, first);
    report_->Begin("KERNEL-STATUS", trial.text);
    report_->Expect(LiveStatuses() == statuses_, LiveStatuses() - statuses_,
                    " statuses were neither returned nor freed");
    statuses_ = LiveStatuses();
  }

  // The CPU plugin refuses the inputs, too; those of an own op were drawn, and may be refused.
  void ExpectRefusal(const Trial& trial, const Status& status) {
    if (own_op_ == nullptr) {
      const StatusOr<RunResult> reference = Reference(trial);
      report_->Expect(!reference.ok() && !absl::IsNotFound(reference.status()), status.ToString());
    } else if (IsRefusalOfDrawn(status)) {
      report_->Skip(absl::StrCat(kernel_.op, " refuses some of the drawn inputs"));
    } else {
      report_->Fail(status.ToString());
    }
  }

  void RunOtherModes(const KernelRun& run, const Trial& trial, const RunResult& first) {
    has_known_shapes_ = true;
    if (own_op_ == nullptr) {
      CompareWithReference(trial, first);
    } else {
      CompareWithShapeFunction(trial, first);
    }
    // What forgot an output has nothing to be compared with.
    if (broken_.count("KERNEL-OUTPUTS") + broken_.count("KERNEL-ASYNC") != 0) return;
    const bool is_random = trial.kernel_case.is_random;
    Again(run, trial, "KERNEL-FORWARD", kForward, first, is_random);
    if (has_known_shapes_) {
      Again(run, trial, "KERNEL-PLANNED", kPlanned, first, is_random);
      if (!kernel_.in_place.empty()) {
        Again(run, trial, "KERNEL-IN-PLACE", kInPlace, first, is_random);
      }
    } else {
      report_->Begin("KERNEL-PLANNED", trial.text);
      report_->Skip(
          absl::StrCat("the shape function of ", kernel_.op, " does not know all shapes"));
    }
    if ((kernel_.flags & MS_KERNEL_DETERMINISTIC) != 0) RunDeterministic(run, trial);
    if (is_sample_) {
      Again(run, trial, "KERNEL-TRACE", kTraced, first, /*exact=*/true);
      Cancel(run, trial, first);
    }
  }

  CheckContext* const context_;
  Reporter* const report_;
  const KernelRegistration& kernel_;
  const OpDef* const own_op_;  // null for a standard op
  std::set<std::string> broken_;
  size_t statuses_ = LiveStatuses();
  bool waited_ = false;
  bool is_sample_ = false;
  bool has_run_ = false;
  bool has_wrapped_ = false;
  bool has_known_shapes_ = true;  // in the trial that runs: its outputs can be planned
};

void CheckKernel(CheckContext* context, int item) {
  KernelCheck(context, BeginKernel(context, item)).Run();
}

}  // namespace

Suite KernelSuite() {
  return {"kernels", /*loads_itself=*/false, /*compares=*/true, &CountKernels, &CheckKernel};
}

}  // namespace millstream::plugin_check
