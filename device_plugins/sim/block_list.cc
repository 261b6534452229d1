#include "device_plugins/sim/block_list.h"

#include <algorithm>
#include <iterator>

namespace millstream::sim {

BlockList::BlockList(uint64_t begin, uint64_t size) : size_(size) { AddFree(begin, size); }

std::optional<uint64_t> BlockList::Take(uint64_t bytes, uint64_t alignment) {
  if (bytes > size_) return std::nullopt;
  const uint64_t size = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  const uint64_t multiple = std::max(alignment, kGranularity);
  for (auto fit = free_by_size_.lower_bound({size, 0}); fit != free_by_size_.end(); ++fit) {
    const auto [free_size, free_begin] = *fit;
    const uint64_t padding = (multiple - free_begin % multiple) % multiple;
    if (padding > free_size || free_size - padding < size) continue;
    const uint64_t begin = free_begin + padding;
    RemoveFree(free_.find(free_begin));
    if (padding > 0) AddFree(free_begin, padding);
    if (free_size - padding > size) AddFree(begin + size, free_size - padding - size);
    taken_[begin] = size;
    taken_bytes_ += size;
    return begin;
  }
  return std::nullopt;
}

bool BlockList::Give(uint64_t begin) {
  const auto block = taken_.find(begin);
  if (block == taken_.end()) return false;
  uint64_t size = block->second;
  taken_bytes_ -= size;
  taken_.erase(block);
  const auto after = free_.find(begin + size);
  if (after != free_.end()) {
    size += after->second;
    RemoveFree(after);
  }
  const auto next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      size += before->second;
      RemoveFree(before);
    }
  }
  AddFree(begin, size);
  return true;
}

uint64_t BlockList::SizeAt(uint64_t begin) const {
  const auto block = taken_.find(begin);
  return block == taken_.end() ? 0 : block->second;
}

bool BlockList::Covers(uint64_t begin, uint64_t bytes) const {
  const auto next = taken_.upper_bound(begin);
  if (next == taken_.begin()) return false;
  const auto& [block_begin, block_size] = *std::prev(next);
  const uint64_t offset = begin - block_begin;
  return offset <= block_size && bytes <= block_size - offset;
}

uint64_t BlockList::largest_free() const {
  return free_by_size_.empty() ? 0 : free_by_size_.rbegin()->first;
}

void BlockList::AddFree(uint64_t begin, uint64_t size) {
  free_[begin] = size;
  free_by_size_.insert({size, begin});
}

void BlockList::RemoveFree(Blocks::iterator block) {
  free_by_size_.erase({block->second, block->first});
  free_.erase(block);
}

}  // namespace millstream::sim
