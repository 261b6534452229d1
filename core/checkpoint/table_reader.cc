#include <algorithm>
#include <cstdint>

#include "core/checkpoint/coding.h"
#include "core/checkpoint/table.h"
#include "core/checkpoint/table_format.h"
#include "core/io/crc32c.h"

namespace millstream {
namespace {

using table_format::kFooterBytes;
using table_format::kMagic;
using table_format::kTrailerBytes;

// Bounds for hostile files. A key that shares what the one before it has costs three bytes of the
// file, and its whole length in memory. Blocks may overlap.
constexpr uint64_t kMostKeyBytes = uint64_t{1} << 16;
constexpr uint64_t kLeastBudget = uint64_t{1} << 24;
// What the places of blocks may take beside the file, and what one takes as the list grows.
constexpr uint64_t kLeastPlaceBytes = uint64_t{8} << 20;
constexpr uint64_t kGrowth = 3;

}  // namespace

// A block's text, without its trailer, and where it stands in the file.
struct TableFile::Block {
  std::string text;
  uint64_t offset = 0;
};

TableFile::TableFile(std::string path, uint64_t size, std::unique_ptr<ReadableFile> file)
    : path_(std::move(path)), size_(size), file_(std::move(file)) {}

Status TableFile::Lost(uint64_t offset, absl::string_view why) const {
  return absl::DataLossError(
      absl::StrCat(path_, ": not a table, or damaged: at byte ", offset, ": ", why));
}

uint64_t TableFile::Budget() const { return std::max(kLeastBudget, 8 * size_); }

StatusOr<std::unique_ptr<TableFile>> TableFile::Open(FileSystem* files, std::string path) {
  MS_ASSIGN_OR_RETURN(const FileInfo info, files->Describe(path));
  if (info.is_folder) return errors::FailedPrecondition(path, ": is a folder");
  MS_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files->OpenForReading(path));
  std::unique_ptr<TableFile> table(new TableFile(std::move(path), info.size, std::move(file)));
  MS_RETURN_IF_ERROR(table->ReadIndex());
  return table;
}

// Takes a block's place, which stands at byte `at` of the file, from *text.
Status TableFile::TakePlace(absl::string_view* text, uint64_t at, Place* place) const {
  if (!TakeVarint(text, &place->offset) || !TakeVarint(text, &place->size)) {
    return Lost(at, "the place of a block is cut");
  }
  const uint64_t limit = size_ - kFooterBytes;
  if (place->offset > limit || place->size > limit - place->offset ||
      limit - place->offset - place->size < kTrailerBytes) {
    return Lost(place->offset,
                absl::StrCat("a block of ", place->size, " bytes is not within the file"));
  }
  return absl::OkStatus();
}

Status TableFile::ReadIndex() {
  char bytes[kFooterBytes];
  size_t read = 0;
  if (size_ >= kFooterBytes) {
    MS_ASSIGN_OR_RETURN(read, file_->ReadAt(size_ - kFooterBytes, absl::MakeSpan(bytes)));
  }
  absl::string_view footer(bytes, read);
  if (read < kFooterBytes || footer.substr(read - kMagic.size()) != kMagic) {
    return Lost(size_, "it does not end as a table does");
  }
  const uint64_t at = size_ - kFooterBytes;
  uint64_t budget = Budget();
  Place filter;  // there may be one; checkpoints have none
  MS_RETURN_IF_ERROR(TakePlace(&footer, at, &filter));
  MS_RETURN_IF_ERROR(ReadBlock(filter).status());
  Place index;
  MS_RETURN_IF_ERROR(TakePlace(&footer, at, &index));
  footer.remove_suffix(kMagic.size());
  if (footer.find_first_not_of('\0') != absl::string_view::npos) {
    return Lost(at, "there are bytes between the places of blocks and the end");
  }
  MS_ASSIGN_OR_RETURN(const Block block, ReadBlock(index));
  uint64_t room = kLeastPlaceBytes + 2 * size_;
  std::optional<std::string> last;
  const auto add = [&](uint64_t entry_at, const std::string& key, absl::string_view text) {
    const uint64_t bytes = kGrowth * sizeof(Place) + key.size();
    if (bytes > room) return Lost(entry_at, "it lists more blocks than a file of this size has");
    room -= bytes;
    Place& place = places_.emplace_back();
    place.last_key = key;
    return TakePlace(&text, index.offset, &place);
  };
  return VisitAscending(block, &budget, &last, add);
}

