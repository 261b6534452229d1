// The memory of one simulated device, and the host memory that was allocated through it.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_MEMORY_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "device_plugins/sim/address_window.h"
#include "device_plugins/sim/block_list.h"
#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// What blocks are aligned to when no more is asked for.
inline constexpr uint64_t kAlignment = BlockList::kGranularity;
// Every byte of fresh and of freed memory: a NaN in any type of floating point, so that whoever
// reads what was not written, or no longer is theirs, sees it in the result.
inline constexpr int kPoison = 0xff;

// Thread-safe. Copies that are on their way share it, so that what they touch stays mapped.
class Memory {
 public:
  // `device` is its name in messages, `ordinal` goes into what Allocate gives. `limit` bytes of
  // device memory are all there will be. RESOURCE_EXHAUSTED when the machine has no such range.
  static ms::Status Create(const std::string& device, uint32_t ordinal, uint64_t limit, bool poison,
                           std::shared_ptr<Memory>* out);
  // Frees what was left, and tells the host's log.
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // The memory whose window shows `address`, of whatever device; null for host memory.
  static std::shared_ptr<Memory> Showing(const void* address);

  // Memory of MS_SPACE_DEVICE is known to the host by addresses that it cannot touch.
  // RESOURCE_EXHAUSTED when there is no room; INVALID_ARGUMENT for an alignment that is no power of
  // two; UNIMPLEMENTED for another space.
  ms::Status Allocate(uint32_t space, uint64_t bytes, uint64_t alignment, MS_MemRef* out);
  // What Allocate did not give is left alone, and reported to the host's log.
  void Free(const MS_MemRef& ref);

  // Where the device's threads find the first `bytes` of `ref`, which is of this device or of the
  // host. INVALID_ARGUMENT when they are not all in one block that is allocated, or when the space
  // of `ref` is not the one that it is in.
  ms::Status Resolve(const MS_MemRef& ref, uint64_t bytes, char** out) const;
  const AddressWindow& window() const { return *window_; }

  uint64_t limit() const { return limit_; }
  uint64_t FreeBytes() const;
  void FillStats(MS_MemStats* stats) const;

 private:
  Memory(const std::string& device, uint32_t ordinal, uint64_t limit, bool poison,
         std::unique_ptr<AddressWindow> window);

  ms::Status AllocateDevice(uint64_t bytes, uint64_t alignment, void** out);
  ms::Status AllocateHost(uint64_t bytes, uint64_t alignment, void** out);
  // False when no such block is allocated.
  bool FreeDevice(void* base);
  bool FreeHost(void* base);
  void Poison(void* memory, uint64_t bytes) const;

  const std::string device_;
  const uint32_t ordinal_;
  const uint64_t limit_;
  const bool poison_;
  const std::unique_ptr<AddressWindow> window_;

  mutable std::mutex mutex_;  // guards the rest
  BlockList blocks_;
  std::map<void*, uint64_t> host_blocks_;  // sizes
  uint64_t peak_ = 0;
  uint64_t num_allocs_ = 0;
  uint64_t largest_alloc_ = 0;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_MEMORY_H_
