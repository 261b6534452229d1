// Comparing indices of sparse tensors, of which the first dimension counts most.
#ifndef MILLSTREAM_KERNELS_SPARSE_ORDER_H_
#define MILLSTREAM_KERNELS_SPARSE_ORDER_H_

#include <cstdint>

namespace millstream::kernels {

// Negative, zero or positive, as index `a` comes before, with or after `b`.
inline int CompareIndices(const int64_t* a, const int64_t* b, uint32_t rank) {
  for (uint32_t d = 0; d < rank; ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

// Walks over two lists of indices that are in order: visit(i, j) is called for each index that
// either has, with -1 for a list that lacks it. Stops at the first error.
template <typename Visit>
auto MergeIndices(const int64_t* a, int64_t a_count, const int64_t* b, int64_t b_count,
                  uint32_t rank, const Visit& visit) -> decltype(visit(0, 0)) {
  int64_t i = 0;
  int64_t j = 0;
  while (i < a_count || j < b_count) {
    const int order = i == a_count   ? 1
                      : j == b_count ? -1
                                     : CompareIndices(a + i * rank, b + j * rank, rank);
    auto status = visit(order <= 0 ? i : -1, order >= 0 ? j : -1);
    if (!status.ok()) return status;
    i += order <= 0 ? 1 : 0;
    j += order >= 0 ? 1 : 0;
  }
  return {};
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SPARSE_ORDER_H_
