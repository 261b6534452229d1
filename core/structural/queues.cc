// Queues, which pass tensors between steps. A kernel that must wait does so in the FifoQueue.
#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/device/device_memory.h"
#include "core/resources/fifo_queue.h"
#include "core/resources/resource_handle.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "core/structural/tensor_rows.h"

namespace millstream {
namespace {

using Element = FifoQueue::Element;

// ---- The queue ----

StatusOr<QueueSpec> SpecOf(const Node& node) {
  QueueSpec spec;
  MS_ASSIGN_OR_RETURN(spec.dtypes, node.Attr<DataTypeList>("component_types"));
  MS_ASSIGN_OR_RETURN(spec.capacity, node.Attr<int64_t>("capacity"));
  if (spec.capacity < 0) spec.capacity = QueueSpec::kUnbounded;
  MS_ASSIGN_OR_RETURN(const auto shapes, node.Attr<std::vector<PartialShape>>("shapes"));
  for (const PartialShape& shape : shapes) {
    if (!shape.IsFullyKnown()) {
      return errors::InvalidArgument(
          "attribute 'shapes' of a FIFOQueue must be fully defined, got ", shape.ToString());
    }
    spec.shapes.push_back(shape.ToShape());
  }
  if (spec.shapes.empty() || spec.shapes.size() == spec.dtypes.size()) return spec;
  return errors::InvalidArgument("attribute 'shapes' must be empty or have a shape for each of ",
                                 spec.dtypes.size(), " components, got ", spec.shapes.size());
}

// Nodes that share a queue must mean the same one.
Status CheckShared(const FifoQueue& queue, const QueueSpec& wanted) {
  const QueueSpec& spec = queue.spec();
  if (spec.capacity != wanted.capacity) {
    return errors::InvalidArgument("Shared queue '", queue.name(), "' has capacity ", spec.capacity,
                                   " but requested capacity was ", wanted.capacity);
  }
  MS_RETURN_IF_ERROR(queue.CheckTypes(wanted.dtypes));
  if (spec.shapes == wanted.shapes) return absl::OkStatus();
  return errors::InvalidArgument("Shared queue '", queue.name(), "' has other component shapes");
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
  MS_ASSIGN_OR_RETURN(ResourceRef<FifoQueue> queue,
                      resources->LookupOrCreate<FifoQueue>(
                          name.container, name.name, [&]() -> StatusOr<ResourceRef<FifoQueue>> {
                            std::string label =
                                shared_name.empty() ? PrivateLabel(name.name) : shared_name;
                            return MakeResource<FifoQueue>(name.name, std::move(label), spec);
                          }));
  MS_RETURN_IF_ERROR(CheckShared(*queue, spec));
  return ResourceRef<Resource>(std::move(queue));
}

// Of input 0.
StatusOr<FifoQueue*> QueueOf(const StructuralFrame& frame) {
  auto* const queue = ResourceAs<FifoQueue>(frame.handle(0));
  if (queue == nullptr) return errors::InvalidArgument("argument 'handle' is no handle of a queue");
  return queue;
}

// ---- Batches ----

// The elements of a batch, each in memory of its own. REQUIRES: FifoQueue::CheckComponents.
StatusOr<std::vector<Element>> SplitBatch(const std::vector<Tensor>& batch) {
  const int64_t count = batch[0].shape().dim(0);
  std::vector<Element> elements(static_cast<size_t>(count));
  for (const Tensor& component : batch) {
    const Shape shape = RowShape(component);
    for (int64_t i = 0; i < count; ++i) {
      MS_ASSIGN_OR_RETURN(Tensor row, RowsOf(component, i, shape).DeepCopy());
      elements[static_cast<size_t>(i)].push_back(std::move(row));
    }
  }
  return elements;
}

// Component `k` of all elements, one below the other.
StatusOr<Tensor> JoinRows(const std::vector<Element>& elements, size_t k, DataType dtype,
                          const Shape& row) {
  const auto count = static_cast<int64_t>(elements.size());
  MS_ASSIGN_OR_RETURN(Tensor batch, Tensor::Create(dtype, ShapeOfRows(count, row)));
  for (int64_t i = 0; i < count; ++i) {
    MS_RETURN_IF_ERROR(CopyElements(elements[static_cast<size_t>(i)][k], RowsOf(batch, i, row)));
  }
  return batch;
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
    const StatusOr<FifoQueue*> queue = QueueOf(frame);
    const Status begun = queue.ok() ? Begin(*queue, frame, execution) : queue.status();
    if (!begun.ok()) execution.End(begun);
  }
  void Cancel(const StructuralFrame& frame, HostExecution execution) final {
    const StatusOr<FifoQueue*> queue = QueueOf(frame);
    if (queue.ok()) (*queue)->Cancel(execution.id());
  }
  std::string WaitsFor(const StructuralFrame& frame) const final {
    const StatusOr<FifoQueue*> queue = QueueOf(frame);
    return queue.ok() ? absl::StrCat(wait_, " queue '", (*queue)->name(), "'") : "";
  }

