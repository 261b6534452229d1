#include "framework/plugin/reserved_ops.h"

#include <string>

#include "absl/container/flat_hash_set.h"

namespace millstream {
namespace {

absl::flat_hash_set<std::string>& ReservedOps() {
  static auto* const ops = new absl::flat_hash_set<std::string>();
  return *ops;
}

}  // namespace

void ReserveOp(absl::string_view op) { ReservedOps().emplace(op); }

bool IsReservedOp(absl::string_view op) { return ReservedOps().contains(op); }

}  // namespace millstream
