// CRC-32C (Castagnoli), the checksum of record files and checkpoints: RFC 3720, appendix B.4.
#ifndef MILLSTREAM_CORE_IO_CRC32C_H_
#define MILLSTREAM_CORE_IO_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace millstream {

// The checksum of `data`, or of what has the checksum `before` followed by `data`. Uses the
// processor's instruction if there is one. Thread-safe.
uint32_t Crc32c(absl::string_view data, uint32_t before = 0);

// The checksum of data with the checksum `first`, followed by `second_size` bytes with the checksum
// `second`.
uint32_t JoinedCrc32c(uint32_t first, uint32_t second, uint64_t second_size);

// The form in which files hold a checksum, so that the checksum of data that holds checksums is
// not a special one: LevelDB, util/crc32c.h.
constexpr uint32_t MaskCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_CRC32C_H_
