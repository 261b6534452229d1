// Writes a checkpoint of version 2 (bundle_format.h).
#ifndef MILLSTREAM_CORE_CHECKPOINT_BUNDLE_WRITER_H_
#define MILLSTREAM_CORE_CHECKPOINT_BUNDLE_WRITER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/checkpoint/bundle_publish.h"
#include "core/checkpoint/tensor_slice.h"
#include "core/io/file_system.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/framework/protos/tensor_bundle.pb.h"

namespace millstream {

// Adds what `added` says of slices of a tensor to its entry. INVALID_ARGUMENT, which names
// `tensor_name`, if the entry has another dtype or shape, or bytes of its own.
Status MergeSlices(absl::string_view tensor_name, const proto::BundleEntryProto& added,
                   proto::BundleEntryProto* entry);

// Writes one data file and the index. The names of a complete checkpoint appear in Finish. Until
// then a checkpoint of the same prefix stays (PublishBundle). Without Finish, or after an error,
// the destructor removes what was written. A crash may leave a temporary file. Not thread-safe.
class BundleWriter {
 public:
  // Creates the folder of `prefix` if it does not exist. FAILED_PRECONDITION if there is another
  // writer of this prefix.
  static StatusOr<std::unique_ptr<BundleWriter>> Create(FileSystem* files, std::string prefix);
  ~BundleWriter();
  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;

  // INVALID_ARGUMENT if the name was added before, or for a dtype that files do not hold.
  Status Add(absl::string_view name, const Tensor& tensor);
  // Adds a slice of the tensor that `spec` describes, which must not be whole.
  Status AddSlice(absl::string_view name, const SliceSpec& spec, const Tensor& slice);
  // Syncs the data, gives the files their names, and syncs the folder. After an error the old
  // checkpoint is there.
  Status Finish();

 private:
  BundleWriter(FileSystem* files, std::string prefix);
  StatusOr<proto::BundleEntryProto> Write(absl::string_view name, const Tensor& tensor);
  Status Append(absl::string_view bytes);
  Status Flush();

  FileSystem& files_;
  const std::string prefix_;
  const std::string temporary_;  // the data file's name until Finish
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<AppendableFile> data_;
  std::string buffer_;  // small tensors, which are written together
  int64_t size_ = 0;    // of the data so far
  BundleEntries entries_;
  bool is_finished_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_BUNDLE_WRITER_H_
