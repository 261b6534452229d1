// Files of records, each framed by its length and checksums (tensorflow.org/tutorials/load_data/
// tfrecord, "TFRecords format details").
#ifndef MILLSTREAM_CORE_IO_RECORD_READER_H_
#define MILLSTREAM_CORE_IO_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/io/file_system.h"
#include "framework/status.h"

namespace millstream {

// Reads the records of a file one after the other. Not thread-safe.
class RecordReader {
 public:
  static StatusOr<RecordReader> Open(FileSystem* files, const std::string& path);

  // The next record; no value at the end of the file. DATA_LOSS, with the path and the byte, if a
  // checksum is wrong or the file ends within a record. No memory is allocated for more bytes than
  // the file has.
  StatusOr<std::optional<std::string>> Next();

 private:
  RecordReader(std::string path, uint64_t size, std::unique_ptr<ReadableFile> file)
      : path_(std::move(path)), size_(size), file_(std::move(file)) {}
  Status Damaged(const char* what) const;
  // Bytes, and the checksum that follows them. DATA_LOSS if that is another one.
  StatusOr<std::string> ReadChecked(uint64_t offset, uint64_t size, const char* what) const;

  std::string path_;
  uint64_t size_;  // of the file
  std::unique_ptr<ReadableFile> file_;
  uint64_t offset_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_RECORD_READER_H_
