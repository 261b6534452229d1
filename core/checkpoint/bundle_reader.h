// Reads a checkpoint of version 2 (bundle_format.h).
#ifndef MILLSTREAM_CORE_CHECKPOINT_BUNDLE_READER_H_
#define MILLSTREAM_CORE_CHECKPOINT_BUNDLE_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
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
  std::vector<std::string> Names() const override;

 protected:
  StatusOr<std::vector<TensorSlice>> SlicesOf(absl::string_view name,
                                              const Shape& whole) const override;
  // Errors name the file and the offset.
  Status ReadSlice(absl::string_view name, const TensorSlice& slice,
                   const Tensor& out) const override;

 private:
  BundleReader(FileSystem* files, std::string prefix, BundleIndex index);
  StatusOr<const proto::BundleEntryProto*> FindEntry(absl::string_view name) const;
  Status ReadBytes(absl::string_view name, const proto::BundleEntryProto& entry,
                   const Tensor& out) const;

  FileSystem& files_;
  const BundleIndex index_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_BUNDLE_READER_H_
