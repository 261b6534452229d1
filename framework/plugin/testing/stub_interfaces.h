// Stands in for the host interfaces that the runtime registers, in tests that load plugins without
// it.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_STUB_INTERFACES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_STUB_INTERFACES_H_

#include "framework/plugin/plugin.h"

namespace millstream {

// "ms.ctx/1" whose functions fail.
MS_CtxApi StubCtxApi();

// Adds ms.ctx/1, ms.resource/1 and ms.threads/1, whose functions fail; or `ctx`, which must live
// for ever, as the first. May be called again, with the same.
void RegisterStubInterfaces(const MS_CtxApi* ctx = nullptr);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_STUB_INTERFACES_H_
