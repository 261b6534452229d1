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

  // Copies elements of `element_size` bytes (1, 2, 4, 8 or 16), in parallel where that pays.
  // `source` and `target` point at the elements with all indices zero; they must not overlap.
  void Run(ms::Frame& frame, uint64_t element_size, const void* source, void* target) const;

  struct Dim {
    int64_t extent;
    int64_t source_stride;
    int64_t target_stride;
  };

 private:
  uint32_t rank_ = 0;
  bool empty_ = false;
  std::array<Dim, kMaxDims> dims_;
};

// Copies `bytes` bytes, in parallel where that pays.
void CopyBytes(ms::Frame& frame, const void* source, void* target, uint64_t bytes);

// Sets `bytes` bytes to zero, in parallel where that pays.
void ZeroBytes(ms::Frame& frame, void* target, uint64_t bytes);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ARRAY_STRIDED_COPY_H_
