// Writes the kernels of a plugin for the CPU, one a line, with the types that each is registered
// for: "Cast SrcT=float32,float64 DstT=int32". The build draws cases of kernels' types by it.
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/plugin/check/checked_plugin.h"

namespace millstream::plugin_check {
namespace {

int PrintKernels(const char* path) {
  const StatusOr<std::unique_ptr<CheckedPlugin>> plugin = LoadChecked(path, {});
  if (!plugin.ok()) {
    std::cerr << path << ": " << plugin.status() << "\n";
    return 1;
  }
  for (const KernelRegistration& kernel : (*plugin)->kernels) {
    if (kernel.device_type != "CPU") continue;
    std::cout << kernel.op;
    for (const KernelRegistration::Constraint& constraint : kernel.constraints) {
      const auto add_name = [](std::string* out, DataType type) {
        absl::StrAppend(out, DataTypeName(type));
      };
      std::cout << " " << constraint.attr << "=" << absl::StrJoin(constraint.types, ",", add_name);
    }
    std::cout << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace millstream::plugin_check

int main(int argc, char** argv) {
  if (argc == 2) return millstream::plugin_check::PrintKernels(argv[1]);
  std::cerr << "usage: list_kernels PLUGIN\n";
  return 64;
}