 protected:
  // `wait`: what an execution may wait for, up to the queue: "room in".
  explicit QueueKernel(const char* wait) : wait_(wait) {}
  // Begins an execution, which it has not ended where it gives an error.
  virtual Status Begin(FifoQueue* queue, StructuralFrame frame, HostExecution execution) = 0;

 private:
  const char* const wait_;
};

FifoQueue::Callback Ending(HostExecution execution) {
  return [execution](const Status& status, const std::vector<Element>&) { execution.End(status); };
}

class EnqueueKernel final : public QueueKernel {
 public:
  EnqueueKernel() : QueueKernel("room in") {}

 private:
  Status Begin(FifoQueue* queue, StructuralFrame frame, HostExecution execution) override {
    MS_ASSIGN_OR_RETURN(std::vector<Tensor> components, InputsFrom(frame, 1));
    MS_RETURN_IF_ERROR(queue->CheckComponents(components, false));
    std::vector<Element> elements;
    elements.push_back(std::move(components));
    queue->Enqueue(execution.id(), std::move(elements), Ending(execution));
    return absl::OkStatus();
  }

  static StatusOr<std::vector<Tensor>> InputsFrom(const StructuralFrame& frame, uint32_t first) {
    std::vector<Tensor> tensors;
    for (uint32_t i = first; i < frame.num_inputs(); ++i) {
      MS_ASSIGN_OR_RETURN(Tensor tensor, frame.InputTensor(i));
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }
};

class EnqueueManyKernel final : public QueueKernel {
 public:
  EnqueueManyKernel() : QueueKernel("room in") {}

 private:
  Status Begin(FifoQueue* queue, StructuralFrame frame, HostExecution execution) override {
    std::vector<Tensor> batch;
    for (uint32_t i = 1; i < frame.num_inputs(); ++i) batch.push_back(frame.BorrowInput(i));
    MS_RETURN_IF_ERROR(queue->CheckComponents(batch, true));
    MS_ASSIGN_OR_RETURN(std::vector<Element> elements, SplitBatch(batch));
    if (elements.empty()) {
      execution.End(absl::OkStatus());
      return absl::OkStatus();
    }
    queue->Enqueue(execution.id(), std::move(elements), Ending(execution));
    return absl::OkStatus();
  }
};

class DequeueKernel final : public QueueKernel {
 public:
  DequeueKernel() : QueueKernel("an element of") {}

 private:
  Status Begin(FifoQueue* queue, StructuralFrame frame, HostExecution execution) override {
    MS_RETURN_IF_ERROR(queue->CheckTypes(frame.call().signature->output_types));
    queue->Dequeue(execution.id(), 1,
                   [frame, execution](const Status& status, std::vector<Element> elements) {
                     execution.End(status.ok() ? SetOutputs(frame, elements[0]) : status);
                   });
    return absl::OkStatus();
  }

