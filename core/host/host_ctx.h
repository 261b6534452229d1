// The host interfaces that kernels use while they run: "ms.ctx/1" and "ms.resource/1".
#ifndef MILLSTREAM_CORE_HOST_HOST_CTX_H_
#define MILLSTREAM_CORE_HOST_HOST_CTX_H_

#include "core/host/kernel_host.h"
#include "framework/plugin/plugin.h"

namespace millstream {

const MS_CtxApi* CtxApi();
const MS_ResourceApi* ResourceApi();

// Makes the runtime's interfaces known to the loader; every plugin is loaded after it. Idempotent.
Status RegisterRuntimeInterfaces();

// Frees the variables of a kernel that returned without unlocking them; true when there were some.
// Called for every execution that comes back, whether it went well or not.
bool ReleaseLeftLocks(MS_Ctx* ctx);
// Of such a kernel that says that it went well.
Status LeftLockedError();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_HOST_CTX_H_
