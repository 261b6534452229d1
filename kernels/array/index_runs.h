// Tensors whose elements move along each dimension in a few runs of neighbours: what mirrored
// margins and rolled dimensions have in common.
#ifndef MILLSTREAM_KERNELS_ARRAY_INDEX_RUNS_H_
#define MILLSTREAM_KERNELS_ARRAY_INDEX_RUNS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"

namespace millstream::kernels {

// `extent` indices of the target, from `target` on; their elements are in the source from `source`
// on, where the next one is `step` (1 or -1) further.
struct IndexRun {
  int64_t extent;
  int64_t source;
  int64_t target;
  int64_t step;
};

// The runs of each dimension.
using IndexRuns = std::vector<std::vector<IndexRun>>;

// One run a dimension. Strides and starts count elements.
struct RunBox {
  std::array<int64_t, ms::kMaxRank> extents;
  std::array<int64_t, ms::kMaxRank> source_strides;
  std::array<int64_t, ms::kMaxRank> target_strides;
  int64_t source_start = 0;
  int64_t target_start = 0;
};

// Calls fn(box) for each combination of one run a dimension, until one fails. The first box is that
// of the first runs.
template <typename Fn>
ms::Status ForEachBox(const IndexRuns& runs, const ms::Shape& source, const ms::Shape& target,
                      Fn&& fn) {
  const ms::Shape source_strides = RowMajorStrides(source);
  const ms::Shape target_strides = RowMajorStrides(target);
  const uint32_t rank = source.rank();
  std::array<size_t, ms::kMaxRank> chosen{};
  for (;;) {
    RunBox box;
    for (uint32_t d = 0; d < rank; ++d) {
      const IndexRun& run = runs[d][chosen[d]];
      box.extents[d] = run.extent;
      box.source_strides[d] = run.step * source_strides[d];
      box.target_strides[d] = target_strides[d];
      box.source_start += run.source * source_strides[d];
      box.target_start += run.target * target_strides[d];
    }
    MS_TRY(fn(box));
    uint32_t d = rank;
    while (d > 0 && ++chosen[d - 1] == runs[d - 1].size()) chosen[--d] = 0;
    if (d == 0) return ms::Status();
  }
}

// Copies the elements of `source` to where the runs say.
ms::Status CopyRuns(ms::Frame& frame, const IndexRuns& runs, const ms::View& source,
                    const ms::View& target);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ARRAY_INDEX_RUNS_H_
