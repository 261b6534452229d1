// What expands one node of functional control flow (lower_control_flow.h): the nodes that it adds,
// and the loops that they form.
#ifndef MILLSTREAM_CORE_IMPORT_LOWERING_H_
#define MILLSTREAM_CORE_IMPORT_LOWERING_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/import/function_library.h"
#include "core/import/graph_def.h"
#include "core/import/lower_control_flow.h"

namespace millstream {

inline PlannedInput OutputOf(int node, int index = 0) {
  return PlannedInput{node, index, Output()};
}
// The first outputs of the node of `first`.
std::vector<PlannedInput> OutputsOf(const PlannedInput& first, size_t count);
// A control input that waits for the tensor.
inline PlannedInput After(const PlannedInput& tensor) {
  return PlannedInput{tensor.node, TensorName::kControl, tensor.existing};
}
AttrMap Attrs(std::initializer_list<std::pair<const char*, AttrValue>> attrs);

// The base of what expands a node. Each function adds nodes, whose names begin with that of the
// node.
class Lowering {
 public:
  Lowering(int owner, PlanEditor* editor)
      : owner_(owner),
        editor_(*editor),
        attrs_(editor->node(owner).spec.attrs),
        inputs_(editor->node(owner).inputs),
        controls_(editor->node(owner).control_inputs) {}

 protected:
  using Tensors = std::vector<PlannedInput>;
  // A function and what it is called in the names of nodes.
  struct Branch {
    std::string name;
    FunctionRef function;
  };
  // Adds the nodes that decide whether a loop goes on, or those of its body, and gives a bool or
  // the next values of the variables.
  using Decide = absl::FunctionRef<StatusOr<PlannedInput>(const Tensors& variables)>;
  using Repeat = absl::FunctionRef<StatusOr<Tensors>(const Tensors& variables)>;

  template <typename T>
  StatusOr<T> Attr(const char* name) const {
    return GetAttr<T>(attrs_, name);
  }
  // INVALID_ARGUMENT unless the node has `expected` inputs.
  Status CheckInputs(size_t expected) const;

  StatusOr<PlannedInput> Add(const std::string& name, const char* op, AttrMap attrs, Tensors inputs,
                             Tensors controls = {});
  StatusOr<PlannedInput> AddCall(const Branch& branch, const DataTypeList& arguments,
                                 const DataTypeList& results, Tensors inputs, Tensors controls);
  // The two outputs of a Switch are 0, where `choice` is false, and 1.
  StatusOr<PlannedInput> AddSwitch(const std::string& name, DataType type, const PlannedInput& data,
                                   const PlannedInput& choice) {
    return Add(name, "Switch", Attrs({{"T", type}}), {data, choice});
  }
  StatusOr<PlannedInput> AddMerge(const std::string& name, DataType type, const PlannedInput& first,
                                  const PlannedInput& second) {
    return Add(name, "Merge", Attrs({{"T", type}, {"N", 2}}), {first, second});
  }
  StatusOr<PlannedInput> AddInt32(const std::string& name, const std::vector<int32_t>& values,
                                  const Shape& shape);
  StatusOr<PlannedInput> AddInt32(const std::string& name, int32_t value) {
    return AddInt32(name, {value}, Shape());
  }
  // Of two int32 scalars.
  StatusOr<PlannedInput> AddSum(const std::string& name, const PlannedInput& a,
                                const PlannedInput& b) {
    return Add(name, "AddV2", Attrs({{"T", DataType::kInt32}}), {a, b});
  }
  StatusOr<PlannedInput> IsLess(const std::string& name, const PlannedInput& a,
                                const PlannedInput& b) {
    return Add(name, "Less", Attrs({{"T", DataType::kInt32}}), {a, b});
  }

  // Passes a tensor into the loop, where it is the same in all iterations if it is constant.
  StatusOr<PlannedInput> Enter(const std::string& name, DataType type, const PlannedInput& tensor,
                               bool is_constant);
  // A loop of variables that begin as `initial`. Gives their last values.
  StatusOr<Tensors> Loop(const DataTypeList& types, const Tensors& initial, Decide decide,
                         Repeat repeat);
  // The results with the static shapes `shapes`; without these, those of `like`, or unknown ones.
  StatusOr<Tensors> Declared(const DataTypeList& types, const std::vector<PartialShape>& shapes,
                             Tensors results, const Tensors* like);

  const int owner_;
  PlanEditor& editor_;
  const AttrMap attrs_;
  const Tensors inputs_;
  const Tensors controls_;
};

// Expands a MapDefun.
Status LowerMap(int owner, PlanEditor* editor);
// Expands a SymbolicGradient.
Status LowerSymbolicGradient(int owner, const FunctionLibrary& library,
                             const ImportOptions& options, PlanEditor* editor);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_LOWERING_H_
