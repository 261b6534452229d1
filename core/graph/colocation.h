// Which nodes ask to be on one device. Each names the others in an attribute, as "loc:@NODE".
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

// The nodes that the attribute names, in its order. They borrow from `attrs`.
std::vector<absl::string_view> ColocatedWith(const AttrMap& attrs);

// Gives each node that the attribute names the name that `rename` gives, where it gives one.
void RenameColocated(absl::FunctionRef<std::optional<std::string>(absl::string_view node)> rename,
                     AttrMap* attrs);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_COLOCATION_H_
