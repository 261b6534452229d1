#include "core/dynamic/finish_program.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace millstream {
namespace {

// An output counts as used when something reads it, or its node is a target.
void MarkUsedOutputs(const DynamicRequest& request, DynamicProgram* program) {
  const std::vector<const Node*>& targets = request.signature->targets;
  const absl::flat_hash_set<const Node*> is_target(targets.begin(), targets.end());
  for (NodeProgram& node : program->nodes) {
    node.first_used_word = static_cast<uint32_t>(program->used_words.size());
    program->used_words.resize(program->used_words.size() + node.num_outputs / 64 + 1);
    uint64_t* const words = &program->used_words[node.first_used_word];
    for (uint32_t k = 0; k < node.num_outputs; ++k) {
      const bool used = program->outputs[node.first_output + k].uses > 0;
      if (used || is_target.contains(node.node)) words[k / 64] |= uint64_t{1} << (k % 64);
    }
  }
}

// True if the order of executions in different iterations changes the results: a random stream
// continues from one execution to the next.
bool DependsOnOrder(const DynamicProgram& program) {
  return std::any_of(program.nodes.begin(), program.nodes.end(), [](const NodeProgram& node) {
    return node.frame != 0 && node.node->op().is_stateful &&
           FindAttr(node.node->attrs(), "seed") != nullptr;
  });
}

// Allows long kernels to run on other threads if that does not change the results.
void AllowBeside(const DynamicRequest& request, DynamicProgram* program) {
  program->costs = std::make_unique<std::atomic<uint32_t>[]>(program->nodes.size());
  if (request.settings->options.deterministic || DependsOnOrder(*program)) return;
  for (NodeProgram& node : program->nodes) {
    // A device's kernels only enqueue.
    node.may_run_beside = node.action == NodeAction::kKernel && !node.node->op().is_stateful &&
                          program->memory == nullptr;
  }
}

// Only the step itself has nodes that wait for nothing: in a loop all follow from an Enter.
void FindReadyNodes(DynamicProgram* program) {
  for (size_t i = 0; i < program->nodes.size(); ++i) {
    const NodeProgram& node = program->nodes[i];
    if (node.frame != 0) continue;
    Pending& pending = program->frames[0].pending[node.local];
    if (pending.waits > 0) continue;
    if (node.action == NodeAction::kMerge && pending.live == Pending::kNone) continue;
    program->ready_at_start.push_back(static_cast<uint32_t>(i));
    if (node.action == NodeAction::kMerge) pending.waits = Pending::kTooLate;
  }
}

}  // namespace

void FinishProgram(const DynamicRequest& request, DynamicProgram* program) {
  MarkUsedOutputs(request, program);
  FindReadyNodes(program);
  AllowBeside(request, program);
}

}  // namespace millstream
