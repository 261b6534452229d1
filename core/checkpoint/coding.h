// Numbers and keys as tables (table.h) hold them.
//
// Fixed numbers are little-endian. A varint has seven bits a byte, the lowest first, and the
// highest bit of all bytes but the last is set (LevelDB, doc/table_format.md; protobuf, encoding).
#ifndef MILLSTREAM_CORE_CHECKPOINT_CODING_H_
#define MILLSTREAM_CORE_CHECKPOINT_CODING_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/checkpoint/tensor_slice.h"

namespace millstream {

void AppendFixed32(uint32_t value, std::string* out);
void AppendVarint(uint64_t value, std::string* out);

// The number at the beginning of `text`. REQUIRES: it has four bytes.
uint32_t Fixed32At(absl::string_view text);
// Takes a varint from the beginning of *text. False if there is none, or one that is longer than
// its number needs: so that each bit of a file matters.
bool TakeVarint(absl::string_view* text, uint64_t* value);

// The key of one slice of a partitioned tensor. Keys sort by name, rank, and extents.
std::string SliceKey(absl::string_view tensor_name, const TensorSlice& slice);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_CODING_H_
