// A sparse tensor among the inputs of a kernel: the places of its elements, their values, and the
// shape of the whole.
#ifndef MILLSTREAM_KERNELS_SPARSE_SPARSE_INPUT_H_
#define MILLSTREAM_KERNELS_SPARSE_SPARSE_INPUT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// The names of the three arguments, for messages.
struct SparseNames {
  const char* indices;
  const char* values;
  const char* shape;
};

struct SparseInput {
  ms::View indices;  // int64 [count, rank]
  ms::View values;   // [count]
  ms::Shape shape;   // [rank]
  SparseNames names;

  int64_t count() const { return indices.dim(0); }
  uint32_t rank() const { return shape.rank(); }
  const int64_t* index(int64_t k) const { return indices.data<int64_t>() + k * shape.rank(); }
  // "indices[3] = [0,2]", with the name of the argument.
  std::string IndexName(int64_t k) const;
};

// Reads three inputs that follow each other, the first being input `first`. INVALID_ARGUMENT if
// their shapes do not fit, a size is negative, or there are more places than 63 bits count.
ms::Status ReadSparse(const ms::Frame& frame, uint32_t first, const SparseNames& names,
                      SparseInput* sparse);
// The same of views.
ms::Status MakeSparse(const ms::View& indices, const ms::View& values, const ms::View& shape,
                      const SparseNames& names, SparseInput* sparse);
// The sizes that `view`, an int64 vector, lists. INVALID_ARGUMENT as above.
ms::Status ReadSizes(const ms::View& view, std::string_view name, ms::Shape* sizes);

// INVALID_ARGUMENT if an element is outside of the shape; if `in_order`, also if one does not come
// after the one before it.
ms::Status CheckIndices(const SparseInput& sparse, bool in_order);

// The place of an index in a row-major tensor, by its first `dims` dimensions.
inline int64_t PlaceOfIndex(const int64_t* index, const ms::Shape& shape, uint32_t dims) {
  int64_t place = 0;
  for (uint32_t d = 0; d < dims; ++d) place = place * shape[d] + index[d];
  return place;
}
// The reverse: writes `dims` numbers.
void IndexOfPlace(int64_t place, const ms::Shape& shape, uint32_t dims, int64_t* index);

// The numbers of the elements in row-major order of their places; equal places stay in their order.
std::vector<int64_t> RowMajorOrder(const SparseInput& sparse);

// Sets element `j` of `to` to element `i` of `from`, of the same dtype, which may be string.
ms::Status MoveElement(const ms::View& from, int64_t i, const ms::View& to, int64_t j);

// Outputs of the three parts of a sparse tensor, from output `first` on. The indices and values are
// not set yet.
struct SparseOutput {
  ms::View indices;
  ms::View values;
  int64_t* index(int64_t k) const { return indices.data<int64_t>() + k * indices.dim(1); }
};
ms::Status MakeSparseOutput(ms::Frame& frame, uint32_t first, int64_t count, const ms::Shape& shape,
                            SparseOutput* output);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SPARSE_SPARSE_INPUT_H_
