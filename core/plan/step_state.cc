#include "core/plan/step_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/plan/running_steps.h"
#include "core/resources/run_time_handle.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {
namespace {

// Where a view has the elements of a tensor: linear memory by its address, other memory as the
// plugin named it.
void PointView(const Tensor& tensor, MS_TensorView* view) {
  const bool is_opaque = tensor.buffer() && tensor.buffer()->is_opaque();
  const MS_MemRef place = is_opaque ? PlaceOf(tensor) : MS_MemRef{tensor.raw(), 0, 0, 0, 0};
  view->mem.base = place.base;
  view->mem.offset = place.offset;
}

MS_TensorView TemplateView(const Plan& plan, const ValueRef& value, const BufferRef& slab) {
  const Root& root = plan.roots[value.root];
  MS_TensorView view = NullView();
  view.dtype = ToAbiDataType(root.dtype);
  view.flags = root.in_host ? MS_VIEW_HOST : 0;
  view.mem.space = root.in_host ? MS_SPACE_HOST : MS_SPACE_DEVICE;
  view.mem.device_index = root.in_host || plan.memory == nullptr ? 0 : plan.memory->ordinal();
  if (!root.in_host && plan.memory->is_opaque()) view.flags |= MS_VIEW_OPAQUE;
  if (value.shape_known) {
    view.dims = value.shape.dims().data();
    view.rank = static_cast<uint32_t>(value.shape.rank());
    view.mem.bytes = value.shape.num_elements() * DataTypeSize(root.dtype);
  }
  switch (root.kind) {
    case RootKind::kConstant:
      PointView(root.in_host ? root.constant : root.device_constant, &view);
      view.flags |= MS_VIEW_CONST;
      break;
    case RootKind::kHandle: PointToResource(root.resource.get(), &view); break;
    case RootKind::kPlanned:
      PointView(Tensor(root.dtype, root.shape, slab, root.offset), &view);
      break;
    default: break;
  }
  return view;
}

// The output's view before its kernel ran: planned memory, or nothing.
MS_TensorView OutputView(const Plan& plan, const ValueRef& value, const BufferRef& slab) {
  const RootKind kind = plan.roots[value.root].kind;
  if (kind == RootKind::kPlanned || kind == RootKind::kEscaping) {
    return TemplateView(plan, value, slab);
  }
  return NullView();
}

void SetScratch(const Instruction& instruction, const BufferRef& slab, MS_Frame* frame) {
  if (instruction.scratch_offset < 0) return;
  const Tensor scratch(DataType::kUInt8, Shape({instruction.scratch_bytes}), slab,
                       instruction.scratch_offset);
  frame->scratch_mem = PlaceOf(scratch);
  if (!slab->is_opaque()) frame->scratch = scratch.raw();
}

// The error of a state that cannot be allocated, with the plan's largest tensors.
Status OutOfMemory(const Plan& plan, const Status& cause) {
  std::vector<LiveTensor> wanted;
  const Root* largest = nullptr;
  for (const Root& root : plan.roots) {
    if (root.kind != RootKind::kPlanned && root.kind != RootKind::kEscaping) continue;
    wanted.push_back(LiveTensor::Of(root.source, root.dtype, root.shape, root.bytes()));
    if (largest == nullptr || root.bytes() > largest->bytes()) largest = &root;
  }
  if (plan.settings->resources != nullptr) {
    AddVariables(*plan.settings->resources, plan.memory, &wanted);
  }
  std::string text =
      absl::StrCat("out of memory: the step needs ", plan.slab_bytes, " bytes for its tensors");
  if (!cause.ok()) absl::StrAppend(&text, ": ", cause.message());
  const Status full = errors::ResourceExhausted(text);
  return WithLargest(largest == nullptr ? full : AnnotateWithNode(full, *largest->source.node),
                     std::move(wanted));
}

StatusOr<BufferRef> NewSlab(const Plan& plan) {
  if (plan.memory != nullptr) {
    StatusOr<BufferRef> slab = plan.memory->AllocateBuffer(plan.slab_bytes);
    if (absl::IsResourceExhausted(slab.status())) return OutOfMemory(plan, slab.status());
    return slab;
  }
  BufferRef slab = NewBuffer(HostAllocator(), DataType::kUInt8, plan.slab_bytes);
  if (!slab) return OutOfMemory(plan, absl::OkStatus());
  return slab;
}

}  // namespace

