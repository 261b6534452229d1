#include "framework/plugin/check/report.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "framework/plugin/check/rules.h"

namespace millstream::plugin_check {
namespace {

constexpr size_t kMostFailures = 3;
constexpr size_t kMostText = 400;  // of one failure
constexpr size_t kReasonsOfTable = 3;

std::string OneField(absl::string_view text) {
  std::string field(text.substr(0, kMostText));
  for (char& c : field) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return field;
}

absl::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass: return "PASS";
    case Outcome::kFail: return "FAIL";
    case Outcome::kSkip: return "SKIP";
  }
  return "";
}

void AppendJsonText(absl::string_view text, std::string* json) {
  json->push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') json->push_back('\\');
    if (static_cast<unsigned char>(c) < ' ') {
      absl::StrAppend(json, "\\u", absl::Hex(c, absl::kZeroPad4));
    } else {
      json->push_back(c);
    }
  }
  json->push_back('"');
}

// The rules of these suites with their results.
struct Row {
  const Rule* rule;
  RuleResult result;
};
std::vector<Row> RowsOf(const Report& report, const std::vector<std::string>& suites) {
  std::vector<Row> rows;
  for (const Rule& rule : Rules()) {
    if (std::find(suites.begin(), suites.end(), rule.suite) == suites.end()) continue;
    const auto found = report.results().find(rule.id);
    rows.push_back({&rule, found == report.results().end() ? RuleResult() : found->second});
  }
  return rows;
}

int CountOf(const std::vector<Row>& rows, Outcome outcome) {
  return static_cast<int>(std::count_if(rows.begin(), rows.end(), [outcome](const Row& row) {
    return row.result.outcome() == outcome;
  }));
}

// Of all rules about kernels.
RuleResult KernelCounts(const std::vector<Row>& rows) {
  RuleResult counts;
  for (const Row& row : rows) {
    if (!row.result.is_of_kernels) continue;
    counts.checks += row.result.checks;
    counts.of_own_ops += row.result.of_own_ops;
    counts.of_async += row.result.of_async;
  }
  return counts;
}

}  // namespace

void Reporter::Begin(absl::string_view rule, absl::string_view what) { Write('B', rule, what); }

// One write a line: what a dying process said last is not lost in a buffer.
void Reporter::Write(char kind, absl::string_view first, absl::string_view second) {
  std::string line = absl::StrCat(absl::string_view(&kind, 1), "\t", OneField(first));
  if (!second.empty()) absl::StrAppend(&line, "\t", OneField(second));
  line.push_back('\n');
  if (write(descriptor_, line.data(), line.size()) < 0) return;  // There is nobody to tell.
}

Outcome RuleResult::outcome() const {
  if (failed > 0) return Outcome::kFail;
  return passed > 0 && !is_cut_short ? Outcome::kPass : Outcome::kSkip;
}

std::string RuleResult::Detail(size_t most_reasons) const {
  if (failed > 0) {
    std::string text = absl::StrJoin(failures, "; ");
    if (failed > static_cast<int>(failures.size())) {
      absl::StrAppend(&text, "; and ", failed - failures.size(), " more");
    }
    return text;
  }
  std::vector<std::string> reasons;
  for (const auto& [reason, times] : skipped) {
    reasons.push_back(times > 1 ? absl::StrCat(reason, " (", times, " times)") : reason);
  }
  if (reasons.size() > most_reasons) {
    const size_t left_out = reasons.size() - most_reasons;
    reasons.resize(most_reasons);
    reasons.push_back(absl::StrCat("and ", left_out, " other reasons"));
  }
  const std::string text = absl::StrJoin(reasons, "; ");
  if (passed == 0) return text.empty() ? "there was nothing to check" : text;
  std::string counts = absl::StrCat(passed, passed == 1 ? " check" : " checks");
  if (is_of_kernels) {
    absl::StrAppend(&counts, ", ", of_own_ops, " of own ops, ", of_async,
                    " of asynchronous kernels");
  }
  return absl::StrCat(counts, text.empty() ? "" : "; not checked: ", text);
}

void Report::CloseCheck() {
  if (!rule_.empty()) {
    RuleResult& result = results_[rule_];
    result.is_of_kernels = result.is_of_kernels || is_of_kernel_;
    if (outcome_ == Outcome::kPass) ++result.passed;
    if (outcome_ != Outcome::kSkip) {
      ++result.checks;
      if (is_of_own_op_) ++result.of_own_ops;
      if (is_async_) ++result.of_async;
    }
  }
  rule_.clear();
  outcome_ = Outcome::kPass;
}

void Report::Fail(const std::string& text) {
  RuleResult& result = results_[rule_];
  ++result.failed;
  outcome_ = Outcome::kFail;
  if (result.failures.size() >= kMostFailures) return;
  result.failures.push_back(what_.empty() ? text : absl::StrCat(what_, ": ", text));
}

