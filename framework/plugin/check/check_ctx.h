// "ms.ctx/1": what a kernel asks of the execution that it runs in.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_CTX_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_CTX_H_

#include <string>

#include "framework/plugin/check/check_host.h"

namespace millstream::plugin_check {

const MS_CtxApi* CheckCtxApi();

// Counts an allocation; the status of one that fails on purpose.
Status CountAllocation(MS_Ctx* ctx);
// A call breaks the rule; gives the status that the kernel gets.
Status Misuse(const char* rule, std::string text);
// The execution has ended: notes what it left behind.
void EndExecution(MS_Ctx* ctx);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_CTX_H_
