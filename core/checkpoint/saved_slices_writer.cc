#include "core/checkpoint/saved_slices_writer.h"

#include <limits>
#include <utility>

#include "core/checkpoint/bundle_publish.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/saved_slices_format.h"
#include "core/checkpoint/table.h"
#include "core/io/write_file.h"
#include "framework/proto_conversion.h"

namespace millstream {

StatusOr<proto::SavedSliceMeta*> SavedSlicesWriter::MetaOf(absl::string_view name, DataType dtype,
                                                           const Shape& whole) {
  proto::SavedSliceMeta meta;
  meta.set_name(std::string(name));
  meta.set_type(DataTypeToProto(dtype));
  ShapeToProto(PartialShape(whole), meta.mutable_shape());
  const auto [found, is_new] = tensors_.emplace(std::string(name), meta);
  proto::SavedSliceMeta& entry = found->second;
  if (entry.type() == meta.type() &&
      entry.shape().SerializeAsString() == meta.shape().SerializeAsString()) {
    return &entry;
  }
  return errors::InvalidArgument("slices of tensor ", name,
                                 " have different dtypes or are of different shapes");
}

Status SavedSlicesWriter::Add(absl::string_view name, const SliceSpec& spec, const Tensor& tensor) {
  if (name.empty()) return errors::InvalidArgument("a tensor has no name");
  if (!spec.is_whole && tensor.shape() != spec.shape) {
    return errors::InvalidArgument("tensor ", name, ": the slice ", spec.slice.ToString(), " of ",
                                   spec.whole.ToString(), " has the shape ", spec.shape.ToString(),
                                   ", got ", tensor.shape().ToString());
  }
  const Shape& whole = spec.is_whole ? tensor.shape() : spec.whole;
  const TensorSlice slice = spec.is_whole ? TensorSlice::Whole(whole) : spec.slice;
  MS_ASSIGN_OR_RETURN(proto::SavedSliceMeta* const meta, MetaOf(name, tensor.dtype(), whole));
  ToProto(slice, meta->add_slice());
  proto::SavedTensorSlices entry;
  entry.mutable_data()->set_name(std::string(name));
  ToProto(slice, entry.mutable_data()->mutable_slice());
  MS_RETURN_IF_ERROR(TensorValuesToProto(tensor, entry.mutable_data()->mutable_data()));
  if (entry.ByteSizeLong() > std::numeric_limits<int32_t>::max()) {
    return errors::InvalidArgument("tensor ", name, ": ", entry.ByteSizeLong(),
                                   " bytes do not fit a checkpoint of version 1: write version 2");
  }
  if (slices_.emplace(SliceKey(name, slice), entry.SerializeAsString()).second) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("tensor ", name, " is saved more than once");
}

Status SavedSlicesWriter::Finish() {
  proto::SavedTensorSlices contents;
  contents.mutable_meta()->mutable_versions()->set_producer(kSavedSlicesVersion);
  for (const auto& [name, tensor] : tensors_) *contents.mutable_meta()->add_tensor() = tensor;
  TableEntries table = {{std::string(), contents.SerializeAsString()}};
  for (auto& [key, slice] : slices_) table.emplace_back(key, std::move(slice));
  slices_.clear();
  MS_RETURN_IF_ERROR(files_.MakeFolders(FolderOf(path_)));
  MS_RETURN_IF_ERROR(
      WriteFileAtomically(&files_, path_, WriteTable(table), FileSystem::Existing::kReplace));
  // Readers would take a checkpoint of version 2 with this name for the newer one.
  return RemoveBundle(&files_, path_);
}

}  // namespace millstream
