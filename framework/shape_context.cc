#include "framework/shape_context.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

// Vectors longer than this are data, not shapes: their elements are not tracked.
constexpr int64_t kMaxTrackedElements = int64_t{1} << 16;

template <typename T>
PartialValue ElementsOf(const Tensor& tensor) {
  const auto values = tensor.flat<T>();
  return PartialValue(values.begin(), values.end());
}

std::optional<PartialValue> ValueOfConstant(const Tensor& tensor) {
  if (tensor.shape().rank() > 1 || tensor.num_elements() > kMaxTrackedElements) {
    return std::nullopt;
  }
  switch (tensor.dtype()) {
    case DataType::kInt8: return ElementsOf<int8_t>(tensor);
    case DataType::kUInt8: return ElementsOf<uint8_t>(tensor);
    case DataType::kInt16: return ElementsOf<int16_t>(tensor);
    case DataType::kUInt16: return ElementsOf<uint16_t>(tensor);
    case DataType::kInt32: return ElementsOf<int32_t>(tensor);
    case DataType::kUInt32: return ElementsOf<uint32_t>(tensor);
    case DataType::kInt64: return ElementsOf<int64_t>(tensor);
    default: return std::nullopt;
  }
}

// One size of the broadcast of two; -2 when they do not go together.
constexpr int64_t kNoBroadcast = -2;
int64_t BroadcastDim(int64_t a, int64_t b) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  if (a == kUnknownDim) return b;  // b is 0 or above 1: the other must be b or 1
  if (b == kUnknownDim) return a;
  return kNoBroadcast;
}

}  // namespace

ShapeContext::ShapeContext(const OpCall& call, std::vector<InputFacts> inputs)
    : call_(call), inputs_(std::move(inputs)), outputs_(call.signature->output_types.size()) {}

std::optional<PartialValue> ShapeContext::InputValue(int i) const {
  const InputFacts& facts = inputs_[i];
  if (facts.constant != nullptr) {
    std::optional<PartialValue> value = ValueOfConstant(*facts.constant);
    if (value) return value;
  }
  if (facts.partial_value != nullptr) return *facts.partial_value;
  if (!IsInteger(facts.dtype) || !facts.shape.known_rank() || facts.shape.rank() > 1) {
    return std::nullopt;
  }
  const int64_t count = facts.shape.num_elements();
  if (count == kUnknownDim || count > kMaxTrackedElements) return std::nullopt;
  return PartialValue(count);
}

StatusOr<PartialShape> ShapeContext::InputAsShape(int i) const {
  MS_ASSIGN_OR_RETURN(const PartialShape vector, WithRank(i, 1));
  const std::optional<PartialValue> value = InputValue(i);
  if (!value) return PartialShape();
  PartialShape shape = PartialShape::Scalar();
  for (const std::optional<int64_t>& size : *value) {
    if (size && *size < kUnknownDim) {
      return errors::InvalidArgument("argument '", InputName(i), "' of ", op().name,
                                     " must hold sizes, or -1 for unknown ones, got ", *size);
    }
    shape.AddDim(size.value_or(kUnknownDim));
  }
  return shape;
}

StatusOr<std::optional<int64_t>> ShapeContext::InputAsScalar(int i) const {
  const PartialShape& shape = input(i);
  if (shape.known_rank() && shape.num_elements() != kUnknownDim && shape.num_elements() != 1) {
    return errors::InvalidArgument("argument '", InputName(i), "' of ", op().name,
                                   " must be a scalar, got shape ", shape.ToString());
  }
  const std::optional<PartialValue> value = InputValue(i);
  if (!value || value->size() != 1) return std::optional<int64_t>();
  return (*value)[0];
}

StatusOr<PartialShape> ShapeContext::WithRank(int i, int rank) const {
  const PartialShape& shape = input(i);
  if (!shape.known_rank()) return PartialShape::UnknownOfRank(rank);
  if (shape.rank() == rank) return shape;
  return errors::InvalidArgument("Shape must be rank ", rank, " but is rank ", shape.rank(),
                                 " for argument '", InputName(i), "' of ", op().name,
                                 ", which has shape ", shape.ToString());
}

