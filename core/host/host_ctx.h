// The host interfaces that kernels use while they run: "ms.ctx/1" and "ms.resource/1".
#ifndef MILLSTREAM_CORE_HOST_HOST_CTX_H_
#define MILLSTREAM_CORE_HOST_HOST_CTX_H_

#include "core/host/kernel_host.h"
#include "framework/plugin/plugin.h"

namespace millstream {

const MS_CtxApi* CtxApi();
const MS_ResourceApi* ResourceApi();

// Registers the runtime's interfaces with the loader. REQUIRES: no plugin was loaded before.
// Idempotent.
Status RegisterRuntimeInterfaces();

// Unlocks the variables that a kernel left locked when it ended; returns true if there were some.
// The executor calls it after every execution, with or without an error.
bool ReleaseLeftLocks(MS_Ctx* ctx);
// The error of a kernel that returned OK and left variables locked.
Status LeftLockedError();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_HOST_CTX_H_
