// Attribute sets.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "framework/attr_value.h"
#include "framework/dtype.h"
#include "framework/message.h"
#include "framework/proto_conversion.h"
#include "framework/status.h"

using millstream::AttrValue;
using millstream::AttrValueFromProto;
using millstream::DataType;
using millstream::IsValidDataType;
using millstream::MessagePtr;
using millstream::ParseBinary;
using millstream::PartialShape;
using millstream::SetAttr;
using millstream::StatusOr;
using millstream::Tensor;
using millstream::WithContext;
using millstream::c_api::Give;
using millstream::c_api::MakePartialShape;
using millstream::c_api::WithOwnMemory;

namespace errors = millstream::errors;
namespace proto = millstream::proto;

namespace {

// Sets the attribute, or keeps why it could not be set.
template <typename T>
void Set(millstream_attrs* attrs, const char* name, StatusOr<T> value) {
  if (value.ok()) {
    SetAttr(&attrs->attrs, name, AttrValue(*std::move(value)));
  } else {
    attrs->status.Update(WithContext(value.status(), absl::StrCat("attribute '", name, "'")));
  }
}

// DT_INVALID is a value: some ops have it as default.
StatusOr<DataType> MakeType(int32_t dtype) {
  if (dtype == 0 || IsValidDataType(dtype)) return static_cast<DataType>(dtype);
  return errors::InvalidArgument("expected the number of a DataType, got ", dtype);
}

StatusOr<std::vector<DataType>> MakeTypes(absl::Span<const int32_t> dtypes) {
  std::vector<DataType> types;
  for (int32_t dtype : dtypes) {
    MS_ASSIGN_OR_RETURN(const DataType type, MakeType(dtype));
    types.push_back(type);
  }
  return types;
}

StatusOr<std::vector<PartialShape>> MakeShapes(const int64_t* dims,
                                               absl::Span<const int32_t> ranks) {
  std::vector<PartialShape> shapes;
  for (int32_t rank : ranks) {
    MS_ASSIGN_OR_RETURN(PartialShape shape, MakePartialShape(dims, rank));
    shapes.push_back(std::move(shape));
    if (rank > 0) dims += rank;
  }
  return shapes;
}

StatusOr<AttrValue> ParseValue(absl::string_view bytes) {
  MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseBinary("AttrValue", bytes));
  return AttrValueFromProto(static_cast<const proto::AttrValue&>(*message));
}

}  // namespace

millstream_attrs* millstream_attrs_new(void) { return new millstream_attrs(); }

void millstream_attrs_free(millstream_attrs* attrs) { delete attrs; }

void millstream_attrs_set_int(millstream_attrs* attrs, const char* name, int64_t value) {
  SetAttr(&attrs->attrs, name, value);
}

void millstream_attrs_set_float(millstream_attrs* attrs, const char* name, float value) {
  SetAttr(&attrs->attrs, name, value);
}

void millstream_attrs_set_bool(millstream_attrs* attrs, const char* name, int32_t value) {
  SetAttr(&attrs->attrs, name, value != 0);
}

void millstream_attrs_set_string(millstream_attrs* attrs, const char* name, const char* data,
                                 size_t size) {
  SetAttr(&attrs->attrs, name, std::string(data, size));
}

void millstream_attrs_set_type(millstream_attrs* attrs, const char* name, int32_t dtype) {
  Set(attrs, name, MakeType(dtype));
}

void millstream_attrs_set_shape(millstream_attrs* attrs, const char* name, const int64_t* dims,
                                int32_t rank) {
  Set(attrs, name, MakePartialShape(dims, rank));
}

void millstream_attrs_set_tensor(millstream_attrs* attrs, const char* name,
                                 const millstream_tensor* tensor) {
  Set(attrs, name, WithOwnMemory(tensor->tensor));
}

void millstream_attrs_set_int_list(millstream_attrs* attrs, const char* name, const int64_t* values,
                                   int32_t n) {
  SetAttr(&attrs->attrs, name, std::vector<int64_t>(values, values + n));
}

void millstream_attrs_set_float_list(millstream_attrs* attrs, const char* name, const float* values,
                                     int32_t n) {
  SetAttr(&attrs->attrs, name, std::vector<float>(values, values + n));
}

void millstream_attrs_set_bool_list(millstream_attrs* attrs, const char* name,
                                    const int32_t* values, int32_t n) {
  std::vector<bool> list;
  for (int32_t i = 0; i < n; ++i) list.push_back(values[i] != 0);
  SetAttr(&attrs->attrs, name, std::move(list));
}

void millstream_attrs_set_string_list(millstream_attrs* attrs, const char* name,
                                      const char* const* data, const size_t* sizes, int32_t n) {
  std::vector<std::string> list;
  for (int32_t i = 0; i < n; ++i) list.emplace_back(data[i], sizes[i]);
  SetAttr(&attrs->attrs, name, std::move(list));
}

void millstream_attrs_set_type_list(millstream_attrs* attrs, const char* name,
                                    const int32_t* dtypes, int32_t n) {
  Set(attrs, name, MakeTypes(absl::MakeConstSpan(dtypes, n)));
}

void millstream_attrs_set_shape_list(millstream_attrs* attrs, const char* name, const int64_t* dims,
                                     const int32_t* ranks, int32_t n) {
  Set(attrs, name, MakeShapes(dims, absl::MakeConstSpan(ranks, n)));
}

millstream_status* millstream_attrs_set_proto(millstream_attrs* attrs, const char* name,
                                              const void* bytes, size_t size) {
  StatusOr<AttrValue> value = ParseValue(absl::string_view(static_cast<const char*>(bytes), size));
  if (!value.ok()) return Give(WithContext(value.status(), absl::StrCat("attribute '", name, "'")));
  SetAttr(&attrs->attrs, name, *std::move(value));
  return nullptr;
}
