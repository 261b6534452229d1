// Writes a checkpoint of version 1 (saved_slices_format.h).
#ifndef MILLSTREAM_CORE_CHECKPOINT_SAVED_SLICES_WRITER_H_
#define MILLSTREAM_CORE_CHECKPOINT_SAVED_SLICES_WRITER_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "core/checkpoint/tensor_slice.h"
#include "core/io/file_system.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/framework/protos/saved_tensor_slice.pb.h"

namespace millstream {

// Writes one file. It holds all of the file in memory until Finish. Not thread-safe.
class SavedSlicesWriter {
 public:
  SavedSlicesWriter(FileSystem* files, std::string path) : files_(*files), path_(std::move(path)) {}

  // Adds a tensor, or the slice of one that `spec` describes. INVALID_ARGUMENT if the slice has
  // another shape, was added before, is of a tensor of another dtype or shape than other slices of
  // it, or takes two gigabytes or more, which the format cannot hold; UNIMPLEMENTED for a dtype
  // that files do not hold.
  Status Add(absl::string_view name, const SliceSpec& spec, const Tensor& tensor);
  // Creates the folder of the path if it does not exist, and writes the file, whole or not at all.
  // Removes a checkpoint of version 2 of that name afterwards.
  Status Finish();

 private:
  // The entry of the tensor in the table of contents.
  StatusOr<proto::SavedSliceMeta*> MetaOf(absl::string_view name, DataType dtype,
                                          const Shape& whole);

  FileSystem& files_;
  const std::string path_;
  std::map<std::string, proto::SavedSliceMeta> tensors_;
  std::map<std::string, std::string> slices_;  // by key
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_SAVED_SLICES_WRITER_H_
