// Reductions of a group of devices of which each gets its part of the rows. Unlike those of other
// collective operations, the group's keys are inputs, and a node has a time limit of its own.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/resources/alarms.h"
#include "core/resources/collectives.h"
#include "core/structural/collective_kernel.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"

namespace millstream {
namespace {

using Kind = CollectiveSpec::Kind;

constexpr uint32_t kGroupSize = 1;
constexpr uint32_t kGroupKey = 2;
constexpr uint32_t kInstanceKey = 3;

StatusOr<int64_t> KeyOf(const StructuralFrame& frame, uint32_t input, const char* name) {
  const Shape shape = frame.input_shape(input);
  if (shape.rank() == 0) return frame.Integer(input);
  return errors::InvalidArgument("argument '", name, "' must be a scalar, got shape ",
                                 shape.ToString());
}

// An execution that ends when it has its part, or when its time limit is over. The member leaves
// the operation on the thread of the alarms; meanwhile the execution does not end, because another
// one may get its id as soon as it has.
class LimitedExecution {
 public:
  LimitedExecution(StructuralFrame frame, HostExecution execution)
      : frame_(frame), execution_(execution) {}

  // The operation has ended for this member.
  void Take(const Status& status, const Tensor& result) ABSL_LOCKS_EXCLUDED(mutex_) {
    uint64_t alarm = Alarms::kNone;
    {
      absl::MutexLock lock(&mutex_);
      has_outcome_ = true;
      status_ = status;
      result_ = result;
      alarm = alarm_;
      if (is_leaving_) return;  // Limit ends it
    }
    Alarms::Global()->Forget(alarm);
    End();
  }
  // The alarm rings after so long.
  void SetAlarm(uint64_t alarm) ABSL_LOCKS_EXCLUDED(mutex_) {
    bool has_outcome = false;
    {
      absl::MutexLock lock(&mutex_);
      alarm_ = alarm;
      has_outcome = has_outcome_;
    }
    if (has_outcome) Alarms::Global()->Forget(alarm);
  }
  // The time is over. `missing`: gives for whom the member waits. `leave`: ends its wait.
  template <typename Missing, typename Leave>
  void Limit(absl::Duration limit, const Missing& missing, const Leave& leave)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (has_outcome_) return;
      is_leaving_ = true;
    }
    const Status late = absl::DeadlineExceededError(
        absl::StrCat("attribute 'timeout_seconds' is ", absl::ToDoubleSeconds(limit),
                     ", and the node still waits for ", missing()));
    leave();
    {
      absl::MutexLock lock(&mutex_);
      late_ = late;
      is_leaving_ = false;
      if (!has_outcome_) return;  // Take ends it
    }
    End();
  }

 private:
  void End() ABSL_LOCKS_EXCLUDED(mutex_) {
    Status status;
    Tensor result;
    {
      absl::MutexLock lock(&mutex_);
      // Of two errors the cause: the member has left because of the limit.
      status = !status_.ok() && !late_.ok() ? late_ : status_;
      result = std::move(result_);
    }
    if (status.ok()) status = frame_.SetOutput(0, result);
    execution_.End(status);
  }

  StructuralFrame frame_;  // used by whoever ends the execution alone
  const HostExecution execution_;

  absl::Mutex mutex_;
  uint64_t alarm_ ABSL_GUARDED_BY(mutex_) = Alarms::kNone;
  bool is_leaving_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_outcome_ ABSL_GUARDED_BY(mutex_) = false;
  Status status_ ABSL_GUARDED_BY(mutex_);
  Status late_ ABSL_GUARDED_BY(mutex_);
  Tensor result_ ABSL_GUARDED_BY(mutex_);
};

class ReduceScatterKernel final : public CollectiveKernel {
 public:
  Status ReadAttrs(const HostKernelInfo& info) override {
    attrs_.kind = Kind::kReduceScatter;
    MS_ASSIGN_OR_RETURN(attrs_.dtype, info.Attr<DataType>("T"));
    MS_RETURN_IF_ERROR(ReadMergeAttrs(info, &attrs_));
    MS_ASSIGN_OR_RETURN(const float seconds, info.Attr<float>("timeout_seconds"));
    if (seconds > 0) limit_ = absl::Seconds(seconds);
    return absl::OkStatus();
  }
  std::string WaitsFor(const StructuralFrame& frame) const override {
    const auto collectives = CollectivesOf(frame);
    const auto spec = SpecOf(frame);
    if (!collectives.ok() || !spec.ok()) return "";
    const std::string missing = (*collectives)->Missing(*spec, device());
    if (limit_ == absl::InfiniteDuration()) return missing;
    return absl::StrCat(missing, ", or the time limit of ", absl::FormatDuration(limit_));
  }

 private:
  StatusOr<CollectiveSpec> SpecOf(const StructuralFrame& frame) const {
    CollectiveSpec spec = attrs_;
    MS_ASSIGN_OR_RETURN(spec.group_size, KeyOf(frame, kGroupSize, "group_size"));
    MS_ASSIGN_OR_RETURN(spec.group_key, KeyOf(frame, kGroupKey, "group_key"));
    MS_ASSIGN_OR_RETURN(spec.instance_key, KeyOf(frame, kInstanceKey, "instance_key"));
    if (spec.group_size >= 1) return spec;
    return errors::InvalidArgument("argument 'group_size' must be positive, got ", spec.group_size);
  }

  Status Begin(const StructuralFrame& frame, HostExecution execution) const override {
    MS_ASSIGN_OR_RETURN(const ResourceRef<Collectives> collectives, CollectivesOf(frame));
    MS_ASSIGN_OR_RETURN(const CollectiveSpec spec, SpecOf(frame));
    if (frame.input_shape(0).rank() < 1) {
      return errors::InvalidArgument("argument 'input' must have a dimension to be shared out");
    }
    CollectiveMember member;
    member.ticket = execution.id();
    member.device = device();
    MS_ASSIGN_OR_RETURN(member.tensor, Given(frame));
    const auto limited = std::make_shared<LimitedExecution>(frame, execution);
    member.done = [limited](const Status& status, const Tensor& result) {
      limited->Take(status, result);
    };
    // Copies, because the execution may have ended when Join returns, and the kernel with it.
    const void* const ticket = member.ticket;
    const absl::Duration limit = limit_;
    const std::string device = member.device;
    Join(frame, collectives.get(), spec, std::move(member));
    if (limit == absl::InfiniteDuration()) return absl::OkStatus();
    limited->SetAlarm(Alarms::Global()->Set(limit, [=] {
      limited->Limit(
          limit, [&] { return collectives->Missing(spec, device); },
          [&] { collectives->Cancel(ticket); });
    }));
    return absl::OkStatus();
  }

  CollectiveSpec attrs_;  // without what inputs say
  absl::Duration limit_ = absl::InfiniteDuration();
};

MILLSTREAM_HOST_KERNEL("CollectiveReduceScatterV2", ReduceScatterKernel);

}  // namespace
}  // namespace millstream
