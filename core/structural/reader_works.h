// What readers read: files by lines, records, pieces, as a whole; and the names themselves.
#ifndef MILLSTREAM_CORE_STRUCTURAL_READER_WORKS_H_
#define MILLSTREAM_CORE_STRUCTURAL_READER_WORKS_H_

#include <cstdint>

#include "core/io/file_system.h"
#include "core/io/record_reader.h"
#include "core/resources/work_reader.h"

namespace millstream {

// Pieces of one size. All sizes are in bytes.
struct PieceSizes {
  int64_t header = 0;  // bytes at the start of a file that are left out
  int64_t record = 0;  // of a piece
  int64_t footer = 0;  // bytes at the end that are left out
  int64_t hop = 0;     // from the start of a piece to that of the next one
};

// The work of each function is a file; its items have keys "PATH:WHERE".

// Lines without their ends, from number `skipped` + 1 on. WHERE is the number. All '\r' are left
// out.
OpenWork LinesOfFiles(FileSystem* files, int64_t skipped);
// Records (core/io/record_reader.h). WHERE is the byte at which a record begins,
// after decompression.
OpenWork RecordsOfFiles(FileSystem* files, Compression compression);
// Pieces. WHERE is the number from 0. A piece that is not complete is left out. Sizes count after
// decompression.
OpenWork PiecesOfFiles(FileSystem* files, const PieceSizes& sizes, Compression compression);
// The whole file as one item, whose key is the path.
OpenWork WholeFiles(FileSystem* files);
// The name of the work as one item, as its key and its value.
OpenWork NamesOfWork();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_READER_WORKS_H_
