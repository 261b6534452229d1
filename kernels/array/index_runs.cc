#include "kernels/array/index_runs.h"

#include "kernels/array/strided_copy.h"

namespace millstream::kernels {

ms::Status CopyRuns(ms::Frame& frame, const IndexRuns& runs, const ms::View& source,
                    const ms::View& target) {
  const uint32_t rank = source.rank();
  return ForEachBox(runs, source.shape(), target.shape(), [&](const RunBox& box) {
    StridedCopy copy;
    for (uint32_t d = 0; d < rank; ++d) {
      copy.AddDim(box.extents[d], box.source_strides[d], box.target_strides[d]);
    }
    return copy.Run(frame, source, box.source_start, target, box.target_start);
  });
}

}  // namespace millstream::kernels
