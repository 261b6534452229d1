// Queues, which pass tensors between steps. A kernel that must wait does so in the TensorQueue.
#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/resources/resource_handle.h"
#include "core/resources/tensor_queue.h"
#include "core/structural/host_kernel.h"
#include "core/structural/queue_batches.h"
#include "core/structural/structural.h"

namespace millstream {
namespace {

// ---- The queue ----

StatusOr<QueueKind> KindOf(const Node& node) {
  for (const QueueKind kind :
       {QueueKind::kFifo, QueueKind::kPadding, QueueKind::kPriority, QueueKind::kRandomShuffle}) {
    if (node.op().name == absl::StrCat(NameOf(kind), "V2")) return kind;
  }
  return errors::Internal("op ", node.op().name, " names no queue");
}

// The shapes of the components. Those of a priority queue's op say nothing of the priority.
Status ReadShapes(const Node& node, QueueSpec* spec) {
  MS_ASSIGN_OR_RETURN(spec->shapes, node.Attr<std::vector<PartialShape>>("shapes"));
  const absl::string_view kind = NameOf(spec->kind);
  const bool pads = spec->kind == QueueKind::kPadding;
  for (const PartialShape& shape : spec->shapes) {
    if (pads ? shape.known_rank() : shape.IsFullyKnown()) continue;
    return errors::InvalidArgument("attribute 'shapes' of a ", kind, " must ",
                                   pads ? "have known ranks" : "be fully defined", ", got ",
                                   shape.ToString());
  }
  if (spec->shapes.size() != spec->dtypes.size() && (pads || !spec->shapes.empty())) {
    return errors::InvalidArgument("attribute 'shapes' must ", pads ? "" : "be empty or ",
                                   "have a shape for each of ", spec->dtypes.size(),
                                   " components, got ", spec->shapes.size());
  }
  if (spec->kind != QueueKind::kPriority) return absl::OkStatus();
  const bool has_shapes = !spec->shapes.empty() || spec->dtypes.empty();
  if (has_shapes) spec->shapes.insert(spec->shapes.begin(), PartialShape::Scalar());
  spec->dtypes.insert(spec->dtypes.begin(), DataType::kInt64);
  return absl::OkStatus();
}

Status ReadShuffle(const Node& node, QueueSpec* spec) {
  MS_ASSIGN_OR_RETURN(spec->min_after_dequeue, node.Attr<int64_t>("min_after_dequeue"));
  spec->seeds = node.attrs();
  const int64_t min = spec->min_after_dequeue;
  if (min >= 0 && (spec->capacity < 0 || min < spec->capacity)) return absl::OkStatus();
  return errors::InvalidArgument(
      "attribute 'min_after_dequeue' must be >= 0 and below the capacity ", spec->capacity,
      ", got ", min);
}

StatusOr<QueueSpec> SpecOf(const Node& node) {
  QueueSpec spec;
  MS_ASSIGN_OR_RETURN(spec.kind, KindOf(node));
  MS_ASSIGN_OR_RETURN(spec.dtypes, node.Attr<DataTypeList>("component_types"));
  MS_ASSIGN_OR_RETURN(spec.capacity, node.Attr<int64_t>("capacity"));
  if (spec.capacity < 0) spec.capacity = QueueSpec::kUnbounded;
  MS_RETURN_IF_ERROR(ReadShapes(node, &spec));
  if (spec.kind == QueueKind::kRandomShuffle) MS_RETURN_IF_ERROR(ReadShuffle(node, &spec));
  return spec;
}

// "int32, string"
template <typename Items, typename TextOf>
std::string Joined(const Items& items, const TextOf& text_of) {
  return absl::StrJoin(items, ", ", [&](std::string* out, const auto& item) {
    absl::StrAppend(out, text_of(item));
  });
}

// Nodes that share a queue must mean the same one.
Status CheckShared(const TensorQueue& queue, const QueueSpec& wanted) {
  const QueueSpec& spec = queue.spec();
  if (spec.kind != wanted.kind) {
    return errors::InvalidArgument("Shared queue '", queue.name(), "' has type '",
                                   NameOf(spec.kind), "' but requested type was '",
                                   NameOf(wanted.kind), "'");
  }
  if (spec.capacity != wanted.capacity) {
    return errors::InvalidArgument("Shared queue '", queue.name(), "' has capacity ", spec.capacity,
                                   " but requested capacity was ", wanted.capacity);
  }
  if (spec.min_after_dequeue != wanted.min_after_dequeue) {
    return errors::InvalidArgument("Shared queue '", queue.name(), "' has min_after_dequeue ",
                                   spec.min_after_dequeue, " but requested min_after_dequeue was ",
                                   wanted.min_after_dequeue);
  }
  if (spec.dtypes != wanted.dtypes) {
    return errors::InvalidArgument("Shared queue '", queue.name(), "' has component types ",
                                   Joined(spec.dtypes, &DataTypeName),
                                   " but requested component types were ",
                                   Joined(wanted.dtypes, &DataTypeName));
  }
  if (spec.shapes == wanted.shapes) return absl::OkStatus();
  const auto text = [](const PartialShape& shape) { return shape.ToString(); };
  return errors::InvalidArgument(
      "Shared queue '", queue.name(), "' has component shapes [", Joined(spec.shapes, text),
      "] but requested component shapes were [", Joined(wanted.shapes, text), "]");
}

// What errors call a queue without shared_name; programs know this form.
std::string PrivateLabel(const std::string& name) {
  static std::atomic<int64_t> next_number{0};
  return absl::StrCat("_", next_number.fetch_add(1, std::memory_order_relaxed), "_", name);
}

StatusOr<ResourceRef<Resource>> FindQueue(const Node& node, ResourceManager* resources) {
  MS_ASSIGN_OR_RETURN(const ResourceName name, ResourceNameOf(node));
  MS_ASSIGN_OR_RETURN(const std::string shared_name, node.Attr<std::string>("shared_name"));
  MS_ASSIGN_OR_RETURN(const QueueSpec spec, SpecOf(node));
  MS_ASSIGN_OR_RETURN(ResourceRef<TensorQueue> queue,
                      resources->LookupOrCreate<TensorQueue>(
                          name.container, name.name, [&]() -> StatusOr<ResourceRef<TensorQueue>> {
                            std::string label =
                                shared_name.empty() ? PrivateLabel(name.name) : shared_name;
                            return MakeResource<TensorQueue>(name.name, std::move(label), spec);
                          }));
  MS_RETURN_IF_ERROR(CheckShared(*queue, spec));
  return ResourceRef<Resource>(std::move(queue));
}

// Of input 0.
StatusOr<TensorQueue*> QueueOf(const StructuralFrame& frame) {
  auto* const queue = ResourceAs<TensorQueue>(frame.handle(0));
  if (queue == nullptr) return errors::InvalidArgument("argument 'handle' is no handle of a queue");
  return queue;
}

// ---- Kernels that may wait ----

class QueueKernel : public AsyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    const StatusOr<int64_t> timeout = info.Attr<int64_t>("timeout_ms");
    if (!timeout.ok() || *timeout == -1) return absl::OkStatus();
    return errors::InvalidArgument("attribute 'timeout_ms' must be -1, got ", *timeout,
                                   ": a queue knows no time limit; give the step one");
  }
  void ComputeAsync(StructuralFrame frame, HostExecution execution) final {
    const StatusOr<TensorQueue*> queue = QueueOf(frame);
    const Status begun = queue.ok() ? Begin(*queue, frame, execution) : queue.status();
    if (!begun.ok()) execution.End(begun);
  }
  void Cancel(const StructuralFrame& frame, HostExecution execution) final {
    const StatusOr<TensorQueue*> queue = QueueOf(frame);
    if (queue.ok()) (*queue)->Cancel(execution.id());
  }
  std::string WaitsFor(const StructuralFrame& frame) const final {
    const StatusOr<TensorQueue*> queue = QueueOf(frame);
    return queue.ok() ? absl::StrCat(wait_, " queue '", (*queue)->name(), "'") : "";
  }

