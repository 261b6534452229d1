#include "core/checkpoint/checkpoint_reader.h"

#include "absl/strings/str_cat.h"
#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/saved_slices_reader.h"

namespace millstream {

Status DamagedTensor(absl::string_view path, absl::string_view name, absl::string_view why) {
  return absl::DataLossError(absl::StrCat(path, ": tensor ", name, ": ", why));
}

StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(FileSystem* files,
                                                                   const std::string& prefix) {
  const Status has_index = files->Describe(IndexPath(prefix)).status();
  if (has_index.ok()) return BundleReader::Open(files, prefix);
  if (!absl::IsNotFound(has_index)) return has_index;
  return SavedSlicesReader::Open(files, prefix);
}

StatusOr<uint32_t> CheckpointReader::ReadPiece(absl::string_view name, uint64_t piece,
                                               const Tensor& out) const {
  return errors::InvalidArgument("tensor ", name, " is not read in pieces");
}

Status CheckpointReader::CheckPieces(absl::string_view name,
                                     const std::vector<uint32_t>& crcs) const {
  return errors::InvalidArgument("tensor ", name, " is not read in pieces");
}

// Elements that no slice has stay as they are, so that slices are counted: none may overlap.
Status CheckpointReader::Read(absl::string_view name, const SliceSpec& spec,
                              const Tensor& out) const {
  MS_ASSIGN_OR_RETURN(const Info info, Find(name));
  const Shape& whole = info.shape;
  if (!spec.is_whole && spec.whole != whole) {
    return errors::InvalidArgument("tensor ", name, ": shape_and_slices says that its shape is ",
                                   spec.whole.ToString(), ", in checkpoint ", prefix_, " it is ",
                                   whole.ToString());
  }
  const TensorSlice wanted = spec.is_whole ? TensorSlice::Whole(whole) : spec.slice;
  MS_ASSIGN_OR_RETURN(const std::vector<TensorSlice> stored, SlicesOf(name, whole));
  for (const TensorSlice& slice : stored) {
    if (slice.extents == wanted.extents) return ReadSlice(name, slice, out);
  }
  const Status disjoint = CheckDisjoint(whole, stored);
  if (!disjoint.ok()) return DamagedTensor(prefix_, name, disjoint.message());
  int64_t count = 0;
  for (const TensorSlice& slice : stored) {
    if (CountCommon(whole, slice, wanted) == 0) continue;
    MS_ASSIGN_OR_RETURN(const Shape shape, slice.ShapeIn(whole));
    MS_ASSIGN_OR_RETURN(const Tensor source, Tensor::Create(out.dtype(), shape));
    MS_RETURN_IF_ERROR(ReadSlice(name, slice, source));
    count += CopyCommonPart(whole, slice, source, wanted, out);
  }
  if (count == out.num_elements()) return absl::OkStatus();
  return errors::InvalidArgument("tensor ", name, ": checkpoint ", prefix_, " has ", count,
                                 " of the ", out.num_elements(), " elements of slice ",
                                 wanted.ToString());
}

}  // namespace millstream
