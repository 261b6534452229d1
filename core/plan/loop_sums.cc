#include "core/plan/loop_sums.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace millstream {
namespace {

// With so many rows, writing and reading the product no longer takes a considerable part of the
// time.
constexpr int64_t kMostRows = 1024;
// Of both matrices of a block.
constexpr int64_t kMostBytes = int64_t{32} << 20;

// Bytes of a row of `matrix`. REQUIRES: its rank is 2.
int64_t RowBytes(const Tensor& matrix) {
  return matrix.shape().dim(1) * static_cast<int64_t>(DataTypeSize(matrix.dtype()));
}

// The rows of a block for matrices like these.
int64_t MostRows(const Tensor& a, const Tensor& b) {
  const int64_t bytes = std::max<int64_t>(RowBytes(a) + RowBytes(b), 1);
  return std::clamp<int64_t>(kMostBytes / bytes, 1, kMostRows);
}

StatusOr<Tensor> RowsLike(const Tensor& matrix, int64_t rows) {
  return Tensor::Create(matrix.dtype(), Shape({rows, matrix.shape().dim(1)}));
}

void CopyRows(const Tensor& from, int64_t row, const Tensor& to) {
  if (from.bytes() == 0) return;
  std::memcpy(static_cast<char*>(to.raw()) + row * RowBytes(to), from.raw(), from.bytes());
}

Tensor FirstRows(const Tensor& matrix, int64_t rows) {
  return Tensor(matrix.dtype(), Shape({rows, matrix.shape().dim(1)}), matrix.buffer(),
                matrix.offset());
}

}  // namespace

Status LoopSums::Multiply(size_t i, Tensor a, Tensor b, Tensor* value) {
  std::vector<Tensor> feeds = {std::exchange(*value, Tensor()), std::move(a), std::move(b)};
  MS_ASSIGN_OR_RETURN(Plan* const plan, plans_[i]->For(feeds, nullptr));
  PlanRun run(plan, plan->device_name);
  MS_RETURN_IF_ERROR(run.BeginInside(step_, trace_, feeds));
  MS_RETURN_IF_ERROR(run.RunCalls());
  MS_RETURN_IF_ERROR(run.Carry(absl::MakeSpan(feeds).first(1)));
  run.EndInside();
  *value = std::move(feeds[0]);
  return absl::OkStatus();
}

Status LoopSums::Flush(size_t i, Tensor* value) {
  Block& block = blocks_[i];
  const int64_t rows = std::exchange(block.rows, 0);
  if (rows == 0) return absl::OkStatus();
  return Multiply(i, FirstRows(block.a, rows), FirstRows(block.b, rows), value);
}

Status LoopSums::AddTo(size_t i, const Tensor& a, const Tensor& b, Tensor* value) {
  Block& block = blocks_[i];
  const bool fit = a.shape().rank() == 2 && b.shape().rank() == 2 &&
                   a.shape().dim(0) == b.shape().dim(0) && IsPlainData(a.dtype());
  // The product says what is wrong with the others.
  const int64_t rows = fit ? a.shape().dim(0) : 0;
  if (!fit || 2 * rows > MostRows(a, b)) {
    MS_RETURN_IF_ERROR(Flush(i, value));
    return Multiply(i, a, b, value);
  }
  const bool is_alike = block.a.has_value() && block.a.shape().dim(1) == a.shape().dim(1) &&
                        block.b.shape().dim(1) == b.shape().dim(1);
  if (!is_alike || block.rows + rows > block.a.shape().dim(0)) {
    MS_RETURN_IF_ERROR(Flush(i, value));
  }
  if (!is_alike) {
    MS_ASSIGN_OR_RETURN(block.a, RowsLike(a, MostRows(a, b)));
    MS_ASSIGN_OR_RETURN(block.b, RowsLike(b, MostRows(a, b)));
  }
  CopyRows(a, block.rows, block.a);
  CopyRows(b, block.rows, block.b);
  block.rows += rows;
  return absl::OkStatus();
}

Status LoopSums::Add(const PlanRun& iteration, absl::Span<Tensor> values) {
  size_t fetch = body_.num_variables + 1;  // behind the condition
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor a = iteration.Fetched(fetch++);
    const Tensor b = iteration.Fetched(fetch++);
    MS_RETURN_IF_ERROR(AddTo(i, a, b, &values[i]));
  }
  return absl::OkStatus();
}

Status LoopSums::Finish(absl::Span<Tensor> values) {
  for (size_t i = 0; i < values.size(); ++i) MS_RETURN_IF_ERROR(Flush(i, &values[i]));
  return absl::OkStatus();
}

}  // namespace millstream
