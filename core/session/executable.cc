#include "core/session/executable.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/host/step_profiling.h"
#include "core/import/graph_def.h"
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

bool ShapesFit(const StepPlan& plan, absl::Span<const Tensor> feeds) {
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (plan.feed_shapes[i] != feeds[i].shape()) return false;
  }
  return true;
}

// Those that compute constants; null when there is no CPU.
KernelCache* HostKernels(const DeviceList& devices) {
  for (const std::unique_ptr<Device>& device : devices) {
    if (device->type() == "CPU") return device->kernels();
  }
  return nullptr;
}

bool MayBlock(const Node& node, const std::string& device_type) {
  const auto blocks = [](const KernelRegistration* kernel) {
    return (kernel->flags & MS_KERNEL_BLOCKING) != 0;
  };
  const std::vector<const KernelRegistration*> all =
      KernelRegistry::Global()->KernelsOf(node.op().name);
  // Few ops have such a kernel, and finding the node's own takes longer.
  if (std::none_of(all.begin(), all.end(), blocks)) return false;
  const auto chosen = KernelRegistry::Global()->Find(node.op().name, device_type, node.attrs());
  return chosen.ok() && blocks(*chosen);
}

// Whether which nodes run, or when, shows only as the part runs: with control flow; and with a
// kernel that blocks its thread, for which another node of the step may have to run first.
bool NeedsDynamicExecutor(const Partition& part, const Device& device) {
  if (part.pruned.has_control_flow) return true;
  return std::any_of(part.pruned.nodes.begin(), part.pruned.nodes.end(),
                     [&](const Node* node) { return MayBlock(*node, device.type()); });
}

}  // namespace

StatusOr<std::unique_ptr<Executable>> Executable::Create(const ExecutableContext* context,
                                                         const StepSignature& signature,
                                                         const PlacementHints& hints) {
  std::unique_ptr<Executable> executable(new Executable(context, signature));
  MS_RETURN_IF_ERROR(executable->CheckFetches());
  std::vector<Output> reads;
  MS_RETURN_IF_ERROR(executable->ReadFeeds(&reads));
  MS_ASSIGN_OR_RETURN(executable->pruned_, Prune(*context->graph, executable->signature_, reads));
  MS_RETURN_IF_ERROR(executable->CheckOps());
  MS_RETURN_IF_ERROR(CheckFedVariables(executable->pruned_, signature.feeds));
  MS_RETURN_IF_ERROR(executable->Place(hints));
  MS_RETURN_IF_ERROR(executable->CompilePrograms());
  context->graph->MarkAsRun(executable->pruned_.nodes);
  return executable;
}

