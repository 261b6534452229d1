#include "kernels/linalg/block_reflector.h"

#include <algorithm>
#include <utility>

#include "kernels/linalg/block_product.h"

namespace millstream::kernels {
namespace {

// Columns [begin, end), at most kProductColumns.
template <typename T>
void ReflectColumns(const ReflectorPanel<T>& panel, const T* triangle, bool adjoint,
                    const Block<T>& block, int64_t begin, int64_t end) {
  const int64_t count = panel.count;
  const int64_t width = end - begin;
  T* const columns = block.elements + begin;
  T sums[kMostReflectors * kProductColumns];      // -V^H C
  T products[kMostReflectors * kProductColumns];  // S V^H C, or S^H V^H C
  std::fill(sums, sums + count * width, T(0));
  std::fill(products, products + count * width, T(0));
  BlockProduct<T> of_sums = {count, width,   panel.size,   panel.vectors, panel.stride,
                             1,     columns, block.stride, sums,          width};
  of_sums.conjugate_a = true;
  SubtractProduct(of_sums, 0, width);
  BlockProduct<T> of_products = {count, width, count, triangle, kMostReflectors,
                                 1,     sums,  width, products, width};
  if (adjoint) {
    std::swap(of_products.a_row_step, of_products.a_column_step);
    of_products.conjugate_a = true;
  }
  SubtractProduct(of_products, 0, width);
  SubtractProduct(BlockProduct<T>{panel.size, width, count, panel.vectors, 1, panel.stride,
                                  products, width, columns, block.stride},
                  0, width);
}

}  // namespace

template <typename T>
void MakeTriangle(const ReflectorPanel<T>& panel, const T* taus, T* triangle) {
  std::fill(triangle, triangle + TriangleNumbers(panel.count), T(0));
  for (int64_t j = 0; j < panel.count; ++j) {
    const T* const v = panel.vectors + j * panel.stride + j;
    T products[kMostReflectors];
    for (int64_t i = 0; i < j; ++i) {
      products[i] = SumOfConjugateProducts(panel.size - j, panel.vectors + i * panel.stride + j, v);
    }
    for (int64_t i = 0; i < j; ++i) {
      T sum(0);
      for (int64_t k = i; k < j; ++k)
        sum += Product(triangle[i * kMostReflectors + k], products[k]);
      triangle[i * kMostReflectors + j] = -Product(taus[j], sum);
    }
    triangle[j * kMostReflectors + j] = taus[j];
  }
}

template <typename T>
void ReflectBlock(const ReflectorPanel<T>& panel, const T* triangle, bool adjoint,
                  const Block<T>& block, Stop* stop) {
  const int64_t units = (block.columns + kProductColumns - 1) / kProductColumns;
  if (units == 0) return;
  const double nanoseconds = static_cast<double>(panel.size * panel.count * kProductColumns) / 6;
  stop->Share(units, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      ReflectColumns(panel, triangle, adjoint, block, unit * kProductColumns,
                     std::min(block.columns, (unit + 1) * kProductColumns));
    }
  });
}

#define MS_BLOCK_REFLECTORS_OF_TYPE(T)                                                           \
  template void MakeTriangle<T>(const ReflectorPanel<T>& panel, const T* taus, T* triangle);     \
  template void ReflectBlock<T>(const ReflectorPanel<T>& panel, const T* triangle, bool adjoint, \
                                const Block<T>& block, Stop* stop)
MS_BLOCK_REFLECTORS_OF_TYPE(double);
MS_BLOCK_REFLECTORS_OF_TYPE(Complex);
#undef MS_BLOCK_REFLECTORS_OF_TYPE

}  // namespace millstream::kernels
