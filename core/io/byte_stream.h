// The bytes of a file, one after the other; also those of a compressed file (RFC 1950, RFC 1952).
#ifndef MILLSTREAM_CORE_IO_BYTE_STREAM_H_
#define MILLSTREAM_CORE_IO_BYTE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "framework/status.h"

namespace millstream {

// Not thread-safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Reads until `buffer` is full or the file ends. Returns the number of bytes read.
  virtual StatusOr<size_t> Read(absl::Span<char> buffer) = 0;
  // There are no more bytes than this left; the largest number if that is not known.
  virtual uint64_t most_left() const { return std::numeric_limits<uint64_t>::max(); }
};

// The bytes as they are. `size`: of the file.
std::unique_ptr<ByteStream> StreamOf(std::unique_ptr<ReadableFile> file, uint64_t size);

// What compressed bytes become: in the format of zlib, or of gzip, of one member or several. Read
// gives DATA_LOSS, with `path`, for other bytes and for those that end too early.
StatusOr<std::unique_ptr<ByteStream>> Inflated(std::unique_ptr<ByteStream> compressed, bool is_gzip,
                                               std::string path);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_BYTE_STREAM_H_
