#include "core/structural/sparse_parts.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/opaque_cell.h"

namespace millstream {
namespace {

// Element `i` of `from` becomes element `j` of `to`.
void MoveElement(const Tensor& from, int64_t i, const Tensor& to, int64_t j) {
  if (from.dtype() == DataType::kString) {
    to.data<std::string>()[j] = from.data<std::string>()[i];
    return;
  }
  if (!IsPlainData(from.dtype())) {
    to.data<OpaqueCell>()[j] = from.data<OpaqueCell>()[i];
    return;
  }
  const size_t size = DataTypeSize(from.dtype());
  std::memcpy(static_cast<char*>(to.raw()) + static_cast<size_t>(j) * size,
              static_cast<const char*>(from.raw()) + static_cast<size_t>(i) * size, size);
}

// The elements of `all` whose numbers are listed, without the first dimension.
StatusOr<SparseParts> RowOf(const SparseParts& all, const std::vector<int64_t>& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  const int64_t rank = all.rank() - 1;
  SparseParts row;
  MS_ASSIGN_OR_RETURN(row.indices, Tensor::Create(DataType::kInt64, Shape({count, rank})));
  MS_ASSIGN_OR_RETURN(row.values, Tensor::Create(all.values.dtype(), Shape({count})));
  MS_ASSIGN_OR_RETURN(row.shape, Tensor::Create(DataType::kInt64, Shape({rank})));
  std::copy_n(all.shape.data<int64_t>() + 1, rank, row.shape.data<int64_t>());
  for (int64_t k = 0; k < count; ++k) {
    const int64_t number = numbers[static_cast<size_t>(k)];
    std::copy_n(all.indices.data<int64_t>() + number * all.rank() + 1, rank,
                row.indices.data<int64_t>() + k * rank);
    MoveElement(all.values, number, row.values, k);
  }
  return row;
}

// The sizes of all sparse tensors together: the outer ones, and the largest.
std::vector<int64_t> JoinedSizes(const Shape& outer, const std::vector<SparseParts>& all) {
  std::vector<int64_t> sizes(outer.dims().begin(), outer.dims().end());
  const size_t before = sizes.size();
  sizes.resize(before + static_cast<size_t>(all[0].rank()), 0);
  for (const SparseParts& parts : all) {
    for (size_t d = before; d < sizes.size(); ++d) {
      sizes[d] = std::max(sizes[d], parts.shape.data<int64_t>()[d - before]);
    }
  }
  return sizes;
}

}  // namespace

Status CheckSparseParts(const SparseParts& parts) {
  const Shape& indices = parts.indices.shape();
  const Shape& values = parts.values.shape();
  const Shape& shape = parts.shape.shape();
  if (indices.rank() == 2 && values.rank() == 1 && shape.rank() == 1 &&
      indices.dim(0) == values.dim(0) && indices.dim(1) == shape.dim(0)) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("indices, values and shape of a sparse tensor do not fit: their ",
                                 "shapes are ", indices.ToString(), ", ", values.ToString(),
                                 " and ", shape.ToString());
}

StatusOr<SparseParts> SparseInput(const StructuralFrame& frame) {
  const SparseParts parts = {frame.BorrowInput(0), frame.BorrowInput(1), frame.BorrowInput(2)};
  const Shape& indices = parts.indices.shape();
  const char* const wrong = indices.rank() != 2                               ? "sparse_indices"
                            : parts.values.shape() != Shape({indices.dim(0)}) ? "sparse_values"
                            : parts.shape.shape() != Shape({indices.dim(1)})  ? "sparse_shape"
                                                                              : nullptr;
  if (wrong != nullptr) {
    return WithContext(CheckSparseParts(parts), absl::StrCat("argument '", wrong, "'"));
  }
  const Status sizes = ValidateShape(Shape(parts.shape.flat<int64_t>()));
  if (!sizes.ok()) return WithContext(sizes, "argument 'sparse_shape'");
  return parts;
}

StatusOr<int64_t> SparseRowCount(const SparseParts& all) {
  if (all.rank() >= 2) return all.shape.data<int64_t>()[0];
  return errors::InvalidArgument("argument 'sparse_shape': Rank of input SparseTensor should be ",
                                 "> 1, but saw rank: ", all.rank());
}

Status ForEachSparseRow(const SparseParts& all,
                        absl::FunctionRef<Status(int64_t row, SparseParts parts)> function) {
  const int64_t rows = all.shape.data<int64_t>()[0];
  std::vector<std::vector<int64_t>> numbers(static_cast<size_t>(rows));
  for (int64_t k = 0; k < all.count(); ++k) {
    const int64_t row = all.indices.data<int64_t>()[k * all.rank()];
    if (row < 0 || row >= rows) {
      return errors::InvalidArgument("argument 'sparse_indices': Received unexpected column 0 ",
                                     "value in input SparseTensor: ", row, " < 0 or >= ", rows,
                                     " (element ", k, ")");
    }
    numbers[static_cast<size_t>(row)].push_back(k);
  }
  for (int64_t row = 0; row < rows; ++row) {
    MS_ASSIGN_OR_RETURN(SparseParts parts, RowOf(all, numbers[static_cast<size_t>(row)]));
    MS_RETURN_IF_ERROR(function(row, std::move(parts)));
  }
  return absl::OkStatus();
}

Status SetJoined(StructuralFrame* frame, const Shape& outer, const std::vector<SparseParts>& all) {
  const std::vector<int64_t> sizes = JoinedSizes(outer, all);
  const auto rank = static_cast<int64_t>(sizes.size());
  const int64_t before = outer.rank();
  int64_t total = 0;
  for (const SparseParts& parts : all) total += parts.count();
  MS_ASSIGN_OR_RETURN(const Tensor indices, frame->AllocateOutput(0, Shape({total, rank})));
  MS_ASSIGN_OR_RETURN(const Tensor values, frame->AllocateOutput(1, Shape({total})));
  MS_ASSIGN_OR_RETURN(const Tensor shape, frame->AllocateOutput(2, Shape({rank})));
  std::copy(sizes.begin(), sizes.end(), shape.data<int64_t>());
  int64_t next = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (int64_t k = 0; k < all[i].count(); ++k, ++next) {
      int64_t* const index = indices.data<int64_t>() + next * rank;
      int64_t place = static_cast<int64_t>(i);
      for (int64_t d = before - 1; d >= 0; --d) {
        index[d] = place % sizes[static_cast<size_t>(d)];
        place /= sizes[static_cast<size_t>(d)];
      }
      std::copy_n(all[i].indices.data<int64_t>() + k * all[i].rank(), all[i].rank(),
                  index + before);
      MoveElement(all[i].values, k, values, next);
    }
  }
  return absl::OkStatus();
}

}  // namespace millstream
