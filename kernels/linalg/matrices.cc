#include "kernels/linalg/matrices.h"

#include <algorithm>
#include <type_traits>

#include "kernels/common/narrow_float.h"

namespace millstream::kernels {
namespace {

template <typename Element, typename T>
void Load(const void* elements, int64_t begin, int64_t rows, int64_t columns, bool adjoint,
          void* matrix) {
  const auto* from = static_cast<const Element*>(elements) + begin;
  auto* to = static_cast<T*>(matrix);
  if (!adjoint) {
    for (int64_t i = 0; i < rows * columns; ++i) to[i] = T(from[i]);
    return;
  }
  constexpr int64_t kTile = 16;  // lines of the first cache serve a whole tile
  for (int64_t column = 0; column < columns; column += kTile) {
    for (int64_t row = 0; row < rows; row += kTile) {
      for (int64_t i = column; i < std::min(column + kTile, columns); ++i) {
        for (int64_t j = row; j < std::min(row + kTile, rows); ++j) {
          to[i * rows + j] = Conjugate(T(from[j * columns + i]));
        }
      }
    }
  }
}

template <typename Element, typename T>
void Store(const void* numbers, int64_t count, void* elements, int64_t begin) {
  const auto* from = static_cast<const T*>(numbers);
  auto* to = static_cast<Element*>(elements) + begin;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Element>(from[i]);
}
template <>
void Store<Float16, double>(const void* numbers, int64_t count, void* elements, int64_t begin) {
  const auto* from = static_cast<const double*>(numbers);
  auto* to = static_cast<Float16*>(elements) + begin;
  for (int64_t i = 0; i < count; ++i) to[i] = Float16(static_cast<float>(from[i]));
}

template <typename Element, typename T>
constexpr ElementAccess AccessOf() {
  return {ms::DTypeOf<Element>(), !std::is_same_v<T, double>, &Load<Element, T>,
          &Store<Element, T>};
}

const ElementAccess kAccess[] = {
    AccessOf<Float16, double>(),  AccessOf<float, double>(),
    AccessOf<double, double>(),   AccessOf<std::complex<float>, Complex>(),
    AccessOf<Complex, Complex>(),
};

}  // namespace

const ElementAccess* FindElementAccess(MS_DType dtype) {
  for (const ElementAccess& access : kAccess) {
    if (access.dtype == dtype) return &access;
  }
  return nullptr;
}

}  // namespace millstream::kernels
