#include "framework/dtype.h"

#include <ostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "framework/opaque_cell.h"
#include "framework/plugin/plugin.h"

namespace millstream {
namespace {

enum class Kind { kFloating, kInteger, kBool, kComplex, kQuantized, kString, kOpaque };

struct Entry {
  DataType dtype;
  Kind kind;
  size_t size;
  const char* name;       // what users see
  const char* spec_name;  // what specifications say
  uint32_t abi;
};

// In the order of the enum's numbers, from 1.
constexpr Entry kEntries[] = {
    {DataType::kFloat, Kind::kFloating, 4, "float32", "float", MS_FLOAT32},
    {DataType::kDouble, Kind::kFloating, 8, "float64", "double", MS_FLOAT64},
    {DataType::kInt32, Kind::kInteger, 4, "int32", "int32", MS_INT32},
    {DataType::kUInt8, Kind::kInteger, 1, "uint8", "uint8", MS_UINT8},
    {DataType::kInt16, Kind::kInteger, 2, "int16", "int16", MS_INT16},
    {DataType::kInt8, Kind::kInteger, 1, "int8", "int8", MS_INT8},
    {DataType::kString, Kind::kString, sizeof(std::string), "string", "string", MS_STRING},
    {DataType::kComplex64, Kind::kComplex, 8, "complex64", "complex64", MS_COMPLEX64},
    {DataType::kInt64, Kind::kInteger, 8, "int64", "int64", MS_INT64},
    {DataType::kBool, Kind::kBool, 1, "bool", "bool", MS_BOOL},
    {DataType::kQInt8, Kind::kQuantized, 1, "qint8", "qint8", MS_QINT8},
    {DataType::kQUInt8, Kind::kQuantized, 1, "quint8", "quint8", MS_QUINT8},
    {DataType::kQInt32, Kind::kQuantized, 4, "qint32", "qint32", MS_QINT32},
    {DataType::kBFloat16, Kind::kFloating, 2, "bfloat16", "bfloat16", MS_BFLOAT16},
    {DataType::kQInt16, Kind::kQuantized, 2, "qint16", "qint16", MS_QINT16},
    {DataType::kQUInt16, Kind::kQuantized, 2, "quint16", "quint16", MS_QUINT16},
    {DataType::kUInt16, Kind::kInteger, 2, "uint16", "uint16", MS_UINT16},
    {DataType::kComplex128, Kind::kComplex, 16, "complex128", "complex128", MS_COMPLEX128},
    {DataType::kHalf, Kind::kFloating, 2, "float16", "half", MS_FLOAT16},
    {DataType::kResource, Kind::kOpaque, sizeof(OpaqueCell), "resource", "resource", MS_RESOURCE},
    {DataType::kVariant, Kind::kOpaque, sizeof(OpaqueCell), "variant", "variant", MS_VARIANT},
    {DataType::kUInt32, Kind::kInteger, 4, "uint32", "uint32", MS_UINT32},
    {DataType::kUInt64, Kind::kInteger, 8, "uint64", "uint64", MS_UINT64},
};
constexpr int kNumEntries = sizeof(kEntries) / sizeof(kEntries[0]);
static_assert(static_cast<int>(kEntries[kNumEntries - 1].dtype) == kNumEntries);

// Null for kInvalid and for numbers that are no type.
const Entry* Find(DataType dtype) {
  const int32_t number = static_cast<int32_t>(dtype);
  return IsValidDataType(number) ? &kEntries[number - 1] : nullptr;
}

bool IsKind(DataType dtype, Kind kind) {
  const Entry* entry = Find(dtype);
  return entry != nullptr && entry->kind == kind;
}

}  // namespace

size_t DataTypeSize(DataType dtype) {
  const Entry* entry = Find(dtype);
  return entry == nullptr ? 0 : entry->size;
}

absl::string_view DataTypeName(DataType dtype) {
  const Entry* entry = Find(dtype);
  return entry == nullptr ? "invalid" : entry->name;
}

absl::string_view DataTypeSpecName(DataType dtype) {
  const Entry* entry = Find(dtype);
  return entry == nullptr ? "invalid" : entry->spec_name;
}

DataType ParseDataType(absl::string_view name) {
  // The proto's constants are the specification names in capitals.
  std::string lower;
  if (absl::ConsumePrefix(&name, "DT_")) {
    lower = absl::AsciiStrToLower(name);
    name = lower;
  }
  for (const Entry& entry : kEntries) {
    if (name == entry.spec_name || (lower.empty() && name == entry.name)) return entry.dtype;
  }
  return DataType::kInvalid;
}

std::ostream& operator<<(std::ostream& out, DataType dtype) { return out << DataTypeName(dtype); }

bool IsValidDataType(int32_t number) { return number >= 1 && number <= kNumEntries; }

bool IsFloating(DataType dtype) { return IsKind(dtype, Kind::kFloating); }
bool IsInteger(DataType dtype) { return IsKind(dtype, Kind::kInteger); }
bool IsComplex(DataType dtype) { return IsKind(dtype, Kind::kComplex); }
bool IsQuantized(DataType dtype) { return IsKind(dtype, Kind::kQuantized); }

bool IsPlainData(DataType dtype) {
  const Entry* entry = Find(dtype);
  return entry != nullptr && entry->kind != Kind::kString && entry->kind != Kind::kOpaque;
}

const DataTypeList& AllDataTypes() {
  static const DataTypeList* const all = [] {
    auto* list = new DataTypeList;
    for (const Entry& entry : kEntries) list->push_back(entry.dtype);
    return list;
  }();
  return *all;
}

std::string DataTypeListName(const DataTypeList& list) {
  std::string text = "{";
  for (size_t i = 0; i < list.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", DataTypeSpecName(list[i]));
  }
  return text + "}";
}

uint32_t ToAbiDataType(DataType dtype) {
  const Entry* entry = Find(dtype);
  return entry == nullptr ? 0 : entry->abi;
}

DataType FromAbiDataType(uint32_t abi) {
  for (const Entry& entry : kEntries) {
    if (entry.abi == abi) return entry.dtype;
  }
  return DataType::kInvalid;
}

}  // namespace millstream
