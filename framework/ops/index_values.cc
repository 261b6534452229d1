#include "framework/ops/index_values.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "framework/ops/op_errors.h"

namespace millstream {
namespace {

bool IsIndexType(DataType dtype) { return dtype == DataType::kInt32 || dtype == DataType::kInt64; }

bool FitsInt32(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() &&
         value <= std::numeric_limits<int32_t>::max();
}

}  // namespace

std::optional<PartialValue> IndexElements(const ShapeContext& context, int i) {
  const PartialShape& shape = context.input(i);
  if (!IsIndexType(context.input_type(i)) || shape.rank() > 1) return std::nullopt;
  std::optional<PartialValue> value = context.InputValue(i);
  if (value.has_value()) return value;
  if (shape.rank() == 0) return PartialValue(1);
  if (shape.rank() == 1 && shape.dim(0) != kUnknownDim && shape.dim(0) <= kMaxFollowedElements) {
    return PartialValue(shape.dim(0));
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>> KnownIndexElements(const ShapeContext& context, int i) {
  const std::optional<PartialValue> value = IndexElements(context, i);
  if (!value.has_value()) return std::nullopt;
  std::vector<int64_t> elements;
  elements.reserve(value->size());
  for (const std::optional<int64_t>& element : *value) {
    if (!element.has_value()) return std::nullopt;
    elements.push_back(*element);
  }
  return elements;
}

Status CheckEntryCount(const ShapeContext& context, int i, int64_t count) {
  if (count <= kMaxFollowedElements) return absl::OkStatus();
  return InvalidInput(context, i, "no tensor has as many dimensions as there are entries, ", count);
}

StatusOr<std::optional<int64_t>> IndexScalar(const ShapeContext& context, int i) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context.WithRank(i, 0));
  const std::optional<PartialValue> value = IndexElements(context, i);
  if (!value.has_value() || value->size() != 1) return std::optional<int64_t>();
  return (*value)[0];
}

StatusOr<std::optional<int>> AxisInput(const ShapeContext& context, int i, int rank) {
  MS_ASSIGN_OR_RETURN(std::optional<int64_t> value, IndexScalar(context, i));
  if (!value.has_value() || rank < 0) return std::optional<int>();
  StatusOr<int> axis = NormalizeAxis(*value, rank);
  if (!axis.ok()) return InputError(context, i, axis.status());
  return std::optional<int>(*axis);
}

StatusOr<PartialShape> ShapeFromSizes(const ShapeContext& context, int i) {
  MS_ASSIGN_OR_RETURN(PartialShape sizes_shape, context.WithRank(i, 1));
  const std::optional<PartialValue> sizes = IndexElements(context, i);
  if (!sizes.has_value()) return PartialShape();
  PartialShape shape = PartialShape::Scalar();
  for (const std::optional<int64_t>& size : *sizes) {
    if (size.has_value() && *size < 0) {
      return InvalidInput(context, i, "sizes must not be negative, got ", *size, " at position ",
                          shape.rank());
    }
    shape.AddDim(size.value_or(kUnknownDim));
  }
  if (shape.IsFullyKnown()) {
    const Status valid = ValidateShape(shape.ToShape());
    if (!valid.ok()) return InputError(context, i, valid);
  }
  return shape;
}

StatusOr<PartialShape> ShapeFromSizesOfRank(const ShapeContext& context, int i, int rank) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(context, i));
  if (!shape.known_rank()) return PartialShape::UnknownOfRank(rank);
  if (shape.rank() != rank) {
    return InvalidInput(context, i, "expected ", rank, " sizes, got ", shape.rank());
  }
  return shape;
}

void SetIndexValue(ShapeContext* context, int output, PartialValue value) {
  const DataType dtype = context->output_type(output);
  const PartialShape& shape = context->output(output);
  const int64_t count = static_cast<int64_t>(value.size());
  if (!IsIndexType(dtype) || count > kMaxFollowedElements) return;
  if (!shape.known_rank() || shape.rank() > 1 || shape.num_elements() != count) return;
  if (dtype == DataType::kInt32) {
    for (std::optional<int64_t>& element : value) {
      if (element.has_value() && !FitsInt32(*element)) element.reset();
    }
  }
  context->SetOutputValue(output, std::move(value));
}

void ForwardIndexValue(ShapeContext* context) {
  std::optional<PartialValue> value = IndexElements(*context, 0);
  if (value.has_value()) SetIndexValue(context, 0, *std::move(value));
}

void SetBroadcastIndexValue(ShapeContext* context, IndexOperation operation) {
  const std::optional<PartialValue> x = IndexElements(*context, 0);
  const std::optional<PartialValue> y = IndexElements(*context, 1);
  if (!x.has_value() || !y.has_value()) return;
  const int64_t count = context->output(0).num_elements();
  if (count == kUnknownDim || count > kMaxFollowedElements) return;
  PartialValue result(count);
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<int64_t>& x_element = (*x)[x->size() == 1 ? 0 : i];
    const std::optional<int64_t>& y_element = (*y)[y->size() == 1 ? 0 : i];
    if (x_element.has_value() && y_element.has_value()) {
      result[i] = operation(*x_element, *y_element);
    }
  }
  SetIndexValue(context, 0, std::move(result));
}

}  // namespace millstream