  static Status SetOutputs(StructuralFrame frame, const Element& element) {
    for (uint32_t k = 0; k < element.size(); ++k) {
      MS_RETURN_IF_ERROR(frame.SetOutput(k, element[k]));
    }
    return absl::OkStatus();
  }
};

class DequeueManyKernel final : public QueueKernel {
 public:
  DequeueManyKernel() : QueueKernel("more elements of") {}

 private:
  Status Begin(FifoQueue* queue, StructuralFrame frame, HostExecution execution) override {
    MS_RETURN_IF_ERROR(queue->CheckTypes(frame.call().signature->output_types));
    if (queue->spec().shapes.size() != queue->spec().dtypes.size()) {
      return errors::InvalidArgument(
          "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified "
          "shapes.");
    }
    if (frame.input_shape(1).rank() != 0) {
      return errors::InvalidArgument("argument 'n' must be a scalar, got shape ",
                                     frame.input_shape(1).ToString());
    }
    MS_ASSIGN_OR_RETURN(const std::vector<int64_t> n, frame.Integers(1));
    if (n[0] < 0) {
      return errors::InvalidArgument("argument 'n' must not be negative: DequeueManyOp requested ",
                                     n[0], " < 0 elements");
    }
    queue->Dequeue(execution.id(), n[0],
                   [queue, frame, execution](const Status& status, std::vector<Element> elements) {
                     execution.End(status.ok() ? SetBatch(*queue, frame, elements) : status);
                   });
    return absl::OkStatus();
  }

  static Status SetBatch(const FifoQueue& queue, StructuralFrame frame,
                         const std::vector<Element>& elements) {
    const QueueSpec& spec = queue.spec();
    for (size_t k = 0; k < spec.dtypes.size(); ++k) {
      MS_ASSIGN_OR_RETURN(const Tensor batch,
                          JoinRows(elements, k, spec.dtypes[k], spec.shapes[k]));
      MS_RETURN_IF_ERROR(frame.SetOutput(static_cast<uint32_t>(k), batch));
    }
    return absl::OkStatus();
  }
};

class CloseKernel final : public QueueKernel {
 public:
  CloseKernel() : QueueKernel("the pending enqueues of") {}
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(cancels_, info.Attr<bool>("cancel_pending_enqueues"));
    return absl::OkStatus();
  }

 private:
  Status Begin(FifoQueue* queue, StructuralFrame, HostExecution execution) override {
    queue->Close(execution.id(), cancels_, Ending(execution));
    return absl::OkStatus();
  }
  bool cancels_ = false;
};

// ---- Those that never wait ----

Status QueueSize(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const FifoQueue* queue, QueueOf(*frame));
  MS_ASSIGN_OR_RETURN(Tensor size, frame->AllocateOutput(0, Shape()));
  *size.data<int32_t>() =
      static_cast<int32_t>(std::min<int64_t>(queue->size(), std::numeric_limits<int32_t>::max()));
  return absl::OkStatus();
}

Status QueueIsClosed(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const FifoQueue* queue, QueueOf(*frame));
  MS_ASSIGN_OR_RETURN(Tensor is_closed, frame->AllocateOutput(0, Shape()));
  *is_closed.data<bool>() = queue->is_closed();
  return absl::OkStatus();
}

MILLSTREAM_RESOURCE_HANDLE("FIFOQueueV2", FindQueue);
MILLSTREAM_STRUCTURAL("FIFOQueueV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_HOST_KERNEL("QueueEnqueueV2", EnqueueKernel);
MILLSTREAM_HOST_KERNEL("QueueEnqueueManyV2", EnqueueManyKernel);
MILLSTREAM_HOST_KERNEL("QueueDequeueV2", DequeueKernel);
MILLSTREAM_HOST_KERNEL("QueueDequeueManyV2", DequeueManyKernel);
MILLSTREAM_HOST_KERNEL("QueueCloseV2", CloseKernel);
MILLSTREAM_STRUCTURAL("QueueSizeV2", StructuralRole::kKernel, QueueSize);
MILLSTREAM_STRUCTURAL("QueueIsClosedV2", StructuralRole::kKernel, QueueIsClosed);

}  // namespace
}  // namespace millstream
