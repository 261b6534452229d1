// What an operation is: its signature, attributes, documentation and shape function.
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
#include "framework/status.h"

namespace millstream {

class ShapeContext;
struct PluginOpFunctions;  // framework/plugin/op_registration.h

// Finds the output shapes from what is known of the inputs; an error names what is wrong.
using ShapeFunction = Status (*)(ShapeContext* context);
// Finds values of small integer outputs from partially known values of inputs; called after the
// shape function, sets what it can (ShapeContext::SetOutputValue) and is silent about the rest.
using ValueFunction = void (*)(ShapeContext* context);
// True when a statement about an op holds for a node with these attributes.
using AttrCondition = bool (*)(const AttrMap& attrs);
// Estimates the floating-point operations of one execution from the shapes of inputs and outputs,
// which may be known in part (framework/ops/op_cost.h has estimates that several ops share).
using CostFunction = double (*)(absl::Span<const PartialShape> inputs,
                                absl::Span<const PartialShape> outputs);

// What ops may touch that lies outside of the graph and its session.
inline constexpr absl::string_view kTouchesCode = "code";        // runs code that a node names
inline constexpr absl::string_view kTouchesFiles = "files";      // reads or writes files
inline constexpr absl::string_view kTouchesNetwork = "network";  // talks to other machines
inline constexpr absl::string_view kTouchesOutput = "output";    // writes to the program's streams
// What the runtime cannot know: the op is a plugin's. No definition says this.
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
  std::string example;       // lines of a Python shell for the docstring; may be empty
  bool is_stateful = false;  // never folded, merged or duplicated
  bool is_commutative = false;
  bool is_aggregate = false;
  bool allows_uninitialized_input = false;
  bool is_elementwise = false;             // see OpSpec::Elementwise
  AttrCondition keeps_finite = nullptr;    // null: never; see OpSpec::KeepsFinite
  CostFunction cost_function = nullptr;    // null: an execution costs what its memory does
  std::vector<std::string> touches;        // see kTouchesCode and the following
  ShapeFunction shape_function = nullptr;  // null: outputs of unknown shape
  ValueFunction value_function = nullptr;
  // Versions of graphs (GraphDef.versions.producer): those from `deprecated_version` on cannot have
  // the op, for the reason that `deprecation` says; 0: all can.
  uint32_t since_version = 0;
  uint32_t deprecated_version = 0;
  std::string deprecation;
  // Of a plugin's op: the plugin, and the functions that came with it. Else empty and null.
  std::string plugin;
  std::shared_ptr<const PluginOpFunctions> plugin_functions;

  const AttrDef* FindAttr(absl::string_view attr) const;
};

// Where each argument's tensors stand and which types they have, for one set of attributes.
struct NodeSignature {
  DataTypeList input_types;
  DataTypeList output_types;
  // Ref-ness of each tensor, for legacy ops.
  std::vector<bool> input_is_ref;
  std::vector<bool> output_is_ref;
  // First position of each argument, and one past the last at the end.
  std::vector<int> input_starts;
  std::vector<int> output_starts;
};

// True for ops on references to variables, which older graphs have.
bool HasReferences(const OpDef& op);
// Expands the signature. REQUIRES: every attribute that the arguments use is in `attrs`.
StatusOr<NodeSignature> ExpandSignature(const OpDef& op, const AttrMap& attrs);
// Checks kinds and constraints of `attrs` and adds defaults; attributes that start with '_' are
// free. Attributes that the op does not have are INVALID_ARGUMENT unless they equal nothing known
// and `allow_unknown` is set.
Status CompleteAttrs(const OpDef& op, AttrMap* attrs, bool allow_unknown = false);
// Adds the type and number attributes that the input types determine and that are not yet there.
// `input_counts[i]`: how many tensors the caller gave for argument i.
Status InferAttrs(const OpDef& op, const DataTypeList& input_types,
                  const std::vector<int>& input_counts, AttrMap* attrs);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OP_DEF_H_
