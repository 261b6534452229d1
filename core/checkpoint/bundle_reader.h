// Reads a checkpoint of version 2 (bundle_format.h).
#ifndef MILLSTREAM_CORE_CHECKPOINT_BUNDLE_READER_H_
#define MILLSTREAM_CORE_CHECKPOINT_BUNDLE_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/tensor_slice.h"
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

// A tensor of a checkpoint. Constant, so that several threads may use it.
class BundleReader {
 public:
  // Errors as ReadBundleIndex.
  static StatusOr<std::unique_ptr<BundleReader>> Open(FileSystem* files, std::string prefix);

  // The dtype and shape of a tensor. NOT_FOUND: "Key NAME not found in checkpoint".
  struct Info {
    DataType dtype = DataType::kInvalid;
    Shape shape;
  };
  StatusOr<Info> Find(absl::string_view name) const;
  // Names of tensors in order; those of slices are not among them.
  std::vector<std::string> Names() const;

  // Reads a tensor, or the part of it that `spec` says, into `out`. REQUIRES: `out` has the dtype
  // and shape of this. DATA_LOSS, with the file and offset, if bytes are missing or wrong;
  // INVALID_ARGUMENT if `spec` is of another shape, or the checkpoint lacks a part of it.
  Status Read(absl::string_view name, const SliceSpec& spec, const Tensor& out) const;

 private:
  BundleReader(FileSystem* files, std::string prefix, BundleIndex index);
  StatusOr<const proto::BundleEntryProto*> FindEntry(absl::string_view name) const;
  Status ReadWhole(absl::string_view name, const proto::BundleEntryProto& entry,
                   const Tensor& out) const;
  Status ReadSlices(absl::string_view name, const proto::BundleEntryProto& entry,
                    const Shape& whole, const TensorSlice& wanted, const Tensor& out) const;

  FileSystem& files_;
  const std::string prefix_;
  const BundleIndex index_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_BUNDLE_READER_H_
