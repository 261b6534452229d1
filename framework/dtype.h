// Element types of tensors. The numbers are those of the public DataType proto.
#ifndef MILLSTREAM_FRAMEWORK_DTYPE_H_
#define MILLSTREAM_FRAMEWORK_DTYPE_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"

namespace millstream {

enum class DataType : int32_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUInt8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQInt8 = 11,
  kQUInt8 = 12,
  kQInt32 = 13,
  kBFloat16 = 14,
  kQInt16 = 15,
  kQUInt16 = 16,
  kUInt16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUInt32 = 22,
  kUInt64 = 23,
};

// A ref-typed argument of a legacy op has the number of its base type plus this.
inline constexpr int32_t kRefOffset = 100;

using DataTypeList = std::vector<DataType>;

// Bytes of one element in memory; 0 for kInvalid. String cells are std::string, resource and
// variant cells are OpaqueCell (opaque_cell.h).
size_t DataTypeSize(DataType dtype);
// The name for users: "float32", "resource", ...
absl::string_view DataTypeName(DataType dtype);
// The name in attribute specifications: "float", "half", "int32", ...
absl::string_view DataTypeSpecName(DataType dtype);
// Parses both forms of a name and "DT_FLOAT"; kInvalid if it is unknown.
DataType ParseDataType(absl::string_view name);
std::ostream& operator<<(std::ostream& out, DataType dtype);  // by DataTypeName
bool IsValidDataType(int32_t number);
bool IsFloating(DataType dtype);  // half, bfloat16, float, double
bool IsInteger(DataType dtype);   // signed and unsigned, not quantized, not bool
bool IsComplex(DataType dtype);
bool IsQuantized(DataType dtype);
// True if elements may be copied as bytes.
bool IsPlainData(DataType dtype);
const DataTypeList& AllDataTypes();
// "{float, int32}" as in specifications.
std::string DataTypeListName(const DataTypeList& list);

// Convert to and from the plugin ABI's number of a type (framework/plugin/plugin.h). An unknown
// number gives kInvalid.
uint32_t ToAbiDataType(DataType dtype);
DataType FromAbiDataType(uint32_t abi);

// The DataType of a C++ type.
template <typename T>
constexpr DataType DataTypeOf() {
  if constexpr (std::is_same_v<T, float>)
    return DataType::kFloat;
  else if constexpr (std::is_same_v<T, double>)
    return DataType::kDouble;
  else if constexpr (std::is_same_v<T, bool>)
    return DataType::kBool;
  else if constexpr (std::is_same_v<T, std::string>)
    return DataType::kString;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return DataType::kComplex64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return DataType::kComplex128;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
    return std::is_signed_v<T> ? DataType::kInt8 : DataType::kUInt8;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
    return std::is_signed_v<T> ? DataType::kInt16 : DataType::kUInt16;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return std::is_signed_v<T> ? DataType::kInt32 : DataType::kUInt32;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return std::is_signed_v<T> ? DataType::kInt64 : DataType::kUInt64;
  else
    return DataType::kInvalid;
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_DTYPE_H_
