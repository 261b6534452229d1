// One call of an op: what shape functions, kernels and gradient functions know of a node. A node
// gives one (Node::call). What runs without a node makes one:
//
//   MS_ASSIGN_OR_RETURN(const OpDef* op, OpRegistry::Global()->Find("MatMul"));
//   MS_ASSIGN_OR_RETURN(const OwnedOpCall product,
//                       MakeOpCall(*op, {{"transpose_a", true}}, {DataType::kFloat,
//                       DataType::kFloat},
//                                  {1, 1}));
//   Use(product.call());
#ifndef MILLSTREAM_FRAMEWORK_OP_CALL_H_
#define MILLSTREAM_FRAMEWORK_OP_CALL_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "framework/attr_value.h"
#include "framework/dtype.h"
#include "framework/op_def.h"
#include "framework/status.h"

namespace millstream {

// A view: whoever gives it owns all of it.
struct OpCall {
  const OpDef* op = nullptr;
  const AttrMap* attrs = nullptr;            // all that the op has
  const NodeSignature* signature = nullptr;  // with these attributes
  absl::string_view name;                    // the node's, for messages; empty: there is no node

  int num_inputs() const { return static_cast<int>(signature->input_types.size()); }
  int num_outputs() const { return static_cast<int>(signature->output_types.size()); }
  DataType input_type(int i) const { return signature->input_types[i]; }
  DataType output_type(int i) const { return signature->output_types[i]; }
  template <typename T>
  StatusOr<T> Attr(absl::string_view attr) const {
    return GetAttr<T>(*attrs, attr);
  }

  // The argument that tensor `i` of the inputs is for, in messages: "x", or "values[2]" for a list.
  std::string InputName(int i) const;
  // "op MatMul", or "node 'product' (op MatMul)".
  std::string Describe() const;
};

// Owns what a call is a view of.
struct OwnedOpCall {
  const OpDef* op = nullptr;
  AttrMap attrs;
  NodeSignature signature;
  std::string name;

  // Valid until this object goes, moves or changes.
  OpCall call() const { return {op, &attrs, &signature, name}; }
};

// Completes `attrs` by defaults, and by what the input types determine: `input_counts[i]` of them
// are for argument i. Without counts the attributes must be complete but for defaults. The types
// are not compared with the signature, see CheckInputTypes. INVALID_ARGUMENT names the argument or
// the attribute. `op` must outlive the result.
StatusOr<OwnedOpCall> MakeOpCall(const OpDef& op, AttrMap attrs, const DataTypeList& input_types,
                                 const std::vector<int>& input_counts,
                                 bool allow_unknown_attrs = false);

// INVALID_ARGUMENT unless the call takes inputs of these types. kInvalid stands for an input that
// is not there yet, and fits. `describe` says what came as input i, for the message.
Status CheckInputTypes(const OpCall& call, const DataTypeList& types,
                       absl::FunctionRef<std::string(int i)> describe);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OP_CALL_H_
