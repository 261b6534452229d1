#include "kernels/scatter/nd_indices.h"

#include "kernels/array/indices.h"

namespace millstream::kernels {

ms::Status NdIndices::Init(std::string_view name, const ms::Shape& whole, const ms::View& indices) {
  if (indices.rank() == 0) {
    return ms::InvalidArgument("indices must have rank 1 or more, but is a scalar");
  }
  const ms::Shape shape = indices.shape();
  const int64_t depth = shape[shape.rank() - 1];
  if (depth > whole.rank()) {
    return ms::InvalidArgument("indices, of shape ", shape.ToString(), ", has ", depth,
                               " numbers for each slice, but ", name, ", of shape ",
                               whole.ToString(), ", has ", whole.rank(), " dimensions");
  }
  indices_ = &indices;
  whole_ = whole;
  depth_ = static_cast<uint32_t>(depth);
  MS_TRY(CheckRank(shape.rank() - 1 + whole.rank() - depth_));
  slices_ = ms::Shape(shape.begin(), shape.rank() - 1);
  for (uint32_t i = depth_; i < whole.rank(); ++i) slices_.Append(whole[i]);
  count_ = DimProduct(shape, 0, shape.rank() - 1);
  width_ = DimProduct(whole, depth_, whole.rank());
  return ms::Status();
}

ms::Status NdIndices::Check() const {
  int64_t i = 0;
  for (int64_t k = 0; k < count_; ++k) {
    for (uint32_t d = 0; d < depth_; ++d, ++i) {
      const int64_t index = IndexAt(*indices_, i);
      if (index < 0 || index >= whole_[d]) return NotInRange("indices", *indices_, i, whole_[d]);
    }
  }
  return ms::Status();
}

ms::Status NdIndices::ToRows(ms::Frame& frame, ms::View* rows) {
  MS_TensorView view = indices_->abi();
  if (depth_ != 1) {
    ms::View memory;
    MS_TRY(frame.Temp(static_cast<uint64_t>(count_) * sizeof(int64_t), &memory));
    int64_t* const to = memory.data<int64_t>();
    int64_t i = 0;
    for (int64_t k = 0; k < count_; ++k) {
      int64_t row = 0;
      for (uint32_t d = 0; d < depth_; ++d, ++i) row = row * whole_[d] + IndexAt(*indices_, i);
      to[k] = row;
    }
    view = memory.abi();
    view.dtype = MS_INT64;
  }
  view.rank = 1;
  view.dims = &count_;
  *rows = ms::View(view);
  return ms::Status();
}

}  // namespace millstream::kernels