StatusOr<PartialShape> ShapeContext::WithRankAtLeast(int i, int rank) const {
  const PartialShape& shape = input(i);
  if (!shape.known_rank() || shape.rank() >= rank) return shape;
  return errors::InvalidArgument("Shape must be at least rank ", rank, " but is rank ",
                                 shape.rank(), " for argument '", InputName(i), "' of ", op().name,
                                 ", which has shape ", shape.ToString());
}

StatusOr<PartialShape> ShapeContext::WithRankAtMost(int i, int rank) const {
  const PartialShape& shape = input(i);
  if (!shape.known_rank() || shape.rank() <= rank) return shape;
  return errors::InvalidArgument("Shape must be at most rank ", rank, " but is rank ", shape.rank(),
                                 " for argument '", InputName(i), "' of ", op().name,
                                 ", which has shape ", shape.ToString());
}

StatusOr<PartialShape> ShapeContext::Merge(const PartialShape& a, const PartialShape& b) const {
  StatusOr<PartialShape> merged = a.MergeWith(b);
  return merged.ok() ? merged : WithContext(merged.status(), op().name);
}

StatusOr<int64_t> ShapeContext::MergeDim(int64_t a, int64_t b) const {
  if (a == kUnknownDim || a == b) return b;
  if (b == kUnknownDim) return a;
  return errors::InvalidArgument("Dimensions must be equal, but are ", a, " and ", b, " for ",
                                 op().name);
}

StatusOr<std::vector<OutputFacts>> InferShapes(ShapeContext* context) {
  const OpDef& op = context->op();
  if (op.shape_function != nullptr) MS_RETURN_IF_ERROR(op.shape_function(context));
  for (int i = 0; i < context->num_outputs(); ++i) {
    const PartialShape& shape = context->output(i);
    if (shape.known_rank() && shape.rank() > kMaxRank) {
      return errors::InvalidArgument("output ", i, " of ", op.name, " would have ", shape.rank(),
                                     " dimensions, a tensor has at most ", kMaxRank);
    }
  }
  if (op.value_function != nullptr) op.value_function(context);
  return context->TakeOutputs();
}

Status UnchangedShape(ShapeContext* context) {
  context->SetOutput(0, context->input(0));
  return absl::OkStatus();
}

Status ScalarShape(ShapeContext* context) {
  for (int i = 0; i < context->num_outputs(); ++i) context->SetOutput(i, PartialShape::Scalar());
  return absl::OkStatus();
}

Status NoOutputs(ShapeContext*) { return absl::OkStatus(); }

Status BroadcastBinaryShape(ShapeContext* context) {
  StatusOr<PartialShape> shape = BroadcastShapes(context->input(0), context->input(1));
  if (!shape.ok()) {
    return WithContext(shape.status(),
                       absl::StrCat("arguments '", context->InputName(0), "' and '",
                                    context->InputName(1), "' of ", context->op().name));
  }
  context->SetOutput(0, *std::move(shape));
  return absl::OkStatus();
}

Status MergeAllInputsShape(ShapeContext* context) {
  PartialShape merged;
  for (int i = 0; i < context->num_inputs(); ++i) {
    StatusOr<PartialShape> next = merged.MergeWith(context->input(i));
    if (!next.ok()) {
      return WithContext(next.status(),
                         absl::StrCat("argument '", context->InputName(i), "' of ",
                                      context->op().name, " against those before it"));
    }
    merged = *std::move(next);
  }
  context->SetOutput(0, std::move(merged));
  return absl::OkStatus();
}

StatusOr<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.known_rank() || !b.known_rank()) return PartialShape();
  PartialShape result = PartialShape::UnknownOfRank(std::max(a.rank(), b.rank()));
  for (int back = 1; back <= result.rank(); ++back) {
    const int64_t of_a = back <= a.rank() ? a.dim(-back) : 1;
    const int64_t of_b = back <= b.rank() ? b.dim(-back) : 1;
    const int64_t size = BroadcastDim(of_a, of_b);
    if (size == kNoBroadcast) {
      return errors::InvalidArgument("Incompatible shapes: ", a.ToString(), " vs. ", b.ToString(),
                                     ": Dimensions must be equal, but are ", of_a, " and ", of_b,
                                     " in dimension ", -back);
    }
    result.set_dim(-back, size);
  }
  return result;
}

StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  return errors::InvalidArgument("axis ", axis, " is outside [", -rank, ", ", rank,
                                 ") of a tensor of rank ", rank);
}

}  // namespace millstream
