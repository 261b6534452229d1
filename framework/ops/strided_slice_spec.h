// The index arithmetic of x[begin:end:stride, ..., newaxis, 3]: which elements of which dimension a
// strided slice takes, and the shape that it gives.
#ifndef MILLSTREAM_FRAMEWORK_OPS_STRIDED_SLICE_SPEC_H_
#define MILLSTREAM_FRAMEWORK_OPS_STRIDED_SLICE_SPEC_H_

#include <cstdint>
#include <vector>

#include "framework/attr_value.h"
#include "framework/shape.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// Bit i speaks of entry i of begin, end and strides. Where several bits of an entry are set, the
// ellipsis goes before the new axis, and that before the rest.
struct StridedSliceMasks {
  int64_t begin = 0;        // begin[i] is ignored: from the first element in stride direction
  int64_t end = 0;          // end[i] is ignored: to the last one
  int64_t ellipsis = 0;     // the entry stands for as many whole dimensions as are left over
  int64_t new_axis = 0;     // the entry inserts a dimension of size 1 and takes none
  int64_t shrink_axis = 0;  // the entry takes the one element begin[i] and drops the dimension
};

StatusOr<StridedSliceMasks> StridedSliceMasksFrom(const AttrMap& attrs);

// What is taken of one dimension of the input: `size` elements from `begin` on, `stride` apart.
struct DimensionSlice {
  bool known = false;          // `begin` and `stride` are meaningful
  int64_t begin = 0;           // never negative where size > 0
  int64_t stride = 1;          // never 0
  int64_t size = kUnknownDim;  // elements taken
};

struct StridedSliceSpec {
  std::vector<DimensionSlice> dimensions;  // one for each input dimension; empty for unknown rank
  PartialShape result;
};

// Resolves a slice of a tensor of shape `input`. begin, end and strides must have one length; their
// elements, the rank, and dimensions may be unknown, and so may the answer be then.
// INVALID_ARGUMENT: different lengths, two ellipses, more entries than dimensions, a stride of 0, a
// shrunk entry that is out of bounds or goes backwards.
StatusOr<StridedSliceSpec> ResolveStridedSlice(const PartialShape& input, const PartialValue& begin,
                                               const PartialValue& end, const PartialValue& strides,
                                               const StridedSliceMasks& masks);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_STRIDED_SLICE_SPEC_H_
