// Accumulators of gradients, dense and sparse. A kernel that must wait does so in the
// GradientAccumulator.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/resources/gradient_accumulator.h"
#include "core/resources/resource_handle.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"

namespace millstream {
namespace {

constexpr char kSparseHandle[] = "_SparseConditionalAccumulator";

StatusOr<ResourceRef<Resource>> FindAccumulator(const Node& node, ResourceManager* resources) {
  MS_ASSIGN_OR_RETURN(const ResourceName name, ResourceNameOf(node));
  AccumulatorSpec spec;
  MS_ASSIGN_OR_RETURN(spec.dtype, node.Attr<DataType>("dtype"));
  MS_ASSIGN_OR_RETURN(spec.shape, node.Attr<PartialShape>("shape"));
  MS_ASSIGN_OR_RETURN(const std::string reduction, node.Attr<std::string>("reduction_type"));
  spec.is_sparse = node.op().name == kSparseHandle;
  spec.takes_mean = reduction == "MEAN";
  MS_ASSIGN_OR_RETURN(
      ResourceRef<GradientAccumulator> accumulator,
      resources->LookupOrCreate<GradientAccumulator>(
          name.container, name.name, [&]() -> StatusOr<ResourceRef<GradientAccumulator>> {
            return MakeResource<GradientAccumulator>(name.name, spec);
          }));
  const AccumulatorSpec& found = accumulator->spec();
  if (found.dtype == spec.dtype && found.shape == spec.shape && found.is_sparse == spec.is_sparse &&
      found.takes_mean == spec.takes_mean) {
    return ResourceRef<Resource>(std::move(accumulator));
  }
  return errors::InvalidArgument(
      "accumulator '", name.name, "' has ", found.is_sparse ? "sparse" : "dense",
      " gradients of type ", DataTypeName(found.dtype), " and shape ", found.shape.ToString(),
      found.takes_mean ? " and gives their mean" : " and gives their sum",
      "; the node asks for another one");
}

// Of input 0.
StatusOr<GradientAccumulator*> AccumulatorOf(const StructuralFrame& frame) {
  auto* const accumulator = ResourceAs<GradientAccumulator>(frame.handle(0));
  if (accumulator != nullptr) return accumulator;
  return errors::InvalidArgument("argument 'handle' is no handle of an accumulator");
}

StatusOr<int64_t> ScalarAt(const StructuralFrame& frame, uint32_t i) {
  if (frame.input_shape(i).rank() != 0) {
    return errors::InvalidArgument("argument '", frame.call().InputName(static_cast<int>(i)),
                                   "' must be a scalar, got shape ",
                                   frame.input_shape(i).ToString());
  }
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> values, frame.Integers(i));
  return values[0];
}

Status ApplyGradient(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(GradientAccumulator* const accumulator, AccumulatorOf(*frame));
  MS_ASSIGN_OR_RETURN(const int64_t local_step, ScalarAt(*frame, 1));
  return accumulator->Apply(local_step, Gradient{Tensor(), frame->BorrowInput(2)});
}

Status ApplySparseGradient(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(GradientAccumulator* const accumulator, AccumulatorOf(*frame));
  MS_ASSIGN_OR_RETURN(const int64_t local_step, ScalarAt(*frame, 1));
  MS_ASSIGN_OR_RETURN(const bool has_known_shape, frame->call().Attr<bool>("has_known_shape"));
  if (has_known_shape) {
    MS_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, frame->Integers(4));
    const PartialShape shape(dims);
    const PartialShape& expected = accumulator->spec().shape;
    if (!expected.IsCompatibleWith(shape)) {
      return errors::InvalidArgument("argument 'gradient_shape': Shape mismatch: expected ",
                                     expected.ToString(), ", got ", shape.ToString());
    }
  }
  return accumulator->Apply(local_step, Gradient{frame->BorrowInput(2), frame->BorrowInput(3)});
}

Status NumAccumulated(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const GradientAccumulator* const accumulator, AccumulatorOf(*frame));
  MS_ASSIGN_OR_RETURN(const Tensor count, frame->AllocateOutput(0, Shape()));
  *count.data<int32_t>() = static_cast<int32_t>(
      std::min<int64_t>(accumulator->num_accumulated(), std::numeric_limits<int32_t>::max()));
  return absl::OkStatus();
}

Status Counts(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const GradientAccumulator* const accumulator, AccumulatorOf(*frame));
  const GradientCounts counts = accumulator->counts();
  MS_ASSIGN_OR_RETURN(const Tensor applied, frame->AllocateOutput(0, Shape()));
  MS_ASSIGN_OR_RETURN(const Tensor dropped, frame->AllocateOutput(1, Shape()));
  *applied.data<int64_t>() = counts.applied;
  *dropped.data<int64_t>() = counts.dropped;
  return absl::OkStatus();
}

