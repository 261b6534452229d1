// What the variables of a schedule may hold, by what clients were told.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_LEDGER_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_LEDGER_H_

#include <algorithm>
#include <set>
#include <string>

#include "framework/status.h"

namespace millstream {

// One variable, which one client after another sets to a base and then increments by one, in one
// step at a time. A step that failed may have had its effect, or have it later, in the process of
// the task in which it ran and in no other. Values are explained by a serial order of the steps.
//
// A later step of the same session tells the task that the earlier one has ended, which has no
// effect then any more, but for what runs at that moment: so what the next one after that does not
// see will not come.
class SimLedger {
 public:
  static constexpr int kStride = 1000;  // between bases; more than there are steps

  // A base that no step had.
  int NextBase() const { return next_base_; }
  // A step begins that sets the variable, in the task's process of that number. REQUIRES: `base` is
  // a multiple of kStride and not less than NextBase.
  void BeginSet(int process, int base) {
    Enter(process);
    uncertain_ += failed_before_ + failed_;
    failed_before_ = failed_ = 0;
    next_base_ = base + kStride;
    lost_bases_.insert(base);
  }
  // That step went well.
  void EndSet(int base) {
    lost_bases_.erase(base);
    base_ = base;
    acknowledged_ = 0;
  }
  // A step begins that increments the variable in the task's process of that number.
  void BeginAdd(int process) {
    Enter(process);
    ++failed_;
  }
  // It went well, and gave the value behind it. `ends_earlier`: it told the task which steps of the
  // session have ended. INTERNAL if no serial order explains the value.
  Status EndAdd(float value, bool ends_earlier) {
    --failed_;
    ++acknowledged_;
    const int number = static_cast<int>(value);
    const int base = number / kStride * kStride;
    const int steps = number - base;
    const bool is_late = base != base_ && lost_bases_.count(base) > 0;
    const int least = is_late ? 1 : acknowledged_;
    const int uncertain = uncertain_ + failed_before_ + failed_;
    if ((base == base_ || is_late) && steps >= least && steps <= acknowledged_ + uncertain) {
      if (ends_earlier && !is_late) Settle(steps - acknowledged_);
      return absl::OkStatus();
    }
    return errors::Internal("a variable has the value ", number, "; it was set to ", base_,
                            ", then ", acknowledged_, " increments were acknowledged and ",
                            uncertain, " may have taken place");
  }

 private:
  // So many of the increments that failed have taken place.
  void Settle(int came) {
    acknowledged_ += came;
    const int others = uncertain_ + failed_before_;
    uncertain_ -= std::max(0, came - failed_before_ - failed_);
    failed_before_ = failed_ - std::max(0, came - others);
    failed_ = 0;
  }
  // What steps in an earlier process may have done is lost with it.
  void Enter(int process) {
    if (process == process_) return;
    process_ = process;
    uncertain_ = failed_before_ = failed_ = 0;
    lost_bases_.clear();
  }

  int process_ = -1;
  int next_base_ = kStride;
  int base_ = 0;
  int acknowledged_ = 0;
  // Increments that failed: in earlier sessions; in this one before the last that went well; later.
  int uncertain_ = 0;
  int failed_before_ = 0;
  int failed_ = 0;
  std::set<int> lost_bases_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_LEDGER_H_