StatusOr<std::unique_ptr<StepState>> StepState::Create(const Plan* plan) {
  auto state = std::make_unique<StepState>();
  state->plan = plan;
  state->memory = plan->memory;
  if (plan->slab_bytes > 0) {
    MS_ASSIGN_OR_RETURN(state->slab, NewSlab(*plan));
  }
  const BufferRef& slab = state->slab;
  const size_t count = plan->instructions.size();
  state->frames.resize(count);
  state->contexts.resize(count);
  state->views.resize(plan->num_views, NullView());
  state->slots.resize(plan->num_slots);
  state->kept_buffers.resize(plan->num_slots);
  state->temps.reserve(kMaxTemps);
  state->row_graphs.resize(plan->captured_rows.size());
  for (size_t i = 0; i < count; ++i) {
    const Instruction& instruction = plan->instructions[i];
    MS_TensorView* inputs = state->views.data() + instruction.first_input_view;
    MS_TensorView* outputs = state->views.data() + instruction.first_output_view;
    for (size_t k = 0; k < instruction.inputs.size(); ++k) {
      inputs[k] = TemplateView(*plan, instruction.inputs[k], slab);
    }
    for (size_t k = 0; k < instruction.outputs.size(); ++k) {
      outputs[k] = OutputView(*plan, instruction.outputs[k], slab);
    }
    MS_Ctx& ctx = state->contexts[i];
    ctx.host = state.get();
    ctx.node = instruction.node;
    ctx.kernel = instruction.kernel;
    ctx.index = static_cast<uint32_t>(i);
    MS_Frame& frame = state->frames[i];
    frame = MS_Frame{};
    frame.head.size = sizeof(MS_Frame);
    frame.ctx = &state->contexts[i];
    frame.inputs = inputs;
    frame.outputs = outputs;
    frame.outputs_used = instruction.outputs_used.data();
    frame.shape_state = instruction.shape_state;
    SetScratch(instruction, slab, &frame);
    frame.n_in = static_cast<uint32_t>(instruction.inputs.size());
    frame.n_out = static_cast<uint32_t>(instruction.outputs.size());
    frame.flags = plan->settings->options.deterministic ? MS_FRAME_DETERMINISTIC : 0;
    if (instruction.kernel != nullptr) FillFrame(instruction.kernel->device(), &frame);
  }
  if (RunningSteps* const running = plan->settings->running) running->Add(state.get());
  return state;
}

StepState::~StepState() {
  if (plan == nullptr) return;
  if (RunningSteps* const running = plan->settings->running) running->Remove(this);
  plan->NoteDeleted();
}

std::string StepState::RunsAlone() const {
  const int at = position;
  if (!runs_alone || at >= static_cast<int>(plan->instructions.size())) return "";
  return absl::StrCat(plan->instructions[at].node->Describe(), ", on ", plan->device_name);
}

std::vector<LiveTensor> StepState::LiveTensors(int instruction) const {
  const bool on_device = memory != nullptr;
  std::vector<LiveTensor> live;
  for (const Root& root : plan->roots) {
    if (root.in_host == on_device) continue;
    if (root.kind == RootKind::kPlanned && root.first <= instruction && instruction <= root.last) {
      live.push_back(LiveTensor::Of(root.source, root.dtype, root.shape, root.bytes()));
    }
    const bool in_slot = root.kind == RootKind::kSlot || root.kind == RootKind::kEscaping;
    const Tensor none;
    const Tensor& tensor = in_slot ? slots[root.index] : on_device ? root.device_constant : none;
    if (!tensor.has_value()) continue;
    live.push_back(LiveTensor::Of(root.source, root.dtype, tensor.shape(),
                                  static_cast<int64_t>(tensor.bytes())));
  }
  if (plan->settings->resources != nullptr) {
    AddVariables(*plan->settings->resources, memory, &live);
  }
  return live;
}

StatusOr<BufferRef> StepState::EscapingBuffer(const Root& root) {
  std::array<BufferRef, 2>& kept = kept_buffers[root.index];
  for (const BufferRef& buffer : kept) {
    if (buffer && buffer->IsUnique()) return buffer;
  }
  std::swap(kept[0], kept[1]);  // the older one is given up
  if (!root.in_host) {
    MS_ASSIGN_OR_RETURN(kept[0], memory->AllocateBuffer(root.bytes()));
    return kept[0];
  }
  kept[0] = NewBuffer(HostAllocator(), root.dtype, root.shape.num_elements());
  if (!kept[0]) return errors::ResourceExhausted("out of memory");
  return kept[0];
}

