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
  struct Rules {
    uint64_t limit;   // bytes of device memory
    bool is_opaque;   // the host knows device memory by handles, from which no address follows
    bool has_pinned;  // false: host memory is pinned when it was registered, and only then
    bool poison;
  };
  // `device` is its name in messages, `ordinal` goes into what Allocate gives. RESOURCE_EXHAUSTED
  // when the machine has no such range.
  static ms::Status Create(const std::string& device, uint32_t ordinal, const Rules& rules,
                           std::shared_ptr<Memory>* out);
  // Frees what was left, and tells the host's log.
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // The memory whose window shows `address`, of whatever device; null for host memory.
  static std::shared_ptr<Memory> Showing(const void* address);
  // The memory that `base` is of, as an address or as a handle.
  static std::shared_ptr<Memory> OfBase(const void* base);

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

  // ---- Places, as the host names them ----
  // The address at which the window shows the place; of host memory its own. Null for a handle of
  // no block: one that was freed, or to which the host has added something.
  char* Shown(const MS_MemRef& ref) const;
  // Whether it is in this device's memory.
  bool Holds(const MS_MemRef& ref) const { return window_->Shows(Shown(ref)); }
  // Where the device's threads find it.
  char* Local(const MS_MemRef& ref) const { return window_->Local(Shown(ref)); }
  bool is_opaque() const { return rules_.is_opaque; }

  // ---- Registered host memory ----
  // INVALID_ARGUMENT for what is not whole pages, or of which a part is registered already.
  ms::Status RegisterHost(void* address, uint64_t bytes);
  void UnregisterHost(void* address);
  uint64_t CountRegistered() const;

  uint64_t limit() const { return rules_.limit; }
  uint64_t FreeBytes() const;
  void FillStats(MS_MemStats* stats) const;

 private:
  Memory(const std::string& device, uint32_t ordinal, const Rules& rules,
         std::unique_ptr<AddressWindow> window);

  ms::Status AllocateDevice(uint64_t bytes, uint64_t alignment, void** out);
  ms::Status AllocateHost(uint64_t bytes, uint64_t alignment, void** out);
  // False when no such block is allocated.
  bool FreeDevice(void* base);
  bool FreeHost(void* base);
  void Poison(void* memory, uint64_t bytes) const;
  ms::Status ResolveHost(const MS_MemRef& ref, uint64_t bytes) const;

  const std::string device_;
  const uint32_t ordinal_;
  const Rules rules_;
  const std::unique_ptr<AddressWindow> window_;

  mutable std::mutex mutex_;  // guards the rest
  BlockList blocks_;
  std::map<void*, uint64_t> host_blocks_;    // sizes
  std::map<uint64_t, uint64_t> registered_;  // sizes by address
  uint64_t peak_ = 0;
  uint64_t num_allocs_ = 0;
  uint64_t largest_alloc_ = 0;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_MEMORY_H_
