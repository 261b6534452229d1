#include "framework/plugin/kernel_registry.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millstream {
namespace {

using Constraint = KernelRegistration::Constraint;

// The attribute of a node that chooses among the labels of its kernels.
constexpr char kLabelAttr[] = "_kernel";
// The most groups of reasons in an error.
constexpr size_t kMaxReasons = 10;

std::string TypeNames(const DataTypeList& types) {
  return absl::StrCat("{",
                      absl::StrJoin(types, ", ",
                                    [](std::string* out, DataType type) {
                                      absl::StrAppend(out, DataTypeName(type));
                                    }),
                      "}");
}

// "MatMul for CPU with T in {float32} (millstream_cpu)".
std::string Describe(const KernelRegistration& kernel) {
  std::string text = absl::StrCat(kernel.op, " for ", kernel.device_type);
  for (const Constraint& constraint : kernel.constraints) {
    absl::StrAppend(&text, constraint.attr == kernel.constraints.front().attr ? " with " : ", ",
                    constraint.attr, " in ", TypeNames(constraint.types));
  }
  if (!kernel.label.empty()) absl::StrAppend(&text, ", label \"", kernel.label, "\"");
  return absl::StrCat(text, " (", kernel.plugin, ")");
}

// Whether no constraint of the kernel forbids the attribute to have the type.
bool Allows(const KernelRegistration& kernel, absl::string_view attr, DataType type) {
  return absl::c_all_of(kernel.constraints, [&](const Constraint& constraint) {
    return constraint.attr != attr || absl::c_linear_search(constraint.types, type);
  });
}

// True when some set of attributes satisfies the constraints of both.
bool ConstraintsOverlap(const KernelRegistration& a, const KernelRegistration& b) {
  return absl::c_all_of(a.constraints, [&](const Constraint& constraint) {
    return absl::c_any_of(constraint.types, [&](DataType type) {
      return Allows(a, constraint.attr, type) && Allows(b, constraint.attr, type);
    });
  });
}

// What differs most often comes first: a plugin may bring many kernels of one op.
bool Ties(const KernelRegistration& a, const KernelRegistration& b) {
  return a.priority == b.priority && a.device_type == b.device_type && a.op == b.op &&
         a.label == b.label && ConstraintsOverlap(a, b);
}

// `present` was registered before.
std::string DescribeTie(const KernelRegistration& added, const KernelRegistration& present) {
  const bool added_serves = added.is_builtin && !present.is_builtin;
  return absl::StrCat("kernel ", Describe(added), " ties with ", Describe(present),
                      ": both have priority ", added.priority, ", and that of plugin ",
                      added_serves ? added.plugin : present.plugin, " serves, ",
                      added.is_builtin != present.is_builtin ? "which comes with Millstream"
                                                             : "which was registered first");
}

// The types that the attribute holds: one, or those of a list. False when it is no type attribute.
bool TypesOf(const AttrValue& value, DataTypeList* types) {
  if (const DataType* type = value.get<DataType>()) {
    *types = {*type};
    return true;
  }
  if (const DataTypeList* list = value.get<DataTypeList>()) {
    *types = *list;
    return true;
  }
  return value.is_empty_list();
}

// The first constraint that `attrs` does not satisfy, or null.
const Constraint* FirstUnmet(const KernelRegistration& kernel, const AttrMap& attrs) {
  for (const Constraint& constraint : kernel.constraints) {
    const AttrValue* value = FindAttr(attrs, constraint.attr);
    DataTypeList types;
    if (value == nullptr || !TypesOf(*value, &types)) return &constraint;
    for (DataType type : types) {
      if (!absl::c_linear_search(constraint.types, type)) return &constraint;
    }
  }
  return nullptr;
}

std::string LabelOf(const AttrMap& attrs) {
  const AttrValue* value = FindAttr(attrs, kLabelAttr);
  const std::string* label = value == nullptr ? nullptr : value->get<std::string>();
  return label == nullptr ? std::string() : *label;
}

// A device's own kernel comes before one for every device, then the higher priority wins.
bool IsBetter(const KernelRegistration* a, const KernelRegistration* b) {
  const bool a_any = a->device_type == kAnyDevice;
  const bool b_any = b->device_type == kAnyDevice;
  if (a_any != b_any) return b_any;
  if (a->priority != b->priority) return a->priority > b->priority;
  return a->is_builtin && !b->is_builtin;
}

// Which kernel does not take the node and why; empty if it does, or cannot be asked.
std::string RefusalOf(const KernelRegistration& kernel, const KernelRegistry::Question& ask) {
  if (kernel.supports == nullptr || ask == nullptr) return std::string();
  const Status answer = ask(kernel);
  return answer.ok() ? std::string() : absl::StrCat(Describe(kernel), ": ", answer.message());
}

// Kernels that were passed over for the same reason.
struct Rejection {
  std::string where;  // "CPU kernels (millstream_cpu)"
  std::string what;   // why, up to the types
  std::string attr;   // of the unmet constraint, or empty
  DataTypeList types;
};

// `owner`: of the device type that the kernel is for, when it is shut out there.
Rejection Reject(const KernelRegistration& kernel, absl::string_view device_type,
                 absl::string_view label, const AttrMap& attrs, absl::string_view owner) {
  Rejection rejection;
  rejection.where =
      absl::StrCat(kernel.device_type == kAnyDevice ? "any-device" : kernel.device_type,
                   " kernels (", kernel.plugin, ")");
  if (kernel.device_type != device_type && kernel.device_type != kAnyDevice) {
    rejection.what = "are for another device type";
  } else if (!owner.empty()) {
    rejection.what = absl::StrCat("are not plugin ", owner, "'s, whose devices are not open to ",
                                  "kernels of others (MS_DEVICE_OPEN)");
  } else if (kernel.label != label) {
    rejection.what = kernel.label.empty() ? "have no label"
                                          : absl::StrCat("have the label \"", kernel.label, "\"");
  } else if (const Constraint* unmet = FirstUnmet(kernel, attrs)) {
    const AttrValue* value = FindAttr(attrs, unmet->attr);
    DataTypeList types;
    std::string present = "missing";
    if (value != nullptr) present = TypesOf(*value, &types) ? TypeNames(types) : value->ToString();
    if (types.size() == 1) present = std::string(DataTypeName(types[0]));
    rejection.what = absl::StrCat(unmet->attr, " is ", present, ", they need one of ");
    rejection.attr = unmet->attr;
    rejection.types = unmet->types;
  }
  if (rejection.attr.empty() && !kernel.constraints.empty()) {
    rejection.attr = kernel.constraints.front().attr;
    rejection.types = kernel.constraints.front().types;
    absl::StrAppend(&rejection.what, ", with ", rejection.attr, " in ");
  }
  return rejection;
}

void Merge(Rejection rejection, std::vector<Rejection>* groups) {
  for (Rejection& group : *groups) {
    if (group.where != rejection.where || group.what != rejection.what) continue;
    for (DataType type : rejection.types) {
      if (!absl::c_linear_search(group.types, type)) group.types.push_back(type);
    }
    return;
  }
  groups->push_back(std::move(rejection));
}

// One line for each group.
std::string Reasons(absl::Span<const Rejection> groups) {
  std::string text;
  for (size_t i = 0; i < groups.size() && i < kMaxReasons; ++i) {
    const Rejection& group = groups[i];
    absl::StrAppend(&text, "\n  ", group.where, ": ", group.what,
                    group.attr.empty() ? "" : TypeNames(group.types));
  }
  if (groups.size() > kMaxReasons) {
    absl::StrAppend(&text, "\n  and ", groups.size() - kMaxReasons, " more reasons");
  }
  return text;
}

}  // namespace

