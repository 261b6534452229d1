#include "core/gradients/gradient_registry.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/gradients/plugin_gradient.h"
#include "framework/op_registry.h"
#include "framework/plugin/op_registration.h"

namespace millstream {
namespace {

class GradientRegistry {
 public:
  static GradientRegistry* Global() {
    static auto* const registry = new GradientRegistry();
    return registry;
  }
  Status Register(const std::string& op, GradientFunction function) {
    absl::MutexLock lock(&mutex_);
    if (functions_.try_emplace(op, function).second) return absl::OkStatus();
    return errors::AlreadyExists("op ", op, " has a gradient function already");
  }
  StatusOr<GradientFunction> Find(absl::string_view op) const {
    absl::ReaderMutexLock lock(&mutex_);
    auto found = functions_.find(op);
    if (found == functions_.end()) {
      return errors::NotFound("no gradient function is registered for op ", op);
    }
    return found->second;
  }
  std::vector<std::string> Differentiable() const {
    absl::ReaderMutexLock lock(&mutex_);
    std::vector<std::string> ops;
    for (const auto& [op, function] : functions_) {
      if (function != nullptr) ops.push_back(op);
    }
    return ops;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, GradientFunction, std::less<>> functions_ ABSL_GUARDED_BY(mutex_);
};

bool HasPluginGradient(const OpDef& op) {
  return op.plugin_functions != nullptr && op.plugin_functions->has_gradient;
}

}  // namespace

Status RegisterGradient(const std::string& op, GradientFunction function) {
  return GradientRegistry::Global()->Register(op, function);
}

StatusOr<GradientFunction> FindGradient(absl::string_view op) {
  const StatusOr<const OpDef*> definition = OpRegistry::Global()->Find(op);
  if (definition.ok() && HasPluginGradient(**definition)) {
    const bool is_differentiable = (*definition)->plugin_functions->gradient != nullptr;
    return is_differentiable ? &AddPluginGradient : GradientFunction(nullptr);
  }
  return GradientRegistry::Global()->Find(op);
}

std::vector<std::string> DifferentiableOps() {
  std::vector<std::string> ops = GradientRegistry::Global()->Differentiable();
  for (const OpDef* op : OpRegistry::Global()->List()) {
    if (HasPluginGradient(*op) && op->plugin_functions->gradient != nullptr) {
      ops.push_back(op->name);
    }
  }
  std::sort(ops.begin(), ops.end());
  return ops;
}

GradientRegistration::GradientRegistration(const char* op, GradientFunction function) {
  Status status = RegisterGradient(op, function);
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

// Row k of `values` is added to row indices[k]; the flattened form serves indices of any rank.
Output DenseGradient(GraphBuilder* builder, const Gradient& gradient) {
  if (!gradient.is_slices()) return gradient.values;
  const Output rows = builder->Op("StridedSlice",
                                  {gradient.dense_shape, builder->Int32Vector({0}),
                                   builder->Int32Vector({1}), builder->Int32Vector({1})},
                                  {{"shrink_axis_mask", 1}});
  return builder->Op("UnsortedSegmentSum", {gradient.values, gradient.indices, rows});
}

Output GradientContext::dy(int i) {
  if (!dy_[i].is_none()) {
    if (dy_[i].is_slices()) dy_[i] = Gradient{DenseGradient(builder_, dy_[i]), {}, {}};
    return dy_[i].values;
  }
  return builder_->Op("ZerosLike", {output(i)});
}

}  // namespace millstream
