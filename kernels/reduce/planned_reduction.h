// The frame of kernels that follow one ReducePlan, which they make of the shapes of their inputs.
//
//   class Kernel : public PlannedReduction<Kernel, 0, 1> {  // of the shapes of inputs 0 and 1
//    public:
//     ms::Status Plan(const ms::Shape& input_0, const ms::Shape& input_1, ReducePlan* plan) const;
//     uint64_t ScratchBytes(const ReducePlan& plan) const;
//     // `scratch` has so many bytes; it is null when these are none.
//     ms::Status Run(ms::Frame& frame, const ReducePlan& plan, void* scratch) const;
//   };
#ifndef MILLSTREAM_KERNELS_REDUCE_PLANNED_REDUCTION_H_
#define MILLSTREAM_KERNELS_REDUCE_PLANNED_REDUCTION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/reduce/reduce_kernel.h"

namespace millstream::kernels {

template <typename Kernel, uint32_t... kInputs>
class PlannedReduction {
 public:
  ms::Status Specialize(ms::Specialization& specialization) const {
    auto state = std::make_unique<ReduceState>();
    MS_TRY(kernel().Plan(specialization.input(kInputs)..., &state->plan));
    specialization.SetScratchBytes(kernel().ScratchBytes(state->plan));
    specialization.SetState(std::move(state));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (const auto* state = frame.shape_state<ReduceState>()) {
      return kernel().Run(frame, state->plan, frame.scratch());
    }
    ReducePlan plan;
    MS_TRY(kernel().Plan(frame.input(kInputs).shape()..., &plan));
    const uint64_t bytes = kernel().ScratchBytes(plan);
    ms::View scratch;
    if (bytes > 0) MS_TRY(frame.Temp(bytes, &scratch));
    return kernel().Run(frame, plan, scratch.raw());
  }

 private:
  const Kernel& kernel() const { return static_cast<const Kernel&>(*this); }
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_REDUCE_PLANNED_REDUCTION_H_