StatusOr<TableFile::Block> TableFile::ReadBlock(const Place& place) const {
  Block block;
  block.offset = place.offset;
  block.text.resize(place.size + kTrailerBytes);
  MS_ASSIGN_OR_RETURN(
      const size_t read,
      file_->ReadAt(place.offset, absl::MakeSpan(&block.text[0], block.text.size())));
  if (read != block.text.size()) return Lost(place.offset, "a block is cut");
  const absl::string_view text = block.text;
  if (MaskCrc32c(Crc32c(text.substr(0, place.size + 1))) !=
      Fixed32At(text.substr(place.size + 1))) {
    return Lost(place.offset, "the checksum of a block is wrong");
  }
  const char method = text[place.size];
  if (method != table_format::kUncompressed) {
    return errors::Unimplemented(path_, ": at byte ", place.offset,
                                 ": a block is compressed by method ", int{method},
                                 ", this reader knows none");
  }
  block.text.resize(place.size);
  return block;
}

Status TableFile::VisitEntries(const Block& block, EntryVisitor visitor) const {
  const absl::string_view text = block.text;
  const size_t n_restarts = text.size() < 4 ? 0 : Fixed32At(text.substr(text.size() - 4));
  if (text.size() < 4 || n_restarts > text.size() / 4 - 1) {
    return Lost(block.offset, "a block is shorter than its table of restarts");
  }
  absl::string_view rest = text.substr(0, text.size() - 4 * (n_restarts + 1));
  std::string key;
  while (!rest.empty()) {
    const uint64_t at = block.offset + (rest.data() - text.data());
    uint64_t common = 0;
    uint64_t added = 0;
    uint64_t value = 0;
    if (!TakeVarint(&rest, &common) || !TakeVarint(&rest, &added) || !TakeVarint(&rest, &value) ||
        common > key.size() || added > rest.size() || value > rest.size() - added) {
      return Lost(at, "an entry is not within its block");
    }
    key.resize(common);
    key.append(rest.data(), added);
    if (key.size() > kMostKeyBytes) return Lost(at, "keys are longer than those of a checkpoint");
    MS_RETURN_IF_ERROR(visitor(at, key, rest.substr(added, value)));
    rest.remove_prefix(added + value);
  }
  return absl::OkStatus();
}

Status TableFile::VisitAscending(const Block& block, uint64_t* budget,
                                 std::optional<std::string>* last, EntryVisitor visitor) const {
  return VisitEntries(block, [&](uint64_t at, const std::string& key, absl::string_view value) {
    if (last->has_value() && key <= **last) return Lost(at, "its keys do not ascend");
    const uint64_t bytes = key.size() + value.size();
    if (bytes > *budget)
      return Lost(at, "keys are longer than those of a checkpoint, or blocks overlap");
    *budget -= bytes;
    *last = key;
    return visitor(at, key, value);
  });
}

StatusOr<std::optional<std::string>> TableFile::Find(absl::string_view key) const {
  std::optional<std::string> found;
  const auto place = std::lower_bound(
      places_.begin(), places_.end(), key,
      [](const Place& place, absl::string_view key) { return place.last_key < key; });
  if (place == places_.end()) return found;
  MS_ASSIGN_OR_RETURN(const Block block, ReadBlock(*place));
  MS_RETURN_IF_ERROR(
      VisitEntries(block, [&](uint64_t at, const std::string& other, absl::string_view value) {
        if (other != key) return absl::OkStatus();
        if (found.has_value()) return Lost(at, "its keys do not ascend");
        found.emplace(value);
        return absl::OkStatus();
      }));
  return found;
}

Status TableFile::Visit(EntryVisitor visitor) const {
  uint64_t budget = Budget();
  std::optional<std::string> last;
  for (const Place& place : places_) {
    MS_ASSIGN_OR_RETURN(const Block block, ReadBlock(place));
    MS_RETURN_IF_ERROR(VisitAscending(block, &budget, &last, visitor));
  }
  return absl::OkStatus();
}

}  // namespace millstream
