#include "core/host/host_defer.h"

#include <memory>
#include <utility>

#include "core/host/kernel_host.h"
#include "framework/buffer.h"

namespace millstream {
namespace {

// The function to call; nothing is called unless it is armed.
struct Deferred {
  void (*fn)(void* user) = nullptr;
  void* user = nullptr;
  bool is_armed = false;
};

}  // namespace

// An execution's temporary memory goes when its call returns: a tensor of no bytes among it brings
// the call, after what the kernel has enqueued until then.
Status DeferRelease(MS_Frame* frame, void (*fn)(void* user), void* user) {
  auto deferred = std::make_shared<Deferred>(Deferred{fn, user, false});
  const auto release = [deferred, memory = frame->ctx->host->memory] {
    if (!deferred->is_armed) return;
    const auto call = [deferred] { deferred->fn(deferred->user); };
    // A device that cannot be asked has no work left.
    if (memory == nullptr || !memory->compute()->CallAfter(call).ok()) call();
  };
  Tensor marker(DataType::kUInt8, Shape({0}), BorrowBuffer(nullptr, 0, false, release));
  KernelHost* const host = frame->ctx->host;
  const absl::MutexLock lock(&host->temps_mutex);
  MS_RETURN_IF_ERROR(host->KeepTemp(*frame->ctx, std::move(marker)).status());
  deferred->is_armed = true;
  return absl::OkStatus();
}

}  // namespace millstream
