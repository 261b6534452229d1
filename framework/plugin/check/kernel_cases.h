// Legal nodes and inputs for the standard ops: what kernels are tried with.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_KERNEL_CASES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_KERNEL_CASES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/attr_value.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream::plugin_check {

struct CaseInput {
  Tensor value;              // of the variable, when it is one
  bool is_variable = false;  // the input is a handle of it
  bool is_const = false;     // the value is shown to specialize
};

// One node with its inputs. `attrs` is complete.
struct KernelCase {
  std::string text;  // "[2,3] x [3]", for messages
  AttrMap attrs;
  std::vector<CaseInput> inputs;
  bool is_random = false;  // results follow from the Philox stream, and are compared bit for bit
};

// Reads the file kernel_cases.bin beside this program. INVALID_ARGUMENT with the file's path when
// it is not there or is no file of cases. Thread-safe, as CasesOf.
Status LoadCases();
// The cases of an op, of all types; empty where the file has none. REQUIRES: LoadCases() is OK.
const std::vector<KernelCase>& CasesOf(absl::string_view op);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_KERNEL_CASES_H_