 protected:
  // `wait`: what an execution may wait for, up to the queue: "room in".
  explicit QueueKernel(const char* wait) : wait_(wait) {}
  // Begins an execution, which it has not ended where it gives an error.
  virtual Status Begin(TensorQueue* queue, StructuralFrame frame, HostExecution execution) = 0;

 private:
  const char* const wait_;
};

TensorQueue::Callback Ending(HostExecution execution) {
  return
      [execution](const Status& status, const std::vector<QueueRows>&) { execution.End(status); };
}

StatusOr<std::vector<Tensor>> ComponentsOf(const StructuralFrame& frame) {
  std::vector<Tensor> tensors;
  for (uint32_t i = 1; i < frame.num_inputs(); ++i) {
    MS_ASSIGN_OR_RETURN(Tensor tensor, frame.InputTensor(i));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

class EnqueueKernel final : public QueueKernel {
 public:
  EnqueueKernel() : QueueKernel("room in") {}

 private:
  Status Begin(TensorQueue* queue, StructuralFrame frame, HostExecution execution) override {
    MS_ASSIGN_OR_RETURN(std::vector<Tensor> components, ComponentsOf(frame));
    MS_RETURN_IF_ERROR(queue->CheckComponents(components, false));
    std::vector<QueueRows> elements;
    elements.push_back(QueueRows::One(std::move(components)));
    queue->Enqueue(execution.id(), std::move(elements), Ending(execution));
    return absl::OkStatus();
  }
};

class EnqueueManyKernel final : public QueueKernel {
 public:
  EnqueueManyKernel() : QueueKernel("room in") {}

 private:
  Status Begin(TensorQueue* queue, StructuralFrame frame, HostExecution execution) override {
    MS_ASSIGN_OR_RETURN(std::vector<Tensor> batch, ComponentsOf(frame));
    MS_RETURN_IF_ERROR(queue->CheckComponents(batch, true));
    if (batch[0].shape().dim(0) == 0) {
      execution.End(absl::OkStatus());
      return absl::OkStatus();
    }
    MS_ASSIGN_OR_RETURN(std::vector<QueueRows> elements,
                        ElementsOf(queue->spec().kind, std::move(batch)));
    queue->Enqueue(execution.id(), std::move(elements), Ending(execution));
    return absl::OkStatus();
  }

  // Rows that leave the queue in another order do not share memory: one that stays would keep all.
  static StatusOr<std::vector<QueueRows>> ElementsOf(QueueKind kind, std::vector<Tensor> batch) {
    const bool in_order = kind == QueueKind::kFifo || kind == QueueKind::kPadding;
    if (!in_order) return SplitBatch(batch);
    std::vector<QueueRows> elements;
    elements.push_back(QueueRows::Batch(std::move(batch)));
    return elements;
  }
};

class DequeueKernel final : public QueueKernel {
 public:
  DequeueKernel() : QueueKernel("an element of") {}

 private:
  Status Begin(TensorQueue* queue, StructuralFrame frame, HostExecution execution) override {
    MS_RETURN_IF_ERROR(queue->CheckTypes(frame.call().signature->output_types));
    queue->Dequeue(execution.id(), 1, false,
                   [frame, execution](const Status& status, std::vector<QueueRows> elements) {
                     execution.End(status.ok() ? SetOutputs(frame, elements[0]) : status);
                   });
    return absl::OkStatus();
  }

  static Status SetOutputs(StructuralFrame frame, const QueueRows& element) {
    for (uint32_t k = 0; k < element.components.size(); ++k) {
      MS_RETURN_IF_ERROR(frame.SetOutput(k, element.FirstOf(k)));
    }
    return absl::OkStatus();
  }
};

// Of QueueDequeueUpToV2 as well, which takes fewer elements from a closed queue.
class DequeueManyKernel final : public QueueKernel {
 public:
  DequeueManyKernel() : QueueKernel("more elements of") {}
  Status Init(const HostKernelInfo& info) override {
    or_fewer_ = info.op() == "QueueDequeueUpToV2";
    return QueueKernel::Init(info);
  }

 private:
  Status Begin(TensorQueue* queue, StructuralFrame frame, HostExecution execution) override {
    MS_RETURN_IF_ERROR(queue->CheckTypes(frame.call().signature->output_types));
    if (queue->spec().shapes.size() != queue->spec().dtypes.size()) {
      return errors::InvalidArgument(
          NameOf(queue->spec().kind),
          "'s DequeueMany and DequeueUpTo require the components to have specified shapes.");
    }
    if (frame.input_shape(1).rank() != 0) {
      return errors::InvalidArgument("argument 'n' must be a scalar, got shape ",
                                     frame.input_shape(1).ToString());
    }
    MS_ASSIGN_OR_RETURN(const std::vector<int64_t> n, frame.Integers(1));
    if (n[0] < 0) {
      return errors::InvalidArgument(
          "argument 'n' must not be negative: ", or_fewer_ ? "DequeueUpToOp" : "DequeueManyOp",
          " requested ", n[0], " < 0 elements");
    }
    queue->Dequeue(
        execution.id(), n[0], or_fewer_,
        [queue, frame, execution](const Status& status, std::vector<QueueRows> elements) {
          execution.End(status.ok() ? SetBatch(*queue, frame, elements) : status);
        });
    return absl::OkStatus();
  }

  static Status SetBatch(const TensorQueue& queue, StructuralFrame frame,
                         const std::vector<QueueRows>& elements) {
    const QueueSpec& spec = queue.spec();
    for (size_t k = 0; k < spec.dtypes.size(); ++k) {
      const PartialShape& shape = spec.shapes[k];
      MS_ASSIGN_OR_RETURN(const Tensor batch,
                          spec.kind == QueueKind::kPadding
                              ? JoinPaddedRows(elements, k, spec.dtypes[k], shape)
                              : JoinRows(elements, k, spec.dtypes[k], shape.ToShape()));
      MS_RETURN_IF_ERROR(frame.SetOutput(static_cast<uint32_t>(k), batch));
    }
    return absl::OkStatus();
  }
  bool or_fewer_ = false;
};

class CloseKernel final : public QueueKernel {
 public:
  CloseKernel() : QueueKernel("the pending enqueues of") {}
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(cancels_, info.Attr<bool>("cancel_pending_enqueues"));
    return absl::OkStatus();
  }

 private:
  Status Begin(TensorQueue* queue, StructuralFrame, HostExecution execution) override {
    queue->Close(execution.id(), cancels_, Ending(execution));
    return absl::OkStatus();
  }
  bool cancels_ = false;
};

// ---- Those that never wait ----

Status QueueSize(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const TensorQueue* queue, QueueOf(*frame));
  MS_ASSIGN_OR_RETURN(Tensor size, frame->AllocateOutput(0, Shape()));
  *size.data<int32_t>() =
      static_cast<int32_t>(std::min<int64_t>(queue->size(), std::numeric_limits<int32_t>::max()));
  return absl::OkStatus();
}

