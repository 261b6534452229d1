#include "core/resource_manager.h"

namespace millstream {

StatusOr<Variable*> ResourceManager::LookupOrCreateVariable(const std::string& container,
                                                            const std::string& name, DataType dtype,
                                                            const PartialShape& shape) {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<Variable>& variable = variables_[{container, name}];
  if (variable == nullptr) {
    variable = std::make_unique<Variable>(container, name, dtype, shape);
    return variable.get();
  }
  if (variable->dtype() != dtype || !variable->shape().IsCompatibleWith(shape)) {
    return errors::InvalidArgument("variable '", name, "' exists as ",
                                   DataTypeName(variable->dtype()), variable->shape().ToString(),
                                   "; this handle expects ", DataTypeName(dtype), shape.ToString());
  }
  return variable.get();
}

void ResourceManager::DropValues() {
  absl::MutexLock lock(&mutex_);
  for (auto& [name, variable] : variables_) {
    variable->gate().Enter();
    variable->Replace(Tensor());
    variable->gate().Leave();
  }
}

int ResourceManager::num_variables() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(variables_.size());
}

}  // namespace millstream
