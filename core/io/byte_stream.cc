#include "core/io/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

class FileStream final : public ByteStream {
 public:
  FileStream(std::unique_ptr<ReadableFile> file, uint64_t size)
      : file_(std::move(file)), size_(size) {}
  StatusOr<size_t> Read(absl::Span<char> buffer) override {
    MS_ASSIGN_OR_RETURN(const size_t count, file_->ReadAt(offset_, buffer));
    offset_ += count;
    return count;
  }
  uint64_t most_left() const override { return offset_ < size_ ? size_ - offset_ : 0; }

 private:
  const std::unique_ptr<ReadableFile> file_;
  const uint64_t size_;
  uint64_t offset_ = 0;
};

class InflatedStream final : public ByteStream {
 public:
  InflatedStream(std::unique_ptr<ByteStream> compressed, bool is_gzip, std::string path)
      : compressed_(std::move(compressed)), is_gzip_(is_gzip), path_(std::move(path)) {}
  ~InflatedStream() override {
    if (is_open_) inflateEnd(&state_);
  }
  Status Open() {
    constexpr int kOfGzip = 16;  // added to the window's size: zlib.h, inflateInit2
    const int window = MAX_WBITS + (is_gzip_ ? kOfGzip : 0);
    if (inflateInit2(&state_, window) != Z_OK) {
      return errors::ResourceExhausted(path_, ": no memory to decompress the file");
    }
    is_open_ = true;
    return absl::OkStatus();
  }

  StatusOr<size_t> Read(absl::Span<char> buffer) override {
    size_t done = 0;
    while (done < buffer.size()) {
      MS_RETURN_IF_ERROR(Refill());
      const bool is_over = state_.avail_in == 0;
      if (is_over && is_between_members_) break;
      // Of input that was read before, there may be more to give.
      MS_ASSIGN_OR_RETURN(const size_t count, Inflate(buffer.subspan(done)));
      done += count;
      if (is_over && count == 0 && !is_between_members_) {
        return Damaged("ends within the compressed data");
      }
    }
    return done;
  }

 private:
  Status Damaged(absl::string_view what) const {
    return absl::DataLossError(absl::StrCat(path_, " ", what, ", as ", is_gzip_ ? "GZIP" : "ZLIB",
                                            " at byte ", consumed_ - state_.avail_in,
                                            " of the file"));
  }

  // Reads more compressed bytes if none are left.
  Status Refill() {
    if (state_.avail_in > 0) return absl::OkStatus();
    MS_ASSIGN_OR_RETURN(const size_t count, compressed_->Read(absl::MakeSpan(input_)));
    consumed_ += count;
    state_.next_in = reinterpret_cast<Bytef*>(input_.data());
    state_.avail_in = static_cast<uInt>(count);
    return absl::OkStatus();
  }

  // Gives some bytes, or none.
  StatusOr<size_t> Inflate(absl::Span<char> buffer) {
    if (is_between_members_) {
      if (has_ended_ && !is_gzip_) return Damaged("goes on after its end");
      if (has_ended_ && inflateReset(&state_) != Z_OK) return Damaged("has no further member");
      is_between_members_ = false;
    }
    constexpr size_t kMost = 1 << 30;  // zlib counts in 32 bits
    const size_t wanted = std::min(buffer.size(), kMost);
    state_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    state_.avail_out = static_cast<uInt>(wanted);
    const int result = inflate(&state_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) {
      return errors::ResourceExhausted(path_, ": no memory to decompress the file");
    }
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return Damaged(absl::StrCat("is damaged, or not compressed so (",
                                  state_.msg == nullptr ? "no reason" : state_.msg, ")"));
    }
    if (result == Z_STREAM_END) {
      is_between_members_ = true;
      has_ended_ = true;
    }
    return wanted - state_.avail_out;
  }

  const std::unique_ptr<ByteStream> compressed_;
  const bool is_gzip_;
  const std::string path_;
  z_stream state_ = {};
  bool is_open_ = false;
  bool is_between_members_ = true;  // at the beginning, too: an empty file has no member
  bool has_ended_ = false;          // a member has
  uint64_t consumed_ = 0;           // compressed bytes that were read
  std::array<char, 1 << 16> input_ = {};
};

}  // namespace

std::unique_ptr<ByteStream> StreamOf(std::unique_ptr<ReadableFile> file, uint64_t size) {
  return std::make_unique<FileStream>(std::move(file), size);
}

StatusOr<std::unique_ptr<ByteStream>> Inflated(std::unique_ptr<ByteStream> compressed, bool is_gzip,
                                               std::string path) {
  auto stream = std::make_unique<InflatedStream>(std::move(compressed), is_gzip, std::move(path));
  MS_RETURN_IF_ERROR(stream->Open());
  return std::unique_ptr<ByteStream>(std::move(stream));
}

}  // namespace millstream
