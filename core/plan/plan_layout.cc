#include "core/plan/plan_layout.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/plan/memory_planner.h"
#include "core/plan/plan_capture.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/kernel_info.h"

namespace millstream {
namespace {

// A call that touches more than this may take long enough for a user to press Ctrl-C.
constexpr int64_t kLongCallBytes = 1 << 18;

bool ShapesKnown(const std::vector<ValueRef>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const ValueRef& value) { return value.shape_known; });
}

// True if the input of `pair` is also another input of the instruction, one that the kernel does
// not read element by element while it writes.
bool ReadElsewhere(const Instruction& instruction, const MS_InPlacePair& pair) {
  const std::vector<MS_InPlacePair>& pairs = instruction.kernel->registration().in_place;
  const ValueRef& taken = instruction.inputs[pair.input];
  for (uint32_t i = 0; i < instruction.inputs.size(); ++i) {
    if (i == pair.input || instruction.inputs[i].root != taken.root) continue;
    const bool declared = std::any_of(pairs.begin(), pairs.end(), [&](const MS_InPlacePair& other) {
      return other.output == pair.output && other.input == i;
    });
    if (!declared || instruction.inputs[i].shape != taken.shape) return true;
  }
  return false;
}

// Integer inputs are parameters such as axes. Floating-point inputs are weights, of which a kernel
// may keep a prepared copy.
bool IsShown(const Instruction& instruction, const Root& root) {
  const bool is_weight = IsFloating(root.dtype) || IsComplex(root.dtype);
  return root.kind == RootKind::kConstant && (instruction.prepares_constants || !is_weight);
}

class PlanLayout {
 public:
  explicit PlanLayout(Plan* plan) : plan_(*plan) {}
  Status Run();

 private:
  void FindLastReads();
  Status Specialize(Instruction* instruction);
  void ShareInPlace();
  Status PlanSlab();
  void NumberSlots();
  void NumberViews();
  void AddPlaces(int first_view, const std::vector<ValueRef>& values, bool are_outputs);
  void MarkWorkAfterCalls();

  Plan& plan_;
  std::vector<int> storage_;  // of each root: the root whose memory it uses
};

void PlanLayout::FindLastReads() {
  for (size_t i = 0; i < plan_.instructions.size(); ++i) {
    const Instruction& instruction = plan_.instructions[i];
    for (const ValueRef& output : instruction.outputs) {
      plan_.roots[output.root].last = static_cast<int>(i);
    }
    for (const ValueRef& input : instruction.inputs) {
      plan_.roots[input.root].last = static_cast<int>(i);
    }
  }
  for (const FetchPlan& fetch : plan_.fetches) {
    plan_.roots[fetch.value.root].last = std::numeric_limits<int>::max();
  }
}

Status PlanLayout::Specialize(Instruction* instruction) {
  if (instruction->kernel == nullptr) return absl::OkStatus();
  const KernelRegistration& registration = instruction->kernel->registration();
  if (registration.specialize == nullptr || !ShapesKnown(instruction->inputs) ||
      !ShapesKnown(instruction->outputs)) {
    return absl::OkStatus();
  }
  std::vector<MS_Dims> inputs;
  std::vector<MS_Dims> outputs;
  std::vector<MS_TensorView> constants;
  for (const ValueRef& input : instruction->inputs) {
    const Root& root = plan_.roots[input.root];
    inputs.push_back(DimsToAbi(input.shape));
    constants.push_back(IsShown(*instruction, root) ? MakeView(root.constant, nullptr)
                                                    : NullView());
  }
  for (const ValueRef& output : instruction->outputs) outputs.push_back(DimsToAbi(output.shape));
  const StatusOr<KernelInstance::ShapeState> prepared =
      instruction->kernel->Specialize(inputs, constants, outputs, plan_.settings->intra_op_threads);
  if (!prepared.ok()) return AnnotateWithNode(prepared.status(), *instruction->node);
  instruction->shape_state = prepared->state;
  instruction->scratch_bytes = prepared->scratch_bytes;
  return absl::OkStatus();
}

// Assigns the memory of an input without later readers to an output, if the kernel allows it.
void PlanLayout::ShareInPlace() {
  storage_.resize(plan_.roots.size());
  for (size_t r = 0; r < storage_.size(); ++r) storage_[r] = static_cast<int>(r);
  if (!plan_.settings->features.in_place) return;
  for (size_t i = 0; i < plan_.instructions.size(); ++i) {
    const Instruction& instruction = plan_.instructions[i];
    if (instruction.kernel == nullptr || instruction.checks != nullptr) continue;
    std::vector<int> taken;
    for (const MS_InPlacePair& pair : instruction.kernel->registration().in_place) {
      if (pair.output >= instruction.outputs.size() || pair.input >= instruction.inputs.size()) {
        continue;
      }
      const ValueRef& input = instruction.inputs[pair.input];
      const ValueRef& output = instruction.outputs[pair.output];
      const Root& from = plan_.roots[input.root];
      const Root& to = plan_.roots[output.root];
      const bool fits = from.kind == RootKind::kPlanned && to.kind == RootKind::kPlanned &&
                        from.last == static_cast<int>(i) && input.shape == output.shape &&
                        DataTypeSize(from.dtype) == DataTypeSize(to.dtype);
      const bool free = std::find(taken.begin(), taken.end(), input.root) == taken.end() &&
                        storage_[output.root] == output.root;
      if (ReadElsewhere(instruction, pair)) continue;
      if (!fits || !free) continue;
      storage_[output.root] = storage_[input.root];
      taken.push_back(input.root);
    }
  }
}

