// Reads examples from the bytes of messages, without making objects of them: features, which are
// lists of values, by name (framework/protos/feature.proto). The functions accept any bytes and
// return false for those that are no such message. Groups, which no example has, are refused.
#ifndef MILLSTREAM_CORE_STRUCTURAL_EXAMPLE_WIRE_H_
#define MILLSTREAM_CORE_STRUCTURAL_EXAMPLE_WIRE_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "framework/dtype.h"

namespace millstream {

// The values of a feature, within the bytes of its message.
struct FeatureValues {
  DataType dtype = DataType::kInvalid;  // float, int64 or string; kInvalid: no list at all
  int64_t count = 0;
  absl::string_view lists;
};

// Finds the values in a Feature message, and checks all of it.
bool ReadFeature(absl::string_view message, FeatureValues* values);

// Writes the values that ReadFeature found, `values.count` elements of the type, from `to` on.
void CopyFeature(const FeatureValues& values, void* to);

// Calls `visit` with each message in the field `field` of a message, in order, until it returns
// false.
bool ReadSubmessages(absl::string_view message, uint32_t field,
                     absl::FunctionRef<bool(absl::string_view submessage)> visit);

// Calls `visit` with each name and its message in a Features or FeatureLists message, in order,
// until it returns false. A name may come several times: the last one counts.
bool ReadEntries(absl::string_view message,
                 absl::FunctionRef<bool(absl::string_view name, absl::string_view value)> visit);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_EXAMPLE_WIRE_H_
