#include "device_plugins/sim/adapted_kernel.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device_plugins/sim/argument_places.h"
#include "device_plugins/sim/awaited_execution.h"
#include "device_plugins/sim/launch.h"
#include "device_plugins/sim/preparation.h"
#include "device_plugins/sim/queued_execution.h"
#include "device_plugins/sim/recorded_frame.h"

namespace millstream::sim {
namespace {

using ms::Status;

// Ops with outputs whose shapes depend on values that are in the device's memory: they wait for
// them. Whoever is missing here fails with the name of the op, and "was planned as".
constexpr std::string_view kShapedByValues[] = {"ComputeAccidentalHits",
                                                "DynamicPartition",
                                                "DynamicStitch",
                                                "ListDiff",
                                                "ParallelDynamicStitch",
                                                "SegmentMax",
                                                "SegmentMean",
                                                "SegmentMin",
                                                "SegmentProd",
                                                "SegmentSum",
                                                "SparseSegmentMean",
                                                "SparseSegmentSqrtN",
                                                "SparseSegmentSum",
                                                "Unique",
                                                "UniqueV2",
                                                "UniqueWithCounts",
                                                "UniqueWithCountsV2",
                                                "Where",
                                                "_ScalarLoop"};

// A registered kernel: the definition for SIM, what it refers to, and the CPU's functions.
struct AdaptedKernel {
  std::string op;
  std::string label;
  std::deque<std::string> texts;
  std::deque<std::vector<MS_DType>> dtypes;
  std::deque<MS_TypeConstraint> constraints;
  std::vector<const MS_TypeConstraint*> constraint_pointers;
  std::vector<MS_Str> host_args;
  std::vector<MS_InPlacePair> in_place;
  bool is_shaped_by_values = false;
  MS_KernelDef cpu{};  // of which only `user` and functions are read
  MS_KernelDef sim{};
};

// The state of one node.
struct NodeKernel {
  const AdaptedKernel* kernel;
  std::string name;
  ArgumentPlaces places;
  bool is_random;
  void* state = nullptr;  // the CPU kernel's
};

// ---- Compute ------------------------------------------------------------------------------------

Stream* StreamOf(const MS_Frame& frame) { return reinterpret_cast<Stream*>(frame.stream); }

const Memory& MemoryOf(const MS_Frame& frame) {
  return *reinterpret_cast<Device*>(frame.device_state)->memory();
}

bool HasStrings(const MS_Frame& frame) {
  return std::any_of(frame.inputs, frame.inputs + frame.n_in,
                     [](const MS_TensorView& input) { return input.dtype == MS_STRING; });
}

// Whether the host may read an output as soon as compute returns.
bool HasHostOutput(const MS_Frame& frame) {
  const Memory& memory = MemoryOf(frame);
  return std::any_of(
      frame.outputs, frame.outputs + frame.n_out, [&memory](const MS_TensorView& output) {
        return output.mem.bytes != 0 && output.mem.base != nullptr && !memory.Holds(output.mem);
      });
}

Status RunAwaited(const NodeKernel& node, MS_Frame* frame) {
  // It counts as work, though it is done here: the switches for faults know it.
  MS_TRY(Launch(frame->stream, [] {}));
  MS_TRY(StreamOf(*frame)->Sync());
  MS_TRY(AwaitedExecution(frame).Run(node.kernel->cpu, node.state));
  return node.places.CheckOutputs(*frame, MemoryOf(*frame));
}

// The kernel's run in the thread of `stream`.
std::function<void()> RunOn(Stream* stream, const NodeKernel& node, const MS_Frame& frame,
                            Granted granted) {
  auto execution = std::make_shared<QueuedExecution>(frame, std::move(granted));
  return [execution, node = &node, stream] {
    const Status status = execution->Run(node->kernel->cpu, node->state);
    if (status.ok()) return;
    stream->KeepFailure(
        Status(status.code(), ms::StrCat("node '", node->name, "' (op ", node->kernel->op, ") on ",
                                         stream->device()->name(), ": ", status.message())));
  };
}

Status Enqueue(const NodeKernel& node, const MS_Frame& frame, Granted granted) {
  return Launch(frame.stream, RunOn(StreamOf(frame), node, frame, std::move(granted)));
}

// What the frame's stream records is run again with a frame of its own.
Status Record(const NodeKernel& node, MS_Frame* frame) {
  const bool waits = node.kernel->is_shaped_by_values || HasStrings(*frame) ||
                     HasHostOutput(*frame) || Preparation(frame, node.is_random).IsNeeded();
  if (waits) {
    return Status(MS_FAILED_PRECONDITION,
                  ms::StrCat("the kernel for ", node.kernel->op, " asks the host for more than ",
                             "its work, and cannot be recorded"));
  }
  auto recorded = std::make_shared<RecordedFrame>(*frame, MemoryOf(*frame));
  return StreamOf(*frame)->Submit([recorded, &node](const Relocation& relocation, Stream* stream,
                                                    Item* out) {
    recorded->Use(relocation,
                  [&](const MS_Frame& moved) { out->run = RunOn(stream, node, moved, Granted()); });
    return Status();
  });
}

Status ComputeNode(const NodeKernel& node, MS_Frame* frame) {
  if (frame->device_state == nullptr || frame->stream == nullptr) {
    return ms::Internal("the frame has no device or no stream");
  }
  MS_TRY(node.places.CheckInputs(*frame, MemoryOf(*frame)));
  MS_TRY(node.places.CheckOutputs(*frame, MemoryOf(*frame)));
  if ((frame->flags & MS_FRAME_CAPTURE) != 0) return Record(node, frame);
  if (node.kernel->is_shaped_by_values || HasStrings(*frame) || HasHostOutput(*frame)) {
    return RunAwaited(node, frame);
  }
  {
    Preparation preparation(frame, node.is_random);
    const bool is_prepared =
        !preparation.IsNeeded() || preparation.Prepare(node.kernel->cpu, node.state);
    if (is_prepared && !HasHostOutput(*frame)) {
      return Enqueue(node, *frame, std::move(preparation.granted()));
    }
    if (preparation.is_out_of_memory()) {
      return Status(MS_RESOURCE_EXHAUSTED, preparation.host_message());
    }
  }
  return RunAwaited(node, frame);
}

// ---- The functions of MS_KernelDef --------------------------------------------------------------

MS_Status* Create(void* user, const MS_KernelInfo* info, void** out_state) noexcept {
  return ms::Guarded([&]() -> Status {
    const auto* const kernel = static_cast<const AdaptedKernel*>(user);
    const ms::KernelInfo wrapped(info);
    // All ops that draw random numbers have seeds, and no other.
    auto node = std::make_unique<NodeKernel>(NodeKernel{kernel, std::string(wrapped.node_name()),
                                                        ArgumentPlaces(kernel->sim, info),
                                                        wrapped.HasAttr("seed")});
    MS_TRY(Status::FromAbi(kernel->cpu.create(kernel->cpu.user, info, &node->state)));
    *out_state = node.release();
    return Status();
  });
}

MS_Status* Compute(void* state, MS_Frame* frame) noexcept {
  return ms::Guarded([&] { return ComputeNode(*static_cast<const NodeKernel*>(state), frame); });
}

void Destroy(void* state) noexcept {
  const std::unique_ptr<NodeKernel> node(static_cast<NodeKernel*>(state));
  node->kernel->cpu.destroy(node->state);
}

MS_Status* Specialize(void* state, MS_Specialization* specialization) noexcept {
  const auto* const node = static_cast<const NodeKernel*>(state);
  specialization->num_threads = 1;
  return node->kernel->cpu.specialize(node->state, specialization);
}

void Unspecialize(void* state, void* shape_state) noexcept {
  const auto* const node = static_cast<const NodeKernel*>(state);
  node->kernel->cpu.unspecialize(node->state, shape_state);
}

// ---- Registration -------------------------------------------------------------------------------

// The types without string, whose cells only the host can touch. False when none is left.
bool AddConstraint(const MS_TypeConstraint& constraint, AdaptedKernel* kernel) {
  std::vector<MS_DType>& dtypes =
      kernel->dtypes.emplace_back(constraint.dtypes, constraint.dtypes + constraint.n_dtypes);
  dtypes.erase(std::remove(dtypes.begin(), dtypes.end(), MS_STRING), dtypes.end());
  if (dtypes.empty()) return false;
  const std::string& attr = kernel->texts.emplace_back(ms::ToView(constraint.attr));
  kernel->constraints.push_back(
      {{sizeof(MS_TypeConstraint), 0, nullptr}, ms::ToAbi(attr), dtypes.data(), dtypes.size()});
  kernel->constraint_pointers.push_back(&kernel->constraints.back());
  return true;
}

MS_KernelDef MakeSimDefinition(const MS_KernelDef& cpu, bool is_capture_safe,
                               AdaptedKernel* kernel) {
  MS_KernelDef sim = cpu;
  sim.head.ext = nullptr;  // extensions describe the CPU's kernel
  if (is_capture_safe && !kernel->is_shaped_by_values) sim.flags |= MS_KERNEL_CAPTURE_SAFE;
  sim.op = ms::ToAbi(kernel->op);
  sim.label = ms::ToAbi(kernel->label);
  sim.device_type = ms::ToAbi("SIM");
  sim.constraints = kernel->constraint_pointers.data();
  sim.host_args = kernel->host_args.data();
  sim.in_place = kernel->in_place.data();
  sim.user = kernel;
  sim.create = &Create;
  sim.compute = &Compute;
  sim.destroy = &Destroy;
  if (cpu.specialize != nullptr) {
    sim.specialize = &Specialize;
    sim.unspecialize = &Unspecialize;
  }
  return sim;
}

MS_Status* RegisterAdapted(MS_Registrar* registrar, const MS_KernelDef* cpu) noexcept {
  return ms::Guarded([&]() -> Status {
    const MS_RegistryApi& registry = *RealHost().registry;
    const MS_OpInfo* const op =
        MS_HAS(&registry, op_find) ? registry.op_find(registrar, cpu->op) : nullptr;
    const MS_KernelDef* const sim = AdaptKernel(*cpu, op != nullptr && IsCaptureSafe(*op));
    if (sim == nullptr) return Status();
    return Status::FromAbi(registry.kernel_register(registrar, sim));
  });
}

const MS_RegistryApi kRegistry = {{sizeof(MS_RegistryApi), 1, MS_ABI_MINOR, MS_REGISTRY_API},
                                  &RegisterAdapted};

}  // namespace

bool IsCaptureSafe(const MS_OpInfo& op) {
  if ((op.flags & MS_OP_STATEFUL) != 0) return false;
  return std::none_of(op.inputs, op.inputs + op.n_inputs, [](const MS_Str& input) {
    const std::string_view text = ms::ToView(input);
    return text.find(": string") != text.npos || text.find(": resource") != text.npos;
  });
}

const MS_KernelDef* AdaptKernel(const MS_KernelDef& cpu, bool is_capture_safe) {
  static auto* const kernels = new std::deque<AdaptedKernel>();
  if ((cpu.flags & (MS_KERNEL_ASYNC | MS_KERNEL_BLOCKING)) != 0) return nullptr;
  AdaptedKernel& kernel = kernels->emplace_back();
  for (uint64_t i = 0; i < cpu.n_constraints; ++i) {
    if (AddConstraint(*cpu.constraints[i], &kernel)) continue;
    kernels->pop_back();
    return nullptr;
  }
  kernel.op = ms::ToView(cpu.op);
  kernel.label = ms::ToView(cpu.label);
  for (uint64_t i = 0; i < cpu.n_host_args; ++i) {
    kernel.host_args.push_back(ms::ToAbi(kernel.texts.emplace_back(ms::ToView(cpu.host_args[i]))));
  }
  kernel.in_place.assign(cpu.in_place, cpu.in_place + cpu.n_in_place);
  kernel.is_shaped_by_values = std::find(std::begin(kShapedByValues), std::end(kShapedByValues),
                                         kernel.op) != std::end(kShapedByValues);
  kernel.cpu = cpu;
  kernel.sim = MakeSimDefinition(cpu, is_capture_safe, &kernel);
  return &kernel.sim;
}

Status RegisterAdaptedKernels(MS_Registrar* registrar) {
  InterposeHostTables();
  const MS_RegistryApi* const registry = std::exchange(ms::host_tables.registry, &kRegistry);
  Status status;
  for (const ms::KernelEntry& entry : ms::KernelEntries()) {
    status = entry.RegisterWith(registrar);
    if (!status.ok()) break;
  }
  ms::host_tables.registry = registry;
  return status;
}

}  // namespace millstream::sim