Status PlanLayout::PlanSlab() {
  std::vector<MemoryRequest> requests;
  std::vector<int> request_of(plan_.roots.size(), -1);
  for (size_t r = 0; r < plan_.roots.size(); ++r) {
    const Root& root = plan_.roots[r];
    if (root.kind != RootKind::kPlanned) continue;
    // A root's storage was computed before it, so its request is there.
    const int owner = storage_[r];
    if (owner == static_cast<int>(r)) {
      request_of[r] = static_cast<int>(requests.size());
      requests.push_back(MemoryRequest{root.bytes(), root.first, root.last, -1});
    } else {
      MemoryRequest& request = requests[request_of[owner]];
      request.last = std::max(request.last, root.last);
    }
  }
  const size_t first_scratch = requests.size();
  for (size_t i = 0; i < plan_.instructions.size(); ++i) {
    const int64_t bytes = plan_.instructions[i].scratch_bytes;
    if (bytes == 0) continue;
    requests.push_back(MemoryRequest{bytes, static_cast<int>(i), static_cast<int>(i), -1});
  }
  plan_.slab_bytes = PlanMemory(&requests);
  // Empty tensors have an address too, which marks them as planned.
  if (plan_.slab_bytes == 0 && !requests.empty()) plan_.slab_bytes = 1;
  if (plan_.slab_bytes < 0) {
    return errors::ResourceExhausted("out of memory: the step's tensors exceed 2^62 bytes");
  }
  for (size_t r = 0; r < plan_.roots.size(); ++r) {
    if (plan_.roots[r].kind != RootKind::kPlanned) continue;
    plan_.roots[r].offset = requests[request_of[storage_[r]]].offset;
  }
  size_t next = first_scratch;
  for (Instruction& instruction : plan_.instructions) {
    if (instruction.scratch_bytes != 0) instruction.scratch_offset = requests[next++].offset;
  }
  return absl::OkStatus();
}

void PlanLayout::NumberSlots() {
  for (size_t r = 0; r < plan_.roots.size(); ++r) {
    Root& root = plan_.roots[r];
    if (root.kind != RootKind::kSlot && root.kind != RootKind::kEscaping) continue;
    root.index = plan_.num_slots++;
    if (root.kind == RootKind::kEscaping) plan_.escaping_roots.push_back(static_cast<int>(r));
  }
}

// Views of feeds and slots move from step to step: the places where they stand are noted. The
// output view of a slot is set by the kernel itself.
void PlanLayout::AddPlaces(int first_view, const std::vector<ValueRef>& values, bool are_outputs) {
  for (size_t k = 0; k < values.size(); ++k) {
    Root& root = plan_.roots[values[k].root];
    const bool moves = root.kind == RootKind::kFeed || root.kind == RootKind::kEscaping ||
                       (root.kind == RootKind::kSlot && !are_outputs);
    if (!moves) continue;
    root.places.push_back(ViewPlace{first_view + static_cast<int>(k), !values[k].shape_known});
  }
}

void PlanLayout::NumberViews() {
  for (Instruction& instruction : plan_.instructions) {
    instruction.first_input_view = plan_.num_views;
    plan_.num_views += static_cast<int>(instruction.inputs.size());
    instruction.first_output_view = plan_.num_views;
    plan_.num_views += static_cast<int>(instruction.outputs.size());
    AddPlaces(instruction.first_input_view, instruction.inputs, false);
    AddPlaces(instruction.first_output_view, instruction.outputs, true);
  }
}

void PlanLayout::MarkWorkAfterCalls() {
  for (const Root& root : plan_.roots) {
    if (root.kind != RootKind::kSlot || root.last == std::numeric_limits<int>::max()) continue;
    plan_.instructions[root.last].release.push_back(root.index);
  }
  for (size_t i = 0; i < plan_.instructions.size(); ++i) {
    const Instruction& instruction = plan_.instructions[i];
    uint32_t& after = plan_.calls[i].after;
    double bytes = 0;  // the sum of sizes that saturate
    for (const ValueRef& output : instruction.outputs) {
      if (plan_.roots[output.root].kind == RootKind::kSlot) after |= kAfterOutputs;
      bytes += static_cast<double>(plan_.roots[output.root].bytes());
    }
    for (const ValueRef& input : instruction.inputs) {
      if (plan_.roots[input.root].kind == RootKind::kHandle) after |= kAfterLocks;
      bytes += static_cast<double>(plan_.roots[input.root].bytes());
    }
    if (!instruction.release.empty()) after |= kAfterRelease;
    if (bytes > kLongCallBytes) after |= kAfterCheck;
  }
}

Status PlanLayout::Run() {
  FindLastReads();
  for (Instruction& instruction : plan_.instructions) {
    MS_RETURN_IF_ERROR(Specialize(&instruction));
  }
  ShareInPlace();
  MS_RETURN_IF_ERROR(PlanSlab());
  NumberSlots();
  NumberViews();
  MarkWorkAfterCalls();
  FindCapturedRows(&plan_);
  return absl::OkStatus();
}

}  // namespace

Status LayOutPlan(Plan* plan) { return PlanLayout(plan).Run(); }

}  // namespace millstream