void Report::Read(absl::string_view line) {
  const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits('\t', 2));
  const std::string first = fields.size() > 1 ? fields[1] : "";
  if (fields[0] == "B") {
    CloseCheck();
    rule_ = first;
    what_ = fields.size() > 2 ? fields[2] : "";
  } else if (fields[0] == "F") {
    Fail(first);
  } else if (fields[0] == "S") {
    if (outcome_ == Outcome::kPass) outcome_ = Outcome::kSkip;
    Skip(rule_, first);
  } else if (fields[0] == "C") {
    crash_ = first;
  } else if (fields[0] == "I" && absl::SimpleAtoi(first, &item_)) {
    CloseCheck();
    is_of_kernel_ = is_of_own_op_ = is_async_ = false;
  } else if (fields[0] == "K") {
    is_of_kernel_ = true;
    is_of_own_op_ = absl::StrContains(first, "own");
    is_async_ = absl::StrContains(first, "async");
  } else if (fields[0] == "E") {
    CloseCheck();
    item_ = -1;
  }
}

int Report::Close(const std::string& how) {
  const int item = item_;
  if (item >= 0 && !rule_.empty()) {
    Fail(crash_.empty() ? how : absl::StrCat(how, " ", crash_));
  }
  CloseCheck();
  item_ = -1;
  crash_.clear();
  return item;
}

void Report::Skip(absl::string_view rule, absl::string_view reason) {
  ++results_[std::string(rule)].skipped[std::string(reason)];
}

void Report::CutShort(absl::string_view rule, absl::string_view reason) {
  Skip(rule, reason);
  results_[std::string(rule)].is_cut_short = true;
}

bool Report::HasFailures() const {
  return std::any_of(results_.begin(), results_.end(),
                     [](const auto& entry) { return entry.second.failed > 0; });
}

bool Report::IsCutShort() const {
  return std::any_of(results_.begin(), results_.end(),
                     [](const auto& entry) { return entry.second.is_cut_short; });
}

std::string ReportTable(const Report& report, const std::vector<std::string>& suites) {
  const std::vector<Row> rows = RowsOf(report, suites);
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, absl::string_view(row.rule->id).size());
  std::string text;
  absl::string_view suite;
  for (const Row& row : rows) {
    if (suite != row.rule->suite) {
      suite = row.rule->suite;
      absl::StrAppend(&text, text.empty() ? "" : "\n", suite, "\n");
    }
    const std::string padding(width - absl::string_view(row.rule->id).size(), ' ');
    const Outcome outcome = row.result.outcome();
    absl::StrAppend(&text, "  ", row.rule->id, padding, "  ", OutcomeName(outcome), "  ");
    // What holds is said once; what fails needs its rule, too.
    absl::StrAppend(&text, outcome == Outcome::kPass ? "" : row.rule->sentence,
                    outcome == Outcome::kPass ? "" : ": ", row.result.Detail(kReasonsOfTable),
                    "\n");
  }
  const RuleResult counts = KernelCounts(rows);
  text += "\n";
  if (counts.checks > 0) {
    absl::StrAppend(&text, counts.checks, " checks of kernels, ", counts.of_own_ops,
                    " of own ops, ", counts.of_async, " of asynchronous kernels\n");
  }
  absl::StrAppend(&text, CountOf(rows, Outcome::kPass), " passed, ", CountOf(rows, Outcome::kFail),
                  " failed, ", CountOf(rows, Outcome::kSkip), " skipped\n");
  return text;
}

std::string ReportJson(const Report& report, const std::vector<std::string>& suites,
                       absl::string_view plugin) {
  const std::vector<Row> rows = RowsOf(report, suites);
  const RuleResult counts = KernelCounts(rows);
  std::string json = "{\"plugin\": ";
  AppendJsonText(plugin, &json);
  absl::StrAppend(&json, ", \"checks_of_kernels\": ", counts.checks,
                  ", \"checks_of_own_ops\": ", counts.of_own_ops,
                  ", \"checks_of_async_kernels\": ", counts.of_async);
  absl::StrAppend(&json, ", \"passed\": ", CountOf(rows, Outcome::kPass),
                  ", \"failed\": ", CountOf(rows, Outcome::kFail),
                  ", \"skipped\": ", CountOf(rows, Outcome::kSkip), ", \"rules\": [");
  absl::string_view separator = "\n";
  for (const Row& row : rows) {
    absl::StrAppend(&json, separator, "{\"id\": \"", row.rule->id, "\", \"suite\": \"",
                    row.rule->suite, "\", \"result\": \"", OutcomeName(row.result.outcome()),
                    "\", \"sentence\": ");
    AppendJsonText(row.rule->sentence, &json);
    absl::StrAppend(&json, ", \"checks\": ", row.result.checks,
                    ", \"checks_of_own_ops\": ", row.result.of_own_ops,
                    ", \"checks_of_async_kernels\": ", row.result.of_async, ", \"detail\": ");
    AppendJsonText(row.result.Detail(row.result.skipped.size()), &json);
    json += "}";
    separator = ",\n";
  }
  json += "\n]}\n";
  return json;
}

}  // namespace millstream::plugin_check
