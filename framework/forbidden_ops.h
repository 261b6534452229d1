// The ops that a program forbids in its graphs or steps (docs/security.md).
#ifndef MILLSTREAM_FRAMEWORK_FORBIDDEN_OPS_H_
#define MILLSTREAM_FRAMEWORK_FORBIDDEN_OPS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "framework/op_def.h"
#include "framework/status.h"

namespace millstream {

// A set of forbidden ops. A copyable value; the default forbids nothing.
class ForbiddenOps {
 public:
  ForbiddenOps() = default;
  // Each entry is a category of effects ("files", see kTouchesFiles) or the name of an op, which
  // need not exist. INVALID_ARGUMENT for an entry that can be neither, so that spelling errors are
  // found.
  static StatusOr<ForbiddenOps> Create(const std::vector<std::string>& entries);

  bool empty() const { return entries_.empty(); }
  // PERMISSION_DENIED, with the entry and the option, if the op is forbidden.
  Status Check(const OpDef& op) const;

 private:
  absl::flat_hash_set<std::string> entries_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_FORBIDDEN_OPS_H_
