#include "core/executable.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/device_name.h"
#include "core/plan_compiler.h"
#include "core/plan_executor.h"

namespace millstream {
namespace {

bool ShapesFit(const Plan& plan, absl::Span<const Tensor> feeds) {
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (plan.feed_shapes[i] != feeds[i].shape()) return false;
  }
  return true;
}

}  // namespace

StatusOr<std::unique_ptr<Executable>> Executable::Create(const ExecutableContext* context,
                                                         const StepSignature& signature) {
  std::unique_ptr<Executable> executable(new Executable(context, signature));
  MS_RETURN_IF_ERROR(executable->CheckSignature());
  MS_ASSIGN_OR_RETURN(executable->pruned_, Prune(*context->graph, signature));
  MS_RETURN_IF_ERROR(executable->Place());
  context->graph->MarkAsRun(executable->pruned_.nodes);
  return executable;
}

// A handle is an address inside the session: it neither comes from outside nor leaves.
Status Executable::CheckSignature() const {
  for (const Output& feed : signature_.feeds) {
    if (feed.dtype() == DataType::kResource) {
      return AnnotateWithNode(
          errors::InvalidArgument(feed.name(), " is a resource handle, which cannot be fed"),
          *feed.node);
    }
  }
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

// There is one device; a node that asks for another fails, or moves if soft placement allows it.
Status Executable::Place() const {
  MS_ASSIGN_OR_RETURN(const DeviceName device, DeviceName::Parse(context_.device_name));
  for (const Node* node : pruned_.nodes) {
    const std::string requested = context_.graph->Device(node);
    StatusOr<DeviceName> wanted = DeviceName::Parse(requested);
    if (!wanted.ok()) return AnnotateWithNode(wanted.status(), *node);
    if (!wanted->Fits(device) && !context_.options.allow_soft_placement) {
      return AnnotateWithNode(
          errors::InvalidArgument("Cannot assign a device: the node asks for '", requested,
                                  "', there is ", context_.device_name),
          *node);
    }
    if (context_.options.log_device_placement) {
      std::fprintf(stderr, "%s: (%s): %s\n", node->name().c_str(), node->op().name.c_str(),
                   context_.device_name.c_str());
    }
  }
  return absl::OkStatus();
}

Status Executable::CheckFeeds(absl::Span<const Tensor> feeds) const {
  if (feeds.size() != signature_.feeds.size()) {
    return errors::InvalidArgument("the step takes ", signature_.feeds.size(), " feeds, got ",
                                   feeds.size());
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Output& feed = signature_.feeds[i];
    if (feeds[i].dtype() == feed.dtype()) continue;
    return AnnotateWithNode(errors::InvalidArgument("the feed of ", feed.name(), " must be ",
                                                    DataTypeName(feed.dtype()), ", got ",
                                                    DataTypeName(feeds[i].dtype())),
                            *feed.node);
  }
  return absl::OkStatus();
}

Status Executable::CheckFeedShapes(absl::Span<const Tensor> feeds) const {
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Output& feed = signature_.feeds[i];
    const PartialShape shape = context_.graph->Facts(feed).shape;
    if (shape.IsCompatibleWith(feeds[i].shape())) continue;
    return AnnotateWithNode(
        errors::InvalidArgument("the feed of ", feed.name(), " must have shape ", shape.ToString(),
                                ", got ", feeds[i].shape().ToString()),
        *feed.node);
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Plan>> Executable::Compile(const std::vector<Shape>* shapes) const {
  PlanRequest request;
  request.graph = &pruned_;
  request.signature = &signature_;
  request.feed_shapes = shapes;
  request.kernels = context_.kernels;
  request.resources = context_.resources;
  request.threads = context_.threads;
  request.optimize = context_.options.optimize;
  request.deterministic = context_.options.deterministic;
  return CompilePlan(request);
}

Plan* Executable::FindCompiled(absl::Span<const Tensor> feeds) const {
  for (const std::atomic<Plan*>& entry : plans_) {
    Plan* plan = entry.load(std::memory_order_acquire);
    if (plan == nullptr) return nullptr;
    if (ShapesFit(*plan, feeds)) return plan;
  }
  return nullptr;
}

StatusOr<Plan*> Executable::FindPlan(absl::Span<const Tensor> feeds) {
  if (Plan* plan = FindCompiled(feeds)) return plan;
  MS_RETURN_IF_ERROR(CheckFeedShapes(feeds));
  absl::MutexLock lock(&mutex_);
  if (Plan* plan = FindCompiled(feeds)) return plan;
  int entry = 0;
  while (entry < kMaxPlans && plans_[entry].load(std::memory_order_relaxed) != nullptr) ++entry;
  if (entry == kMaxPlans) {
    if (any_shape_ == nullptr) {
      MS_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, Compile(nullptr));
      any_shape_ = plan.get();
      owned_.push_back(std::move(plan));
    }
    return any_shape_;
  }
  std::vector<Shape> shapes;
  for (const Tensor& feed : feeds) shapes.push_back(feed.shape());
  MS_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, Compile(&shapes));
  Plan* const result = plan.get();
  owned_.push_back(std::move(plan));
  plans_[entry].store(result, std::memory_order_release);
  return result;
}

Status Executable::Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                       const RunOptions& options) {
  MS_RETURN_IF_ERROR(CheckFeeds(feeds));
  if (fetches.size() != signature_.fetches.size()) {
    return errors::InvalidArgument("the step gives ", signature_.fetches.size(),
                                   " fetches, there is room for ", fetches.size());
  }
  MS_ASSIGN_OR_RETURN(Plan * plan, FindPlan(feeds));
  num_instructions_.store(static_cast<int64_t>(plan->instructions.size()),
                          std::memory_order_relaxed);
  return ExecutePlan(plan, context_.device_name, feeds, fetches, options);
}

}  // namespace millstream
