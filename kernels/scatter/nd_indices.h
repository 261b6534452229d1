// Index vectors: the last dimension of an index tensor names a place along each of the first
// dimensions of a tensor, and so one slice of it.
#ifndef MILLSTREAM_KERNELS_SCATTER_ND_INDICES_H_
#define MILLSTREAM_KERNELS_SCATTER_ND_INDICES_H_

#include <cstdint>
#include <string_view>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// A tensor as rows that index vectors name: its first `depth` dimensions count the rows, the others
// make up a row. Lives on the stack.
class NdIndices {
 public:
  // For `indices` into a tensor of shape `whole`, the argument `name`. INVALID_ARGUMENT if indices
  // is a scalar, or has longer vectors than the tensor has dimensions. The view must outlive this.
  ms::Status Init(std::string_view name, const ms::Shape& whole, const ms::View& indices);

  // The shape of all slices: that of indices without its last dimension, followed by that of a row.
  const ms::Shape& slices() const { return slices_; }
  int64_t count() const { return count_; }  // of index vectors
  int64_t width() const { return width_; }  // elements of a row

  // INVALID_ARGUMENT for an index outside, which the message names: "indices[0,1] = 7 is not in
  // [0, 3)". Reads the indices.
  ms::Status Check() const;

  // The number of the row that each index vector names, as int64 or int32 numbers: the indices
  // themselves where their vectors have one element. `*rows` is valid as long as this is.
  // REQUIRES: Check succeeded.
  ms::Status ToRows(ms::Frame& frame, ms::View* rows);

 private:
  const ms::View* indices_ = nullptr;
  ms::Shape whole_;
  ms::Shape slices_;
  uint32_t depth_ = 0;
  int64_t count_ = 0;
  int64_t width_ = 0;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SCATTER_ND_INDICES_H_
