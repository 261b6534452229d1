// Roll.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/index_runs.h"
#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

// Inputs: input, shift and axis, scalars or vectors of one length. Elements move by shift along
// axis; what leaves the tensor at one end comes in at the other.
class Roll {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::Shape shape = input.shape();
    ms::Shape shifts = shape;
    MS_TRY(SumShifts(frame, &shifts));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    IndexRuns runs(shape.rank());
    for (uint32_t d = 0; d < shape.rank(); ++d) {
      const int64_t stay = shape[d] - shifts[d];
      runs[d].push_back({stay, 0, shifts[d], 1});
      if (shifts[d] > 0) runs[d].push_back({shifts[d], stay, 0, 1});
    }
    return CopyRuns(frame, runs, input, output);
  }

 private:
  // How far each dimension is rolled, from 0 to its size, exclusive.
  static ms::Status SumShifts(const ms::Frame& frame, ms::Shape* shifts) {
    const ms::Shape shape = frame.input(0).shape();
    const ms::View shift = frame.input(1);
    const ms::View axis = frame.input(2);
    if (shape.rank() == 0) return ms::InvalidArgument("input must have rank 1 or more");
    if (shift.rank() > 1 || shift.shape() != axis.shape()) {
      return ms::InvalidArgument("shift and axis must be scalars or vectors of one length, but ",
                                 "have shapes ", shift.shape().ToString(), " and ",
                                 axis.shape().ToString());
    }
    for (uint32_t d = 0; d < shape.rank(); ++d) (*shifts)[d] = 0;
    for (int64_t i = 0; i < shift.size(); ++i) {
      uint32_t d = 0;
      MS_TRY(ResolveAxis(IndexAt(axis, i), shape.rank(), "axis", &d));
      if (shape[d] == 0) continue;
      int64_t& sum = (*shifts)[d];
      sum = (sum + IndexAt(shift, i) % shape[d] + shape[d]) % shape[d];
    }
    return ms::Status();
  }
};

const ms::Registered roll = ms::Register<Roll>("Roll", ms::KernelOptions()
                                                           .Types("T", MovableTypes())
                                                           .Types("Tshift", IndexTypes())
                                                           .Types("Taxis", IndexTypes())
                                                           .HostArg("shift")
                                                           .HostArg("axis"));

}  // namespace
}  // namespace millstream::kernels
