// The definition of an op: its signature, attributes, documentation and functions.
#ifndef MILLSTREAM_FRAMEWORK_OP_DEF_H_
#define MILLSTREAM_FRAMEWORK_OP_DEF_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "framework/attr_value.h"
#include "framework/dtype.h"
#include "framework/numeric_bounds.h"
#include "framework/status.h"

namespace millstream {

class ShapeContext;
struct PluginOpFunctions;  // framework/plugin/op_registration.h

// Computes the output shapes from the facts about the inputs. INVALID_ARGUMENT if they do not fit.
using ShapeFunction = Status (*)(ShapeContext* context);
// Computes values of small integer outputs from partially known values of inputs. Called after the
// shape function. Calls ShapeContext::SetOutputValue for the outputs that it can compute.
using ValueFunction = void (*)(ShapeContext* context);
// True if a property of an op holds for a node with these attributes.
using AttrCondition = bool (*)(const AttrMap& attrs);
// Estimates the floating-point operations of one execution from the shapes of inputs and outputs,
// which may be known in part (framework/ops/op_cost.h has estimates that several ops share).
using CostFunction = double (*)(absl::Span<const PartialShape> inputs,
                                absl::Span<const PartialShape> outputs);
// Computes bounds of the variables, which are the first inputs, after an execution on inputs with
// these bounds. Empty if a result, or an intermediate value, may not be finite.
using BoundsRule = NumericBoundsList (*)(absl::Span<const NumericBounds> inputs);
// The rule of a node with these attributes; null if it has none.
using BoundsRuleFunction = BoundsRule (*)(const AttrMap& attrs);

// The effects of ops outside of the graph and its session.
inline constexpr absl::string_view kTouchesCode = "code";        // runs code that a node names
inline constexpr absl::string_view kTouchesFiles = "files";      // reads or writes files
inline constexpr absl::string_view kTouchesNetwork = "network";  // talks to other machines
inline constexpr absl::string_view kTouchesOutput = "output";    // writes to the program's streams
// Stands for the unknown effects of a plugin's op. No definition uses it.
inline constexpr absl::string_view kTouchesPlugins = "plugins";

// One argument. Exactly one of these describes its type:
//   type != kInvalid       that type, `number_attr` times if set
//   !type_attr.empty()     the type attribute's value, `number_attr` times if set
//   !type_list_attr.empty() one tensor for each type of the list
struct ArgDef {
  std::string name;
  DataType type = DataType::kInvalid;
  std::string type_attr;
  std::string number_attr;
  std::string type_list_attr;
  bool is_ref = false;
};

struct AttrDef {
  std::string name;
  // "int", "float", "bool", "string", "type", "shape", "tensor", "func", "list(...)".
  std::string type;
  std::optional<AttrValue> default_value;
  DataTypeList allowed_types;                // empty: any
  std::vector<std::string> allowed_strings;  // empty: any
  std::optional<int64_t> minimum;            // of an int, or of a list's length
};

struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  std::string doc;           // first line: a summary
  std::string example;       // lines of a Python shell, for the docstring; may be empty
  bool is_stateful = false;  // never folded, merged or duplicated
  bool is_commutative = false;
  bool is_aggregate = false;
  bool allows_uninitialized_input = false;
  bool is_elementwise = false;               // see OpSpec::Elementwise
  AttrCondition keeps_finite = nullptr;      // null: never; see OpSpec::KeepsFinite
  CostFunction cost_function = nullptr;      // null: the cost is that of accessing its memory
  bool costs_nothing = false;                // see OpSpec::CostsNothing
  bool is_speculatable = false;              // see OpSpec::Speculatable
  bool shares_outputs = false;               // see OpSpec::SharesOutputs
  BoundsRuleFunction bounds_rule = nullptr;  // null: no node has one; see OpSpec::UpdateBounds
  std::vector<std::string> touches;          // see kTouchesCode and the following
  ShapeFunction shape_function = nullptr;    // null: outputs of unknown shape
  ValueFunction value_function = nullptr;
  // Graphs whose version (GraphDef.versions.producer) is `deprecated_version` or more cannot have
  // the op; `deprecation` is the reason. 0: all graphs can.
  uint32_t since_version = 0;
  uint32_t deprecated_version = 0;
  std::string deprecation;
  // For a plugin's op: the plugin and the op's functions. Else empty and null.
  std::string plugin;
  std::shared_ptr<const PluginOpFunctions> plugin_functions;

  const AttrDef* FindAttr(absl::string_view attr) const;
};

// The positions and types of each argument's tensors, for one set of attributes.
struct NodeSignature {
  DataTypeList input_types;
  DataTypeList output_types;
  // Whether each tensor is a reference, for legacy ops.
  std::vector<bool> input_is_ref;
  std::vector<bool> output_is_ref;
  // First position of each argument, and one past the last at the end.
  std::vector<int> input_starts;
  std::vector<int> output_starts;
};

// True for ops on references to variables, which old graphs have.
bool HasReferences(const OpDef& op);
// Expands the signature. REQUIRES: every attribute that the arguments use is in `attrs`.
StatusOr<NodeSignature> ExpandSignature(const OpDef& op, const AttrMap& attrs);
// Checks the types and constraints of `attrs` and adds defaults. Attributes that start with '_' are
// not checked. INVALID_ARGUMENT for wrong or missing attributes, and for attributes that the op
// does not have unless `allow_unknown` is set.
Status CompleteAttrs(const OpDef& op, AttrMap* attrs, bool allow_unknown = false);
// Adds missing type and number attributes that follow from the input types. `input_counts[i]` is
// the number of tensors of argument i. INVALID_ARGUMENT if the inputs contradict each other.
Status InferAttrs(const OpDef& op, const DataTypeList& input_types,
                  const std::vector<int>& input_counts, AttrMap* attrs);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OP_DEF_H_
