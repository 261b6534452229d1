// The elements of a string tensor as the bytes of a checkpoint.
//
// First the length of each string as a varint, then a masked checksum of the lengths, then the
// strings. The checksums, that of the lengths and that of all, take a length as a number of four
// bytes, or of eight if it needs more, and not as the varint's bytes.
#ifndef MILLSTREAM_CORE_CHECKPOINT_STRING_ELEMENTS_H_
#define MILLSTREAM_CORE_CHECKPOINT_STRING_ELEMENTS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/status.h"

namespace millstream {

struct StringElements {
  std::string bytes;
  uint32_t crc = 0;  // not masked
};
StringElements WriteStrings(absl::Span<const std::string> strings);

// DATA_LOSS if the bytes do not begin with the lengths of so many strings. Takes no memory.
Status CheckStringLengths(absl::string_view bytes, uint64_t count);
// Reads as many strings as `strings` has. DATA_LOSS if the bytes are no such strings.
Status ReadStrings(absl::string_view bytes, absl::Span<std::string> strings, uint32_t* crc);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_STRING_ELEMENTS_H_
