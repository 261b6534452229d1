// Which addresses of a range are taken.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_BLOCK_LIST_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_BLOCK_LIST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace millstream::sim {

// Best fit: a request takes the smallest free block that has room, of those of one size the lowest;
// what is given back merges with its free neighbours. Only counts addresses and touches no memory.
// Not thread-safe.
class BlockList {
 public:
  // Sizes are rounded up to a multiple of this, and blocks start at one.
  static constexpr uint64_t kGranularity = 256;

  // REQUIRES: both are multiples of kGranularity, and size > 0.
  BlockList(uint64_t begin, uint64_t size);

  // Where a block of `bytes` > 0 starts, at a multiple of `alignment`, a power of two; nothing when
  // no free block has room.
  std::optional<uint64_t> Take(uint64_t bytes, uint64_t alignment);
  // Gives the block back that starts there. False when none does.
  bool Give(uint64_t begin);

  // The size of the block that starts there, rounded as it is; 0 when none does.
  uint64_t SizeAt(uint64_t begin) const;
  // Whether all of [begin, begin + bytes) is inside of one block that is taken.
  bool Covers(uint64_t begin, uint64_t bytes) const;

  uint64_t size() const { return size_; }
  uint64_t taken_bytes() const { return taken_bytes_; }
  uint64_t num_taken() const { return taken_.size(); }
  uint64_t largest_free() const;

 private:
  using Blocks = std::map<uint64_t, uint64_t>;  // sizes by where they start

  void AddFree(uint64_t begin, uint64_t size);
  void RemoveFree(Blocks::iterator block);

  const uint64_t size_;
  uint64_t taken_bytes_ = 0;
  Blocks taken_;
  Blocks free_;
  std::set<std::pair<uint64_t, uint64_t>> free_by_size_;  // (size, begin) of free_
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_BLOCK_LIST_H_
