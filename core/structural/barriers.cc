// Barriers, which put elements together whose components come from several steps. A kernel that
// must wait does so in the Barrier.
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/resources/barrier.h"
#include "core/resources/resource_handle.h"
#include "core/structural/host_kernel.h"
#include "core/structural/queue_batches.h"
#include "core/structural/structural.h"
#include "core/structural/tensor_rows.h"

namespace millstream {
namespace {

StatusOr<BarrierSpec> SpecOf(const Node& node) {
  BarrierSpec spec;
  MS_ASSIGN_OR_RETURN(spec.dtypes, node.Attr<DataTypeList>("component_types"));
  MS_ASSIGN_OR_RETURN(const int64_t capacity, node.Attr<int64_t>("capacity"));
  if (capacity >= 0) {
    return errors::InvalidArgument(
        "attribute 'capacity' must be -1: a barrier has no limit; put a queue before it");
  }
  MS_ASSIGN_OR_RETURN(const auto shapes, node.Attr<std::vector<PartialShape>>("shapes"));
  for (const PartialShape& shape : shapes) {
    if (!shape.IsFullyKnown()) {
      return errors::InvalidArgument("attribute 'shapes' must be fully defined, got ",
                                     shape.ToString());
    }
    spec.shapes.push_back(shape.ToShape());
  }
  if (shapes.empty() || shapes.size() == spec.dtypes.size()) return spec;
  return errors::InvalidArgument("attribute 'shapes' must be empty or have a shape for each of ",
                                 spec.dtypes.size(), " components, got ", shapes.size());
}

StatusOr<ResourceRef<Resource>> FindBarrier(const Node& node, ResourceManager* resources) {
  MS_ASSIGN_OR_RETURN(const ResourceName name, ResourceNameOf(node));
  MS_ASSIGN_OR_RETURN(const BarrierSpec spec, SpecOf(node));
  MS_ASSIGN_OR_RETURN(ResourceRef<Barrier> barrier,
                      resources->LookupOrCreate<Barrier>(
                          name.container, name.name, [&]() -> StatusOr<ResourceRef<Barrier>> {
                            return MakeResource<Barrier>(name.name, spec);
                          }));
  if (barrier->spec() == spec) return ResourceRef<Resource>(std::move(barrier));
  return errors::InvalidArgument("barrier '", name.name, "' has other component types or shapes");
}

// Of input 0.
StatusOr<Barrier*> BarrierOf(const StructuralFrame& frame) {
  auto* const barrier = ResourceAs<Barrier>(frame.handle(0));
  if (barrier != nullptr) return barrier;
  return errors::InvalidArgument("argument 'handle' is no handle of a barrier");
}

class InsertManyKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(component_, info.Attr<int64_t>("component_index"));
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(Barrier* const barrier, BarrierOf(*frame));
    const Tensor keys = frame->BorrowInput(1);
    const Tensor values = frame->BorrowInput(2);
    MS_RETURN_IF_ERROR(Check(*barrier, keys, values));
    const auto names = keys.flat<std::string>();
    std::vector<Tensor> rows;
    const Shape shape = RowShape(values);
    for (int64_t i = 0; i < keys.num_elements(); ++i) {
      MS_ASSIGN_OR_RETURN(Tensor row, RowsOf(values, i, shape).DeepCopy());
      rows.push_back(std::move(row));
    }
    return barrier->Insert(static_cast<size_t>(component_), {names.begin(), names.end()}, rows);
  }

 private:
  Status Check(const Barrier& barrier, const Tensor& keys, const Tensor& values) const {
    const BarrierSpec& spec = barrier.spec();
    if (component_ < 0 || component_ >= static_cast<int64_t>(spec.dtypes.size())) {
      return errors::InvalidArgument("attribute 'component_index' = ", component_,
                                     " is not in [0, ", spec.dtypes.size(), ")");
    }
    const auto component = static_cast<size_t>(component_);
    if (values.dtype() != spec.dtypes[component]) {
      return errors::InvalidArgument("argument 'values' has type ", DataTypeName(values.dtype()),
                                     ", component ", component_, " has ",
                                     DataTypeName(spec.dtypes[component]));
    }
    if (keys.shape().rank() != 1 || values.shape().rank() == 0 ||
        values.shape().dim(0) != keys.shape().dim(0)) {
      return errors::InvalidArgument(
          "argument 'values' must have a row for each of the keys, a vector; got shapes ",
          values.shape().ToString(), " and ", keys.shape().ToString());
    }
    if (spec.shapes.empty() || spec.shapes[component] == RowShape(values)) return absl::OkStatus();
    return errors::InvalidArgument("Shape mismatch in component ", component_, ". Expected ",
                                   spec.shapes[component].ToString(), ", got ",
                                   RowShape(values).ToString());
  }

  int64_t component_ = 0;
};

