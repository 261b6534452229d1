// AssignAddVariableOp and AssignSubVariableOp.
#include <complex>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/wrapping.h"
#include "kernels/simd/instruction_set.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

struct AddTo {
  template <typename T>
  static T Of(T a, T b) {
    return WrappingSum(a, b);
  }
};
struct SubtractFrom {
  template <typename T>
  static T Of(T a, T b) {
    return WrappingDifference(a, b);
  }
};

// Inputs: resource (a variable), value.
template <typename Operation, typename T>
class AssignArithmetic {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View value = frame.input(1);
    ms::VariableLocks locks;
    MS_TRY(UnassignedIsNotFound(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks)));
    ms::View variable;
    MS_TRY(UnassignedIsNotFound(locks.Write(0, &variable)));
    MS_TRY(CheckSameShape("resource", variable, "value", value));
    T* const target = variable.data<T>();
    const T* const source = value.data<T>();
    UpdateElements<T>(frame, variable.size(), 3, [=](int64_t begin, int64_t end) {
      RunLoopOn<T, &AssignArithmetic::Update>(target, source, begin, end);
    });
    return ms::Status();
  }

 private:
  static void Update(T* __restrict target, const T* __restrict source, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) target[i] = Operation::Of(target[i], source[i]);
  }
};

template <typename T>
using AssignAdd = AssignArithmetic<AddTo, T>;
template <typename T>
using AssignSub = AssignArithmetic<SubtractFrom, T>;

template <template <typename> class Kernel>
ms::Registered RegisterForNumbers(const char* op) {
  return ms::RegisterForTypes<Kernel, float, double, Float16, BFloat16, int8_t, int16_t, int32_t,
                              int64_t, uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>,
                              std::complex<double>>(op, "dtype");
}

const ms::Registered assign_add = RegisterForNumbers<AssignAdd>("AssignAddVariableOp");
const ms::Registered assign_sub = RegisterForNumbers<AssignSub>("AssignSubVariableOp");

}  // namespace
}  // namespace millstream::kernels
