#include "core/step/wait_judge.h"

#include <atomic>

namespace millstream {
namespace {

std::atomic<WaitJudge> the_judge{nullptr};

}  // namespace

void SetWaitJudge(WaitJudge judge) { the_judge.store(judge); }
WaitJudge TheWaitJudge() { return the_judge.load(std::memory_order_relaxed); }

}  // namespace millstream
