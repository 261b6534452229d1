// How one reduction walks through memory. Depends on shapes alone, so that results do not depend on
// the number of threads.
//
// Dimensions of size 1 are dropped and neighbours that are both kept or both reduced are merged.
// Then there are two cases:
//  - the innermost dimension is reduced: an output is made of *items*, which are runs of at most
//    kRunLength neighbouring elements;
//  - it is kept: `tile` neighbouring outputs are made together of *items*, which are rows.
// Items of one output are combined pairwise, as a balanced tree; where there are few outputs, they
// are first cut into `groups`, whose results are combined at the end.
#ifndef MILLSTREAM_KERNELS_REDUCE_REDUCE_PLAN_H_
#define MILLSTREAM_KERNELS_REDUCE_REDUCE_PLAN_H_

#include <array>
#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

struct ReducePlan {
  static constexpr int64_t kRunLength = 1024;
  static constexpr int64_t kTile = 512;

  ms::Shape output;
  int64_t outputs = 1;  // elements of the output
  int64_t count = 1;    // elements reduced to one

  bool inner_reduced = false;
  int64_t inner = 1;  // size of the innermost merged dimension
  // The other merged dimensions, outermost first; strides in elements.
  uint32_t kept_rank = 0;
  std::array<int64_t, ms::kMaxRank> kept_dims;
  std::array<int64_t, ms::kMaxRank> kept_strides;
  uint32_t reduced_rank = 0;
  std::array<int64_t, ms::kMaxRank> reduced_dims;
  std::array<int64_t, ms::kMaxRank> reduced_strides;

  int64_t outer = 1;         // product of kept_dims
  int64_t items = 1;         // of one output
  int64_t runs_per_row = 1;  // items that the innermost dimension is cut in, when it is reduced
  int64_t tiles = 1;         // that the innermost dimension is cut in, when it is kept
  int64_t groups = 1;

  // A task makes one output (one tile of outputs) of one group of its items.
  int64_t tasks() const { return outer * tiles * groups; }
  int64_t elements_per_task() const { return outputs * count / tasks(); }
  // Results of groups, in elements; 0 when the tasks write the outputs themselves.
  int64_t partial_elements() const { return groups > 1 ? groups * outputs : 0; }

  // Where output index `i` of the kept dimensions (item row `i` of the reduced ones) starts.
  int64_t KeptOffset(int64_t i) const { return Offset(i, kept_rank, kept_dims, kept_strides); }
  int64_t ReducedOffset(int64_t i) const {
    return Offset(i, reduced_rank, reduced_dims, reduced_strides);
  }

 private:
  static int64_t Offset(int64_t i, uint32_t rank, const std::array<int64_t, ms::kMaxRank>& dims,
                        const std::array<int64_t, ms::kMaxRank>& strides) {
    if (rank == 0) return 0;
    int64_t offset = 0;
    for (uint32_t d = rank; d-- > 1;) {
      offset += i % dims[d] * strides[d];
      i /= dims[d];
    }
    return offset + i * strides[0];
  }
};

// The plan that reduces the dimensions whose bits are set in `reduced`; they stay as dimensions of
// size 1 when keep_dims is set.
void PlanReduction(const ms::Shape& input, uint32_t reduced, bool keep_dims, ReducePlan* plan);

// The bits of the dimensions that `axes` (int32 or int64, any shape, negative from the end) lists;
// INVALID_ARGUMENT for one that the input does not have.
ms::Status ReadAxes(const ms::View& axes, uint32_t input_rank, uint32_t* reduced);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_REDUCE_REDUCE_PLAN_H_
