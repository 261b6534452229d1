// Reads a checkpoint of either version (bundle_format.h, saved_slices_format.h).
#ifndef MILLSTREAM_CORE_CHECKPOINT_CHECKPOINT_READER_H_
#define MILLSTREAM_CORE_CHECKPOINT_CHECKPOINT_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/checkpoint/tensor_slice.h"
#include "core/io/file_system.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The tensors of a checkpoint. Thread-safe.
class CheckpointReader {
 public:
  virtual ~CheckpointReader() = default;

  // A checkpoint of version 2 has the files PREFIX.index and PREFIX.data-*. One of version 1 has
  // the file PREFIX, or the files whose names match PREFIX as a pattern, "model-?????-of-00002".
  // NOT_FOUND if there are no such files; DATA_LOSS, with the path, for a file that is damaged;
  // UNIMPLEMENTED for one of another byte order or a newer version.
  static StatusOr<std::unique_ptr<CheckpointReader>> Open(FileSystem* files,
                                                          const std::string& prefix);

  // The dtype and shape of a tensor. NOT_FOUND: "Key NAME not found in checkpoint".
  struct Info {
    DataType dtype = DataType::kInvalid;
    Shape shape;
  };
  virtual StatusOr<Info> Find(absl::string_view name) const = 0;
  // DATA_LOSS, with the file, if the files are too short to have the tensor that Find says. Called
  // before memory is allocated for it.
  virtual Status CheckHeld(absl::string_view name) const = 0;
  // Names of tensors in order; those of slices are not among them.
  virtual std::vector<std::string> Names() const = 0;

  // Reads a tensor, or the part of it that `spec` says, into `out`. REQUIRES: `out` has the dtype
  // and shape of this. DATA_LOSS, with the file, if bytes are missing or wrong, or slices overlap;
  // INVALID_ARGUMENT if `spec` is of another shape, or the checkpoint lacks a part of it.
  Status Read(absl::string_view name, const SliceSpec& spec, const Tensor& out) const;

  // ---- A large tensor, by several threads ----
  // How many pieces a whole tensor may be read in. 1: by Read alone.
  virtual uint64_t NumPieces(absl::string_view name) const { return 1; }
  // Reads one of these pieces into its place in `out`, as Read does. Returns its checksum.
  virtual StatusOr<uint32_t> ReadPiece(absl::string_view name, uint64_t piece,
                                       const Tensor& out) const;
  // DATA_LOSS, with the file, if the checksums of the pieces, in order, are not those of the
  // tensor.
  virtual Status CheckPieces(absl::string_view name, const std::vector<uint32_t>& crcs) const;

 protected:
  explicit CheckpointReader(std::string prefix) : prefix_(std::move(prefix)) {}

  const std::string& prefix() const { return prefix_; }
  // The slices that the files have of a tensor of shape `whole`; all of it is one slice.
  virtual StatusOr<std::vector<TensorSlice>> SlicesOf(absl::string_view name,
                                                      const Shape& whole) const = 0;
  // Reads one of these slices, all of it.
  virtual Status ReadSlice(absl::string_view name, const TensorSlice& slice,
                           const Tensor& out) const = 0;

 private:
  const std::string prefix_;
};

// DATA_LOSS: "PATH: tensor NAME: WHY".
Status DamagedTensor(absl::string_view path, absl::string_view name, absl::string_view why);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_CHECKPOINT_READER_H_