KernelRegistry* KernelRegistry::Global() {
  static KernelRegistry* const registry = new KernelRegistry;
  return registry;
}

Status KernelRegistry::Commit(std::vector<KernelRegistration> kernels,
                              const std::function<Status()>& last_condition,
                              std::vector<std::string>* ties) {
  absl::MutexLock lock(&mutex_);
  if (last_condition != nullptr) MS_RETURN_IF_ERROR(last_condition());
  if (ties != nullptr) FindTies(kernels, ties);
  for (KernelRegistration& kernel : kernels) {
    auto owned = std::make_unique<const KernelRegistration>(std::move(kernel));
    kernels_[owned->op].push_back(std::move(owned));
  }
  return absl::OkStatus();
}

void KernelRegistry::FindTies(const std::vector<KernelRegistration>& kernels,
                              std::vector<std::string>* ties) const {
  // By op, so that only kernels of one op are compared.
  absl::flat_hash_map<absl::string_view, Candidates> added;
  for (const KernelRegistration& kernel : kernels) {
    auto present = kernels_.find(kernel.op);
    if (present != kernels_.end()) {
      for (const auto& other : present->second) {
        if (Ties(kernel, *other)) ties->push_back(DescribeTie(kernel, *other));
      }
    }
    Candidates& same_op = added[kernel.op];
    for (const KernelRegistration* other : same_op) {
      if (Ties(kernel, *other)) ties->push_back(DescribeTie(kernel, *other));
    }
    same_op.push_back(&kernel);
  }
}

