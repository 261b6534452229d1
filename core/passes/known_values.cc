#include "core/passes/known_values.h"

#include <cmath>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"

namespace millstream {
namespace {

// Ops whose elements are all elements of their first input. GatherV2 is not among them: it tells of
// an index that is out of range.
constexpr absl::string_view kOnlyMove[] = {
    "Identity", "StopGradient", "Reshape", "ExpandDims",   "Squeeze",
    "Tile",     "Transpose",    "Slice",   "StridedSlice", "PreventGradient"};

// The first element, when all have its bits.
std::optional<Tensor> UniformElement(const Tensor& tensor) {
  if (!IsPlainData(tensor.dtype()) || tensor.num_elements() == 0) return std::nullopt;
  const size_t size = DataTypeSize(tensor.dtype());
  const char* const bytes = static_cast<const char*>(tensor.raw());
  if (std::memcmp(bytes, bytes + size, tensor.bytes() - size) != 0) return std::nullopt;
  return Tensor(tensor.dtype(), Shape(), tensor.buffer(), tensor.offset());
}

std::optional<double> RealValue(const Tensor& scalar) {
  switch (scalar.dtype()) {
    case DataType::kFloat: return static_cast<double>(*scalar.data<float>());
    case DataType::kDouble: return *scalar.data<double>();
    case DataType::kInt32: return *scalar.data<int32_t>();
    case DataType::kInt64: return static_cast<double>(*scalar.data<int64_t>());
    default: return std::nullopt;
  }
}

}  // namespace

bool HaveSameShape(const StepOps& ops, const Output& a, const Output& b) {
  const PartialShape* const x = ops.KnownShape(a);
  const PartialShape* const y = ops.KnownShape(b);
  return x != nullptr && y != nullptr && *x == *y;
}

std::optional<std::vector<int64_t>> KnownIntegers(const StepOps& ops, const Output& value) {
  const Tensor* const constant = ops.constant(value);
  if (constant == nullptr) return std::nullopt;
  StatusOr<std::vector<int64_t>> integers = IntegerValues(*constant);
  if (!integers.ok()) return std::nullopt;
  return *std::move(integers);
}

std::optional<Output> AddedVector(const StepOps& ops, const StepOp& op, const Output& value) {
  if (op.type() == "BiasAdd") {
    const StatusOr<std::string> format = op.node->Attr<std::string>("data_format");
    const bool is_by_rows = !format.ok() || *format == "NHWC";
    return op.inputs[0] == value && is_by_rows ? std::make_optional(op.inputs[1]) : std::nullopt;
  }
  if (op.type() != "Add" && op.type() != "AddV2") return std::nullopt;
  const Output other = op.inputs[op.inputs[0] == value ? 1 : 0];
  const PartialShape* const shape = ops.KnownShape(value);
  const PartialShape* const vector = ops.KnownShape(other);
  if (other == value || shape == nullptr || vector == nullptr || vector->rank() != 1 ||
      vector->dim(0) != shape->dim(-1)) {
    return std::nullopt;
  }
  return other;
}

std::optional<Tensor> UniformValue(const StepOps& ops, const Output& value) {
  constexpr int kMostSteps = 8;
  Output source = value;
  for (int step = 0; step < kMostSteps; ++step) {
    if (const Tensor* constant = ops.constant(source)) return UniformElement(*constant);
    const int producer = ops.Producer(source);
    if (producer < 0) return std::nullopt;
    const StepOp& op = ops.op(producer);
    if (op.type() == "Fill") {
      source = op.inputs[1];
    } else if (absl::c_linear_search(kOnlyMove, op.type())) {
      source = op.inputs[0];
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool IsNumber(const Tensor& scalar, double number) {
  const std::optional<double> value = RealValue(scalar);
  return value.has_value() && *value == number && std::signbit(*value) == std::signbit(number);
}

bool IsNoNaN(const Tensor& scalar) {
  const std::optional<double> value = RealValue(scalar);
  return value.has_value() && !std::isnan(*value);
}

}  // namespace millstream
