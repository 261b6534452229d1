// Files of records, each framed by its length and checksums (tensorflow.org/tutorials/load_data/
// tfrecord, "TFRecords format details"). The whole file may be compressed.
#ifndef MILLSTREAM_CORE_IO_RECORD_READER_H_
#define MILLSTREAM_CORE_IO_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/io/byte_stream.h"
#include "core/io/file_system.h"
#include "framework/status.h"

namespace millstream {

enum class Compression { kNone, kZlib, kGzip };

// Of "", "ZLIB" or "GZIP". INVALID_ARGUMENT for another name.
StatusOr<Compression> CompressionNamed(absl::string_view name);

// The bytes of a file after decompression. DATA_LOSS for other bytes than the compression's.
StatusOr<std::unique_ptr<ByteStream>> OpenStream(FileSystem* files, const std::string& path,
                                                 Compression compression);

// Reads the records of a file one after the other. Not thread-safe.
class RecordReader {
 public:
  static StatusOr<RecordReader> Open(FileSystem* files, const std::string& path,
                                     Compression compression = Compression::kNone);

  // The next record; no value at the end of the file. DATA_LOSS, with the path and the byte, if a
  // checksum is wrong, if the file ends within a record, or if it is not compressed as expected.
  // Memory is allocated for bytes that the file has, after decompression, and for no others.
  StatusOr<std::optional<std::string>> Next();
  // The byte at which the next record begins, after decompression.
  uint64_t offset() const { return offset_; }

 private:
  RecordReader(std::string path, std::unique_ptr<ByteStream> bytes)
      : path_(std::move(path)), bytes_(std::move(bytes)) {}
  // DATA_LOSS, with the file and the record's place.
  Status Truncated() const;
  Status Corrupted(const char* checksum) const;
  // Appends up to `size` bytes to `bytes`; fewer at the end of the file.
  Status Read(uint64_t size, std::string* bytes) const;
  // A record's bytes, before their checksum. DATA_LOSS if that is another one.
  StatusOr<std::string> ReadChecked(uint64_t size) const;

  std::string path_;
  std::unique_ptr<ByteStream> bytes_;
  uint64_t offset_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_RECORD_READER_H_
