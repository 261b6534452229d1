// What happened in a schedule.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_TRACE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "distributed_runtime/simulation/chance.h"
#include "distributed_runtime/simulation/virtual_threads.h"

namespace millstream {

// A sum of all events, and their texts if somebody wants them. Not thread-safe: see VirtualThreads.
class SimTrace {
 public:
  SimTrace(const VirtualThreads* threads, std::vector<std::string>* log)
      : threads_(*threads), log_(log), begin_(threads->now()) {}

  template <typename... Texts>
  void Note(const Texts&... texts) {
    const absl::Duration at = threads_.now() - begin_;
    const std::string text = absl::StrCat(absl::ToDoubleSeconds(at), " ", texts...);
    sum_ = Mixed(sum_, text);
    if (log_ != nullptr) log_->push_back(text);
  }
  // The same number: the same events at the same times.
  uint64_t sum() const { return sum_; }

 private:
  const VirtualThreads& threads_;
  std::vector<std::string>* const log_;
  const absl::Time begin_;
  uint64_t sum_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_TRACE_H_