class TakeManyKernel final : public AsyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(options_.allows_fewer, info.Attr<bool>("allow_small_batch"));
    MS_ASSIGN_OR_RETURN(options_.waits_for_incomplete, info.Attr<bool>("wait_for_incomplete"));
    MS_ASSIGN_OR_RETURN(const int64_t timeout, info.Attr<int64_t>("timeout_ms"));
    if (timeout == -1) return absl::OkStatus();
    return errors::InvalidArgument("attribute 'timeout_ms' must be -1, got ", timeout,
                                   ": a barrier knows no time limit; give the step one");
  }
  void ComputeAsync(StructuralFrame frame, HostExecution execution) override {
    const Status begun = Begin(frame, execution);
    if (!begun.ok()) execution.End(begun);
  }
  void Cancel(const StructuralFrame& frame, HostExecution execution) override {
    const StatusOr<Barrier*> barrier = BarrierOf(frame);
    if (barrier.ok()) (*barrier)->Cancel(execution.id());
  }
  std::string WaitsFor(const StructuralFrame& frame) const override {
    const StatusOr<Barrier*> barrier = BarrierOf(frame);
    return barrier.ok() ? absl::StrCat("more elements of barrier '", (*barrier)->name(), "'") : "";
  }

 private:
  Status Begin(StructuralFrame frame, HostExecution execution) const {
    MS_ASSIGN_OR_RETURN(Barrier* const barrier, BarrierOf(frame));
    MS_ASSIGN_OR_RETURN(const std::vector<int64_t> count, frame.Integers(1));
    if (count.size() != 1 || count[0] < 0) {
      return errors::InvalidArgument(
          "argument 'num_elements' must be a scalar that is not negative");
    }
    const DataTypeList& dtypes = barrier->spec().dtypes;
    if (frame.num_outputs() != dtypes.size() + 2) {
      return errors::InvalidArgument("barrier '", barrier->name(), "' has ", dtypes.size(),
                                     " components, the op has ", frame.num_outputs() - 2);
    }
    for (size_t k = 0; k < dtypes.size(); ++k) {
      const DataType dtype = frame.call().output_type(static_cast<int>(k + 2));
      if (dtype == dtypes[k]) continue;
      return errors::InvalidArgument("component ", k, " has type ", DataTypeName(dtypes[k]),
                                     ", the op gives ", DataTypeName(dtype));
    }
    const auto taken = std::make_shared<std::vector<Barrier::Element>>();
    barrier->Take(execution.id(), static_cast<size_t>(count[0]), options_, taken.get(),
                  [barrier, frame, execution, taken](const Status& status) {
                    execution.End(status.ok() ? SetOutputs(*barrier, frame, *taken) : status);
                  });
    return absl::OkStatus();
  }

  static Status SetOutputs(const Barrier& barrier, StructuralFrame frame,
                           const std::vector<Barrier::Element>& elements) {
    const auto count = static_cast<int64_t>(elements.size());
    MS_ASSIGN_OR_RETURN(const Tensor indices, frame.AllocateOutput(0, Shape({count})));
    MS_ASSIGN_OR_RETURN(const Tensor keys, frame.AllocateOutput(1, Shape({count})));
    std::vector<QueueRows> rows;
    for (size_t i = 0; i < elements.size(); ++i) {
      indices.data<int64_t>()[i] = elements[i].number;
      keys.data<std::string>()[i] = elements[i].key;
      rows.push_back(QueueRows::One(elements[i].components));
    }
    const BarrierSpec& spec = barrier.spec();
    for (size_t k = 0; k < spec.dtypes.size(); ++k) {
      MS_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(spec, rows, k));
      MS_ASSIGN_OR_RETURN(const Tensor batch, JoinRows(rows, k, spec.dtypes[k], shape));
      MS_RETURN_IF_ERROR(frame.SetOutput(static_cast<uint32_t>(k + 2), batch));
    }
    return absl::OkStatus();
  }

  // Of component k of all elements.
  static StatusOr<Shape> ShapeOf(const BarrierSpec& spec, const std::vector<QueueRows>& rows,
                                 size_t k) {
    if (!spec.shapes.empty()) return spec.shapes[k];
    if (rows.empty()) return Shape();
    const Shape& first = rows[0].components[k].shape();
    for (const QueueRows& row : rows) {
      const Shape& other = row.components[k].shape();
      if (other == first) continue;
      return errors::InvalidArgument("component ", k, " has shape ", first.ToString(),
                                     " in one element and ", other.ToString(), " in another");
    }
    return first;
  }

  Barrier::TakeOptions options_;
};

Status CloseBarrier(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(Barrier* const barrier, BarrierOf(*frame));
  MS_ASSIGN_OR_RETURN(const bool cancels, frame->call().Attr<bool>("cancel_pending_enqueues"));
  return barrier->Close(cancels);
}

template <int64_t (Barrier::*size)() const>
Status SizeOf(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const Barrier* const barrier, BarrierOf(*frame));
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
  *output.data<int32_t>() = static_cast<int32_t>((barrier->*size)());
  return absl::OkStatus();
}

MILLSTREAM_RESOURCE_HANDLE("_Barrier", FindBarrier);
MILLSTREAM_STRUCTURAL("_Barrier", StructuralRole::kHandle, nullptr);
MILLSTREAM_HOST_KERNEL("_BarrierInsertMany", InsertManyKernel);
MILLSTREAM_HOST_KERNEL("_BarrierTakeMany", TakeManyKernel);
MILLSTREAM_HOST_KERNEL("_BarrierClose", HostFunction<&CloseBarrier>);
MILLSTREAM_HOST_KERNEL("_BarrierReadySize", HostFunction<&SizeOf<&Barrier::ready_size>>);
MILLSTREAM_HOST_KERNEL("_BarrierIncompleteSize", HostFunction<&SizeOf<&Barrier::incomplete_size>>);

}  // namespace
}  // namespace millstream
