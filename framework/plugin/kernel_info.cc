#include "framework/plugin/kernel_info.h"

#include <utility>

#include "absl/strings/strip.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/node_digest.h"
#include "framework/plugin/option_values.h"

namespace millstream {
namespace {

struct KindName {
  absl::string_view type;  // as AttrValue::TypeName and AttrDef::type say it, without "list()"
  MS_AttrKind kind;
};
constexpr KindName kKindNames[] = {
    {"int", MS_ATTR_I64},       {"float", MS_ATTR_F32},  {"bool", MS_ATTR_BOOL},
    {"string", MS_ATTR_STR},    {"type", MS_ATTR_DTYPE}, {"shape", MS_ATTR_SHAPE},
    {"tensor", MS_ATTR_TENSOR}, {"func", MS_ATTR_FUNC},
};

// "list(int)" gives MS_ATTR_LIST | MS_ATTR_I64; a list of unknown items MS_ATTR_LIST.
MS_AttrKind KindOfType(absl::string_view type) {
  MS_AttrKind list = 0;
  if (absl::ConsumePrefix(&type, "list")) {
    list = MS_ATTR_LIST;
    absl::ConsumePrefix(&type, "(");
    absl::ConsumeSuffix(&type, ")");
  }
  for (const KindName& name : kKindNames) {
    if (name.type == type) return list | name.kind;
  }
  return list;
}

// "node layer/conv (Conv2D)"
std::string Describe(const MS_KernelInfo& info) {
  if (info.call.name.empty()) return absl::StrCat("op ", info.call.op->name);
  return absl::StrCat("node ", info.call.name, " (", info.call.op->name, ")");
}

MS_Status* Missing(const MS_KernelInfo& info, absl::string_view name) {
  return ToAbiStatus(errors::NotFound(Describe(info), " has no attribute \"", name, "\""));
}

// Finds the attribute's value of type T. For a list type, an empty list gives null and success.
template <typename T>
MS_Status* Get(const MS_KernelInfo* info, MS_Str name, absl::string_view expected, bool* empty_list,
               const T** out) {
  const AttrValue* value = FindAttr(*info->call.attrs, FromAbi(name));
  if (value == nullptr) return Missing(*info, FromAbi(name));
  *empty_list = value->is_empty_list();
  *out = std::get_if<T>(&value->value());
  if (*out != nullptr) return nullptr;
  if (*empty_list && absl::StartsWith(expected, "list")) return nullptr;
  return ToAbiStatus(errors::InvalidArgument(Describe(*info), ": attribute \"", FromAbi(name),
                                             "\" is ", value->TypeName(), ", its kernel expects ",
                                             expected));
}

template <typename T>
MS_Status* GetScalar(const MS_KernelInfo* info, MS_Str name, absl::string_view expected,
                     const T** out) {
  bool empty_list = false;
  return Get(info, name, expected, &empty_list, out);
}

// A list whose items a plugin may read where they lie.
template <typename T>
MS_Status* GetPlainList(const MS_KernelInfo* info, MS_Str name, absl::string_view expected,
                        const T** out, uint64_t* n) {
  bool empty = false;
  const std::vector<T>* list = nullptr;
  if (MS_Status* status = Get(info, name, expected, &empty, &list)) return status;
  *out = list == nullptr ? nullptr : list->data();
  *n = list == nullptr ? 0 : list->size();
  return nullptr;
}

// A list whose items are put into the plugin's form, kept by `store`.
template <typename T, typename Abi, typename Convert>
MS_Status* GetConvertedList(const MS_KernelInfo* info, MS_Str name, absl::string_view expected,
                            std::deque<std::vector<Abi>>* store, Convert convert, const Abi** out,
                            uint64_t* n) {
  bool empty = false;
  const std::vector<T>* list = nullptr;
  if (MS_Status* status = Get(info, name, expected, &empty, &list)) return status;
  std::vector<Abi> converted;
  if (list != nullptr) {
    converted.reserve(list->size());
    for (const T& item : *list) converted.push_back(convert(item));
  }
  store->push_back(std::move(converted));
  *out = store->back().data();
  *n = store->back().size();
  return nullptr;
}

MS_Str OpType(const MS_KernelInfo* info) { return ToAbi(info->call.op->name); }
MS_Str NodeName(const MS_KernelInfo* info) { return ToAbi(info->call.name); }
MS_Str DeviceName(const MS_KernelInfo* info) { return ToAbi(info->device_name); }
uint32_t NumInputs(const MS_KernelInfo* info) {
  return static_cast<uint32_t>(info->call.signature->input_types.size());
}
uint32_t NumOutputs(const MS_KernelInfo* info) {
  return static_cast<uint32_t>(info->call.signature->output_types.size());
}
// 0, which is no dtype, beyond the end.
MS_DType InputDType(const MS_KernelInfo* info, uint32_t index) {
  return index < NumInputs(info) ? ToAbiDataType(info->call.signature->input_types[index]) : 0;
}
MS_DType OutputDType(const MS_KernelInfo* info, uint32_t index) {
  return index < NumOutputs(info) ? ToAbiDataType(info->call.signature->output_types[index]) : 0;
}

MS_AttrKind AttrKind(const MS_KernelInfo* info, MS_Str name) {
  const AttrValue* value = FindAttr(*info->call.attrs, FromAbi(name));
  if (value == nullptr || !value->has_value()) return MS_ATTR_NONE;
  if (value->is_empty_list()) {
    // Only the definition knows what it would hold.
    const AttrDef* definition = info->call.op->FindAttr(FromAbi(name));
    return definition == nullptr ? MS_ATTR_LIST : KindOfType(definition->type);
  }
  return KindOfType(value->TypeName());
}

MS_Status* AttrI64(const MS_KernelInfo* info, MS_Str name, int64_t* out) {
  const int64_t* value = nullptr;
  if (MS_Status* status = GetScalar(info, name, "int", &value)) return status;
  *out = *value;
  return nullptr;
}
MS_Status* AttrF32(const MS_KernelInfo* info, MS_Str name, float* out) {
  const float* value = nullptr;
  if (MS_Status* status = GetScalar(info, name, "float", &value)) return status;
  *out = *value;
  return nullptr;
}
MS_Status* AttrBool(const MS_KernelInfo* info, MS_Str name, uint8_t* out) {
  const bool* value = nullptr;
  if (MS_Status* status = GetScalar(info, name, "bool", &value)) return status;
  *out = *value ? 1 : 0;
  return nullptr;
}
MS_Status* AttrStr(const MS_KernelInfo* info, MS_Str name, MS_Str* out) {
  const std::string* value = nullptr;
  if (MS_Status* status = GetScalar(info, name, "string", &value)) return status;
  *out = ToAbi(*value);
  return nullptr;
}
MS_Status* AttrDType(const MS_KernelInfo* info, MS_Str name, MS_DType* out) {
  const DataType* value = nullptr;
  if (MS_Status* status = GetScalar(info, name, "type", &value)) return status;
  *out = ToAbiDataType(*value);
  return nullptr;
}
MS_Status* AttrShape(const MS_KernelInfo* info, MS_Str name, MS_Dims* out) {
  const PartialShape* value = nullptr;
  if (MS_Status* status = GetScalar(info, name, "shape", &value)) return status;
  *out = DimsToAbi(*value);
  return nullptr;
}
MS_Status* AttrTensor(const MS_KernelInfo* info, MS_Str name, MS_TensorView* out) {
  const Tensor* value = nullptr;
  if (MS_Status* status = GetScalar(info, name, "tensor", &value)) return status;
  *out = MakeView(*value, nullptr);
  out->flags |= MS_VIEW_CONST;
  return nullptr;
}

MS_Status* AttrI64List(const MS_KernelInfo* info, MS_Str name, const int64_t** out, uint64_t* n) {
  return GetPlainList(info, name, "list(int)", out, n);
}
MS_Status* AttrF32List(const MS_KernelInfo* info, MS_Str name, const float** out, uint64_t* n) {
  return GetPlainList(info, name, "list(float)", out, n);
}
MS_Status* AttrStrList(const MS_KernelInfo* info, MS_Str name, const MS_Str** out, uint64_t* n) {
  return GetConvertedList<std::string>(
      info, name, "list(string)", &info->texts, [](const std::string& text) { return ToAbi(text); },
      out, n);
}
MS_Status* AttrDTypeList(const MS_KernelInfo* info, MS_Str name, const MS_DType** out,
                         uint64_t* n) {
  return GetConvertedList<DataType>(info, name, "list(type)", &info->dtypes, &ToAbiDataType, out,
                                    n);
}
MS_Status* AttrShapeList(const MS_KernelInfo* info, MS_Str name, const MS_Dims** out, uint64_t* n) {
  return GetConvertedList<PartialShape>(
      info, name, "list(shape)", &info->shapes,
      [](const PartialShape& shape) { return DimsToAbi(shape); }, out, n);
}

MS_Status* AttrFunc(const MS_KernelInfo* info, MS_Str name, MS_Str* out) {
  const FunctionRef* value = nullptr;
  if (MS_Status* status = GetScalar(info, name, "func", &value)) return status;
  *out = ToAbi(value->name);
  return nullptr;
}
MS_Status* AttrBoolList(const MS_KernelInfo* info, MS_Str name, const uint8_t** out, uint64_t* n) {
  bool empty = false;
  const std::vector<bool>* list = nullptr;
  if (MS_Status* status = Get(info, name, "list(bool)", &empty, &list)) return status;
  std::vector<uint8_t>& bytes = info->truths.emplace_back();
  if (list != nullptr) bytes.assign(list->begin(), list->end());
  *out = bytes.data();
  *n = bytes.size();
  return nullptr;
}
MS_Status* AttrTensorList(const MS_KernelInfo* info, MS_Str name, const MS_TensorView** out,
                          uint64_t* n) {
  return GetConvertedList<Tensor>(
      info, name, "list(tensor)", &info->tensors,
      [](const Tensor& tensor) {
        MS_TensorView view = MakeView(tensor, nullptr);
        view.flags |= MS_VIEW_CONST;
        return view;
      },
      out, n);
}
MS_Status* AttrFuncList(const MS_KernelInfo* info, MS_Str name, const MS_Str** out, uint64_t* n) {
  return GetConvertedList<FunctionRef>(
      info, name, "list(func)", &info->texts,
      [](const FunctionRef& function) { return ToAbi(function.name); }, out, n);
}

uint64_t AttrCount(const MS_KernelInfo* info) { return info->call.attrs->size(); }
MS_Str AttrName(const MS_KernelInfo* info, uint64_t i) {
  return i < info->call.attrs->size() ? ToAbi((*info->call.attrs)[i].first) : MS_Str{nullptr, 0};
}
uint64_t Digest(const MS_KernelInfo* info) {
  return NodeDigest(info->call.op->name, *info->call.attrs, *info->call.signature);
}
MS_Status* OptionGet(const MS_KernelInfo* info, MS_Str name, MS_Str* out) {
  const std::string* const value = FindOptionValue(info->plugin, FromAbi(name));
  if (value == nullptr) {
    return ToAbiStatus(
        errors::NotFound("plugin ", info->plugin, " was given no option \"", FromAbi(name), "\""));
  }
  *out = ToAbi(*value);
  return nullptr;
}

// Where the named argument's tensors stand.
MS_Status* FindRange(const MS_KernelInfo& info, const std::vector<ArgDef>& arguments,
                     const std::vector<int>& starts, absl::string_view name, uint32_t* begin,
                     uint32_t* end) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name != name) continue;
    *begin = static_cast<uint32_t>(starts[i]);
    *end = static_cast<uint32_t>(starts[i + 1]);
    return nullptr;
  }
  return ToAbiStatus(errors::NotFound("node ", info.call.name, ": op ", info.call.op->name,
                                      " has no argument \"", name, "\""));
}

