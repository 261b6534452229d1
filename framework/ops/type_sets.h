// Sets of element types that several ops allow, as text for OpSpec::Attr.
#ifndef MILLSTREAM_FRAMEWORK_OPS_TYPE_SETS_H_
#define MILLSTREAM_FRAMEWORK_OPS_TYPE_SETS_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace millstream {

// Types of counts and indices.
inline constexpr absl::string_view kIndexTypes = "{int32, int64}";
// Types of the nn ops.
inline constexpr absl::string_view kNnTypes = "{half, bfloat16, float, double}";
inline constexpr absl::string_view kRealFloatTypes = "{bfloat16, half, float, double}";
inline constexpr absl::string_view kFloatAndComplexTypes =
    "{bfloat16, half, float, double, complex64, complex128}";
// Types of unary signed arithmetic.
inline constexpr absl::string_view kSignedTypes =
    "{bfloat16, half, float, double, int32, int64, complex64, complex128}";
// All ordered types.
inline constexpr absl::string_view kRealTypes =
    "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";
// All types that can be summed, including quantized types.
inline constexpr absl::string_view kNumberTypes =
    "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64}";
inline constexpr absl::string_view kNumbersAndBool =
    "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64, bool}";

// The attribute `name`: one type of `types`. `rest` may hold a default: " = int32".
inline std::string TypeAttr(absl::string_view name, absl::string_view types,
                            absl::string_view rest = "") {
  return absl::StrCat(name, ": ", types, rest);
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_TYPE_SETS_H_
