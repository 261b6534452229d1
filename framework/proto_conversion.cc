#include "framework/proto_conversion.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

// Adds one value to the list field of its kind.

using ListMessage = proto::AttrValue::ListValue;

Status AddTo(ListMessage* list, int64_t value) {
  list->add_i(value);
  return absl::OkStatus();
}
Status AddTo(ListMessage* list, float value) {
  list->add_f(value);
  return absl::OkStatus();
}
Status AddTo(ListMessage* list, bool value) {
  list->add_b(value);
  return absl::OkStatus();
}
Status AddTo(ListMessage* list, const std::string& value) {
  list->add_s(value);
  return absl::OkStatus();
}
Status AddTo(ListMessage* list, DataType value) {
  list->add_type(DataTypeToProto(value));
  return absl::OkStatus();
}
Status AddTo(ListMessage* list, const PartialShape& value) {
  ShapeToProto(value, list->add_shape());
  return absl::OkStatus();
}
Status AddTo(ListMessage* list, const Tensor& value) {
  return TensorToProto(value, list->add_tensor());
}
Status FunctionToProto(const FunctionRef& value, proto::NameAttrList* message) {
  message->set_name(value.name);
  if (value.attrs == nullptr) return absl::OkStatus();
  return AttrsToProto(*value.attrs, message->mutable_attr());
}
Status AddTo(ListMessage* list, const FunctionRef& value) {
  return FunctionToProto(value, list->add_func());
}

// Sets the member of the kind of the value.
struct ValueWriter {
  proto::AttrValue* message;

  Status operator()(std::monostate) const { return absl::OkStatus(); }
  Status operator()(AttrValue::EmptyList) const {
    message->mutable_list();
    return absl::OkStatus();
  }
  Status operator()(int64_t value) const {
    message->set_i(value);
    return absl::OkStatus();
  }
  Status operator()(float value) const {
    message->set_f(value);
    return absl::OkStatus();
  }
  Status operator()(bool value) const {
    message->set_b(value);
    return absl::OkStatus();
  }
  Status operator()(const std::string& value) const {
    message->set_s(value);
    return absl::OkStatus();
  }
  Status operator()(DataType value) const {
    message->set_type(DataTypeToProto(value));
    return absl::OkStatus();
  }
  Status operator()(const PartialShape& value) const {
    ShapeToProto(value, message->mutable_shape());
    return absl::OkStatus();
  }
  Status operator()(const Tensor& value) const {
    return TensorToProto(value, message->mutable_tensor());
  }
  Status operator()(const FunctionRef& value) const {
    return FunctionToProto(value, message->mutable_func());
  }
  template <typename T>
  Status operator()(const std::vector<T>& values) const {
    ListMessage* list = message->mutable_list();
    for (const T& value : values) MS_RETURN_IF_ERROR(AddTo(list, value));
    return absl::OkStatus();
  }
};

StatusOr<FunctionRef> FunctionFromProto(const proto::NameAttrList& message) {
  FunctionRef function;
  function.name = message.name();
  if (message.attr().empty()) return function;
  StatusOr<AttrMap> attrs = AttrsFromProto(message.attr());
  if (!attrs.ok()) {
    return WithContext(attrs.status(), absl::StrCat("function '", function.name, "'"));
  }
  function.attrs = std::make_shared<const AttrMap>(*std::move(attrs));
  return function;
}

StatusOr<DataType> TypeFromProto(int number) { return DataTypeFromProto(number); }
StatusOr<Tensor> TensorOf(const proto::TensorProto& message) { return TensorFromProto(message); }

template <typename T, typename Messages, typename Convert>
StatusOr<AttrValue> ConvertList(const Messages& messages, const Convert& convert) {
  std::vector<T> values;
  values.reserve(messages.size());
  for (const auto& message : messages) {
    MS_ASSIGN_OR_RETURN(T value, convert(message));
    values.push_back(std::move(value));
  }
  return AttrValue(std::move(values));
}

template <typename T, typename Values>
AttrValue CopyList(const Values& values) {
  return AttrValue(std::vector<T>(values.begin(), values.end()));
}

StatusOr<AttrValue> ListFromProto(const ListMessage& list) {
  const int kinds = (list.s_size() > 0) + (list.i_size() > 0) + (list.f_size() > 0) +
                    (list.b_size() > 0) + (list.type_size() > 0) + (list.shape_size() > 0) +
                    (list.tensor_size() > 0) + (list.func_size() > 0);
  if (kinds == 0) return AttrValue::Empty();
  if (kinds > 1) {
    return errors::InvalidArgument("a list holds values of one kind, got ", kinds, " kinds");
  }
  if (list.s_size() > 0) return CopyList<std::string>(list.s());
  if (list.i_size() > 0) return CopyList<int64_t>(list.i());
  if (list.f_size() > 0) return CopyList<float>(list.f());
  if (list.b_size() > 0) return CopyList<bool>(list.b());
  if (list.type_size() > 0) return ConvertList<DataType>(list.type(), TypeFromProto);
  if (list.shape_size() > 0) return ConvertList<PartialShape>(list.shape(), PartialShapeFromProto);
  if (list.tensor_size() > 0) return ConvertList<Tensor>(list.tensor(), TensorOf);
  return ConvertList<FunctionRef>(list.func(), FunctionFromProto);
}

}  // namespace