void StepState::PointViews(const Root& root, const Tensor& tensor) {
  for (const ViewPlace& place : root.places) {
    MS_TensorView& view = views[place.view];
    PointView(tensor, &view);
    if (place.dims_follow) {
      view.dims = tensor.shape().dims().data();
      view.rank = static_cast<uint32_t>(tensor.shape().rank());
      view.mem.bytes = tensor.bytes();
    }
  }
}

bool StepState::HasPlannedOutput(const MS_Ctx& ctx, uint32_t output) const {
  return OutputRoot(ctx, output).kind != RootKind::kSlot;
}

Tensor StepState::PlannedOutput(const MS_Ctx& ctx, uint32_t output) const {
  const Root& root = OutputRoot(ctx, output);
  if (root.kind == RootKind::kEscaping) return slots[root.index];
  return Tensor(root.dtype, root.shape, slab, root.offset);
}

const Shape* StepState::KnownOutputShape(const MS_Ctx& ctx, uint32_t output) const {
  const ValueRef& value = plan->instructions[ctx.index].outputs[output];
  return value.shape_known ? &value.shape : nullptr;
}

void StepState::SetOutput(MS_Frame* frame, uint32_t output, Tensor tensor) {
  Tensor& slot = slots[OutputRoot(*frame->ctx, output).index];
  slot = std::move(tensor);
  frame->outputs[output] = MakeView(slot, nullptr);
}

const Tensor* StepState::TakeableInput(const MS_Ctx& ctx, uint32_t input) const {
  if (!plan->settings->features.in_place || plan->instructions[ctx.index].checks != nullptr)
    return nullptr;
  const std::vector<ValueRef>& inputs = plan->instructions[ctx.index].inputs;
  const int root_index = inputs[input].root;
  const Root& root = plan->roots[root_index];
  const bool is_carried = root.kind == RootKind::kFeed && root.index < plan->num_carried;
  if (root.kind != RootKind::kSlot && !is_carried) return nullptr;
  if (root.last != static_cast<int>(ctx.index)) return nullptr;
  // A tensor that the kernel reads in two places must keep its value until it has read both.
  const auto is_same = [&](const ValueRef& other) { return other.root == root_index; };
  if (std::count_if(inputs.begin(), inputs.end(), is_same) != 1) return nullptr;
  const Tensor& tensor = is_carried ? feeds[root.index] : slots[root.index];
  const bool own = tensor.buffer() && tensor.buffer()->IsUnique() && tensor.buffer()->writable();
  return own && tensor.offset() == 0 ? &tensor : nullptr;
}

// The view borrows the Tensor object, so the vector must not move it: its capacity is fixed when
// the state is made.
StatusOr<MS_TensorView> StepState::KeepTemp(const MS_Ctx&, Tensor tensor) {
  if (temps.size() == temps.capacity()) {
    return errors::ResourceExhausted("a kernel asked for more than ", temps.capacity(),
                                     " pieces of temporary memory");
  }
  temps.push_back(std::move(tensor));
  return MakeView(temps.back(), nullptr);
}

bool StepState::OutputIsInHost(const MS_Ctx& ctx, uint32_t output) const {
  return OutputRoot(ctx, output).in_host;
}

StatusOr<Tensor> StepState::InputTensor(const MS_Ctx& ctx, uint32_t input) const {
  const ValueRef& value = plan->instructions[ctx.index].inputs[input];
  const Root& root = plan->roots[value.root];
  const Shape* shape = value.shape_known ? &value.shape : nullptr;
  switch (root.kind) {
    case RootKind::kConstant: {
      const Tensor& constant = root.in_host ? root.constant : root.device_constant;
      return shape == nullptr ? constant : constant.Reshaped(*shape);
    }
    case RootKind::kFeed: {
      const Tensor& fed = feeds[root.index];
      const bool is_shared =
          root.index < plan->num_carried && fed.buffer() && fed.buffer()->writable();
      if (is_shared) return shape == nullptr ? fed : fed.Reshaped(*shape);
      return (shape == nullptr ? fed : fed.Reshaped(*shape)).DeepCopy();
    }
    case RootKind::kEscaping:
    case RootKind::kSlot:
      return shape == nullptr ? slots[root.index] : slots[root.index].Reshaped(*shape);
    case RootKind::kPlanned: {
      const Tensor in_slab(root.dtype, value.shape, slab, root.offset);
      return CopyOf(in_slab);
    }
    case RootKind::kHandle: break;
  }
  return errors::Internal("input ", input, " is a resource handle, which has no value");
}

}  // namespace millstream
