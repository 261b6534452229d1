// A task's answers to its master's requests of one step.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_REPLIES_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_REPLIES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/step/step_trace.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/step_carrier.h"
#include "distributed_runtime/step_exchange.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/distributed_runtime/protos/trace_messages.pb.h"

namespace millstream {

// Answers the request of each round when the task's part begins the next round or has ended
// (StepExchange). Requests may come before the part begins. Thread-safe.
class StepReplies final : public StepCarrier {
 public:
  static constexpr int kAbort = -1;

  StepReplies() = default;
  // Answers what is left with CANCELLED.
  ~StepReplies() override;

  // Called before the part runs. `shortens`: see EncodeCarried.
  void Begin(std::shared_ptr<const StepExchange> exchange, bool shortens = false)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the request of a round, or kAbort for one that is answered when the part has ended.
  // Called before the tensors of the request are given to the part.
  void Add(int round, Reply reply) ABSL_LOCKS_EXCLUDED(mutex_);
  // What the last answer reports, unless the part fails. Called before End.
  void SetReport(const StepReport& report) ABSL_LOCKS_EXCLUDED(mutex_);
  // The part has ended. Answers all requests, also those that come later. Only the first call has
  // an effect.
  void End(const Status& status, const std::vector<Tensor>& fetches) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same with an error, unless the part has begun, which then ends by itself.
  void EndUnlessBegun(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_);

  // ---- StepCarrier; REQUIRES: Begin was called ----
  bool Carries(int64_t edge) const override { return exchange_->Carries(edge); }
  void Carry(int64_t edge, Parcel parcel) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Await(int64_t edge) override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool HasRound(int round) const ABSL_LOCKS_EXCLUDED(mutex_);

  std::shared_ptr<const StepExchange> exchange_;  // constant while the part runs
  bool shortens_ = false;                         // likewise
  mutable absl::Mutex mutex_;
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  Status ended_ ABSL_GUARDED_BY(mutex_);                             // how
  int round_ ABSL_GUARDED_BY(mutex_) = 0;                            // of the part
  absl::flat_hash_map<int, Reply> replies_ ABSL_GUARDED_BY(mutex_);  // to be given, by round
  std::vector<CarriedParcel> sent_ ABSL_GUARDED_BY(mutex_);          // in this round
  std::unique_ptr<proto::StepReportRecord> report_ ABSL_GUARDED_BY(mutex_);  // null: not asked for
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_REPLIES_H_
