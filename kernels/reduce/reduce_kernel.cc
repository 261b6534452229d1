#include "kernels/reduce/reduce_kernel.h"

#include <memory>

#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

struct ReduceState : ms::ShapeState {
  ReducePlan plan;
};

}  // namespace

ms::Status RunReduction(ms::Frame& frame, const ReduceFunctions& functions, const ReducePlan& plan,
                        const ms::View& in, void* scratch) {
  ms::View out;
  MS_TRY(frame.Output(0, plan.output, &out));
  if (plan.outputs == 0) return ms::Status();
  if (plan.count == 0) {
    functions.fill_empty(plan, out.raw());
    return ms::Status();
  }
  void* partial = scratch;
  if (plan.groups > 1 && partial == nullptr) {
    ms::View temporary;
    MS_TRY(frame.Temp(static_cast<uint64_t>(plan.partial_elements() * functions.accumulator_bytes),
                      &temporary));
    partial = temporary.raw();
  }
  MS_TRY(ParallelRows(frame, plan.tasks(), plan.elements_per_task(), functions.picoseconds,
                      [&](int64_t begin, int64_t end) {
                        functions.run_tasks(plan, in.raw(), out.raw(), partial, begin, end);
                      }));
  if (plan.groups > 1) functions.combine_groups(plan, partial, out.raw());
  return ms::Status();
}

ms::Status ReduceKernel::Init(const ms::KernelInfo& info) {
  return info.Attr("keep_dims", &keep_dims_);
}

ms::Status ReduceKernel::Specialize(ms::Specialization& specialization) const {
  const ms::View axes = specialization.constant(1);
  if (axes.is_null()) return ms::Status();
  const ms::Shape input = specialization.input(0);
  uint32_t reduced = 0;
  MS_TRY(ReadAxes(axes, input.rank(), &reduced));
  auto state = std::make_unique<ReduceState>();
  PlanReduction(input, reduced, keep_dims_, &state->plan);
  specialization.SetScratchBytes(
      static_cast<uint64_t>(state->plan.partial_elements() * functions_.accumulator_bytes));
  specialization.SetState(std::move(state));
  return ms::Status();
}

ms::Status ReduceKernel::Compute(ms::Frame& frame) const {
  const ms::View in = frame.input(0);
  const auto* state = frame.shape_state<ReduceState>();
  if (state != nullptr) {
    return RunReduction(frame, functions_, state->plan, in, frame.scratch());
  }
  uint32_t reduced = 0;
  MS_TRY(ReadAxes(frame.input(1), in.rank(), &reduced));
  ReducePlan plan;
  PlanReduction(in.shape(), reduced, keep_dims_, &plan);
  return RunReduction(frame, functions_, plan, in, nullptr);
}

ms::KernelOptions ReduceOptions(std::vector<MS_DType> dtypes) {
  ms::KernelOptions options;
  options.HostArg("reduction_indices").Types("Tidx", {MS_INT32, MS_INT64});
  if (!dtypes.empty()) options.Types("T", std::move(dtypes));
  return options;
}

}  // namespace millstream::kernels
