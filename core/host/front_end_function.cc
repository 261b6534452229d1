#include "core/host/front_end_function.h"

#include <atomic>

namespace millstream {
namespace {

std::atomic<FrontEndCaller> current_caller{nullptr};

}  // namespace

void SetFrontEndCaller(FrontEndCaller caller) {
  current_caller.store(caller, std::memory_order_release);
}

Status CallFrontEnd(FrontEndCall* call) {
  const FrontEndCaller caller = current_caller.load(std::memory_order_acquire);
  if (caller != nullptr) return caller(call);
  return errors::FailedPrecondition("function '", call->token,
                                    "' cannot be called: no front end calls functions here");
}

}  // namespace millstream
