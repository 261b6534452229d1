#include "core/session/executable_builder.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/device/find_kernel.h"
#include "core/graph/structural_role.h"
#include "core/host/thread_team.h"
#include "core/import/graph_def.h"
#include "core/numerics/numeric_checks.h"
#include "core/partition/late_order.h"
#include "core/placement/placer.h"
#include "core/placement/step_work.h"
#include "core/plan/plan_compiler.h"
#include "core/session/fed_variables.h"
#include "core/session/measured_step.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"

namespace millstream {
namespace {

// Those that compute constants, as a plan is made; null when no device can.
KernelCache* HostKernels(const std::vector<Device*>& devices) {
  for (Device* const device : devices) {
    if (device == nullptr) continue;
    const DeviceTraits& traits = device->traits();
    if (traits.host_memory && traits.runs_on_callers_thread) return device->kernels();
  }
  return nullptr;
}

bool Blocks(const KernelRegistration& kernel) { return (kernel.flags & MS_KERNEL_BLOCKING) != 0; }
bool EndsLater(const KernelRegistration& kernel) { return kernel.compute == nullptr; }

// Whether the node's kernel is such a one.
bool HasKernelThat(bool (*is)(const KernelRegistration&), const Node& node,
                   const std::string& device_type) {
  const std::vector<const KernelRegistration*> all =
      KernelRegistry::Global()->KernelsOf(node.op().name);
  // Few ops have such a kernel, and finding the node's own takes longer.
  if (absl::c_none_of(all, [&](const KernelRegistration* kernel) { return is(*kernel); })) {
    return false;
  }
  const auto chosen = FindKernel(node, device_type);
  return chosen.ok() && is(**chosen);
}

// Whether the node's kernel has done its work when its call returns.
bool RunsAtOnce(const Node& node, const std::string& device_type) {
  switch (RoleOf(node.op().name)) {
    case StructuralRole::kConstant:
    case StructuralRole::kNothing:
    case StructuralRole::kHandle:
    case StructuralRole::kIdentity:
    case StructuralRole::kReshape: return true;
    case StructuralRole::kKernel: break;
    default: return false;
  }
  const auto chosen = FindKernel(node, device_type);
  return chosen.ok() && !EndsLater(**chosen) && !Blocks(**chosen);
}

// Whether which nodes run, or when, shows only as the part runs: with control flow; and with a
// kernel that blocks its thread, for which another node of the step may have to run first.
bool NeedsDynamicExecutor(const PrunedGraph& part, const Device& device) {
  if (part.has_control_flow) return true;
  return absl::c_any_of(
      part.nodes, [&](const Node* node) { return HasKernelThat(&Blocks, *node, device.type()); });
}

}  // namespace

void ExecutableContext::SetDevices(const DeviceList& own, DeviceSet all) {
  devices = std::move(all);
  own_devices = FindOwn(devices, own);
}

void ExecutableContext::SetOptions(const SessionOptions& options, NumericChecks* checks) {
  settings.options = options;
  if (options.check_numerics) {
    settings.checks = checks;
    NumericChecks::DisableFusion(&settings.options.disabled_passes);
  }
  settings.features = PlanFeaturesWithout(settings.options.disabled_passes);
  settings.intra_op_threads =
      options.intra_op_threads > 0 ? options.intra_op_threads : AvailableThreads();
  settings.inter_op_threads = std::max(options.inter_op_threads, 1);
}

StatusOr<std::unique_ptr<ExecutableBuilder>> ExecutableBuilder::Create(
    const ExecutableContext* context, const StepSignature& signature, const PlacementHints& hints) {
  std::unique_ptr<ExecutableBuilder> builder(new ExecutableBuilder(context, signature));
  MS_RETURN_IF_ERROR(builder->CheckFetches());
  std::vector<Output> reads;
  MS_RETURN_IF_ERROR(builder->ReadFeeds(&reads));
  MS_ASSIGN_OR_RETURN(builder->pruned_, Prune(*context->graph, builder->signature_, reads));
  MS_RETURN_IF_ERROR(builder->CheckOps());
  MS_RETURN_IF_ERROR(CheckFedVariables(builder->pruned_, signature.feeds));
  MS_RETURN_IF_ERROR(builder->Place(hints));
  MS_RETURN_IF_ERROR(builder->RaiseLoops());
  MS_RETURN_IF_ERROR(builder->CompilePrograms());
  return builder;
}

// Those that the program forbids itself; an imported node by what it was, too.
Status ExecutableBuilder::CheckOps() const {
  const ForbiddenOps& forbidden = context_.settings.options.forbidden_ops;
  if (forbidden.empty()) return absl::OkStatus();
  for (const Node* node : pruned_.nodes) {
    Status status = forbidden.Check(node->op());
    const OpDef* const was = node->imported() == nullptr
                                 ? nullptr
                                 : OpRegistry::Global()->FindOrNull(node->imported()->op);
    if (status.ok() && was != nullptr) status = forbidden.Check(*was);
    if (!status.ok()) return AnnotateWithNode(status, *node);
  }
  return absl::OkStatus();
}

// A handle is an address inside the session, which does not leave it.
Status ExecutableBuilder::CheckFetches() const {
  for (const Output& fetch : signature_.fetches) {
    if (fetch.dtype() == DataType::kResource) {
      return AnnotateWithNode(errors::InvalidArgument(fetch.name(),
                                                      " is a resource handle, which cannot be "
                                                      "fetched; fetch its value"),
                              *fetch.node);
    }
  }
  return absl::OkStatus();
}

// From the feeds that are given to those inside the step; `reads`: see ExpandedFeeds. What a read
// that is fetched waits for runs as well.
Status ExecutableBuilder::ReadFeeds(std::vector<Output>* reads) {
  for (const Output& feed : signature_.feeds) {
    MS_ASSIGN_OR_RETURN(HandleInfo facts, FedFacts(*context_.graph, feed));
    given_.push_back({feed, std::move(facts)});
  }
  ExpandedFeeds expanded = ExpandFeeds(*context_.graph, signature_.feeds);
  feeds_as_given_ =
      expanded.outputs == signature_.feeds && context_.settings.features.borrowed_feeds;
  signature_.feeds = std::move(expanded.outputs);
  feed_sources_ = std::move(expanded.sources);
  *reads = std::move(expanded.reads);
  for (const Output& fetch : signature_.fetches) {
    if (!absl::c_linear_search(*reads, fetch)) continue;
    for (const Node* control : context_.graph->ControlInputs(fetch.node)) {
      signature_.targets.push_back(control);
    }
  }
  return absl::OkStatus();
}

// Of what is fed inside of the step.
std::vector<Shape> ExecutableBuilder::ShapesInside(const std::vector<Shape>& given) const {
  std::vector<Shape> shapes;
  for (const int source : feed_sources_) shapes.push_back(given[source]);
  return shapes;
}

StatusOr<Placement> ExecutableBuilder::PlaceNodes(bool explain, const PlacementCosts* costs,
                                                  const std::vector<int>* decided) const {
  PlacementOptions options;
  options.explain = explain;
  options.costs = costs;
  options.decided = decided;
  options.allow_soft_placement = context_.settings.options.allow_soft_placement;
  FrameTree frames;
  if (pruned_.has_control_flow) {
    const absl::flat_hash_set<Output> fed(signature_.feeds.begin(), signature_.feeds.end());
    MS_ASSIGN_OR_RETURN(frames, FindFrames(pruned_, fed));
    options.frames = &frames;
  }
  return millstream::Place(*context_.graph, pruned_, context_.devices, options);
}

Status ExecutableBuilder::Place(const PlacementHints& hints) {
  std::vector<Shape> shapes;
  PlacementCosts costs;
  costs.session = context_.costs;
  costs.graph = context_.graph;
  costs.signature = &signature_;
  costs.present = hints.present;
  if (hints.feed_shapes != nullptr) {
    shapes = ShapesInside(*hints.feed_shapes);
    costs.feed_shapes = &shapes;
  }
  const bool by_costs = context_.costs != nullptr;
  may_be_measured_ = by_costs || hints.decided != nullptr;
  MS_ASSIGN_OR_RETURN(placement_,
                      PlaceNodes(may_be_measured_, by_costs ? &costs : nullptr, hints.decided));
  if (context_.settings.options.log_device_placement) std::fputs(placement_text().c_str(), stderr);
  MS_ASSIGN_OR_RETURN(partitions_, CutIntoParts());
  return absl::OkStatus();
}

StatusOr<PartitionedGraph> ExecutableBuilder::CutIntoParts() const {
  const std::vector<int>& devices = placement_.devices;
  const bool is_alone =
      devices.empty() || absl::c_all_of(devices, [&](int d) { return d == devices[0]; });
  std::vector<int> order;
  if (!is_alone && !pruned_.has_control_flow && context_.settings.features.late_receives) {
    const StepWork work = StepWork::Of(*context_.graph, pruned_, signature_, nullptr);
    order = LateOrder(pruned_, devices, signature_, work);
  }
  if (order.empty()) return PartitionGraph(pruned_, placement_, context_.devices, signature_);
  PrunedGraph late;
  Placement placement;
  for (const int i : order) {
    late.nodes.push_back(pruned_.nodes[i]);
    late.controls.push_back(pruned_.controls[i]);
    placement.devices.push_back(devices[i]);
  }
  return PartitionGraph(late, placement, context_.devices, signature_);
}

std::string ExecutableBuilder::placement_text() const {
  StatusOr<Placement> again;
  if (!may_be_measured_) {
    again = PlaceNodes(true, nullptr, nullptr);
    if (!again.ok()) return absl::StrCat(again.status().message(), "\n");
  }
  const Placement& placement = may_be_measured_ ? placement_ : *again;
  std::string text;
  for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
    absl::StrAppend(
        &text, ExplainPlacement(pruned_, context_.devices, placement, static_cast<int>(i)), "\n");
  }
  return text;
}

