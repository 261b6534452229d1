#include "core/passes/pass.h"

#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/step/plan_features.h"

namespace millstream {
namespace {

struct Pass {
  const char* name;
  PassFunction function;
};

// Filled before main, constant afterwards. By order, then name.
std::map<std::pair<int, std::string>, Pass>& Passes() {
  static auto* const passes = new std::map<std::pair<int, std::string>, Pass>;
  return *passes;
}

}  // namespace

PassRegistration::PassRegistration(const char* name, int order, PassFunction function) {
  Passes()[{order, name}] = Pass{name, function};
}

Status RunPasses(const std::vector<std::string>& disabled, StepOps* ops) {
  for (const auto& [key, pass] : Passes()) {
    if (absl::c_linear_search(disabled, pass.name)) continue;
    MS_RETURN_IF_ERROR(pass.function(ops));
  }
  return absl::OkStatus();
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const auto& [key, pass] : Passes()) names.push_back(pass.name);
  return names;
}

std::vector<std::string> OptimizationNames() {
  std::vector<std::string> names = PassNames();
  for (std::string& name : PlanFeatureNames()) names.push_back(std::move(name));
  return names;
}

}  // namespace millstream
