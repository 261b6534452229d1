// AssignAddVariableOp and AssignSubVariableOp.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/elementwise/shared_tables.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs: resource (a variable), value.
class AssignArithmetic {
 public:
  using Row = BinaryTable;

  explicit AssignArithmetic(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    const MS_DType dtype = info.input_dtype(1);
    bytes_ = ms::ElementSize(dtype);
    return call_.Init(row_, dtype, dtype);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View value = frame.input(1);
    ms::VariableLocks locks;
    MS_TRY(UnassignedIsNotFound(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks)));
    ms::View variable;
    MS_TRY(UnassignedIsNotFound(locks.Write(0, &variable)));
    MS_TRY(CheckSameShape("resource", variable, "value", value));
    if (variable.size() == 0) return ms::Status();
    const auto update = [&](int64_t begin, int64_t end) {
      RunBinaryElements(call_, variable.raw(), value.raw(), variable.raw(), begin, end);
    };
    UpdateElements(frame, variable.size(), bytes_, 3, RangeFunction(update));
    return ms::Status();
  }

 private:
  const Row& row_;
  BinaryCall call_;
  uint64_t bytes_ = 0;
};

ms::KernelOptions Options() {
  return ms::KernelOptions().Types("dtype", TypesIn(kAllNumberTypes)).Extension(&kBoundedUpdate);
}

const ms::Registered assign_add =
    ms::RegisterRow<AssignArithmetic>("AssignAddVariableOp", kSumTable, Options());
const ms::Registered assign_sub =
    ms::RegisterRow<AssignArithmetic>("AssignSubVariableOp", kDifferenceTable, Options());

}  // namespace
}  // namespace millstream::kernels
