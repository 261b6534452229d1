#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/checkpoint/coding.h"
#include "core/checkpoint/table.h"
#include "core/checkpoint/table_format.h"
#include "core/io/crc32c.h"

namespace millstream {
namespace {

using table_format::kFooterBytes;
using table_format::kMagic;
using table_format::kTrailerBytes;

// Bounds for files that nobody of good will wrote. A key that shares what the one before it has
// costs three bytes of the file, and its whole length in memory.
constexpr uint64_t kMostFileBytes = uint64_t{1} << 32;
constexpr size_t kMostKeyBytes = size_t{1} << 16;
constexpr size_t kLeastKeyBudget = size_t{1} << 26;

class TableReader {
 public:
  TableReader(const std::string& path, const std::string& text)
      : path_(path), text_(text), key_budget_(std::max(kLeastKeyBudget, 8 * text.size())) {}

  StatusOr<TableEntries> Read() {
    if (text_.size() < kFooterBytes || text_.substr(text_.size() - kMagic.size()) != kMagic) {
      return Lost(text_.size(), "it does not end as a table does");
    }
    absl::string_view footer = text_.substr(text_.size() - kFooterBytes);
    absl::string_view unused;
    MS_RETURN_IF_ERROR(TakeBlock(&footer, &unused));
    absl::string_view index;
    MS_RETURN_IF_ERROR(TakeBlock(&footer, &index));
    TableEntries places;
    MS_RETURN_IF_ERROR(ReadBlock(index, &places));
    TableEntries entries;
    for (const auto& [last_key, place] : places) {
      absl::string_view rest = place;
      absl::string_view block;
      MS_RETURN_IF_ERROR(TakeBlock(&rest, &block));
      MS_RETURN_IF_ERROR(ReadBlock(block, &entries));
    }
    for (size_t i = 1; i < entries.size(); ++i) {
      if (entries[i - 1].first >= entries[i].first) return Lost(0, "its keys do not ascend");
    }
    return entries;
  }

 private:
  Status Lost(size_t offset, absl::string_view why) const {
    return absl::DataLossError(
        absl::StrCat(path_, ": not a table, or damaged: at byte ", offset, ": ", why));
  }
  size_t OffsetOf(absl::string_view part) const { return part.data() - text_.data(); }

  // Takes a block's place from *places, and checks the block.
  Status TakeBlock(absl::string_view* places, absl::string_view* block) const {
    uint64_t offset = 0;
    uint64_t size = 0;
    if (!TakeVarint(places, &offset) || !TakeVarint(places, &size)) {
      return Lost(text_.size() - kFooterBytes, "the place of a block is cut");
    }
    const uint64_t limit = text_.size() - kFooterBytes;
    if (offset > limit || size > limit - offset || limit - offset - size < kTrailerBytes) {
      return Lost(offset, absl::StrCat("a block of ", size, " bytes is not within the file"));
    }
    *block = text_.substr(offset, size);
    const absl::string_view checked = text_.substr(offset, size + 1);
    if (MaskCrc32c(Crc32c(checked)) != Fixed32At(text_.substr(offset + size + 1))) {
      return Lost(offset, "the checksum of a block is wrong");
    }
    if (checked.back() == table_format::kUncompressed) return absl::OkStatus();
    return errors::Unimplemented(path_, ": at byte ", offset, ": a block is compressed by method ",
                                 int{checked.back()}, ", this reader knows none");
  }

  Status ReadBlock(absl::string_view block, TableEntries* entries) {
    const size_t begin = OffsetOf(block);
    const size_t n_restarts = block.size() < 4 ? 0 : Fixed32At(block.substr(block.size() - 4));
    if (block.size() < 4 || n_restarts > block.size() / 4 - 1) {
      return Lost(begin, "a block is shorter than its table of restarts");
    }
    absl::string_view rest = block.substr(0, block.size() - 4 * (n_restarts + 1));
    std::string key;
    while (!rest.empty()) {
      const size_t at = OffsetOf(rest);
      uint64_t common = 0;
      uint64_t added = 0;
      uint64_t value = 0;
      if (!TakeVarint(&rest, &common) || !TakeVarint(&rest, &added) || !TakeVarint(&rest, &value) ||
          common > key.size() || added > rest.size() || value > rest.size() - added) {
        return Lost(at, "an entry is not within its block");
      }
      key.resize(common);
      key.append(rest.data(), added);
      if (key.size() > kMostKeyBytes || key.size() > key_budget_) {
        return Lost(at, "keys are longer than those of a checkpoint");
      }
      key_budget_ -= key.size();
      entries->emplace_back(key, std::string(rest.substr(added, value)));
      rest.remove_prefix(added + value);
    }
    return absl::OkStatus();
  }

  const std::string& path_;
  const absl::string_view text_;
  size_t key_budget_;
};

}  // namespace

StatusOr<std::string> ReadWholeFile(FileSystem* files, const std::string& path) {
  MS_ASSIGN_OR_RETURN(const FileInfo info, files->Describe(path));
  if (info.is_folder) return errors::FailedPrecondition(path, ": is a folder");
  if (info.size > kMostFileBytes) {
    return errors::ResourceExhausted(path, ": ", info.size, " bytes, at most ", kMostFileBytes,
                                     " are read at once");
  }
  MS_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files->OpenForReading(path));
  std::string text(info.size, '\0');
  MS_ASSIGN_OR_RETURN(const size_t read, file->ReadAt(0, absl::MakeSpan(&text[0], text.size())));
  text.resize(read);
  return text;
}

StatusOr<TableEntries> ReadTable(FileSystem* files, const std::string& path) {
  MS_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(files, path));
  return TableReader(path, text).Read();
}

}  // namespace millstream
