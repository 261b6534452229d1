#include "kernels/training/variables.h"

#include <algorithm>
#include <string>

#include "kernels/array/indices.h"

namespace millstream::kernels {

ms::Status UnassignedIsNotFound(ms::Status status) {
  if (status.code() != MS_FAILED_PRECONDITION) return status;
  return ms::Status(MS_NOT_FOUND, std::string(status.message()));
}

ms::Status CheckSameShape(std::string_view name, const ms::View& variable,
                          std::string_view other_name, const ms::View& other) {
  // Compared where they are: for a small tensor a copy of the shape would cost more than its step.
  const bool same = variable.rank() == other.rank() &&
                    ms::SameDims(variable.abi().dims, other.abi().dims, variable.rank());
  if (same) return ms::Status();
  return ms::InvalidArgument(other_name, " must have the shape of ", name, ", ",
                             variable.shape().ToString(), ", but has shape ",
                             other.shape().ToString());
}

ms::Status CheckScalar(const ms::View& view, std::string_view name) {
  if (view.rank() == 0) return ms::Status();
  return ms::InvalidArgument(name, " must be a scalar, but has shape ", view.shape().ToString());
}

ms::Status CheckRowIndices(const ms::View& indices, int64_t rows) {
  const int64_t n = indices.size();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = IndexAt(indices, i);
    if (index < 0 || index >= rows) return NotInRange("indices", indices, i, rows);
  }
  return ms::Status();
}

ms::Status CheckRowGradient(const ms::View& variable, const ms::View& grad,
                            const ms::View& indices) {
  if (variable.rank() == 0) {
    return ms::InvalidArgument("var must have rank 1 or more, but is a scalar");
  }
  if (indices.rank() != 1) {
    return ms::InvalidArgument("indices must be a vector, but has shape ",
                               indices.shape().ToString());
  }
  ms::Shape expected = variable.shape();
  expected[0] = indices.dim(0);
  if (grad.shape() == expected) return ms::Status();
  return ms::InvalidArgument("grad must have shape ", expected.ToString(),
                             ", a row of var for each of indices, but has shape ",
                             grad.shape().ToString());
}

void UpdateElements(ms::Frame& frame, int64_t size, uint64_t bytes, uint64_t streams,
                    RangeFunction update) {
  // Costs are given for blocks, because one element costs less than a nanosecond.
  constexpr int64_t kBlock = 1024;
  const uint64_t blocks = static_cast<uint64_t>((size + kBlock - 1) / kBlock);
  const uint64_t cost_ns = kBlock * bytes * streams / 12;
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
