// Who has met whom in the sums of a schedule.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_SUM_LEDGER_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_SUM_LEDGER_H_

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "framework/status.h"

namespace millstream {

// Three tasks add one member each, again and again. Each member gives a number that tells it from
// all others, at a place of its task in the sum, so that a sum names the members that have met. All
// of them must be told the same.
class SimSumLedger {
 public:
  static constexpr int kTasks = 3;
  static constexpr int64_t kBase = 1000;  // more than a task has members

  // A member of the task begins. Returns its number.
  int Begin(int task) { return ++begun_[task]; }
  // What it gives.
  static double Given(int task, int number) {
    double value = number;
    for (int i = 0; i < task; ++i) value *= static_cast<double>(kBase);
    return value;
  }
  // The member was told that sum. INTERNAL if it is of no meeting with it, or if another member of
  // that meeting was told another one.
  Status End(int task, int number, double sum) {
    Meeting met = {};
    auto left = static_cast<int64_t>(sum);
    for (int one = 0; one < kTasks; ++one) {
      met[one] = left % kBase;
      left /= kBase;
    }
    bool is_right = left == 0 && met[task] == number;
    for (int one = 0; one < kTasks; ++one) {
      const auto [at, is_first] = meetings_.try_emplace({one, met[one]}, met);
      is_right = is_right && at->second == met && met[one] >= 1 && met[one] <= begun_[one];
    }
    if (is_right) return absl::OkStatus();
    return errors::Internal("member ", number, " of task ", task, " was told the sum ", left, " ",
                            met[2], " ", met[1], " ", met[0], ", which is of no meeting");
  }

 private:
  using Meeting = std::array<int64_t, kTasks>;  // the number of the member, by task

  std::array<int, kTasks> begun_ = {};
  std::map<std::pair<int, int64_t>, Meeting> meetings_;  // by task and number
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_SUM_LEDGER_H_
