// Reads a checkpoint of version 2 (bundle_format.h).
#ifndef MILLSTREAM_CORE_CHECKPOINT_BUNDLE_READER_H_
#define MILLSTREAM_CORE_CHECKPOINT_BUNDLE_READER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/checkpoint_reader.h"
#include "core/io/file_system.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/framework/protos/tensor_bundle.pb.h"

namespace millstream {

// The index of a checkpoint.
struct BundleIndex {
  int num_shards = 0;
  BundleEntries entries;
};
// NOT_FOUND if there is no such file; DATA_LOSS, with the path, for one that is damaged;
// UNIMPLEMENTED for one of another byte order or a newer version.
StatusOr<BundleIndex> ReadBundleIndex(FileSystem* files, const std::string& prefix);

class BundleReader final : public CheckpointReader {
 public:
  // Errors as ReadBundleIndex.
  static StatusOr<std::unique_ptr<CheckpointReader>> Open(FileSystem* files, std::string prefix);

  StatusOr<Info> Find(absl::string_view name) const override;
  Status CheckHeld(absl::string_view name) const override;
  std::vector<std::string> Names() const override;
  uint64_t NumPieces(absl::string_view name) const override;
  StatusOr<uint32_t> ReadPiece(absl::string_view name, uint64_t piece,
                               const Tensor& out) const override;
  Status CheckPieces(absl::string_view name, const std::vector<uint32_t>& crcs) const override;

 protected:
  StatusOr<std::vector<TensorSlice>> SlicesOf(absl::string_view name,
                                              const Shape& whole) const override;
  // Errors name the file and the offset.
  Status ReadSlice(absl::string_view name, const TensorSlice& slice,
                   const Tensor& out) const override;

 private:
  // A data file.
  struct Shard {
    std::unique_ptr<ReadableFile> file;
    uint64_t size = 0;
  };

  BundleReader(FileSystem* files, std::string prefix, BundleIndex index);
  StatusOr<const proto::BundleEntryProto*> FindEntry(absl::string_view name) const;
  std::string PathOf(const proto::BundleEntryProto& entry) const;
  // DATA_LOSS, with the file and the offset.
  Status Damaged(absl::string_view name, const proto::BundleEntryProto& entry,
                 absl::string_view why) const;
  // The file that has the entry's bytes, all of them. It is opened once.
  StatusOr<const ReadableFile*> FileOf(absl::string_view name,
                                       const proto::BundleEntryProto& entry) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  Status CheckPart(absl::string_view name, const proto::BundleEntryProto& entry, DataType dtype,
                   uint64_t count) const;
  Status ReadBytes(absl::string_view name, const proto::BundleEntryProto& entry,
                   const Tensor& out) const;
  // The entry's bytes, all of them, which are those of strings.
  StatusOr<std::string> ReadText(absl::string_view name,
                                 const proto::BundleEntryProto& entry) const;
  // Reads the entry's bytes from `begin` on. Adds them to *crc, if it is not null.
  Status ReadInto(absl::string_view name, const proto::BundleEntryProto& entry, uint64_t begin,
                  absl::Span<char> bytes, uint32_t* crc) const;

  FileSystem& files_;
  const BundleIndex index_;
  mutable absl::Mutex mutex_;
  mutable std::map<int, Shard> shards_ ABSL_GUARDED_BY(mutex_);  // those that are open
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_BUNDLE_READER_H_
