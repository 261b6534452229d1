// Reads the small integer arguments of array kernels (axes, shapes, permutations) and checks them.
#ifndef MILLSTREAM_KERNELS_ARRAY_INDICES_H_
#define MILLSTREAM_KERNELS_ARRAY_INDICES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// Every dtype whose elements can be moved: all as plain bytes but string (kernels/array/strings.h).
inline std::vector<MS_DType> MovableTypes() {
  return {MS_FLOAT32, MS_FLOAT64, MS_INT8,   MS_INT16,  MS_INT32,   MS_INT64,      MS_UINT8,
          MS_UINT16,  MS_UINT32,  MS_UINT64, MS_BOOL,   MS_FLOAT16, MS_BFLOAT16,   MS_COMPLEX64,
          MS_QINT8,   MS_QINT16,  MS_QINT32, MS_QUINT8, MS_QUINT16, MS_COMPLEX128, MS_STRING};
}

inline std::vector<MS_DType> IndexTypes() { return {MS_INT32, MS_INT64}; }

// Element `i` of an int32 or int64 view.
inline int64_t IndexAt(const ms::View& view, int64_t i) {
  return view.dtype() == MS_INT32 ? view.data<int32_t>()[i] : view.data<int64_t>()[i];
}

// Element `i` (in flat order) of the argument `name` of shape `shape`: "indices[0,2]", or "indices"
// for a scalar.
inline std::string ElementName(std::string_view name, const ms::Shape& shape, int64_t i) {
  std::string coordinate;
  for (uint32_t d = shape.rank(); d-- > 0; i /= shape[d]) {
    coordinate = std::to_string(i % shape[d]) + (coordinate.empty() ? "" : ",") + coordinate;
  }
  return std::string(name) + (coordinate.empty() ? "" : "[" + coordinate + "]");
}

// "indices[0,2] = 7 is not in [0, 3)": element `i` of `view`, an int32 or int64 tensor.
inline ms::Status NotInRange(std::string_view name, const ms::View& view, int64_t i, int64_t end) {
  return ms::InvalidArgument(ElementName(name, view.shape(), i), " = ", IndexAt(view, i),
                             " is not in [0, ", end, ")");
}

// All elements of `view` must be in [0, size).
template <typename Index>
ms::Status CheckIndices(std::string_view name, const ms::View& view, uint64_t size) {
  const Index* indices = view.data<Index>();
  const int64_t n = view.size();
  bool all_in_range = true;
  for (int64_t i = 0; i < n; ++i) {
    all_in_range &= static_cast<uint64_t>(static_cast<int64_t>(indices[i])) < size;
  }
  if (all_in_range) return ms::Status();
  int64_t i = 0;
  while (static_cast<uint64_t>(static_cast<int64_t>(indices[i])) < size) ++i;
  return NotInRange(name, view, i, static_cast<int64_t>(size));
}

// The value of argument `name`, which must be a scalar.
inline ms::Status ReadIndexScalar(const ms::View& view, std::string_view name, int64_t* value) {
  if (view.rank() != 0) {
    return ms::InvalidArgument(name, " must be a scalar, but has shape ", view.shape().ToString());
  }
  *value = IndexAt(view, 0);
  return ms::Status();
}

// The values of argument `name`, which must be a vector of at most ms::kMaxRank of them.
inline ms::Status ReadIndexVector(const ms::View& view, std::string_view name, ms::Shape* values) {
  if (view.rank() != 1) {
    return ms::InvalidArgument(name, " must be a vector, but has shape ", view.shape().ToString());
  }
  if (view.dim(0) > ms::kMaxRank) {
    return ms::InvalidArgument(name, " has ", view.dim(0), " elements; at most ", ms::kMaxRank,
                               " are possible");
  }
  *values = ms::Shape();
  for (int64_t i = 0; i < view.dim(0); ++i) values->Append(IndexAt(view, i));
  return ms::Status();
}

// The axis that `axis`, counted from the end when negative, means for tensors of rank `rank`.
inline ms::Status ResolveAxis(int64_t axis, uint32_t rank, std::string_view name, uint32_t* out) {
  const int64_t signed_rank = rank;
  if (axis < -signed_rank || axis >= signed_rank) {
    return ms::InvalidArgument(name, " = ", axis, " is outside [", -signed_rank, ", ", signed_rank,
                               ")");
  }
  *out = static_cast<uint32_t>(axis < 0 ? axis + signed_rank : axis);
  return ms::Status();
}

inline ms::Status CheckRank(uint32_t rank) {
  if (rank <= ms::kMaxRank) return ms::Status();
  return ms::InvalidArgument("the output would have rank ", rank, "; at most ", ms::kMaxRank,
                             " is possible");
}

// `data` is made of rows that `numbers` counts: the shape of numbers begins that of data.
inline ms::Status CheckRows(std::string_view data_name, const ms::Shape& data,
                            std::string_view numbers_name, const ms::Shape& numbers) {
  if (numbers.rank() <= data.rank() && numbers == ms::Shape(data.begin(), numbers.rank())) {
    return ms::Status();
  }
  return ms::InvalidArgument("the shape of ", numbers_name, ", ", numbers.ToString(),
                             ", must begin the shape of ", data_name, ", ", data.ToString());
}

// The product of dimensions [begin, end).
inline int64_t DimProduct(const ms::Shape& shape, uint32_t begin, uint32_t end) {
  int64_t product = 1;
  for (uint32_t i = begin; i < end; ++i) product *= shape[i];
  return product;
}

// The distance between neighbours along each dimension of a row-major tensor, in elements.
inline ms::Shape RowMajorStrides(const ms::Shape& shape) {
  ms::Shape strides = shape;
  int64_t stride = 1;
  for (uint32_t i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ARRAY_INDICES_H_
