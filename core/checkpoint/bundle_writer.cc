#include "core/checkpoint/bundle_writer.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/string_elements.h"
#include "core/io/crc32c.h"
#include "framework/proto_conversion.h"

namespace millstream {
namespace {

// Tensors below this size are gathered, larger ones are written from where they are.
constexpr size_t kBufferBytes = size_t{1} << 16;
// Written at once, so that the write finds the bytes of the checksum in the processor's cache.
constexpr size_t kPieceBytes = size_t{1} << 18;

std::string TemporaryData(const std::string& prefix) {
  static std::atomic<int> number{0};
  return absl::StrCat(prefix, ".data.", getpid(), "-", number.fetch_add(1), ".tmp");
}

}  // namespace

Status MergeSlices(absl::string_view tensor_name, const proto::BundleEntryProto& added,
                   proto::BundleEntryProto* entry) {
  if (entry->slices().empty() || added.slices().empty()) {
    return errors::InvalidArgument("tensor ", tensor_name, " is saved more than once");
  }
  if (entry->dtype() != added.dtype() ||
      entry->shape().SerializeAsString() != added.shape().SerializeAsString()) {
    return errors::InvalidArgument("slices of tensor ", tensor_name,
                                   " have different dtypes or are of different shapes");
  }
  entry->mutable_slices()->MergeFrom(added.slices());
  return absl::OkStatus();
}

BundleWriter::BundleWriter(FileSystem* files, std::string prefix)
    : files_(*files), prefix_(std::move(prefix)), temporary_(TemporaryData(prefix_)) {}

StatusOr<std::unique_ptr<BundleWriter>> BundleWriter::Create(FileSystem* files,
                                                             std::string prefix) {
  MS_RETURN_IF_ERROR(files->MakeFolders(FolderOf(prefix)));
  std::unique_ptr<BundleWriter> writer(new BundleWriter(files, std::move(prefix)));
  MS_ASSIGN_OR_RETURN(writer->lock_, LockBundle(files, writer->prefix_));
  MS_ASSIGN_OR_RETURN(writer->data_,
                      files->OpenForAppending(writer->temporary_, FileSystem::Existing::kReplace));
  return writer;
}

BundleWriter::~BundleWriter() {
  if (is_finished_ || data_ == nullptr) return;
  data_.reset();
  files_.Remove(temporary_).IgnoreError();  // it may have its new name already
}

Status BundleWriter::Flush() {
  const std::string text = std::exchange(buffer_, std::string());
  return text.empty() ? absl::OkStatus() : data_->Append(text);
}

Status BundleWriter::Append(absl::string_view bytes) {
  size_ += static_cast<int64_t>(bytes.size());
  if (bytes.size() >= kBufferBytes) {
    MS_RETURN_IF_ERROR(Flush());
    return data_->Append(bytes);
  }
  buffer_.append(bytes.data(), bytes.size());
  return buffer_.size() < kBufferBytes ? absl::OkStatus() : Flush();
}

StatusOr<proto::BundleEntryProto> BundleWriter::Write(absl::string_view name,
                                                      const Tensor& tensor) {
  proto::BundleEntryProto entry;
  entry.set_dtype(DataTypeToProto(tensor.dtype()));
  ShapeToProto(PartialShape(tensor.shape()), entry.mutable_shape());
  entry.set_offset(size_);
  if (tensor.dtype() == DataType::kString) {
    const StringElements strings = WriteStrings(tensor.flat<std::string>());
    entry.set_crc32c(MaskCrc32c(strings.crc));
    MS_RETURN_IF_ERROR(Append(strings.bytes));
  } else if (IsPlainData(tensor.dtype())) {
    const absl::string_view bytes(static_cast<const char*>(tensor.raw()), tensor.bytes());
    uint32_t crc = 0;
    for (size_t done = 0; done < bytes.size(); done += kPieceBytes) {
      const absl::string_view piece = bytes.substr(done, kPieceBytes);
      crc = Crc32c(piece, crc);
      MS_RETURN_IF_ERROR(Append(piece));
    }
    entry.set_crc32c(MaskCrc32c(crc));
  } else {
    return errors::Unimplemented("tensor ", name, ": a checkpoint has no ",
                                 DataTypeName(tensor.dtype()));
  }
  entry.set_size(size_ - entry.offset());
  return entry;
}

Status BundleWriter::Add(absl::string_view name, const Tensor& tensor) {
  if (name.empty()) return errors::InvalidArgument("a tensor has no name");
  if (entries_.count(std::string(name)) != 0) {
    return errors::InvalidArgument("tensor ", name, " is saved more than once");
  }
  MS_ASSIGN_OR_RETURN(entries_[std::string(name)], Write(name, tensor));
  return absl::OkStatus();
}

Status BundleWriter::AddSlice(absl::string_view name, const SliceSpec& spec, const Tensor& slice) {
  if (slice.shape() != spec.shape) {
    return errors::InvalidArgument("tensor ", name, ": the slice ", spec.slice.ToString(), " of ",
                                   spec.whole.ToString(), " has the shape ", spec.shape.ToString(),
                                   ", got ", slice.shape().ToString());
  }
  proto::BundleEntryProto whole;
  whole.set_dtype(DataTypeToProto(slice.dtype()));
  ShapeToProto(PartialShape(spec.whole), whole.mutable_shape());
  ToProto(spec.slice, whole.add_slices());
  const auto [entry, is_first] = entries_.emplace(std::string(name), whole);
  if (!is_first) MS_RETURN_IF_ERROR(MergeSlices(name, whole, &entry->second));
  return Add(SliceKey(name, spec.slice), slice);
}

Status BundleWriter::Finish() {
  MS_RETURN_IF_ERROR(Flush());
  MS_RETURN_IF_ERROR(data_->Sync());
  MS_RETURN_IF_ERROR(data_->Close());
  MS_RETURN_IF_ERROR(PublishBundle(&files_, prefix_, {temporary_}, entries_));
  is_finished_ = true;
  return absl::OkStatus();
}

}  // namespace millstream