void ExecutableBuilder::Measure(const StepTrace& trace,
                                const std::vector<Shape>& feed_shapes) const {
  const std::vector<Shape> shapes = ShapesInside(feed_shapes);
  const StepWork work = StepWork::Of(*context_.graph, pruned_, signature_, &shapes);
  MeasureStep(trace, pruned_, work, partitions_, context_.devices, &context_.costs->model);
}

// What each device runs, as the graph was cut, one GraphDef a device.
Status ExecutableBuilder::ReportGraphs(StepReport* report) const {
  for (const Partition& part : partitions_.parts) {
    if (context_.own_devices[part.device] == nullptr) continue;
    const Graph& graph = part.graph == nullptr ? *context_.graph : *part.graph;
    MS_ASSIGN_OR_RETURN(std::string bytes,
                        ExportNodes(graph, part.pruned.nodes, context_.devices[part.device].name));
    report->partition_graphs.push_back(std::move(bytes));
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Plan>> ExecutableBuilder::CompilePart(const Partition& part,
                                                               const std::vector<Shape>* shapes,
                                                               const PlanFacts* whole,
                                                               const RunOptions* run) const {
  PlanFacts::Received received;
  for (const auto& [node, source] : part.received) {
    received[node] = whole == nullptr ? node->facts(0) : whole->of(source);
  }
  std::vector<Shape> part_shapes;
  if (shapes != nullptr) {
    for (int feed : part.feeds) part_shapes.push_back((*shapes)[feed]);
  }
  PlanRequest request;
  request.graph = &GraphOf(part);
  request.signature = &SignatureOf(part);
  request.inner = &inner_;
  request.feed_shapes = shapes == nullptr ? nullptr : &part_shapes;
  request.received = &received;
  Device& device = *context_.own_devices[part.device];
  request.kernels = device.kernels();
  request.memory = device.memory();
  if (request.memory != nullptr) request.host_kernels = HostKernels(context_.own_devices);
  request.settings = &context_.settings;
  request.folded = &folded_;
  request.run = run;
  MS_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, CompilePlan(request));
  plan->device_name = device.name();
  return plan;
}

// `run`: of the step that waits for it, or null.
StatusOr<std::unique_ptr<StepPlan>> ExecutableBuilder::Compile(const std::vector<Shape>* shapes,
                                                               const RunOptions* run) const {
  auto step = std::make_unique<StepPlan>();
  if (shapes != nullptr) step->feed_shapes = *shapes;
  // What crosses keeps the shape that is known where it comes from. But shapes of feeds are not
  // followed through branches that may not be taken and loops: they need not fit there.
  std::optional<PlanFacts> whole;
  if (partitions_.parts.size() > 1 && !pruned_.has_control_flow) {
    MS_ASSIGN_OR_RETURN(whole, PlanFacts::Infer(pruned_, signature_, shapes));
  }
  for (size_t p = 0; p < partitions_.parts.size(); ++p) {
    step->programs.push_back(programs_[p].get());
    step->parts.emplace_back();
    if (programs_[p] != nullptr || !IsOwn(static_cast<int>(p))) continue;
    MS_ASSIGN_OR_RETURN(
        step->parts.back(),
        CompilePart(partitions_.parts[p], shapes, whole.has_value() ? &*whole : nullptr, run));
    if (context_.settings.budget != nullptr) {
      step->parts.back()->SetBudget(context_.settings.budget);
    }
  }
  for (size_t p = 0; p < step->parts.size(); ++p) {
    if (!step->HasPart(p)) continue;
    step->num_instructions +=
        static_cast<int64_t>(step->parts[p] != nullptr ? step->parts[p]->instructions.size()
                                                       : step->programs[p]->nodes.size());
  }
  if (step->parts.size() == 1 && step->parts[0] != nullptr && !step->parts[0]->may_wait) {
    step->direct = step->parts[0].get();
  }
  return step;
}

// Loops and conditionals run as plans where one device of this task, which uses host memory, runs
// the whole step, and nobody looks at each node that runs.
Status ExecutableBuilder::RaiseLoops() {
  const SessionSettings& settings = context_.settings;
  if (!pruned_.has_control_flow || partitions_.parts.size() != 1) return absl::OkStatus();
  if (!settings.options.optimize || !settings.features.raise_loops) return absl::OkStatus();
  if (settings.checks != nullptr || may_be_measured_) return absl::OkStatus();
  const Partition& part = partitions_.parts[0];
  Device* const device = context_.own_devices[part.device];
  if (device == nullptr || device->memory() != nullptr) return absl::OkStatus();
  const auto runs_at_once = [&](const Node& node) { return RunsAtOnce(node, device->type()); };
  const auto is_on = [&](absl::string_view pass) {
    return !absl::c_linear_search(settings.options.disabled_passes, pass);
  };
  MS_ASSIGN_OR_RETURN(raised_,
                      millstream::RaiseLoops(part.pruned, part.signature, runs_at_once,
                                             is_on("sum_products"), is_on("unroll_loops")));
  if (raised_ == nullptr) return absl::OkStatus();
  // In a plan, a kernel waits until the one before it has ended. Steps with control flow may count
  // on more.
  raised_->pruned.has_control_flow |= absl::c_any_of(raised_->pruned.nodes, [&](const Node* node) {
    return HasKernelThat(&EndsLater, *node, device->type());
  });
  inner_ = MakeInnerNodes(raised_->pruned, {device->kernels(), &settings});
  return absl::OkStatus();
}

Status ExecutableBuilder::CompilePrograms() {
  for (const Partition& part : partitions_.parts) {
    std::unique_ptr<DynamicProgram>& program = programs_.emplace_back();
    Device* const device = context_.own_devices[part.device];
    if (device == nullptr) continue;
    const bool is_dynamic = NeedsDynamicExecutor(GraphOf(part), *device);
    is_all_dynamic_ &= is_dynamic;
    if (!is_dynamic) continue;
    DynamicRequest request;
    request.graph = &GraphOf(part);
    request.signature = &SignatureOf(part);
    request.kernels = device->kernels();
    request.memory = device->memory();
    request.settings = &context_.settings;
    for (const auto& [node, inner] : inner_) {
      request.inner[node] = {&InnerNode::Compute, inner.get()};
    }
    MS_ASSIGN_OR_RETURN(program, DynamicProgram::Compile(request));
  }
  return absl::OkStatus();
}

}  // namespace millstream
