// What the files of the broken plugin share.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_TESTING_BROKEN_PLUGIN_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_TESTING_BROKEN_PLUGIN_H_

#include <string_view>

#include "framework/plugin/plugin.hpp"

namespace broken {

// Whether this is the fault that the plugin has.
bool Has(std::string_view fault);

ms::Status RegisterKernels(MS_Registrar* registrar);

}  // namespace broken

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_TESTING_BROKEN_PLUGIN_H_
