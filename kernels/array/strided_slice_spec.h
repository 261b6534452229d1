// Resolves begin, end, strides and the five masks of StridedSlice for one input shape.
#ifndef MILLSTREAM_KERNELS_ARRAY_STRIDED_SLICE_SPEC_H_
#define MILLSTREAM_KERNELS_ARRAY_STRIDED_SLICE_SPEC_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// The attributes of StridedSlice and StridedSliceGrad. Bit i of a mask speaks of entry i of begin,
// end and strides. Where bits meet, ellipsis wins over new_axis, and new_axis over shrink_axis.
struct StridedSliceMasks {
  int64_t begin = 0;        // begin[i] is as far back as the stride's direction allows
  int64_t end = 0;          // end[i] is as far on as the stride's direction allows
  int64_t ellipsis = 0;     // entry i stands for all dimensions that no other entry takes
  int64_t new_axis = 0;     // entry i is a dimension of size 1 in the output alone
  int64_t shrink_axis = 0;  // entry i takes the single index begin[i] and drops the dimension

  ms::Status Init(const ms::KernelInfo& info);
};

// A slice of a tensor: for each dimension of the tensor the first index, the step and how many.
struct StridedSliceSpec {
  ms::Shape begin;
  ms::Shape stride;
  ms::Shape count;
  ms::Shape output;  // the shape of the result: counts without shrunk, with new dimensions
};

// Reads the arguments begin, end and strides (int32 or int64 vectors of one length). Indices count
// from the end when negative and are clamped; a single index out of range, a zero stride, a second
// ellipsis, or more entries than dimensions is MS_INVALID_ARGUMENT.
ms::Status ResolveStridedSlice(const StridedSliceMasks& masks, const ms::Shape& input,
                               const ms::View& begin, const ms::View& end, const ms::View& strides,
                               StridedSliceSpec* spec);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ARRAY_STRIDED_SLICE_SPEC_H_