Status QueueIsClosed(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const TensorQueue* queue, QueueOf(*frame));
  MS_ASSIGN_OR_RETURN(Tensor is_closed, frame->AllocateOutput(0, Shape()));
  *is_closed.data<bool>() = queue->is_closed();
  return absl::OkStatus();
}

MILLSTREAM_RESOURCE_HANDLE("FIFOQueueV2", FindQueue);
MILLSTREAM_RESOURCE_HANDLE("PaddingFIFOQueueV2", FindQueue);
MILLSTREAM_RESOURCE_HANDLE("PriorityQueueV2", FindQueue);
MILLSTREAM_RESOURCE_HANDLE("RandomShuffleQueueV2", FindQueue);
MILLSTREAM_STRUCTURAL("FIFOQueueV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_STRUCTURAL("PaddingFIFOQueueV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_STRUCTURAL("PriorityQueueV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_STRUCTURAL("RandomShuffleQueueV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_HOST_KERNEL("QueueEnqueueV2", EnqueueKernel);
MILLSTREAM_HOST_KERNEL("QueueEnqueueManyV2", EnqueueManyKernel);
MILLSTREAM_HOST_KERNEL("QueueDequeueV2", DequeueKernel);
MILLSTREAM_HOST_KERNEL("QueueDequeueManyV2", DequeueManyKernel);
MILLSTREAM_HOST_KERNEL("QueueDequeueUpToV2", DequeueManyKernel);
MILLSTREAM_HOST_KERNEL("QueueCloseV2", CloseKernel);
MILLSTREAM_STRUCTURAL("QueueSizeV2", StructuralRole::kKernel, QueueSize);
MILLSTREAM_STRUCTURAL("QueueIsClosedV2", StructuralRole::kKernel, QueueIsClosed);

}  // namespace
}  // namespace millstream
