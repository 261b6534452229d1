#include "framework/plugin/check/kernel_cases.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "framework/plugin/check/case_file.h"
#include "framework/plugin/check/op_specs.h"

namespace millstream::plugin_check {
namespace {

constexpr char kFileName[] = "kernel_cases.bin";

// The file beside this program.
std::string PathOfFile() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  std::string whole(path, size > 0 ? static_cast<size_t>(size) : 0);
  return whole.substr(0, whole.rfind('/') + 1) + kFileName;
}

// Read once.
const StatusOr<CasesByOp>& AllCases() {
  static const auto* const cases = [] {
    const std::string path = PathOfFile();
    std::ifstream file(path, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    auto* const read = new StatusOr<CasesByOp>(ReadCases(content.str(), KnownOps()));
    if (!read->ok()) *read = errors::InvalidArgument(path, ": ", read->status().message());
    return read;
  }();
  return *cases;
}

}  // namespace

Status LoadCases() { return AllCases().status(); }

const std::vector<KernelCase>& CasesOf(absl::string_view op) {
  static const auto* const none = new std::vector<KernelCase>;
  const StatusOr<CasesByOp>& cases = AllCases();
  if (!cases.ok()) return *none;
  const auto found = cases->find(op);
  return found == cases->end() ? *none : found->second;
}

}  // namespace millstream::plugin_check
