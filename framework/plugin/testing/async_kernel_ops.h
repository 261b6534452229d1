// Ops that are slow, asynchronous or fail late, for tests of executors. A test that links this has
// the ops TestAsync, TestBlocking and TestAllocateAndFail (their docs say what they do); their CPU
// kernels are in the plugin async_kernels, which LoadAsyncKernels loads.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_ASYNC_KERNEL_OPS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_ASYNC_KERNEL_OPS_H_

#include "framework/plugin/loader.h"
#include "framework/status.h"

namespace millstream {

// Needs the host interfaces that kernels use while they run. May be called again.
Status LoadAsyncKernels(PluginLoader* loader = PluginLoader::Global());

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_ASYNC_KERNEL_OPS_H_
