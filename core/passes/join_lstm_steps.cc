// join_lstm_steps: makes one operation of the steps of an LSTM that fuse_lstm_steps found, one
// after the other:
//
//   h[t], c[t] = _LstmStep(x_gates[t], h[t - 1], c[t - 1], weights, bias) for all t becomes
//   h[0], ..., c[0], ... = _LstmSteps(x_gates[0], ..., h[-1], c[-1], weights, bias)
//
// One team of threads does all of it, where starting one for each step would take a tenth of the
// time of a step of 256 units. The operation stands where the first step stood; so nothing that a
// step needs may follow from another step, unless it is the state. No bit changes.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/passes/joined_products.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kStep[] = "_LstmStep";
constexpr char kSteps[] = "_LstmSteps";

// The attributes that all steps have in common.
constexpr absl::string_view kCommon[] = {"T", "num_biases", "first_row", "forget_bias"};

// Inputs and outputs of a step.
enum StepInput : size_t { kGates, kState, kMemory, kWeights };
enum StepOutput : size_t { kNextState, kNextMemory };

bool AreAlike(const StepOp& a, const StepOp& b) {
  for (const absl::string_view name : kCommon) {
    const AttrValue* const of_a = FindAttr(a.node->attrs(), name);
    const AttrValue* const of_b = FindAttr(b.node->attrs(), name);
    if (of_a == nullptr || of_b == nullptr || *of_a != *of_b) return false;
  }
  return a.inputs.size() == b.inputs.size() &&
         std::equal(a.inputs.begin() + kWeights, a.inputs.end(), b.inputs.begin() + kWeights);
}

// The step that goes on with what `step` gives; -1 if there is none.
int NextStep(const StepOps& ops, const StepOp& step) {
  for (const int reader : ops.Readers(step.outputs[kNextState])) {
    const StepOp& next = ops.op(reader);
    if (next.type() == kStep && !next.must_run && next.inputs[kState] == step.outputs[kNextState] &&
        next.inputs[kMemory] == step.outputs[kNextMemory] && AreAlike(step, next)) {
      return reader;
    }
  }
  return -1;
}

std::vector<Output> OutputsOf(const StepOps& ops, const std::vector<int>& steps, size_t number) {
  std::vector<Output> values;
  for (const int step : steps) values.push_back(ops.op(step).outputs[number]);
  return values;
}

// True if all steps can stand where the first one stands.
bool CanBeOne(const StepOps& ops, const std::vector<int>& steps, const std::vector<Output>& gates) {
  const std::vector<Output> states = OutputsOf(ops, steps, kNextState);
  std::vector<Output> values = OutputsOf(ops, steps, kNextMemory);
  values.insert(values.end(), states.begin(), states.end());
  return !FollowsAny(ops, Consequences(ops, values), gates) &&
         ops.CanPrecede(states, steps.front() + 1);
}

// Returns whether the steps from operation `first` on became one.
StatusOr<bool> JoinFrom(StepOps* ops, int first) {
  std::vector<int> steps;
  for (int i = first; i >= 0; i = NextStep(*ops, ops->op(i))) steps.push_back(i);
  if (steps.size() < 2) return false;
  std::vector<Output> inputs;
  for (const int step : steps) inputs.push_back(ops->op(step).inputs[kGates]);
  if (!CanBeOne(*ops, steps, inputs)) return false;
  const StepOp step = ops->op(first);
  const Node* const like = ops->op(steps.back()).node;
  AttrMap attrs;
  for (const absl::string_view name : kCommon) {
    SetAttr(&attrs, name, *FindAttr(step.node->attrs(), name));
  }
  SetAttr(&attrs, "num_steps", static_cast<int64_t>(steps.size()));
  if (!ops->HasKernel(kSteps, attrs)) return false;
  inputs.insert(inputs.end(), step.inputs.begin() + kState, step.inputs.end());
  std::vector<Output> outputs = OutputsOf(*ops, steps, kNextState);
  const std::vector<Output> memories = OutputsOf(*ops, steps, kNextMemory);
  outputs.insert(outputs.end(), memories.begin(), memories.end());
  MS_RETURN_IF_ERROR(ops->Replace(first, steps, kSteps, std::move(attrs), *like, std::move(inputs),
                                  std::move(outputs)));
  return true;
}

Status JoinLstmSteps(StepOps* ops) {
  bool any = false;
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i) || ops->op(i).type() != kStep || ops->op(i).must_run) continue;
    MS_ASSIGN_OR_RETURN(const bool joined, JoinFrom(ops, i));
    any = any || joined;
  }
  if (any) ops->Reorder();
  return absl::OkStatus();
}

// After fuse_lstm_steps.
MILLSTREAM_PASS("join_lstm_steps", 16, JoinLstmSteps);

}  // namespace
}  // namespace millstream
