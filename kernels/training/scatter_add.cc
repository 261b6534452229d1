// ResourceScatterAdd.
#include <complex>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/accumulate_rows.h"
#include "kernels/array/indices.h"
#include "kernels/common/narrow_float.h"
#include "kernels/training/row_updates.h"
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
template <typename T>
class ResourceScatterAdd {
 public:
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
    return indices.dtype() == MS_INT32 ? Add<int32_t>(frame, indices, updates, variable)
                                       : Add<int64_t>(frame, indices, updates, variable);
  }

 private:
  template <typename Index>
  static ms::Status Add(ms::Frame& frame, const ms::View& indices, const ms::View& updates,
                        const ms::View& variable) {
    const int64_t width = DimProduct(variable.shape(), 1, variable.rank());
    if (width == 0) return ms::Status();
    MS_TRY(CheckRowIndices<Index>(indices, variable.dim(0)));
    const bool is_scalar = updates.rank() == 0;
    AccumulateRows(frame, indices.data<Index>(), indices.size(), updates.data<T>(), is_scalar,
                   width, variable.data<T>());
    return ms::Status();
  }
};

const ms::Registered registered =
    ms::RegisterForTypes<ResourceScatterAdd, float, double, Float16, BFloat16, int8_t, int16_t,
                         int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
                         std::complex<float>, std::complex<double>>(
        "ResourceScatterAdd", "dtype", ms::KernelOptions().Types("Tindices", IndexTypes()));

}  // namespace
}  // namespace millstream::kernels
