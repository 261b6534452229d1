// Checks one plugin against the rules of the plugin ABI, and prints the result of each rule:
//
//   millstream_plugin_check [--json] [--suite NAME]... [--option NAME=VALUE]... [--reference FILE]
//                           [--patience SECONDS] [--rounds N] FILE
//
// The exit status is 0 when no rule failed, 1 when one did, 2 when no rule failed but processes for
// checks could not be started, 64 for a wrong command line, 70 when the file of cases beside the
// program cannot be read.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "framework/plugin/check/kernel_cases.h"
#include "framework/plugin/check/runner.h"

namespace millstream::plugin_check {
namespace {

constexpr int kFailures = 1;
constexpr int kCutShort = 2;
constexpr int kUsage = 64;
constexpr int kNoCases = 70;

struct Arguments {
  CheckSettings settings;
  std::vector<std::string> suites;
  bool json = false;
  int patience_s = 30;
  std::string error;
};

bool IsSuite(const std::string& name) {
  return std::any_of(Suites().begin(), Suites().end(),
                     [&name](const Suite& suite) { return name == suite.name; });
}

// One option and its value; false when it is none.
bool ReadOption(const std::string& name, const std::string& value, Arguments* arguments) {
  if (name == "--suite") {
    if (!IsSuite(value)) arguments->error = "there is no suite \"" + value + "\"";
    arguments->suites.push_back(value);
  } else if (name == "--option") {
    const std::pair<std::string, std::string> option =
        absl::StrSplit(value, absl::MaxSplits('=', 1));
    arguments->settings.options.emplace_back(option.first, option.second);
  } else if (name == "--reference") {
    arguments->settings.reference = value;
  } else if (name == "--patience") {
    if (!absl::SimpleAtoi(value, &arguments->patience_s)) arguments->error = "--patience: seconds";
  } else if (name == "--rounds") {
    if (!absl::SimpleAtoi(value, &arguments->settings.soak_rounds)) {
      arguments->error = "--rounds: a number";
    }
  } else {
    return false;
  }
  return true;
}

Arguments ReadArguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      arguments.json = true;
    } else if (i + 1 < argc && ReadOption(argument, argv[i + 1], &arguments)) {
      ++i;
    } else if (argument.rfind("--", 0) == 0 || !arguments.settings.path.empty()) {
      arguments.error = "unexpected: " + argument;
    } else {
      arguments.settings.path = argument;
    }
  }
  if (arguments.settings.path.empty() && arguments.error.empty()) arguments.error = "which plugin?";
  return arguments;
}

int Main(int argc, char** argv) {
  Arguments arguments = ReadArguments(argc, argv);
  if (!arguments.error.empty()) {
    std::vector<std::string> names;
    for (const Suite& suite : Suites()) names.emplace_back(suite.name);
    std::fprintf(stderr,
                 "millstream_plugin_check: %s\nusage: millstream_plugin_check [--json] "
                 "[--suite NAME]... [--option NAME=VALUE]... [--reference FILE] "
                 "[--patience SECONDS] [--rounds N] FILE\nsuites: %s\n",
                 arguments.error.c_str(), absl::StrJoin(names, ", ").c_str());
    return kUsage;
  }
  if (const Status cases = LoadCases(); !cases.ok()) {
    std::fprintf(stderr, "millstream_plugin_check: %s\n", std::string(cases.message()).c_str());
    return kNoCases;
  }
  Report report;
  std::vector<std::string> suites;
  for (const Suite& suite : Suites()) {
    const bool wanted = arguments.suites.empty() ||
                        std::find(arguments.suites.begin(), arguments.suites.end(), suite.name) !=
                            arguments.suites.end();
    if (!wanted) continue;
    suites.emplace_back(suite.name);
    RunSuite(suite, arguments.settings, absl::Seconds(arguments.patience_s), &report);
  }
  const std::string text = arguments.json ? ReportJson(report, suites, arguments.settings.path)
                                          : ReportTable(report, suites);
  std::fputs(text.c_str(), stdout);
  if (report.HasFailures()) return kFailures;
  return report.IsCutShort() ? kCutShort : 0;
}

}  // namespace
}  // namespace millstream::plugin_check

int main(int argc, char** argv) { return millstream::plugin_check::Main(argc, argv); }
