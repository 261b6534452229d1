// The sums of a GradientAccumulator: of whole tensors, and of rows.
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/resources/gradient_accumulator.h"
#include "framework/tensor_sum.h"

namespace millstream {
namespace {

// Adds `more` to `sum`, which is made with the first one.
Status AddTo(const Tensor& more, std::optional<Tensor>* sum) {
  if (!sum->has_value()) {
    MS_ASSIGN_OR_RETURN(Tensor copy, more.DeepCopy());
    sum->emplace(std::move(copy));
    return absl::OkStatus();
  }
  if (AddElements(more, **sum)) return absl::OkStatus();
  return errors::InvalidArgument("gradients of type ", DataTypeName(more.dtype()),
                                 " cannot be added up");
}

Status ShapeMismatch(const std::string& expected, const Shape& got) {
  return errors::InvalidArgument("Shape mismatch: expected ", expected, ", got ", got.ToString());
}

class DenseSum final : public GradientSum {
 public:
  explicit DenseSum(const AccumulatorSpec& spec) : spec_(spec) {}

  Status Add(const Gradient& gradient) override {
    const Shape& shape = gradient.values.shape();
    if (!spec_.shape.IsCompatibleWith(shape)) return ShapeMismatch(spec_.shape.ToString(), shape);
    if (sum_.has_value() && sum_->shape() != shape) {
      return ShapeMismatch(sum_->shape().ToString(), shape);
    }
    return AddTo(gradient.values, &sum_);
  }

  StatusOr<Gradient> Take(int64_t count) override {
    const Gradient taken{Tensor(), *sum_};
    sum_.reset();
    if (spec_.takes_mean) DivideElements(taken.values, count);
    return taken;
  }

 private:
  const AccumulatorSpec& spec_;
  std::optional<Tensor> sum_;  // of the gradients; none: there was none
};

class RowSum final : public GradientSum {
 public:
  explicit RowSum(const AccumulatorSpec& spec) : spec_(spec) {}

  Status Add(const Gradient& gradient) override {
    MS_RETURN_IF_ERROR(Check(gradient));
    const Tensor& values = gradient.values;
    const int64_t count = gradient.indices.num_elements();
    row_shape_ = RowShapeOf(values);
    const size_t row_bytes = count == 0 ? 0 : values.bytes() / static_cast<size_t>(count);
    std::set<int64_t> seen;  // rows of this gradient
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = gradient.indices.data<int64_t>()[i];
      Row& row = rows_[index];
      const Tensor value(values.dtype(), row_shape_, values.buffer(),
                         values.offset() + static_cast<size_t>(i) * row_bytes);
      MS_RETURN_IF_ERROR(AddTo(value, &row.sum));
      if (seen.insert(index).second) ++row.count;
    }
    return absl::OkStatus();
  }

  StatusOr<Gradient> Take(int64_t) override {
    const auto count = static_cast<int64_t>(rows_.size());
    Shape shape({count});
    for (const int64_t size : row_shape_.dims()) shape.AddDim(size);
    Gradient taken;
    MS_ASSIGN_OR_RETURN(taken.indices, Tensor::Create(DataType::kInt64, Shape({count})));
    MS_ASSIGN_OR_RETURN(taken.values, Tensor::Create(spec_.dtype, shape));
    int64_t* index = taken.indices.data<int64_t>();
    auto* value = static_cast<char*>(taken.values.raw());
    for (const auto& [place, row] : rows_) {
      if (spec_.takes_mean) DivideElements(*row.sum, row.count);
      *index++ = place;
      const size_t bytes = row.sum->bytes();
      if (bytes > 0) std::memcpy(value, row.sum->raw(), bytes);
      value += bytes;
    }
    rows_.clear();
    return taken;
  }

 private:
  struct Row {
    std::optional<Tensor> sum;
    int64_t count = 0;  // of gradients that have the row
  };

  static Shape RowShapeOf(const Tensor& values) { return Shape(values.shape().dims().subspan(1)); }

  Status Check(const Gradient& gradient) const {
    const Shape& indices = gradient.indices.shape();
    const Shape& values = gradient.values.shape();
    if (indices.rank() != 1) {
      return errors::InvalidArgument("Input indices should be vector but received shape: ",
                                     indices.ToString());
    }
    if (values.rank() == 0 || values.dim(0) != indices.dim(0)) {
      return errors::InvalidArgument("expected a value for each of ", indices.dim(0),
                                     " indices, got values of shape ", values.ToString());
    }
    PartialShape whole(values.dims());
    whole.set_dim(0, kUnknownDim);
    if (!spec_.shape.IsCompatibleWith(whole)) {
      return ShapeMismatch(spec_.shape.ToString(), values);
    }
    if (!rows_.empty() && row_shape_ != RowShapeOf(gradient.values)) {
      return ShapeMismatch(row_shape_.ToString(), RowShapeOf(gradient.values));
    }
    const int64_t rows = spec_.shape.known_rank() ? spec_.shape.dim(0) : -1;
    for (int64_t i = 0; i < indices.dim(0); ++i) {
      const int64_t index = gradient.indices.data<int64_t>()[i];
      if (index >= 0 && (rows < 0 || index < rows)) continue;
      return errors::InvalidArgument("indices[", i, "] = ", index, " is not in [0, ",
                                     rows < 0 ? "..." : std::to_string(rows), ")");
    }
    return absl::OkStatus();
  }

  const AccumulatorSpec& spec_;
  std::map<int64_t, Row> rows_;
  Shape row_shape_;
};

}  // namespace

std::unique_ptr<GradientSum> MakeGradientSum(const AccumulatorSpec& spec) {
  if (spec.is_sparse) return std::make_unique<RowSum>(spec);
  return std::make_unique<DenseSum>(spec);
}

}  // namespace millstream
