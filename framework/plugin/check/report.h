// The report: what became of each rule. A suite tells it line by line from a process of its own,
// so that nothing is lost when that process dies.
//
// A line is a letter, and fields after tabs; tabs and line ends within fields become spaces:
//   I <n>               item n of the suite begins
//   K <kinds>           the item's checks are of a kernel: "own" of an own op, "async" of an
//                       asynchronous one, "own async", or neither
//   B <rule> <what>     a check of the rule begins, of the named thing; it passes unless F or S
//                       follows before the next line of B or E
//   F <text>            it fails; any number of times
//   S <reason>          it cannot be made
//   C <text>            the process is dying of a signal, in a signal handler
//   E                   the item is complete
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_REPORT_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_REPORT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace millstream::plugin_check {

// The child's end. Belongs to the thread that runs the suite.
class Reporter {
 public:
  explicit Reporter(int descriptor) : descriptor_(descriptor) {}

  void BeginItem(int item) { Write('I', absl::StrCat(item)); }
  // The item's checks are of a kernel.
  void OfKernel(bool is_of_own_op, bool is_async) {
    Write('K', absl::StrCat(is_of_own_op ? "own " : "", is_async ? "async" : ""));
  }
  // A check of `rule` begins; `what` is named when it fails, or when the process dies of it.
  void Begin(absl::string_view rule, absl::string_view what = "");
  void Fail(absl::string_view text) { Write('F', text); }
  void Skip(absl::string_view reason) { Write('S', reason); }
  // Fails unless `condition`; returns it.
  template <typename... Parts>
  bool Expect(bool condition, const Parts&... parts) {
    if (!condition) Fail(absl::StrCat(parts...));
    return condition;
  }
  void EndItem() { Write('E', ""); }

 private:
  void Write(char kind, absl::string_view first, absl::string_view second = "");

  const int descriptor_;
};

enum class Outcome { kPass, kFail, kSkip };

// What became of one rule, over all checks of it.
struct RuleResult {
  bool is_of_kernels = false;
  bool is_cut_short = false;  // more checks were to come: it does not pass
  int checks = 0;             // that passed or failed
  int of_own_ops = 0;         // of these, of kernels of own ops
  int of_async = 0;           // and of asynchronous kernels
  int passed = 0;
  int failed = 0;
  std::vector<std::string> failures;   // the first of them
  std::map<std::string, int> skipped;  // reasons, and how often each

  Outcome outcome() const;
  // The failures, or the reasons to skip, or how many checks passed; one line, of `most_reasons`
  // reasons.
  std::string Detail(size_t most_reasons) const;
};

// The parent's end.
class Report {
 public:
  // One line of a child. Lines that make no sense fail the rule that runs.
  void Read(absl::string_view line);
  // The child is gone: without an end of its item, `how` fails the rule that ran. Gives the item
  // that it was at, or -1 when it had ended.
  int Close(const std::string& how);
  void Skip(absl::string_view rule, absl::string_view reason);
  // The rule's further checks cannot be made. It is skipped, unless it has failed already.
  void CutShort(absl::string_view rule, absl::string_view reason);

  const std::map<std::string, RuleResult>& results() const { return results_; }
  bool HasFailures() const;
  // Whether a rule was cut short.
  bool IsCutShort() const;

 private:
  void CloseCheck();
  void Fail(const std::string& text);

  std::map<std::string, RuleResult> results_;
  int item_ = -1;
  std::string rule_;  // of the check that runs; empty when none does
  std::string what_;
  std::string crash_;
  Outcome outcome_ = Outcome::kPass;  // of that check
  bool is_of_kernel_ = false;         // and of the item's kernel:
  bool is_of_own_op_ = false;
  bool is_async_ = false;
};

// A table for terminals, of the rules of the suites in `suites`.
std::string ReportTable(const Report& report, const std::vector<std::string>& suites);
// {"plugin", "checks_of_kernels", ..., "passed", ..., "rules": [{"id", "suite", "result",
// "sentence", "checks", ..., "detail"}]}
std::string ReportJson(const Report& report, const std::vector<std::string>& suites,
                       absl::string_view plugin);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_REPORT_H_
