#include <algorithm>
#include <cstdint>

#include "core/checkpoint/coding.h"
#include "core/checkpoint/table.h"
#include "core/checkpoint/table_format.h"
#include "core/io/crc32c.h"

namespace millstream {
namespace {

// Entries of one block, before it is written.
class BlockBuilder {
 public:
  explicit BlockBuilder(int interval) : interval_(interval) {}

  void Add(absl::string_view key, absl::string_view value) {
    size_t common = 0;
    if (count_ % interval_ == 0) {
      restarts_.push_back(static_cast<uint32_t>(text_.size()));
    } else {
      const size_t most = std::min(key.size(), last_key_.size());
      while (common < most && key[common] == last_key_[common]) ++common;
    }
    AppendVarint(common, &text_);
    AppendVarint(key.size() - common, &text_);
    AppendVarint(value.size(), &text_);
    text_.append(key.data() + common, key.size() - common);
    text_.append(value.data(), value.size());
    last_key_ = std::string(key);
    ++count_;
  }

  // The block's text. The builder is empty afterwards.
  std::string Take() {
    if (restarts_.empty()) restarts_.push_back(0);
    for (const uint32_t restart : restarts_) AppendFixed32(restart, &text_);
    AppendFixed32(static_cast<uint32_t>(restarts_.size()), &text_);
    restarts_.clear();
    last_key_.clear();
    count_ = 0;
    return std::exchange(text_, std::string());
  }

  bool empty() const { return count_ == 0; }
  size_t size() const { return text_.size(); }
  const std::string& last_key() const { return last_key_; }

 private:
  const int interval_;
  int count_ = 0;
  std::string text_;
  std::string last_key_;
  std::vector<uint32_t> restarts_;
};

// Appends the block, uncompressed, and returns its place as an index holds it.
std::string AppendBlock(const std::string& block, std::string* table) {
  std::string place;
  AppendVarint(table->size(), &place);
  AppendVarint(block.size(), &place);
  const size_t begin = table->size();
  table->append(block);
  table->push_back(table_format::kUncompressed);
  const uint32_t crc = Crc32c(absl::string_view(*table).substr(begin));
  AppendFixed32(MaskCrc32c(crc), table);
  return place;
}

}  // namespace

std::string WriteTable(const TableEntries& entries) {
  constexpr size_t kBlockBytes = size_t{1} << 18;
  std::string table;
  BlockBuilder block(table_format::kRestartInterval);
  BlockBuilder index(1);  // every key in full
  const auto flush = [&] {
    if (block.empty()) return;
    const std::string last_key = block.last_key();
    index.Add(last_key, AppendBlock(block.Take(), &table));
  };
  for (const auto& [key, value] : entries) {
    block.Add(key, value);
    if (block.size() >= kBlockBytes) flush();
  }
  flush();
  std::string footer = AppendBlock(BlockBuilder(1).Take(), &table);  // there is no filter
  footer += AppendBlock(index.Take(), &table);
  footer.resize(table_format::kFooterBytes - table_format::kMagic.size());
  table += footer;
  table.append(table_format::kMagic.data(), table_format::kMagic.size());
  return table;
}

}  // namespace millstream
