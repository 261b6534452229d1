// The tables that kernels use while they run, over plain memory (check_host.h); ms.ctx/1 is in
// check_ctx.h.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_TABLES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_TABLES_H_

#include "framework/plugin/plugin.h"

namespace millstream::plugin_check {

const MS_TensorApi* CheckTensorApi();
const MS_ResourceApi* CheckResourceApi();
const MS_ThreadsApi* CheckThreadsApi();
const MS_GradApi* CheckGradApi();

// Tensors that the calling thread creates are allocations of the context; null: of none.
void SetCurrentCtx(MS_Ctx* ctx);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_TABLES_H_
