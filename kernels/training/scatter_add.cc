// ResourceScatterAdd.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/accumulate_rows.h"
#include "kernels/array/indices.h"
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

// Inputs: resource (a variable), indices, updates. Rows of the variable grow by their updates, in
// the order of indices.
class ResourceScatterAdd {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    return accumulator_.Init(info.input_dtype(2), /*wide_table=*/false);
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
    const int64_t width = DimProduct(variable.shape(), 1, variable.rank());
    if (width == 0) return ms::Status();
    MS_TRY(CheckRowIndices(indices, variable.dim(0)));
    const bool is_scalar = updates.rank() == 0;
    accumulator_.Run(frame, indices, updates.raw(), is_scalar, width, variable.raw());
    return ms::Status();
  }

 private:
  RowAccumulator accumulator_;
};

const ms::Registered registered = ms::Register<ResourceScatterAdd>(
    "ResourceScatterAdd",
    ms::KernelOptions().Types("dtype", TypesIn(kAllNumberTypes)).Types("Tindices", IndexTypes()));

}  // namespace
}  // namespace millstream::kernels
