// What the files of the broken plugin share.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_TESTING_BROKEN_PLUGIN_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_TESTING_BROKEN_PLUGIN_H_

#include <cstdint>
#include <string_view>

#include "framework/plugin/plugin.hpp"

namespace broken {

// Whether this is the fault that the plugin has.
bool Has(std::string_view fault);

// Whether the device claims memory of its own. Kernels can touch it all the same.
inline bool HasOwnMemory() {
  return Has("own_memory") || Has("output_in_host") || Has("byte_before_device_temporary") ||
         Has("byte_after_device_temporary") || Has("byte_before_device_scratch") ||
         Has("byte_after_device_scratch");
}

// By which DLPack knows memory of the device's own: that of an extension (kDLExtDev).
constexpr int32_t kDLPackDeviceType = 12;

// Whether it describes its options.
bool HasSchema();
const MS_Table* SchemaTable();
const MS_Table* ProfilerTable();
// A copy that began then has ended.
void NoteCopy(uint64_t begin_ns);

ms::Status RegisterKernels(MS_Registrar* registrar);
// Those that use more of their host.
ms::Status RegisterExecutions(MS_Registrar* registrar);
// One that exchanges memory through DLPack.
ms::Status RegisterDLPack(MS_Registrar* registrar);
// Ops of its own with their kernels, and a kernel with memory of its own.
ms::Status RegisterOps(MS_Registrar* registrar);

}  // namespace broken

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_TESTING_BROKEN_PLUGIN_H_
