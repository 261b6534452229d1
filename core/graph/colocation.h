// Colocation requests: an attribute of a node names the nodes whose device it shares, as
// "loc:@NODE".
#ifndef MILLSTREAM_CORE_GRAPH_COLOCATION_H_
#define MILLSTREAM_CORE_GRAPH_COLOCATION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "framework/attr_value.h"

namespace millstream {

inline constexpr char kColocationAttr[] = "_class";

// The entry of the attribute that names `node`.
std::string ColocationGroup(absl::string_view node);

// The names of nodes in the attribute, in its order. They borrow from `attrs`.
std::vector<absl::string_view> ColocatedWith(const AttrMap& attrs);

// Replaces each name in the attribute by the result of `rename`, if it returns one.
void RenameColocated(absl::FunctionRef<std::optional<std::string>(absl::string_view node)> rename,
                     AttrMap* attrs);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_COLOCATION_H_
