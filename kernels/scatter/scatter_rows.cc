// ResourceScatterUpdate, Add, Sub, Mul, Div, Min and Max: rows of a variable change by updates.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/scatter/row_updates.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// updates must have the shape of indices followed by the variable's without its first dimension,
// or be a scalar.
ms::Status CheckUpdates(const ms::Shape& variable, const ms::Shape& indices,
                        const ms::Shape& updates) {
  bool fits = updates.rank() == indices.rank() + variable.rank() - 1;
  for (uint32_t i = 0; fits && i < updates.rank(); ++i) {
    fits = updates[i] == (i < indices.rank() ? indices[i] : variable[i - indices.rank() + 1]);
  }
  if (fits || updates.rank() == 0) return ms::Status();
  return ms::InvalidArgument("updates must have the shape of indices, ", indices.ToString(),
                             ", followed by that of a row of resource, which has shape ",
                             variable.ToString(), ", but has shape ", updates.ToString());
}

// Inputs: resource (a variable), indices, updates.
class ScatterRows {
 public:
  using Row = RowOperation;

  explicit ScatterRows(const Row& row) : operation_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    return updater_.Init(operation_, info.input_dtype(2));
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View indices = frame.input(1);
    const ms::View updates = frame.input(2);
    ms::VariableLocks locks;
    MS_TRY(UnassignedIsNotFound(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks)));
    ms::View variable;
    MS_TRY(UnassignedIsNotFound(locks.Write(0, &variable)));
    if (variable.rank() == 0) {
      return ms::InvalidArgument("resource must have rank 1 or more, but is a scalar");
    }
    MS_TRY(CheckUpdates(variable.shape(), indices.shape(), updates.shape()));
    MS_TRY(CheckRowIndices(indices, variable.dim(0)));
    const int64_t width = DimProduct(variable.shape(), 1, variable.rank());
    if (width == 0) return ms::Status();
    const RowUpdater::Rows rows{indices, updates, updates.rank() == 0, width, variable};
    MS_TRY(updater_.Check(rows));
    return updater_.Run(frame, rows);
  }

 private:
  const RowOperation operation_;
  RowUpdater updater_;
};

template <RowOperation operation>
ms::Registered RegisterScatter(const char* op) {
  static constexpr RowOperation kOperation = operation;
  return ms::RegisterRow<ScatterRows>(
      op, kOperation,
      ms::KernelOptions().Types("dtype", TypesOf(operation)).Types("Tindices", IndexTypes()));
}

const ms::Registered update = RegisterScatter<RowOperation::kAssign>("ResourceScatterUpdate");
const ms::Registered add = RegisterScatter<RowOperation::kAdd>("ResourceScatterAdd");
const ms::Registered sub = RegisterScatter<RowOperation::kSubtract>("ResourceScatterSub");
const ms::Registered mul = RegisterScatter<RowOperation::kMultiply>("ResourceScatterMul");
const ms::Registered div = RegisterScatter<RowOperation::kDivide>("ResourceScatterDiv");
const ms::Registered min = RegisterScatter<RowOperation::kMinimum>("ResourceScatterMin");
const ms::Registered max = RegisterScatter<RowOperation::kMaximum>("ResourceScatterMax");

}  // namespace
}  // namespace millstream::kernels
