#include "kernels/sparse/sparse_input.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/array/indices.h"
#include "kernels/array/strings.h"

namespace millstream::kernels {

std::string SparseInput::IndexName(int64_t k) const {
  return ms::StrCat(names.indices, "[", k, "] = ", ms::Shape(index(k), rank()).ToString());
}

ms::Status ReadSizes(const ms::View& view, std::string_view name, ms::Shape* sizes) {
  MS_TRY(ReadIndexVector(view, name, sizes));
  int64_t places = 1;
  for (uint32_t d = 0; d < sizes->rank(); ++d) {
    if ((*sizes)[d] < 0) {
      return ms::InvalidArgument(name, "[", d, "] = ", (*sizes)[d], " is negative");
    }
    if (__builtin_mul_overflow(places, (*sizes)[d], &places)) {
      return ms::InvalidArgument(name, " = ", sizes->ToString(),
                                 " has more elements than 63 bits can count");
    }
  }
  return ms::Status();
}

ms::Status MakeSparse(const ms::View& indices, const ms::View& values, const ms::View& shape,
                      const SparseNames& names, SparseInput* sparse) {
  sparse->indices = indices;
  sparse->values = values;
  sparse->names = names;
  if (indices.rank() != 2) {
    return ms::InvalidArgument(names.indices, " must be a matrix, but has shape ",
                               indices.shape().ToString());
  }
  if (values.rank() != 1 || values.dim(0) != indices.dim(0)) {
    return ms::InvalidArgument(names.values, " must be a vector of ", indices.dim(0),
                               " elements, one for each row of ", names.indices, ", but has shape ",
                               values.shape().ToString());
  }
  MS_TRY(ReadSizes(shape, names.shape, &sparse->shape));
  if (indices.dim(1) == sparse->rank()) return ms::Status();
  return ms::InvalidArgument(names.shape, " has ", sparse->rank(), " elements, but the rows of ",
                             names.indices, " have ", indices.dim(1));
}

ms::Status ReadSparse(const ms::Frame& frame, uint32_t first, const SparseNames& names,
                      SparseInput* sparse) {
  return MakeSparse(frame.input(first), frame.input(first + 1), frame.input(first + 2), names,
                    sparse);
}

ms::Status CheckIndices(const SparseInput& sparse, bool in_order) {
  int64_t last = -1;
  for (int64_t k = 0; k < sparse.count(); ++k) {
    const int64_t* const index = sparse.index(k);
    for (uint32_t d = 0; d < sparse.rank(); ++d) {
      if (index[d] >= 0 && index[d] < sparse.shape[d]) continue;
      return ms::InvalidArgument(sparse.IndexName(k), " is out of bounds: need 0 <= index < ",
                                 sparse.shape.ToString());
    }
    if (!in_order) continue;
    const int64_t place = PlaceOfIndex(index, sparse.shape, sparse.rank());
    if (place == last) return ms::InvalidArgument(sparse.IndexName(k), " is repeated");
    if (place < last) {
      return ms::InvalidArgument(sparse.IndexName(k),
                                 " is out of order: each index must come after those before it");
    }
    last = place;
  }
  return ms::Status();
}

void IndexOfPlace(int64_t place, const ms::Shape& shape, uint32_t dims, int64_t* index) {
  for (uint32_t d = dims; d-- > 0;) {
    index[d] = place % shape[d];
    place /= shape[d];
  }
}

std::vector<int64_t> RowMajorOrder(const SparseInput& sparse) {
  std::vector<int64_t> order(static_cast<size_t>(sparse.count()));
  std::iota(order.begin(), order.end(), 0);
  std::vector<int64_t> places;
  places.reserve(order.size());
  for (int64_t k = 0; k < sparse.count(); ++k) {
    places.push_back(PlaceOfIndex(sparse.index(k), sparse.shape, sparse.rank()));
  }
  if (std::is_sorted(places.begin(), places.end())) return order;
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)];
  });
  return order;
}

ms::Status MoveElement(const ms::View& from, int64_t i, const ms::View& to, int64_t j) {
  if (to.dtype() == MS_STRING) return CopyString(from, i, to, j);
  const uint64_t bytes = ms::ElementSize(to.dtype());
  std::memcpy(to.data<char>() + static_cast<uint64_t>(j) * bytes,
              from.data<char>() + static_cast<uint64_t>(i) * bytes, bytes);
  return ms::Status();
}

ms::Status MakeSparseOutput(ms::Frame& frame, uint32_t first, int64_t count, const ms::Shape& shape,
                            SparseOutput* output) {
  const int64_t rank = shape.rank();
  ms::View sizes;
  MS_TRY(frame.Output(first, ms::Shape{count, rank}, &output->indices));
  MS_TRY(frame.Output(first + 1, ms::Shape{count}, &output->values));
  MS_TRY(frame.Output(first + 2, ms::Shape{rank}, &sizes));
  std::copy(shape.begin(), shape.end(), sizes.data<int64_t>());
  return ms::Status();
}

}  // namespace millstream::kernels
