// The runs that a client in another process asks for.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_CLIENT_RUNS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_CLIENT_RUNS_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/step/run_options.h"
#include "distributed_runtime/run_numbers.h"
#include "framework/status.h"

namespace millstream {

// Of one session, by the client's numbers. Requests to run and to cancel overtake one another.
// Thread-safe.
class ClientRuns {
 public:
  // A request to run has come, see RunRecord. Returns what cancels the run; it may have happened.
  // CANCELLED if the client has ended the run. Cancels other runs that it has ended.
  StatusOr<std::shared_ptr<Cancellation>> Begin(uint64_t number, absl::Span<const uint64_t> running)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The run has ended here.
  void End(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancels a run, also one whose request comes later.
  void Cancel(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  RunRecord record_ ABSL_GUARDED_BY(mutex_);
  // Those that run; and those that were cancelled before, until a later one has begun.
  absl::flat_hash_map<uint64_t, std::shared_ptr<Cancellation>> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_CLIENT_RUNS_H_
