// What the suites about devices share.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_DEVICE_RULES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_DEVICE_RULES_H_

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "framework/plugin/check/suite.h"

namespace millstream::plugin_check {

// The plugin's devices. With none, `rules` are skipped.
std::vector<uint32_t> OrdinalsOf(CheckContext* context, absl::Span<const char* const> rules);

// Null, and the rule that runs fails, when it cannot be created.
std::unique_ptr<CheckedDevice> CreateDevice(CheckContext* context, uint32_t ordinal);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_DEVICE_RULES_H_
