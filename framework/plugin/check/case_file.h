// The file of cases that the build writes (testing/kernel_cases/case_file.py says its format).
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CASE_FILE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CASE_FILE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "framework/op_registry.h"
#include "framework/plugin/check/kernel_cases.h"
#include "framework/status.h"

namespace millstream::plugin_check {

// Cases by op.
using CasesByOp = absl::flat_hash_map<std::string, std::vector<KernelCase>>;

// INVALID_ARGUMENT or NOT_FOUND, with what was expected, for a content that is no such file or not
// whole. Any content is safe, and takes memory in proportion to its size.
StatusOr<CasesByOp> ReadCases(absl::string_view content, const OpRegistry& ops);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CASE_FILE_H_
