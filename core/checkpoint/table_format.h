// Constants of the table format that its writer and its reader share.
#ifndef MILLSTREAM_CORE_CHECKPOINT_TABLE_FORMAT_H_
#define MILLSTREAM_CORE_CHECKPOINT_TABLE_FORMAT_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace millstream::table_format {

inline constexpr int kRestartInterval = 16;
// What follows a block: a byte that says how it is compressed, and the masked checksum of both.
inline constexpr size_t kTrailerBytes = 5;
inline constexpr char kUncompressed = 0;
// Two places, padded with zeros, and the magic number.
inline constexpr size_t kFooterBytes = 48;
inline constexpr absl::string_view kMagic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";

}  // namespace millstream::table_format

#endif  // MILLSTREAM_CORE_CHECKPOINT_TABLE_FORMAT_H_
