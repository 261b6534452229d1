// Reads a checkpoint of version 1 (saved_slices_format.h).
#ifndef MILLSTREAM_CORE_CHECKPOINT_SAVED_SLICES_READER_H_
#define MILLSTREAM_CORE_CHECKPOINT_SAVED_SLICES_READER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/table.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/framework/protos/saved_tensor_slice.pb.h"

namespace millstream {

class SavedSlicesReader final : public CheckpointReader {
 public:
  // In `pattern`, "?" stands for one character and "*" for any number, in the file's name alone.
  // Errors as those of CheckpointReader::Open.
  static StatusOr<std::unique_ptr<CheckpointReader>> Open(FileSystem* files, std::string pattern);

  StatusOr<Info> Find(absl::string_view name) const override;
  Status CheckHeld(absl::string_view name) const override;
  std::vector<std::string> Names() const override;

 protected:
  StatusOr<std::vector<TensorSlice>> SlicesOf(absl::string_view name,
                                              const Shape& whole) const override;
  Status ReadSlice(absl::string_view name, const TensorSlice& slice,
                   const Tensor& out) const override;

 private:
  // A tensor, and the file of each of its slices.
  struct Entry {
    Info info;
    std::vector<TensorSlice> slices;
    std::vector<const TableFile*> files;
  };

  explicit SavedSlicesReader(std::string pattern) : CheckpointReader(std::move(pattern)) {}
  Status AddFile(std::unique_ptr<TableFile> file);
  Status AddTensor(const TableFile& file, const proto::SavedSliceMeta& meta);
  StatusOr<const Entry*> FindEntry(absl::string_view name) const;

  // Constant after Open.
  std::vector<std::unique_ptr<TableFile>> files_;
  std::map<std::string, Entry> entries_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_SAVED_SLICES_READER_H_