MS_Status* InputRange(const MS_KernelInfo* info, MS_Str name, uint32_t* begin, uint32_t* end) {
  return FindRange(*info, info->call.op->inputs, info->call.signature->input_starts, FromAbi(name),
                   begin, end);
}
MS_Status* OutputRange(const MS_KernelInfo* info, MS_Str name, uint32_t* begin, uint32_t* end) {
  return FindRange(*info, info->call.op->outputs, info->call.signature->output_starts,
                   FromAbi(name), begin, end);
}

const MS_DeviceContext* Device(const MS_KernelInfo* info) { return info->device; }

constexpr MS_KernelApi kKernelApi = {
    {sizeof(MS_KernelApi), 1, MS_ABI_MINOR, MS_KERNEL_API},
    &OpType,
    &NodeName,
    &DeviceName,
    &NumInputs,
    &NumOutputs,
    &InputDType,
    &OutputDType,
    &AttrKind,
    &AttrI64,
    &AttrF32,
    &AttrBool,
    &AttrStr,
    &AttrDType,
    &AttrShape,
    &AttrTensor,
    &AttrI64List,
    &AttrF32List,
    &AttrStrList,
    &AttrDTypeList,
    &AttrShapeList,
    &InputRange,
    &OutputRange,
    &AttrFunc,
    &AttrBoolList,
    &AttrTensorList,
    &AttrFuncList,
    &AttrCount,
    &AttrName,
    &Digest,
    &OptionGet,
    &Device,
};

}  // namespace

const MS_Table* KernelInterface() { return &kKernelApi.head; }

MS_Dims DimsToAbi(const Shape& shape) {
  return MS_Dims{shape.dims().data(), static_cast<uint32_t>(shape.rank()), 0};
}

MS_Dims DimsToAbi(const PartialShape& shape) {
  if (!shape.known_rank()) return MS_Dims{nullptr, MS_UNKNOWN_RANK, 0};
  return MS_Dims{shape.dims().data(), static_cast<uint32_t>(shape.rank()), 0};
}

}  // namespace millstream
