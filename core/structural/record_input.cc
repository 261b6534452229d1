// RecordInput: records of files in random order, epoch after epoch.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/io/file_system.h"
#include "core/io/match_files.h"
#include "core/io/record_reader.h"
#include "core/structural/host_kernel.h"

namespace millstream {
namespace {

// Each epoch gives every record once: the files come in random order, and a record is drawn from
// as many as the buffer holds. Thread-safe.
class RecordInputKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(pattern_, info.Attr<std::string>("file_pattern"));
    MS_ASSIGN_OR_RETURN(seed_, info.Attr<int64_t>("file_random_seed"));
    MS_ASSIGN_OR_RETURN(shift_, info.Attr<float>("file_shuffle_shift_ratio"));
    MS_ASSIGN_OR_RETURN(buffer_size_, info.Attr<int64_t>("file_buffer_size"));
    MS_ASSIGN_OR_RETURN(batch_size_, info.Attr<int64_t>("batch_size"));
    MS_ASSIGN_OR_RETURN(const auto compression, info.Attr<std::string>("compression_type"));
    const StatusOr<Compression> named = CompressionNamed(compression);
    if (!named.ok()) {
      return errors::InvalidArgument("attribute 'compression_type': ", named.status().message());
    }
    compression_ = *named;
    if (buffer_size_ < 1) {
      return errors::InvalidArgument("attribute 'file_buffer_size' must be positive, got ",
                                     buffer_size_);
    }
    if (!(shift_ >= 0 && shift_ <= 1)) {
      return errors::InvalidArgument("attribute 'file_shuffle_shift_ratio' must be between 0 and ",
                                     "1, got ", shift_);
    }
    absl::MutexLock lock(&mutex_);
    random_.seed(static_cast<uint64_t>(seed_));
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const Tensor records, frame->AllocateOutput(0, Shape({batch_size_})));
    absl::MutexLock lock(&mutex_);
    for (std::string& record : records.flat<std::string>()) {
      MS_ASSIGN_OR_RETURN(record, Draw());
    }
    return absl::OkStatus();
  }

 private:
  StatusOr<std::string> Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    MS_RETURN_IF_ERROR(FillBuffer());
    if (buffer_.empty()) {
      MS_RETURN_IF_ERROR(BeginEpoch());
      MS_RETURN_IF_ERROR(FillBuffer());
    }
    if (buffer_.empty()) {
      return errors::OutOfRange("attribute 'file_pattern': the files of '", pattern_,
                                "' have no records");
    }
    std::string record = std::move(buffer_.back());
    buffer_.pop_back();
    return record;
  }
  // Finds the files, in the order of this epoch, the first one last.
  Status BeginEpoch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    MS_ASSIGN_OR_RETURN(files_, MatchFiles(LocalFileSystem(), pattern_));
    if (files_.empty()) {
      return errors::NotFound("attribute 'file_pattern': Found no files at ", pattern_);
    }
    std::mt19937_64 order(static_cast<uint64_t>(seed_) + epoch_++);
    std::shuffle(files_.begin(), files_.end(), order);
    const auto count = static_cast<int64_t>(files_.size());
    const auto shift = static_cast<int64_t>(shift_ * static_cast<float>(count)) % count;
    std::rotate(files_.begin(), files_.begin() + shift, files_.end());
    std::reverse(files_.begin(), files_.end());
    return absl::OkStatus();
  }
  // Each new record changes places with a random one.
  Status FillBuffer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (static_cast<int64_t>(buffer_.size()) < buffer_size_) {
      if (!reader_.has_value()) {
        if (files_.empty()) return absl::OkStatus();
        MS_ASSIGN_OR_RETURN(reader_,
                            RecordReader::Open(LocalFileSystem(), files_.back(), compression_));
        files_.pop_back();
      }
      MS_ASSIGN_OR_RETURN(std::optional<std::string> record, reader_->Next());
      if (!record.has_value()) {
        reader_.reset();
        continue;
      }
      buffer_.push_back(*std::move(record));
      std::swap(buffer_.back(), buffer_[random_() % buffer_.size()]);
    }
    return absl::OkStatus();
  }

  std::string pattern_;
  int64_t seed_ = 0;
  float shift_ = 0;
  int64_t buffer_size_ = 1;
  int64_t batch_size_ = 1;
  Compression compression_ = Compression::kNone;
  absl::Mutex mutex_;
  std::vector<std::string> files_ ABSL_GUARDED_BY(mutex_);  // still to be read in this epoch
  std::optional<RecordReader> reader_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> buffer_ ABSL_GUARDED_BY(mutex_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
};

MILLSTREAM_HOST_KERNEL("RecordInput", RecordInputKernel);

}  // namespace
}  // namespace millstream
