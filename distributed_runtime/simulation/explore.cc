// Explores schedules: explore --seeds=FIRST:LAST [--events]. The latter prints what happens. The
// status is 1 if something was found.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "distributed_runtime/simulation/schedule.h"

namespace millstream {
namespace {

struct Totals {
  int64_t schedules = 0;
  int64_t with_findings = 0;
  int64_t steps = 0;
  int64_t failed = 0;
  int64_t faults = 0;
};

void Print(const Totals& totals) {
  std::cout << totals.schedules << " schedules, " << totals.faults << " faults, " << totals.steps
            << " steps, " << totals.failed << " errors; " << totals.with_findings
            << " schedules with findings" << std::endl;
}

bool ReadSeeds(absl::string_view text, uint64_t* first, uint64_t* last) {
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, ':');
  return absl::SimpleAtoi(ends.first, first) && absl::SimpleAtoi(ends.second, last) &&
         *first <= *last;
}

int Explore(uint64_t first, uint64_t last, bool prints_events) {
  Totals totals;
  PrepareSchedules();
  for (uint64_t seed = first; seed <= last; ++seed) {
    std::vector<std::string> events;
    const ScheduleResult result =
        RunSchedule(seed, Sabotage::kNothing, prints_events ? &events : nullptr);
    for (const std::string& event : events) std::cout << event << "\n";
    for (const std::string& finding : result.findings) {
      std::cout << "seed " << seed << ": " << finding << std::endl;
    }
    ++totals.schedules;
    totals.with_findings += result.findings.empty() ? 0 : 1;
    totals.steps += result.steps;
    totals.failed += result.failed;
    totals.faults += result.faults;
    if (totals.schedules % 10000 == 0) Print(totals);
  }
  Print(totals);
  return totals.with_findings > 0 ? 1 : 0;
}

int Main(int argc, char** argv) {
  uint64_t first = 0;
  uint64_t last = 999;
  bool prints_events = false;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--events") {
      prints_events = true;
    } else if (!absl::ConsumePrefix(&argument, "--seeds=") || !ReadSeeds(argument, &first, &last)) {
      std::cerr << "expected --seeds=FIRST:LAST or --events, got " << argv[i] << "\n";
      return 2;
    }
  }
  // `bazel run` begins where the files are that the program needs.
  setenv("MILLSTREAM_PLUGIN_PATH", "device_plugins/cpu/libmillstream_cpu.so", 0);
  return Explore(first, last, prints_events);
}

}  // namespace
}  // namespace millstream

int main(int argc, char** argv) { return millstream::Main(argc, argv); }
