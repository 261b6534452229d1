#include "framework/plugin/shape_arithmetic.h"

#include <limits>

namespace millstream {
namespace {

Status CheckSizes(int64_t a, int64_t b) {
  if (a >= kUnknownDim && b >= kUnknownDim) return absl::OkStatus();
  return errors::InvalidArgument("sizes are -1, for unknown ones, or more, got ", a, " and ", b);
}

}  // namespace

StatusOr<PartialShape> SubShapeOf(const PartialShape& shape, int32_t begin, int32_t end) {
  if (!shape.known_rank()) return PartialShape();
  const int64_t rank = shape.rank();
  const int64_t first = begin < 0 ? begin + rank : begin;
  int64_t last = end < 0 ? end + rank : end;
  if (end == std::numeric_limits<int32_t>::max()) last = rank;
  if (first < 0 || first > last || last > rank) {
    return errors::InvalidArgument("dimensions [", begin, ", ", end, ") are no part of shape ",
                                   shape.ToString());
  }
  return PartialShape(shape.dims().subspan(first, last - first));
}

StatusOr<PartialShape> ConcatShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.known_rank() || !b.known_rank()) return PartialShape();
  const int64_t rank = int64_t{a.rank()} + b.rank();
  if (rank > MS_MAX_RANK) {
    return errors::InvalidArgument("a shape of ", rank, " dimensions, at most ", MS_MAX_RANK,
                                   " are allowed");
  }
  PartialShape joined = a;
  for (const int64_t size : b.dims()) joined.AddDim(size);
  return joined;
}

StatusOr<PartialShape> PartialShapeFromAbi(MS_Dims dims) {
  if (dims.rank == MS_UNKNOWN_RANK) return PartialShape();
  if (dims.rank > MS_MAX_RANK || (dims.rank > 0 && dims.d == nullptr)) {
    return errors::InvalidArgument("a plugin gave a shape of rank ", dims.rank,
                                   dims.d == nullptr ? " without dimensions" : "");
  }
  const PartialShape shape(absl::MakeConstSpan(dims.d, dims.rank));
  for (const int64_t size : shape.dims()) MS_RETURN_IF_ERROR(CheckSizes(size, size));
  return shape;
}

StatusOr<int64_t> AddDims(int64_t a, int64_t b) {
  MS_RETURN_IF_ERROR(CheckSizes(a, b));
  if (a == kUnknownDim || b == kUnknownDim) return kUnknownDim;
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return errors::InvalidArgument("the sum of sizes ", a, " and ", b, " has more than 63 bits");
}

StatusOr<int64_t> SubtractDims(int64_t a, int64_t b) {
  MS_RETURN_IF_ERROR(CheckSizes(a, b));
  if (a == kUnknownDim || b == kUnknownDim) return kUnknownDim;
  if (a >= b) return a - b;
  return errors::InvalidArgument("size ", b, " is taken from ", a, ", which leaves less than none");
}

StatusOr<int64_t> MultiplyDims(int64_t a, int64_t b) {
  MS_RETURN_IF_ERROR(CheckSizes(a, b));
  if (a == 0 || b == 0) return 0;
  if (a == kUnknownDim || b == kUnknownDim) return kUnknownDim;
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return errors::InvalidArgument("the product of sizes ", a, " and ", b, " has more than 63 bits");
}

StatusOr<int64_t> DivideDims(int64_t a, int64_t b) {
  MS_RETURN_IF_ERROR(CheckSizes(a, b));
  if (b == 0) return errors::InvalidArgument("size ", a, " is divided by 0");
  if (a == 0 || b == 1) return a;
  if (a == kUnknownDim || b == kUnknownDim) return kUnknownDim;
  if (a % b == 0) return a / b;
  return errors::InvalidArgument("size ", a, " is no multiple of ", b);
}

}  // namespace millstream
