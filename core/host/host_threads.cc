// "ms.threads/1": parallel loops for kernels without a thread team of their own.
#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/host/kernel_host.h"
#include "core/host/thread_team.h"
#include "core/step/float_control.h"
#include "core/step/worker_pool.h"

namespace millstream {
namespace {

// A piece should last about this long, so that handing it over costs little beside it.
constexpr uint64_t kPieceNanoseconds = 20000;

uint32_t NumThreads(const MS_Frame* frame) {
  const StepContext& step = *frame->ctx->host->step;
  const bool may_share = (step.holds_permit || !step.needs_permit) && !frame->ctx->is_beside;
  return may_share ? static_cast<uint32_t>(step.max_threads) : 1;
}

void ParallelFor(MS_Frame* frame, uint64_t total, uint64_t cost_ns_per_unit,
                 void (*fn)(void* user, uint64_t begin, uint64_t end), void* user) {
  if (total == 0) return;
  const uint64_t cost = std::max<uint64_t>(cost_ns_per_unit, 1);
  const uint64_t piece = std::max<uint64_t>(kPieceNanoseconds / cost, 1);
  const int threads = static_cast<int>(NumThreads(frame));
  if (threads == 1 || total <= piece) {
    fn(user, 0, total);
    return;
  }
  // Few large pieces for large loops: four a thread even out what the threads do besides.
  const uint64_t even = (total + 4 * threads - 1) / (4 * threads);
  // A step that goes without the permit still has to have the team to itself while it uses it.
  const bool holds_permit = frame->ctx->host->step->holds_permit;
  if (!holds_permit && !ParallelPermit::TryAcquire()) {
    fn(user, 0, total);
    return;
  }
  ThreadTeam::Global()->Run(threads, total, std::max(piece, even), fn, user);
  if (!holds_permit) ParallelPermit::Release();
}

// What schedule was told.
struct Scheduled {
  void (*fn)(void* user);
  void* user;
  std::string who;  // "node 'layer/conv' (op Conv2D)"
};

void RunScheduled(void* argument) {
  const std::unique_ptr<Scheduled> scheduled(static_cast<Scheduled*>(argument));
  const uint32_t control = FloatControl();
  scheduled->fn(scheduled->user);
  if (FloatControl() != control) {
    RestoreFloatControl(control, absl::StrCat("a function that ", scheduled->who, " scheduled"));
  }
}

void Schedule(MS_Frame* frame, void (*fn)(void* user), void* user) {
  auto* const scheduled = new Scheduled{fn, user, frame->ctx->call().Describe()};
  if (!WorkerPool::Global()->RunBlocking(&RunScheduled, scheduled)) RunScheduled(scheduled);
}

}  // namespace

const MS_ThreadsApi* ThreadsApi() {
  static const MS_ThreadsApi api = {
      {sizeof(MS_ThreadsApi), 1, 0, MS_THREADS_API},
      &NumThreads,
      &ParallelFor,
      &Schedule,
  };
  return &api;
}

}  // namespace millstream
