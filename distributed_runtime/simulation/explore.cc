// Explores schedules: explore --seeds=FIRST:LAST [--sums] [--processes=N] [--events]. With --sums,
// those of collective operations. Each process explores its share of the seeds; the last argument
// prints what happens. The status is 1 if something was found.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "distributed_runtime/simulation/chance.h"
#include "distributed_runtime/simulation/schedule.h"
#include "distributed_runtime/simulation/virtual_threads.h"

namespace millstream {
namespace {

struct Totals {
  int64_t schedules = 0;
  int64_t with_findings = 0;
  int64_t steps = 0;
  int64_t failed = 0;
  int64_t faults = 0;
  uint64_t trace = 0;  // of all schedules: the same in any process, or they are not of their seeds
};

void Print(const Totals& totals) {
  std::cout << totals.schedules << " schedules, " << totals.faults << " faults, " << totals.steps
            << " steps, " << totals.failed << " errors; " << totals.with_findings
            << " schedules with findings; trace " << absl::StrCat(absl::Hex(totals.trace))
            << std::endl;
}

bool ReadSeeds(absl::string_view text, uint64_t* first, uint64_t* last) {
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, ':');
  return absl::SimpleAtoi(ends.first, first) && absl::SimpleAtoi(ends.second, last) &&
         *first <= *last;
}

struct Arguments {
  uint64_t first = 0;
  uint64_t last = 999;
  int processes = 1;
  bool adds = false;  // collective operations
  bool prints_events = false;
};

bool Read(absl::string_view argument, Arguments* arguments) {
  if (argument == "--events") {
    arguments->prints_events = true;
    return true;
  }
  if (argument == "--sums") {
    arguments->adds = true;
    return true;
  }
  if (absl::ConsumePrefix(&argument, "--processes=")) {
    return absl::SimpleAtoi(argument, &arguments->processes) && arguments->processes > 0;
  }
  return absl::ConsumePrefix(&argument, "--seeds=") &&
         ReadSeeds(argument, &arguments->first, &arguments->last);
}

// Every so many seeds, from one on.
int Explore(const Arguments& arguments, uint64_t first) {
  Totals totals;
  PrepareSchedules();
  for (uint64_t seed = first; seed <= arguments.last; seed += arguments.processes) {
    std::vector<std::string> events;
    std::vector<std::string>* const log = arguments.prints_events ? &events : nullptr;
    const ScheduleResult result = arguments.adds ? RunSumSchedule(seed, Sabotage::kNothing, log)
                                                 : RunSchedule(seed, Sabotage::kNothing, log);
    for (const std::string& event : events) std::cout << event << "\n";
    for (const std::string& finding : result.findings) {
      std::cout << "seed " << seed << ": " << finding << std::endl;
    }
    ++totals.schedules;
    totals.with_findings += result.findings.empty() ? 0 : 1;
    totals.steps += result.steps;
    totals.failed += result.failed;
    totals.faults += result.faults;
    totals.trace = Mixed(totals.trace ^ result.trace);
    if (totals.schedules % 10000 == 0) Print(totals);
  }
  Print(totals);
  return totals.with_findings > 0 ? 1 : 0;
}

// Each process has a processor to itself as long as there are enough. Returns 1 if one has found
// something, or has not ended by itself.
int ExploreInProcesses(const Arguments& arguments) {
  std::vector<pid_t> children;
  for (int i = 0; i < arguments.processes; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      StayOnOneProcessor(i);
      const int status = Explore(arguments, arguments.first + static_cast<uint64_t>(i));
      std::_Exit(status);  // without what threads that hang still use
    }
    if (child < 0) {
      std::cerr << "no process: " << std::strerror(errno) << "\n";
      break;
    }
    children.push_back(child);
  }
  bool is_clean = children.size() == static_cast<size_t>(arguments.processes);
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    is_clean = is_clean && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return is_clean ? 0 : 1;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    if (Read(argv[i], &arguments)) continue;
    std::cerr << "expected --seeds=FIRST:LAST, --sums, --processes=N or --events, got " << argv[i]
              << "\n";
    return 2;
  }
  // `bazel run` begins where the files are that the program needs.
  setenv("MILLSTREAM_PLUGIN_PATH", "device_plugins/cpu/libmillstream_cpu.so", 0);
  return ExploreInProcesses(arguments);
}

}  // namespace
}  // namespace millstream

int main(int argc, char** argv) { return millstream::Main(argc, argv); }
