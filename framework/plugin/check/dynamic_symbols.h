// What a shared object exports, and what it wants of others.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_DYNAMIC_SYMBOLS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_DYNAMIC_SYMBOLS_H_

#include <string>
#include <vector>

#include "framework/status.h"

namespace millstream::plugin_check {

struct DynamicSymbol {
  std::string name;
  bool defined;
};

// INVALID_ARGUMENT when the file has no table of dynamic symbols that can be read.
StatusOr<std::vector<DynamicSymbol>> ReadDynamicSymbols(const std::string& path);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_DYNAMIC_SYMBOLS_H_
