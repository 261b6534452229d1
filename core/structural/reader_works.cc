#include "core/structural/reader_works.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/io/byte_stream.h"
#include "core/io/record_reader.h"
#include "core/io/whole_file.h"

namespace millstream {
namespace {

using Item = std::optional<WorkItem>;

constexpr size_t kChunk = size_t{1} << 18;  // bytes that are read at once

class Lines final : public WorkItems {
 public:
  Lines(std::string path, std::unique_ptr<ReadableFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}
  StatusOr<Item> Next() override {
    std::string line;
    while (true) {
      const size_t end = chunk_.find('\n', position_);
      line.append(chunk_, position_, end == std::string::npos ? end : end - position_);
      if (end != std::string::npos) {
        position_ = end + 1;
        break;
      }
      MS_RETURN_IF_ERROR(ReadChunk());
      if (chunk_.empty()) {
        if (line.empty()) return Item();
        break;
      }
    }
    line.erase(std::remove(line.begin(), line.end(), '\r'), line.end());
    return Item(WorkItem{absl::StrCat(path_, ":", ++number_), std::move(line)});
  }

 private:
  Status ReadChunk() {
    chunk_.resize(kChunk);
    MS_ASSIGN_OR_RETURN(const size_t read,
                        file_->ReadAt(offset_, absl::MakeSpan(&chunk_[0], chunk_.size())));
    chunk_.resize(read);
    offset_ += read;
    position_ = 0;
    return absl::OkStatus();
  }

  const std::string path_;
  const std::unique_ptr<ReadableFile> file_;
  std::string chunk_;
  size_t position_ = 0;  // in the chunk
  uint64_t offset_ = 0;  // of the next chunk
  int64_t number_ = 0;   // of the last line
};

class Records final : public WorkItems {
 public:
  Records(std::string path, RecordReader reader)
      : path_(std::move(path)), reader_(std::move(reader)) {}
  StatusOr<Item> Next() override {
    std::string key = absl::StrCat(path_, ":", reader_.offset());
    MS_ASSIGN_OR_RETURN(std::optional<std::string> record, reader_.Next());
    if (!record.has_value()) return Item();
    return Item(WorkItem{std::move(key), *std::move(record)});
  }

 private:
  const std::string path_;
  RecordReader reader_;
};

// Holds the bytes of one piece and of the footer that may follow it: the end of a compressed file
// is not known before it is read.
class Pieces final : public WorkItems {
 public:
  Pieces(std::string path, std::unique_ptr<ByteStream> bytes, const PieceSizes& sizes)
      : path_(std::move(path)), bytes_(std::move(bytes)), sizes_(sizes), skip_(sizes.header) {}
  StatusOr<Item> Next() override {
    MS_RETURN_IF_ERROR(Skip());
    MS_ASSIGN_OR_RETURN(const bool is_whole, HoldPieceAndFooter());
    if (!is_whole) return Item();
    skip_ = sizes_.hop;
    return Item(WorkItem{absl::StrCat(path_, ":", number_++),
                         held_.substr(0, static_cast<size_t>(sizes_.record))});
  }

 private:
  // Drops the bytes before the next piece.
  Status Skip() {
    const int64_t held = std::min(skip_, static_cast<int64_t>(held_.size()));
    held_.erase(0, static_cast<size_t>(held));
    skip_ -= held;
    while (skip_ > 0) {
      std::string dropped(static_cast<size_t>(std::min(skip_, int64_t{kChunk})), '\0');
      MS_ASSIGN_OR_RETURN(const size_t read,
                          bytes_->Read(absl::MakeSpan(&dropped[0], dropped.size())));
      skip_ -= static_cast<int64_t>(read);
      if (read < dropped.size()) break;
    }
    return absl::OkStatus();
  }
  // False if the file ends before. Memory grows with the bytes that the file has.
  StatusOr<bool> HoldPieceAndFooter() {
    if (skip_ > 0 || sizes_.record > std::numeric_limits<int64_t>::max() - sizes_.footer) {
      return false;
    }
    const auto wanted = static_cast<uint64_t>(sizes_.record + sizes_.footer);
    while (held_.size() < wanted) {
      const size_t before = held_.size();
      const auto more = static_cast<size_t>(std::min<uint64_t>(wanted - before, kChunk));
      held_.resize(before + more);
      MS_ASSIGN_OR_RETURN(const size_t read, bytes_->Read(absl::MakeSpan(&held_[before], more)));
      held_.resize(before + read);
      if (read < more) return false;
    }
    return true;
  }

  const std::string path_;
  const std::unique_ptr<ByteStream> bytes_;
  const PieceSizes sizes_;
  std::string held_;
  int64_t skip_;        // from the first byte held to the next piece
  int64_t number_ = 0;  // of the next piece
};

class OneItem final : public WorkItems {
 public:
  explicit OneItem(WorkItem item) : item_(std::move(item)) {}
  StatusOr<Item> Next() override { return std::exchange(item_, std::nullopt); }
  bool is_at_end() const override { return !item_.has_value(); }

 private:
  Item item_;
};

}  // namespace

OpenWork LinesOfFiles(FileSystem* files, int64_t skipped) {
  return [=](const std::string& path) -> StatusOr<std::unique_ptr<WorkItems>> {
    MS_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files->OpenForReading(path));
    auto lines = std::make_unique<Lines>(path, std::move(file));
    for (int64_t i = 0; i < skipped; ++i) {
      MS_ASSIGN_OR_RETURN(const Item line, lines->Next());
      if (!line.has_value()) break;
    }
    return std::unique_ptr<WorkItems>(std::move(lines));
  };
}

OpenWork RecordsOfFiles(FileSystem* files, Compression compression) {
  return [=](const std::string& path) -> StatusOr<std::unique_ptr<WorkItems>> {
    MS_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::Open(files, path, compression));
    return std::unique_ptr<WorkItems>(std::make_unique<Records>(path, std::move(reader)));
  };
}

OpenWork PiecesOfFiles(FileSystem* files, const PieceSizes& sizes, Compression compression) {
  return [=](const std::string& path) -> StatusOr<std::unique_ptr<WorkItems>> {
    MS_ASSIGN_OR_RETURN(auto bytes, OpenStream(files, path, compression));
    return std::unique_ptr<WorkItems>(std::make_unique<Pieces>(path, std::move(bytes), sizes));
  };
}

OpenWork WholeFiles(FileSystem* files) {
  return [=](const std::string& path) -> StatusOr<std::unique_ptr<WorkItems>> {
    MS_ASSIGN_OR_RETURN(std::string contents, ReadWholeFile(files, path));
    return std::unique_ptr<WorkItems>(
        std::make_unique<OneItem>(WorkItem{path, std::move(contents)}));
  };
}

OpenWork NamesOfWork() {
  return [](const std::string& name) -> StatusOr<std::unique_ptr<WorkItems>> {
    return std::unique_ptr<WorkItems>(std::make_unique<OneItem>(WorkItem{name, name}));
  };
}

}  // namespace millstream
