// The functions that a graph and what is imported into it can call.
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
  AttrProtoMap attr_protos;  // the same, as a body's placeholders take them
  NodeSignature expanded;    // where each argument's tensors stand, and their types
};

// Thread-compatible.
class FunctionLibrary {
 public:
  // `present`: FunctionDefLibrary bytes of the graph; `added`: that of a GraphDef, which must
  // outlive this and may repeat functions of `present`. INVALID_ARGUMENT for bytes that are no such
  // message.
  static StatusOr<FunctionLibrary> Create(const std::string& present,
                                          const proto::FunctionDefLibrary& added);

  // Null when there is none.
  const proto::FunctionDef* FindOrNull(absl::string_view name) const;
  // The function with attributes. NOT_FOUND for an unknown name; INVALID_ARGUMENT for an attribute
  // that has no value, or one of another type.
  StatusOr<BoundFunction> Bind(const FunctionRef& function) const;

 private:
  MessagePtr present_;
  absl::flat_hash_map<std::string, const proto::FunctionDef*> by_name_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_FUNCTION_LIBRARY_H_
