// A copy between two boxes of equal extents in which each side has strides of its own: what
// slicing, concatenating, transposing, tiling and padding have in common.
#ifndef MILLSTREAM_KERNELS_ARRAY_STRIDED_COPY_H_
#define MILLSTREAM_KERNELS_ARRAY_STRIDED_COPY_H_

#include <array>
#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// Describe the box by AddDim from the outermost dimension to the innermost, then Run. Dimensions
// that are contiguous with their neighbour on both sides are merged on the way. Lives on the stack.
class StridedCopy {
 public:
  // Room for a tensor of the highest rank each of whose dimensions was split in two.
  static constexpr uint32_t kMaxDims = 2 * ms::kMaxRank;

  // Strides count elements. A source stride may be zero (repeat) or negative (reverse).
  // REQUIRES: extent >= 0; called at most kMaxDims times.
  void AddDim(int64_t extent, int64_t source_stride, int64_t target_stride);

  // Copies elements of `source`, in parallel where that pays. `source_start` and `target_start` are
  // the places, in flat order, of the elements with all indices zero.
  // REQUIRES: the tensors have one dtype, which may be string, and do not overlap.
  ms::Status Run(ms::Frame& frame, const ms::View& source, int64_t source_start,
                 const ms::View& target, int64_t target_start) const;

  // The same for elements of 1, 2, 4, 8 or 16 bytes from the one address to the other.
  ms::Status CopyBytes(ms::Frame& frame, uint64_t element_size, const void* source,
                       void* target) const;

  struct Dim {
    int64_t extent;
    int64_t source_stride;
    int64_t target_stride;
  };

 private:
  ms::Status CopyStrings(const ms::View& source, int64_t source_start, const ms::View& target,
                         int64_t target_start) const;

  uint32_t rank_ = 0;
  bool empty_ = false;
  std::array<Dim, kMaxDims> dims_;
};

// Sets every element to zero, every string to the empty one, in parallel where that pays.
ms::Status SetToZero(ms::Frame& frame, const ms::View& target);

// Sets every element to the only one of `value`, of the same dtype.
ms::Status FillWith(ms::Frame& frame, const ms::View& value, const ms::View& target);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ARRAY_STRIDED_COPY_H_
