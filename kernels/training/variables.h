// What kernels over variables share: locking, and the checks that fit a value to a variable.
#ifndef MILLSTREAM_KERNELS_TRAINING_VARIABLES_H_
#define MILLSTREAM_KERNELS_TRAINING_VARIABLES_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"

namespace millstream::kernels {

// An op that reads a variable in passing answers NOT_FOUND, not FAILED_PRECONDITION, when it was
// never assigned: graph programs know such an op's failing by that class.
inline ms::Status UnassignedIsNotFound(ms::Status status) {
  if (status.code() != MS_FAILED_PRECONDITION) return status;
  return ms::Status(MS_NOT_FOUND, std::string(status.message()));
}

// `other` (a gradient, a slot) goes element by element with the variable `name`.
inline ms::Status CheckSameShape(std::string_view name, const ms::View& variable,
                                 std::string_view other_name, const ms::View& other) {
  // Compared where they are: for a small tensor a copy of the shape would cost more than its step.
  const bool same = variable.rank() == other.rank() &&
                    ms::SameDims(variable.abi().dims, other.abi().dims, variable.rank());
  if (same) return ms::Status();
  return ms::InvalidArgument(other_name, " must have the shape of ", name, ", ",
                             variable.shape().ToString(), ", but has shape ",
                             other.shape().ToString());
}

// Input 0, a variable that is written, and input 1, a slot of its shape; both locked.
class VariableWithSlot {
 public:
  // `slot` names input 1 in messages; `write_slot`: else it is only read.
  ms::Status Lock(ms::Frame& frame, std::string_view slot, bool write_slot) {
    MS_TRY(frame.LockVariables({{0, MS_LOCK_WRITE}, {1, write_slot ? MS_LOCK_WRITE : MS_LOCK_READ}},
                               &locks_));
    MS_TRY(locks_.Write(0, &variable_));
    MS_TRY(write_slot ? locks_.Write(1, &slot_) : locks_.Read(1, &slot_));
    return CheckSameShape("var", variable_, slot, slot_);
  }
  const ms::View& variable() const { return variable_; }
  const ms::View& slot() const { return slot_; }

 private:
  ms::VariableLocks locks_;
  ms::View variable_;
  ms::View slot_;
};

// The value of the hyperparameter `name`, a scalar of type T, as what steps on T are computed in.
template <typename T>
ms::Status ReadScalar(const ms::View& view, std::string_view name, ComputeTypeOf<T>* value) {
  if (view.rank() != 0) {
    return ms::InvalidArgument(name, " must be a scalar, but has shape ", view.shape().ToString());
  }
  *value = *view.data<T>();
  return ms::Status();
}

// Registers a kernel of an optimizer's step for every type in which one makes sense. Steps on the
// 16-bit types are computed in float, and every number that is kept is rounded once.
template <template <typename> class Kernel>
ms::Registered RegisterStep(const char* op,
                            const ms::KernelOptions& options = ms::KernelOptions()) {
  return ms::RegisterForTypes<Kernel, float, double, Float16, BFloat16, std::complex<float>,
                              std::complex<double>>(op, "T", options);
}

// Calls update(begin, end) on ranges that cover the elements; `streams` arrays are read or written.
template <typename T, typename Update>
void UpdateElements(ms::Frame& frame, int64_t size, uint64_t streams, const Update& update) {
  // Costs are given for blocks, because one element costs less than a nanosecond.
  constexpr int64_t kBlock = 1024;
  const uint64_t blocks = static_cast<uint64_t>((size + kBlock - 1) / kBlock);
  const uint64_t cost_ns = kBlock * sizeof(T) * streams / 12;
  const auto run = [&](uint64_t begin, uint64_t end) {
    update(static_cast<int64_t>(begin) * kBlock,
           std::min(size, static_cast<int64_t>(end) * kBlock));
  };
  if (blocks * cost_ns < 20000) {
    run(0, blocks);
  } else {
    frame.ParallelFor(blocks, cost_ns, run);
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_TRAINING_VARIABLES_H_
