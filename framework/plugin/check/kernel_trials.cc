#include "framework/plugin/check/kernel_trials.h"

#include <cmath>
#include <map>
#include <memory>

#include "absl/algorithm/container.h"
#include "framework/plugin/check/case_values.h"
#include "framework/plugin/check/own_op_cases.h"
#include "framework/plugin/host_status.h"

namespace millstream::plugin_check {
namespace {

// Whether the kernel is registered for the attributes, as KernelRegistry::Find sees it.
bool Takes(const KernelRegistration& kernel, const AttrMap& attrs) {
  return absl::c_all_of(kernel.constraints, [&attrs](const auto& constraint) {
    const AttrValue* const attr = FindAttr(attrs, constraint.attr);
    if (attr == nullptr) return false;
    const DataType* const type = attr->get<DataType>();
    const DataTypeList* const types = attr->get<DataTypeList>();
    const auto is_taken = [&constraint](DataType each) {
      return absl::c_linear_search(constraint.types, each);
    };
    return type != nullptr ? is_taken(*type) : types != nullptr && absl::c_all_of(*types, is_taken);
  });
}

std::string TextOf(const KernelRegistration& kernel, const AttrMap& attrs) {
  std::string text = kernel.op;
  absl::string_view separator = "(";
  for (const auto& [name, value] : attrs) {
    const DataType* const type = value.get<DataType>();
    if (type == nullptr) continue;
    absl::StrAppend(&text, separator, name, " ", DataTypeName(*type));
    separator = ", ";
  }
  return text.size() == kernel.op.size() ? text : text + ")";
}

// The greatest mean square of the difference over that of the expected values.
double BoundOf(DataType type) {
  switch (type) {
    case DataType::kHalf: return 1e-5;
    case DataType::kBFloat16: return 1e-3;
    case DataType::kFloat:
    case DataType::kComplex64: return 1e-10;
    default: return 1e-20;
  }
}

// Empty when the values agree within the bound.
std::string NumericDifference(const Tensor& found, const Tensor& expected) {
  std::vector<double> a;
  std::vector<double> b;
  NumbersOf(found, &a);
  NumbersOf(expected, &b);
  double squares = 0;
  double energy = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      if (a[i] == b[i]) continue;
      return absl::StrCat("element ", i, " is ", a[i], ", expected ", b[i]);
    }
    squares += (a[i] - b[i]) * (a[i] - b[i]);
    energy += b[i] * b[i];
  }
  const double error = energy > 0 ? squares / energy : squares;
  if (error <= BoundOf(expected.dtype())) return "";
  return absl::StrCat("the normalised mean square error is ", error, ", at most ",
                      BoundOf(expected.dtype()));
}

std::string TensorDifference(const Tensor& found, const Tensor& expected, bool exact) {
  if (found.has_value() != expected.has_value()) return "it is missing on one side";
  if (!found.has_value()) return "";
  if (found.shape() != expected.shape()) {
    return absl::StrCat("its shape is ", found.shape().ToString(), ", expected ",
                        expected.shape().ToString());
  }
  if (TensorsEqual(found, expected)) return "";
  const bool fractions = IsFloating(expected.dtype()) || IsComplex(expected.dtype());
  if (exact || !fractions) {
    return absl::StrCat("it is ", found.DebugString(4), ", expected ", expected.DebugString(4));
  }
  return NumericDifference(found, expected);
}

}  // namespace

std::vector<Trial> TrialsOf(const KernelRegistration& kernel, std::string* why) {
  const OpDef* const own_op = FindOwnOp(kernel);
  const StatusOr<std::vector<KernelCase>> cases =
      own_op == nullptr ? CasesOf(kernel.op) : DrawCases(*own_op, kernel);
  std::vector<Trial> trials;
  if (why != nullptr) {
    *why = !cases.ok()      ? std::string(cases.status().message())
           : cases->empty() ? absl::StrCat("no cases of ", kernel.op)
                            : absl::StrCat("no cases of ", kernel.op, " of the kernel's types");
  }
  if (!cases.ok()) return trials;
  for (const KernelCase& kernel_case : *cases) {
    if (!Takes(kernel, kernel_case.attrs)) continue;
    const std::string text = absl::StrCat(TextOf(kernel, kernel_case.attrs), " ", kernel_case.text);
    trials.push_back({&kernel, kernel_case, text});
    if (!kernel.label.empty()) {
      SetAttr(&trials.back().kernel_case.attrs, "_kernel", kernel.label);
    }
  }
  return trials;
}

int CountKernels(CheckContext* context) {
  return static_cast<int>(context->plugin->kernels.size());
}

const KernelRegistration& BeginKernel(CheckContext* context, int item) {
  const KernelRegistration& kernel = context->plugin->kernels[static_cast<size_t>(item)];
  context->report->OfKernel(FindOwnOp(kernel) != nullptr, (kernel.flags & MS_KERNEL_ASYNC) != 0);
  return kernel;
}

bool MayDiffer(const KernelRegistration& kernel) {
  const OpDef* const own_op = FindOwnOp(kernel);
  return own_op != nullptr && own_op->is_stateful;
}

const CheckedDevice* DeviceFor(CheckContext* context, const CheckedPlugin& plugin,
                               const std::string& type) {
  using Key = std::pair<const CheckedPlugin*, std::string>;
  static auto* const devices = new std::map<Key, std::unique_ptr<CheckedDevice>>;
  const auto found = devices->find({&plugin, type});
  if (found != devices->end()) return found->second.get();
  std::unique_ptr<CheckedDevice>& device = (*devices)[{&plugin, type}];
  for (const CheckedPlugin* owner : {&plugin, context->Comparison()}) {
    if (owner == nullptr || device != nullptr) continue;
    for (const MS_DeviceDesc* description : owner->descriptions) {
      if (FromAbi(description->device_type) != type || device != nullptr) continue;
      auto created = CheckedDevice::Create(*owner, description->ordinal);
      if (created.ok()) device = *std::move(created);
    }
  }
  return device.get();
}

StatusOr<std::unique_ptr<KernelRun>> CreateRun(CheckContext* context, const Trial& trial) {
  const KernelRegistration& kernel = *trial.kernel;
  return KernelRun::Create(kernel, DeviceFor(context, *context->plugin, kernel.device_type),
                           trial.kernel_case);
}

std::string DifferenceOf(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                         bool exact) {
  for (size_t i = 0; i < expected.size() && i < found.size(); ++i) {
    const std::string text = TensorDifference(found[i], expected[i], exact);
    if (!text.empty()) return absl::StrCat("tensor ", i, ": ", text);
  }
  return "";
}

std::string DifferenceOf(const RunResult& found, const RunResult& expected, bool exact) {
  const std::string outputs = DifferenceOf(found.outputs, expected.outputs, exact);
  if (!outputs.empty()) return "output " + outputs;
  const std::string variables = DifferenceOf(found.variables, expected.variables, exact);
  if (!variables.empty()) return "variable " + variables;
  if (found.philox_counter != expected.philox_counter) {
    return "another number of random blocks was reserved";
  }
  return "";
}

}  // namespace millstream::plugin_check