// Those that the program forbids itself; an imported node by what it was, too.
Status Executable::CheckOps() const {
  const ForbiddenOps& forbidden = context_.options.forbidden_ops;
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
Status Executable::CheckFetches() const {
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
Status Executable::ReadFeeds(std::vector<Output>* reads) {
  for (const Output& feed : signature_.feeds) {
    MS_ASSIGN_OR_RETURN(HandleInfo facts, FedFacts(*context_.graph, feed));
    given_.push_back({feed, std::move(facts)});
  }
  ExpandedFeeds expanded = ExpandFeeds(*context_.graph, signature_.feeds);
  feeds_as_given_ = expanded.outputs == signature_.feeds && context_.features.borrowed_feeds;
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
std::vector<Shape> Executable::ShapesInside(const std::vector<Shape>& given) const {
  std::vector<Shape> shapes;
  for (const int source : feed_sources_) shapes.push_back(given[source]);
  return shapes;
}

StatusOr<Placement> Executable::PlaceNodes(bool explain, const PlacementCosts* costs) const {
  PlacementOptions options;
  options.explain = explain;
  options.costs = costs;
  options.allow_soft_placement = context_.options.allow_soft_placement;
  FrameTree frames;
  if (pruned_.has_control_flow) {
    const absl::flat_hash_set<Output> fed(signature_.feeds.begin(), signature_.feeds.end());
    MS_ASSIGN_OR_RETURN(frames, FindFrames(pruned_, fed));
    options.frames = &frames;
  }
  return millstream::Place(*context_.graph, pruned_, *context_.devices, options);
}

Status Executable::Place(const PlacementHints& hints) {
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
  MS_ASSIGN_OR_RETURN(placement_, PlaceNodes(by_costs, by_costs ? &costs : nullptr));
  if (context_.options.log_device_placement) std::fputs(placement_text().c_str(), stderr);
  MS_ASSIGN_OR_RETURN(partitions_, CutIntoParts());
  settings_.devices = context_.devices;
  settings_.partitions = &partitions_;
  settings_.resources = context_.resources;
  settings_.intra_op_threads = context_.intra_op_threads;
  settings_.inter_op_threads = context_.inter_op_threads;
  settings_.deterministic = context_.options.deterministic;
  settings_.needs_permit = context_.features.parallelism_permit;
  settings_.late_kernel_warning_ms = context_.options.late_kernel_warning_ms;
  settings_.running = context_.running;
  return absl::OkStatus();
}

StatusOr<PartitionedGraph> Executable::CutIntoParts() const {
  const std::vector<int>& devices = placement_.devices;
  const bool is_alone =
      devices.empty() || absl::c_all_of(devices, [&](int d) { return d == devices[0]; });
  std::vector<int> order;
  if (!is_alone && !pruned_.has_control_flow && context_.features.late_receives) {
    const StepWork work = StepWork::Of(*context_.graph, pruned_, signature_, nullptr);
    order = LateOrder(pruned_, devices, signature_, work);
  }
  if (order.empty()) return PartitionGraph(pruned_, placement_, *context_.devices, signature_);
  PrunedGraph late;
  Placement placement;
  for (const int i : order) {
    late.nodes.push_back(pruned_.nodes[i]);
    late.controls.push_back(pruned_.controls[i]);
    placement.devices.push_back(devices[i]);
  }
  return PartitionGraph(late, placement, *context_.devices, signature_);
}

std::string Executable::placement_text() const {
  StatusOr<Placement> again;
  if (context_.costs == nullptr) {
    again = PlaceNodes(true, nullptr);
    if (!again.ok()) return absl::StrCat(again.status().message(), "\n");
  }
  const Placement& placement = context_.costs == nullptr ? *again : placement_;
  std::string text;
  for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
    absl::StrAppend(
        &text, ExplainPlacement(pruned_, *context_.devices, placement, static_cast<int>(i)), "\n");
  }
  return text;
}

void Executable::Measure(const StepTrace& trace, const std::vector<Shape>& feed_shapes) const {
  if (trace.parts().size() < partitions_.parts.size()) return;
  const std::vector<Shape> shapes = ShapesInside(feed_shapes);
  const StepWork work = StepWork::Of(*context_.graph, pruned_, signature_, &shapes);
  MeasureStep(trace, pruned_, work, partitions_, &context_.costs->model);
}

// What each device runs, as the graph was cut, one GraphDef a device.
Status Executable::ReportGraphs(StepReport* report) const {
  for (const Partition& part : partitions_.parts) {
    const Graph& graph = part.graph == nullptr ? *context_.graph : *part.graph;
    MS_ASSIGN_OR_RETURN(std::string bytes, ExportNodes(graph, part.pruned.nodes,
                                                       (*context_.devices)[part.device]->name()));
    report->partition_graphs.push_back(std::move(bytes));
  }
  return absl::OkStatus();
}

Status Executable::CheckFeeds(absl::Span<const Tensor> feeds) const {
  if (feeds.size() != given_.size()) {
    return errors::InvalidArgument("the step takes ", given_.size(), " feeds, got ", feeds.size());
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    const auto& [feed, facts] = given_[i];
    if (feeds[i].dtype() == facts.dtype) continue;
    return AnnotateWithNode(
        errors::InvalidArgument("the feed of ", feed.name(), " must be ", DataTypeName(facts.dtype),
                                ", got ", DataTypeName(feeds[i].dtype())),
        *feed.node);
  }
  return absl::OkStatus();
}

Status Executable::CheckFeedShapes(absl::Span<const Tensor> feeds) const {
  for (size_t i = 0; i < feeds.size(); ++i) {
    const auto& [feed, facts] = given_[feed_sources_[i]];
    if (facts.shape.IsCompatibleWith(feeds[i].shape())) continue;
    return AnnotateWithNode(
        errors::InvalidArgument("the feed of ", feed.name(), " must have shape ",
                                facts.shape.ToString(), ", got ", feeds[i].shape().ToString()),
        *feed.node);
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Plan>> Executable::CompilePart(const Partition& part,
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
  request.graph = &part.pruned;
  request.signature = &part.signature;
  request.feed_shapes = shapes == nullptr ? nullptr : &part_shapes;
  request.received = &received;
  const Device& device = *(*context_.devices)[part.device];
  request.kernels = (*context_.devices)[part.device]->kernels();
  request.memory = device.memory();
  if (request.memory != nullptr) request.host_kernels = HostKernels(*context_.devices);
  request.resources = context_.resources;
  request.threads = context_.intra_op_threads;
  request.optimize = context_.options.optimize;
  request.disabled_passes = context_.options.disabled_passes;
  request.features = context_.features;
  request.checks = context_.checks;
  request.folded = &folded_;
  request.run = run;
  request.deterministic = context_.options.deterministic;
  MS_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, CompilePlan(request));
  plan->running = context_.running;
  plan->device_name = device.name();
  return plan;
}

// `run`: of the step that waits for it, or null.
StatusOr<std::unique_ptr<StepPlan>> Executable::Compile(const std::vector<Shape>* shapes,
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
    if (programs_[p] != nullptr) continue;
    MS_ASSIGN_OR_RETURN(
        step->parts.back(),
        CompilePart(partitions_.parts[p], shapes, whole.has_value() ? &*whole : nullptr, run));
    if (context_.budget != nullptr) step->parts.back()->SetBudget(context_.budget);
  }
  for (size_t p = 0; p < step->parts.size(); ++p) {
    step->num_instructions +=
        static_cast<int64_t>(step->parts[p] != nullptr ? step->parts[p]->instructions.size()
                                                       : step->programs[p]->nodes.size());
  }
  if (step->parts.size() == 1 && step->parts[0] != nullptr && !step->parts[0]->may_wait) {
    step->direct = step->parts[0].get();
  }
  return step;
}

Status Executable::CompilePrograms() {
  bool all_dynamic = true;
  for (const Partition& part : partitions_.parts) {
    std::unique_ptr<DynamicProgram>& program = programs_.emplace_back();
    const bool is_dynamic = NeedsDynamicExecutor(part, *(*context_.devices)[part.device]);
    all_dynamic &= is_dynamic;
    if (!is_dynamic) continue;
    DynamicRequest request;
    request.graph = &part.pruned;
    request.signature = &part.signature;
    request.kernels = (*context_.devices)[part.device]->kernels();
    request.memory = (*context_.devices)[part.device]->memory();
    request.resources = context_.resources;
    request.deterministic = context_.options.deterministic;
    request.checks = context_.checks;
    request.move_fetches = context_.features.moved_fetches;
    MS_ASSIGN_OR_RETURN(program, DynamicProgram::Compile(request));
  }
  if (all_dynamic) {
    MS_ASSIGN_OR_RETURN(dynamic_, Compile(nullptr, nullptr));
  }
  return absl::OkStatus();
}

void Executable::DropKeptStates() {
  absl::MutexLock lock(&mutex_);
  for (const std::unique_ptr<StepPlan>& step : owned_) {
    for (const std::unique_ptr<Plan>& part : step->parts) {
      if (part != nullptr) part->DropKeptStates();
    }
  }
}

StepPlan* Executable::FindCompiled(absl::Span<const Tensor> feeds) const {
  for (const std::atomic<StepPlan*>& entry : plans_) {
    StepPlan* plan = entry.load(std::memory_order_acquire);
    if (plan == nullptr) return nullptr;
    if (ShapesFit(*plan, feeds)) return plan;
  }
  return nullptr;
}

// Null: there is none. `entry` is where one for the shapes of these feeds would go, kMaxPlans when
// there is room for one for any shapes alone.
StepPlan* Executable::FindMade(absl::Span<const Tensor> feeds, int* entry) const {
  if (StepPlan* plan = FindCompiled(feeds)) return plan;
  *entry = 0;
  while (*entry < kMaxPlans && plans_[*entry].load(std::memory_order_relaxed) != nullptr) ++*entry;
  return *entry == kMaxPlans ? any_shape_ : nullptr;
}

StepPlan* Executable::Keep(std::unique_ptr<StepPlan> made, int entry) {
  StepPlan* const plan = made.get();
  owned_.push_back(std::move(made));
  if (entry == kMaxPlans) {
    any_shape_ = plan;
  } else {
    plans_[entry].store(plan, std::memory_order_release);
  }
  return plan;
}

// No lock is held over the compilation: that asks the front end whether the step is to stop, which
// may run any code there, a step of this executable as well. Who was slower takes what is there.
StatusOr<StepPlan*> Executable::FindPlan(absl::Span<const Tensor> feeds,
                                         const RunOptions& options) {
  if (dynamic_ != nullptr) {
    MS_RETURN_IF_ERROR(CheckFeedShapes(feeds));
    return dynamic_.get();
  }
  if (StepPlan* plan = FindCompiled(feeds)) return plan;
  MS_RETURN_IF_ERROR(CheckFeedShapes(feeds));
  std::vector<Shape> shapes;
  for (const Tensor& feed : feeds) shapes.push_back(feed.shape());
  std::unique_ptr<StepPlan> made;
  bool is_for_any_shape = false;
  while (true) {
    int entry = 0;
    {
      absl::MutexLock lock(&mutex_);
      if (StepPlan* plan = FindMade(feeds, &entry)) return plan;
      const bool fits = is_for_any_shape == (entry == kMaxPlans);  // others may have taken the room
      if (made != nullptr && fits) return Keep(std::move(made), entry);
    }
    is_for_any_shape = entry == kMaxPlans;
    MS_ASSIGN_OR_RETURN(made, Compile(is_for_any_shape ? nullptr : &shapes, &options));
  }
}

Status Executable::Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                       const RunOptions& options) {
  MS_RETURN_IF_ERROR(CheckFeeds(feeds));
  if (fetches.size() != signature_.fetches.size()) {
    return errors::InvalidArgument("the step gives ", signature_.fetches.size(),
                                   " fetches, there is room for ", fetches.size());
  }
  if (context_.checks != nullptr) {
    for (size_t i = 0; i < feeds.size(); ++i) {
      const auto& [feed, facts] = given_[i];
      MS_RETURN_IF_ERROR(NumericChecks::CheckFeed(feed, feeds[i]));
    }
  }
  if (feeds_as_given_) return RunFed(feeds, fetches, options);
  std::vector<Tensor> inside;
  inside.reserve(feed_sources_.size());
  for (int source : feed_sources_) {
    inside.push_back(feeds[source]);
    if (context_.features.borrowed_feeds) continue;
    MS_ASSIGN_OR_RETURN(inside.back(), feeds[source].DeepCopy());
  }
  return RunFed(inside, fetches, options);
}

Status Executable::RunFed(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                          const RunOptions& options) {
  MS_ASSIGN_OR_RETURN(StepPlan * plan, FindPlan(feeds, options));
  num_instructions_.store(plan->num_instructions, std::memory_order_relaxed);
  if (options.report != nullptr && options.report->want_partition_graphs) {
    MS_RETURN_IF_ERROR(ReportGraphs(options.report));
  }
  if (options.report == nullptr || !options.report->want_trace) {
    return ExecuteStep(*plan, settings_, feeds, fetches, options);
  }
  const StepProfiling profiling(PluginLoader::Global()->Plugins(), &options.report->trace);
  return ExecuteStep(*plan, settings_, feeds, fetches, options);
}

}  // namespace millstream
