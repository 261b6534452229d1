// Stands in for the host interfaces that the runtime registers, in tests that load plugins without
// it.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_STUB_INTERFACES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_STUB_INTERFACES_H_

namespace millstream {

// Adds ms.ctx/1, ms.resource/1 and ms.threads/1, whose functions fail. May be called again.
void RegisterStubInterfaces();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_STUB_INTERFACES_H_