KernelRegistry::Candidates KernelRegistry::Fitting(absl::string_view op,
                                                   absl::string_view device_type,
                                                   const AttrMap& attrs) const {
  Candidates fitting;
  absl::MutexLock lock(&mutex_);
  const auto present = kernels_.find(op);
  if (present == kernels_.end()) return fitting;
  const std::string label = LabelOf(attrs);
  for (const auto& kernel : present->second) {
    const bool device_fits =
        kernel->device_type == device_type || kernel->device_type == kAnyDevice;
    if (!device_fits || kernel->label != label || FirstUnmet(*kernel, attrs) != nullptr) continue;
    if (!IsShutOut(*kernel)) fitting.push_back(kernel.get());
  }
  if (fitting.size() > 1) absl::c_stable_sort(fitting, IsBetter);
  return fitting;
}

StatusOr<const KernelRegistration*> KernelRegistry::Find(absl::string_view op,
                                                         absl::string_view device_type,
                                                         const AttrMap& attrs,
                                                         const Question& ask) const {
  std::string refusals;
  const Candidates fitting = Fitting(op, device_type, attrs);
  for (const KernelRegistration* const kernel : fitting) {
    const std::string refusal = RefusalOf(*kernel, ask);
    if (refusal.empty()) return kernel;
    absl::StrAppend(&refusals, "\n  ", refusal);
  }
  absl::MutexLock lock(&mutex_);
  const auto present = kernels_.find(op);
  if (present == kernels_.end()) {
    return errors::InvalidArgument("no kernel for op ", op, " on device type ", device_type,
                                   ": no plugin registered one for any device");
  }
  const std::string label = LabelOf(attrs);
  std::vector<Rejection> groups;
  for (const auto& kernel : present->second) {
    if (absl::c_linear_search(fitting, kernel.get())) continue;
    const std::string owner =
        IsShutOut(*kernel) ? closed_types_.at(kernel->device_type) : std::string();
    Merge(Reject(*kernel, device_type, label, attrs, owner), &groups);
  }
  return errors::InvalidArgument(
      "no kernel for op ", op, " on device type ", device_type, " fits this node",
      label.empty() ? "" : absl::StrCat(", which asks for label \"", label, "\""),
      "; there are:", refusals, Reasons(groups));
}

std::string KernelRegistry::Refusals(absl::string_view op, absl::string_view device_type,
                                     const AttrMap& attrs, const Question& ask) const {
  std::vector<std::string> refusals;
  for (const KernelRegistration* const kernel : Fitting(op, device_type, attrs)) {
    std::string refusal = RefusalOf(*kernel, ask);
    if (!refusal.empty()) refusals.push_back(std::move(refusal));
  }
  return absl::StrJoin(refusals, "; ");
}

bool KernelRegistry::IsShutOut(const KernelRegistration& kernel) const {
  if (closed_types_.empty()) return false;
  const auto owner = closed_types_.find(kernel.device_type);
  return owner != closed_types_.end() && owner->second != kernel.plugin;
}

std::string KernelRegistry::CloseDeviceType(const std::string& device_type,
                                            const std::string& plugin) {
  absl::MutexLock lock(&mutex_);
  closed_types_[device_type] = plugin;
  std::map<std::string, int> counts;
  for (const auto& [op, kernels] : kernels_) {
    for (const auto& kernel : kernels) {
      if (kernel->device_type == device_type && IsShutOut(*kernel)) ++counts[kernel->plugin];
    }
  }
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second, " kernels of plugin ", entry.first);
  });
}

std::vector<const KernelRegistration*> KernelRegistry::KernelsOf(absl::string_view op) const {
  absl::MutexLock lock(&mutex_);
  std::vector<const KernelRegistration*> result;
  auto present = kernels_.find(op);
  if (present == kernels_.end()) return result;
  for (const auto& kernel : present->second) result.push_back(kernel.get());
  return result;
}

std::vector<std::string> KernelRegistry::DeviceTypes() const {
  std::set<std::string> types;
  absl::MutexLock lock(&mutex_);
  for (const auto& [op, kernels] : kernels_) {
    for (const auto& kernel : kernels) {
      if (kernel->device_type != kAnyDevice) types.insert(kernel->device_type);
    }
  }
  return std::vector<std::string>(types.begin(), types.end());
}

}  // namespace millstream
