// simplify_arithmetic: removes operations whose result exists already, and makes others cheaper.
// The rules are in simplify_numbers.cc and simplify_layout.cc.
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/passes/pass.h"
#include "core/passes/rewrite_rule.h"

namespace millstream {
namespace {

// By op. Filled before main, constant afterwards.
absl::flat_hash_map<std::string, std::vector<RewriteFunction>>& Rules() {
  static auto* const rules = new absl::flat_hash_map<std::string, std::vector<RewriteFunction>>;
  return *rules;
}

// Whether a rule applied.
StatusOr<bool> SimplifyOnce(StepOps* ops, int i) {
  auto rules = Rules().find(ops->op(i).type());
  if (rules == Rules().end()) return false;
  for (RewriteFunction rule : rules->second) {
    MS_ASSIGN_OR_RETURN(const bool applied, rule(ops, i));
    if (applied) return true;
  }
  return false;
}

// Every rule removes its operation or replaces it by a cheaper one, so the loop ends. The limit is
// for rules that contradict each other.
Status Simplify(StepOps* ops, int i) {
  constexpr int kMost = 8;
  for (int k = 0; k < kMost && !ops->IsGone(i) && !ops->op(i).must_run; ++k) {
    const Node* const node = ops->op(i).node;
    const StatusOr<bool> applied = SimplifyOnce(ops, i);
    if (!applied.ok()) return AnnotateWithNode(applied.status(), *node);
    if (!*applied) break;
  }
  return absl::OkStatus();
}

// Visits operations in order, so that the inputs of an operation are simplified before it.
Status SimplifyArithmetic(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) MS_RETURN_IF_ERROR(Simplify(ops, i));
  return absl::OkStatus();
}

MILLSTREAM_PASS("simplify_arithmetic", 8, SimplifyArithmetic);

}  // namespace

RewriteRegistration::RewriteRegistration(const char* op, RewriteFunction function) {
  Rules()[op].push_back(function);
}

}  // namespace millstream