proto::DataType DataTypeToProto(DataType dtype, bool is_ref) {
  const int number = static_cast<int>(dtype) + (is_ref ? kRefOffset : 0);
  return static_cast<proto::DataType>(number);
}

StatusOr<DataType> DataTypeFromProto(int number, bool* is_ref) {
  const bool ref = number > kRefOffset;
  const int base = ref ? number - kRefOffset : number;
  if (is_ref != nullptr) *is_ref = ref;
  if (number == 0 || IsValidDataType(base)) return static_cast<DataType>(base);
  if (proto::DataType_IsValid(number)) {
    return errors::Unimplemented("type ",
                                 proto::DataType_Name(static_cast<proto::DataType>(number)),
                                 " is not among Millstream's types");
  }
  return errors::InvalidArgument("expected the number of a type, got ", number);
}

void ShapeToProto(const PartialShape& shape, proto::TensorShapeProto* message) {
  message->Clear();
  if (!shape.known_rank()) {
    message->set_unknown_rank(true);
    return;
  }
  for (int64_t size : shape.dims()) message->add_dim()->set_size(size);
}

StatusOr<PartialShape> PartialShapeFromProto(const proto::TensorShapeProto& message) {
  if (message.unknown_rank()) {
    if (message.dim_size() == 0) return PartialShape();
    return errors::InvalidArgument("a shape of unknown rank has no dimensions, got ",
                                   message.dim_size());
  }
  MS_RETURN_IF_ERROR(CheckRank(message.dim_size()));
  PartialShape shape = PartialShape::Scalar();
  for (const auto& dim : message.dim()) {
    if (dim.size() < kUnknownDim) {
      return errors::InvalidArgument("expected a size of at least 0, or -1 for an unknown one, in ",
                                     "dimension ", shape.rank(), " of a shape, got ", dim.size());
    }
    shape.AddDim(dim.size());
  }
  return shape;
}

StatusOr<Shape> ShapeFromProto(const proto::TensorShapeProto& message) {
  MS_ASSIGN_OR_RETURN(const PartialShape partial, PartialShapeFromProto(message));
  if (!partial.IsFullyKnown()) {
    return errors::InvalidArgument("expected a shape that is fully known, got ",
                                   partial.ToString());
  }
  Shape shape = partial.ToShape();
  MS_RETURN_IF_ERROR(ValidateShape(shape));
  return shape;
}

Status AttrValueToProto(const AttrValue& value, proto::AttrValue* message) {
  message->Clear();
  return std::visit(ValueWriter{message}, value.value());
}

StatusOr<AttrValue> AttrValueFromProto(const proto::AttrValue& message) {
  switch (message.value_case()) {
    case proto::AttrValue::kList: return ListFromProto(message.list());
    case proto::AttrValue::kS: return AttrValue(message.s());
    case proto::AttrValue::kI: return AttrValue(static_cast<int64_t>(message.i()));
    case proto::AttrValue::kF: return AttrValue(message.f());
    case proto::AttrValue::kB: return AttrValue(message.b());
    case proto::AttrValue::kType: {
      MS_ASSIGN_OR_RETURN(const DataType type, DataTypeFromProto(message.type()));
      return AttrValue(type);
    }
    case proto::AttrValue::kShape: {
      MS_ASSIGN_OR_RETURN(PartialShape shape, PartialShapeFromProto(message.shape()));
      return AttrValue(std::move(shape));
    }
    case proto::AttrValue::kTensor: {
      MS_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(message.tensor()));
      return AttrValue(std::move(tensor));
    }
    case proto::AttrValue::kFunc: {
      MS_ASSIGN_OR_RETURN(FunctionRef function, FunctionFromProto(message.func()));
      return AttrValue(std::move(function));
    }
    case proto::AttrValue::kPlaceholder:
      return errors::InvalidArgument("expected a value, got a placeholder for attribute '",
                                     message.placeholder(), "', which only function bodies have");
    case proto::AttrValue::VALUE_NOT_SET: break;
  }
  return AttrValue();
}

Status AttrsToProto(const AttrMap& attrs, AttrProtoMap* messages) {
  for (const auto& [name, value] : attrs) {
    const Status status = AttrValueToProto(value, &(*messages)[name]);
    if (!status.ok()) return WithContext(status, absl::StrCat("attribute '", name, "'"));
  }
  return absl::OkStatus();
}

StatusOr<AttrMap> AttrsFromProto(const AttrProtoMap& messages) {
  AttrMap attrs;
  attrs.reserve(messages.size());
  for (const auto& [name, message] : messages) {
    StatusOr<AttrValue> value = AttrValueFromProto(message);
    if (!value.ok()) return WithContext(value.status(), absl::StrCat("attribute '", name, "'"));
    attrs.emplace_back(name, *std::move(value));
  }
  // At once: a hostile node may have a hundred thousand.
  std::sort(attrs.begin(), attrs.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return attrs;
}

}  // namespace millstream