Status SetGlobalStep(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(GradientAccumulator* const accumulator, AccumulatorOf(*frame));
  MS_ASSIGN_OR_RETURN(const int64_t step, ScalarAt(*frame, 1));
  accumulator->SetGlobalStep(step);
  return absl::OkStatus();
}

// Gives the values, or the rows and their indices, of what was added up.
class TakeGradientKernel final : public AsyncHostKernel {
 public:
  void ComputeAsync(StructuralFrame frame, HostExecution execution) override {
    const Status begun = Begin(frame, execution);
    if (!begun.ok()) execution.End(begun);
  }
  void Cancel(const StructuralFrame& frame, HostExecution execution) override {
    const StatusOr<GradientAccumulator*> accumulator = AccumulatorOf(frame);
    if (accumulator.ok()) (*accumulator)->Cancel(execution.id());
  }
  std::string WaitsFor(const StructuralFrame& frame) const override {
    const StatusOr<GradientAccumulator*> accumulator = AccumulatorOf(frame);
    if (!accumulator.ok()) return "";
    return absl::StrCat("more gradients of accumulator '", (*accumulator)->name(), "'");
  }

 private:
  static Status Begin(StructuralFrame frame, HostExecution execution) {
    MS_ASSIGN_OR_RETURN(GradientAccumulator* const accumulator, AccumulatorOf(frame));
    MS_ASSIGN_OR_RETURN(const int64_t num_required, ScalarAt(frame, 1));
    if (num_required <= 0) {
      return errors::InvalidArgument("argument 'num_required' must be positive, got ",
                                     num_required);
    }
    const AccumulatorSpec& spec = accumulator->spec();
    const bool is_sparse = frame.num_outputs() == 3;
    const DataType dtype = frame.call().output_type(is_sparse ? 1 : 0);
    if (spec.is_sparse != is_sparse || spec.dtype != dtype) {
      return errors::InvalidArgument(
          "accumulator '", accumulator->name(), "' has ", spec.is_sparse ? "sparse" : "dense",
          " gradients of type ", DataTypeName(spec.dtype), ", the op takes ",
          is_sparse ? "sparse" : "dense", " ones of type ", DataTypeName(dtype));
    }
    accumulator->Take(execution.id(), num_required,
                      [spec, frame, execution](const Status& status, const Gradient& gradient) {
                        execution.End(status.ok() ? SetOutputs(spec, frame, gradient) : status);
                      });
    return absl::OkStatus();
  }

  static Status SetOutputs(const AccumulatorSpec& spec, StructuralFrame frame,
                           const Gradient& gradient) {
    if (!spec.is_sparse) return frame.SetOutput(0, gradient.values);
    MS_RETURN_IF_ERROR(frame.SetOutput(0, gradient.indices));
    MS_RETURN_IF_ERROR(frame.SetOutput(1, gradient.values));
    // The first size is unknown, -1, if the accumulator does not say it.
    const Shape& values = gradient.values.shape();
    MS_ASSIGN_OR_RETURN(const Tensor shape, frame.AllocateOutput(2, Shape({values.rank()})));
    auto* const sizes = shape.data<int64_t>();
    std::copy(values.dims().begin(), values.dims().end(), sizes);
    sizes[0] = spec.shape.known_rank() ? spec.shape.dim(0) : -1;
    return absl::OkStatus();
  }
};

MILLSTREAM_RESOURCE_HANDLE("ResourceConditionalAccumulator", FindAccumulator);
MILLSTREAM_RESOURCE_HANDLE(kSparseHandle, FindAccumulator);
MILLSTREAM_STRUCTURAL("ResourceConditionalAccumulator", StructuralRole::kHandle, nullptr);
MILLSTREAM_STRUCTURAL(kSparseHandle, StructuralRole::kHandle, nullptr);
MILLSTREAM_HOST_KERNEL("ResourceAccumulatorApplyGradient", HostFunction<&ApplyGradient>);
MILLSTREAM_HOST_KERNEL("ResourceAccumulatorNumAccumulated", HostFunction<&NumAccumulated>);
MILLSTREAM_HOST_KERNEL("ResourceAccumulatorSetGlobalStep", HostFunction<&SetGlobalStep>);
MILLSTREAM_HOST_KERNEL("ResourceAccumulatorTakeGradient", TakeGradientKernel);
MILLSTREAM_HOST_KERNEL("_AccumulatorCounts", HostFunction<&Counts>);
MILLSTREAM_HOST_KERNEL("_SparseAccumulatorApplyGradient", HostFunction<&ApplySparseGradient>);
MILLSTREAM_HOST_KERNEL("_SparseAccumulatorTakeGradient", TakeGradientKernel);

}  // namespace
}  // namespace millstream
