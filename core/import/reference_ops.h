// What ops do with references to variables, and which ops do the same with handles.
#ifndef MILLSTREAM_CORE_IMPORT_REFERENCE_OPS_H_
#define MILLSTREAM_CORE_IMPORT_REFERENCE_OPS_H_

#include <string>

#include "core/graph/graph.h"
#include "framework/op_def.h"
#include "framework/status.h"

namespace millstream {

inline constexpr char kReferencePrefix[] = "Ref";  // of the names of control flow ops

// What an op does with references.
enum class ReferenceUse {
  kNone,         // it takes none but to read them, and gives none
  kVariable,     // it gives one to a variable
  kResource,     // it gives one to the name of a queue or the like
  kUpdate,       // it changes the variable of its first input and passes the reference on
  kPass,         // it passes the reference on
  kControlFlow,  // it passes references on, or not
  kQuery,        // it takes one and gives tensors
};

ReferenceUse ReferenceUseOf(const OpDef& op);

// The op that does on a handle what `op` does on a reference. UNIMPLEMENTED if there is none.
StatusOr<const OpDef*> TwinOf(const OpDef& op);

// The attributes of `twin`, from those of an op that calls the variable's type T or dtype. What the
// runtime itself reads ("_class") stays.
AttrMap AttrsOfTwin(const OpDef& twin, const AttrMap& from);

// The name under which a variable lives. That of a temporary one is no other variable's.
StatusOr<std::string> SharedNameOf(const NodeSpec& variable);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_REFERENCE_OPS_H_
