// The functions that a graph, and a GraphDef that is imported into it, can call.
#ifndef MILLSTREAM_CORE_IMPORT_FUNCTION_LIBRARY_H_
#define MILLSTREAM_CORE_IMPORT_FUNCTION_LIBRARY_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "framework/attr_value.h"
#include "framework/message.h"
#include "framework/op_def.h"
#include "framework/proto_conversion.h"
#include "framework/status.h"
#include "millstream/framework/protos/function.pb.h"

namespace millstream {

// A function's signature with the attributes of one call.
struct BoundFunction {
  const proto::FunctionDef* definition = nullptr;
  OpDef signature;           // arguments, results, attributes
  AttrMap attrs;             // a value for each attribute of the signature
  AttrProtoMap attr_protos;  // the same as messages, for the placeholders of the body
  NodeSignature expanded;    // the positions and types of each argument's tensors
};

// Thread-compatible.
class FunctionLibrary {
 public:
  // `present` is the graph's serialized FunctionDefLibrary. `added` is that of a GraphDef; it may
  // repeat functions of `present`. INVALID_ARGUMENT if `present` cannot be parsed. REQUIRES:
  // `added` outlives this object.
  static StatusOr<FunctionLibrary> Create(const std::string& present,
                                          const proto::FunctionDefLibrary& added);

  // The function of this name; null if there is none.
  const proto::FunctionDef* FindOrNull(absl::string_view name) const;
  // Adds all functions.
  void CopyTo(proto::FunctionDefLibrary* library) const;
  // The function with the attributes of a call. NOT_FOUND for an unknown name; INVALID_ARGUMENT for
  // an attribute without a value or with a value of the wrong type.
  StatusOr<BoundFunction> Bind(const FunctionRef& function) const;

 private:
  MessagePtr present_;
  absl::flat_hash_map<std::string, const proto::FunctionDef*> by_name_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_FUNCTION_LIBRARY_H_
