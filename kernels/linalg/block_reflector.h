// Products of Householder reflectors, H = H_0 H_1 ... = I - V S V^H with S upper triangular
// (R. Schreiber, C. Van Loan: A storage-efficient WY representation for products of Householder
// transformations, SIAM J. Sci. Stat. Comput. 10, 1989). T is double or Complex.
#ifndef MILLSTREAM_KERNELS_LINALG_BLOCK_REFLECTOR_H_
#define MILLSTREAM_KERNELS_LINALG_BLOCK_REFLECTOR_H_

#include <cstdint>

#include "kernels/linalg/reflector.h"
#include "kernels/linalg/stop.h"

namespace millstream::kernels {

inline constexpr int64_t kMostReflectors = 32;  // in one product

// At most kMostReflectors reflectors. Vector j, of `size` elements, is at vectors + j * stride: a
// one in place j, and zeros before it.
template <typename T>
struct ReflectorPanel {
  int64_t count;
  int64_t size;
  const T* vectors;
  int64_t stride;
};

// The elements of S, whose rows are kMostReflectors apart.
constexpr int64_t TriangleNumbers(int64_t count) { return count * kMostReflectors; }

template <typename T>
void MakeTriangle(const ReflectorPanel<T>& panel, const T* taus, T* triangle);

// block = H block, or H^H block, columns by all threads. The block has panel.size rows. Bits of a
// column do not depend on the others.
template <typename T>
void ReflectBlock(const ReflectorPanel<T>& panel, const T* triangle, bool adjoint,
                  const Block<T>& block, Stop* stop);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_BLOCK_REFLECTOR_H_
