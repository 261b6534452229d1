#include "core/graph/graph_builder.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/graph/colocation.h"
#include "framework/half.h"
#include "framework/op_registry.h"

namespace millstream {
namespace {

template <typename T>
StatusOr<Tensor> VectorTensor(const std::vector<T>& values) {
  MS_ASSIGN_OR_RETURN(
      Tensor tensor, Tensor::Create(DataTypeOf<T>(), Shape({static_cast<int64_t>(values.size())})));
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

template <typename T>
StatusOr<Tensor> ScalarTensor(double value) {
  MS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DataTypeOf<T>(), Shape()));
  *tensor.data<T>() = static_cast<T>(value);
  return tensor;
}

// A scalar of a 16-bit type from its bits.
StatusOr<Tensor> ScalarOfBits(DataType dtype, uint16_t bits) {
  MS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, Shape()));
  std::memcpy(tensor.raw(), &bits, sizeof(bits));
  return tensor;
}

// The scalar, or nullopt for a type that is not numeric.
StatusOr<Tensor> MakeScalar(DataType dtype, double value) {
  switch (dtype) {
    case DataType::kFloat: return ScalarTensor<float>(value);
    case DataType::kDouble: return ScalarTensor<double>(value);
    case DataType::kHalf: return ScalarOfBits(dtype, FloatToHalf(static_cast<float>(value)));
    case DataType::kBFloat16:
      return ScalarOfBits(dtype, FloatToBFloat16(static_cast<float>(value)));
    case DataType::kInt8: return ScalarTensor<int8_t>(value);
    case DataType::kInt16: return ScalarTensor<int16_t>(value);
    case DataType::kInt32: return ScalarTensor<int32_t>(value);
    case DataType::kInt64: return ScalarTensor<int64_t>(value);
    case DataType::kUInt8: return ScalarTensor<uint8_t>(value);
    case DataType::kUInt16: return ScalarTensor<uint16_t>(value);
    case DataType::kUInt32: return ScalarTensor<uint32_t>(value);
    case DataType::kUInt64: return ScalarTensor<uint64_t>(value);
    case DataType::kBool: return ScalarTensor<bool>(value);
    case DataType::kComplex64: return ScalarTensor<std::complex<float>>(value);
    case DataType::kComplex128: return ScalarTensor<std::complex<double>>(value);
    default: return errors::InvalidArgument("no scalar constant of type ", DataTypeName(dtype));
  }
}

}  // namespace

void GraphBuilder::UpdateStatus(const Status& status) {
  if (status_.ok()) status_ = status;
}

Output GraphBuilder::Op(absl::string_view op, const std::vector<Output>& inputs, Attrs attrs) {
  const Node* node = NodeOf(op, inputs, attrs);
  return node == nullptr ? Output() : node->output(0);
}

const Node* GraphBuilder::NodeOf(absl::string_view op, const std::vector<Output>& inputs,
                                 Attrs attrs) {
  std::vector<std::vector<Output>> arguments;
  arguments.reserve(inputs.size());
  for (const Output& input : inputs) arguments.push_back({input});
  return Variadic(op, arguments, attrs);
}

const Node* GraphBuilder::Variadic(absl::string_view op,
                                   const std::vector<std::vector<Output>>& arguments, Attrs attrs) {
  AttrMap map;
  for (const auto& [name, value] : attrs) SetAttr(&map, name, value);
  return Named(op, op, arguments, std::move(map));
}

Output GraphBuilder::OpWithAttrs(absl::string_view op, const std::vector<Output>& inputs,
                                 const AttrMap& attrs, const std::vector<const char*>& names) {
  if (!status_.ok()) return Output();
  StatusOr<const OpDef*> definition = OpRegistry::Global()->Find(op);
  if (!definition.ok()) {
    status_ = definition.status();
    return Output();
  }
  AttrMap kept;
  for (const char* name : names) {
    const AttrValue* value = FindAttr(attrs, name);
    if (value != nullptr && (*definition)->FindAttr(name) != nullptr) SetAttr(&kept, name, *value);
  }
  std::vector<std::vector<Output>> arguments;
  for (const Output& input : inputs) arguments.push_back({input});
  const Node* node = Named(op, op, arguments, std::move(kept));
  return node == nullptr ? Output() : node->output(0);
}

Status GraphBuilder::MoveIntoRegion(NodeSpec* spec) const {
  if (region_ == nullptr) return absl::OkStatus();
  for (Output& input : spec->inputs) {
    MS_ASSIGN_OR_RETURN(input, region_->Inside(input));
  }
  if (spec->inputs.empty()) spec->control_inputs.push_back(region_->pivot());
  return absl::OkStatus();
}

const Node* GraphBuilder::Named(absl::string_view name, absl::string_view op,
                                const std::vector<std::vector<Output>>& arguments, AttrMap attrs) {
  if (!status_.ok()) return nullptr;
  NodeSpec spec;
  spec.op = std::string(op);
  spec.name =
      graph_->UniqueName(scope_.empty() ? std::string(name) : absl::StrCat(scope_, "/", name));
  for (const std::vector<Output>& argument : arguments) {
    spec.inputs.insert(spec.inputs.end(), argument.begin(), argument.end());
    spec.input_counts.push_back(static_cast<int>(argument.size()));
  }
  spec.control_inputs = controls_;
  spec.attrs = std::move(attrs);
  if (!colocation_.empty()) SetAttr(&spec.attrs, kColocationAttr, colocation_);
  spec.device = device_;
  spec.source = source_;
  status_ = MoveIntoRegion(&spec);
  if (!status_.ok()) return nullptr;
  StatusOr<const Node*> node = graph_->AddNode(std::move(spec));
  if (!node.ok()) {
    status_ = node.status();
    return nullptr;
  }
  if (region_ != nullptr) region_->NoteMade(*node);
  if (made_ != nullptr) made_->push_back(*node);
  return *node;
}

Output GraphBuilder::Const(const Tensor& value) {
  return Op("Const", {}, {{"value", value}, {"dtype", value.dtype()}});
}

Output GraphBuilder::ConstOrError(const StatusOr<Tensor>& value) {
  UpdateStatus(value.status());
  return value.ok() ? Const(*value) : Output();
}

Output GraphBuilder::Int32Vector(const std::vector<int32_t>& values) {
  return ConstOrError(VectorTensor(values));
}

Output GraphBuilder::Int64Vector(const std::vector<int64_t>& values) {
  return ConstOrError(VectorTensor(values));
}

Output GraphBuilder::ScalarOf(DataType dtype, double value) {
  return ConstOrError(MakeScalar(dtype, value));
}

PartialShape GraphBuilder::ShapeOf(Output output) const {
  return output ? graph_->Facts(output).shape : PartialShape();
}

}  // namespace millstream
