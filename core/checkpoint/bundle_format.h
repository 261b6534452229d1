// What the writer and the reader of checkpoints share.
//
// A checkpoint of version 2 named PREFIX is a table PREFIX.index and one or more files of tensors'
// bytes, PREFIX.data-00000-of-00001. The index has a BundleHeaderProto under the empty key and a
// BundleEntryProto under the name of each tensor. A tensor that was written in slices has an entry
// without bytes, which lists the slices, and one with bytes for each slice, under SliceKey. Bytes
// are row-major and little-endian.
#ifndef MILLSTREAM_CORE_CHECKPOINT_BUNDLE_FORMAT_H_
#define MILLSTREAM_CORE_CHECKPOINT_BUNDLE_FORMAT_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace millstream {

inline std::string IndexPath(absl::string_view prefix) { return absl::StrCat(prefix, ".index"); }

inline std::string DataPath(absl::string_view prefix, int shard, int num_shards) {
  return absl::StrCat(prefix, ".data-", absl::Dec(shard, absl::kZeroPad5), "-of-",
                      absl::Dec(num_shards, absl::kZeroPad5));
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_BUNDLE_FORMAT_H_
