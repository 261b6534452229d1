#include "device_plugins/sim/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "device_plugins/sim/log.h"

namespace millstream::sim {
namespace {

// What an address belongs to. Lives for ever: devices may be there when the process ends.
struct Windows {
  std::mutex mutex;  // guards the rest
  std::map<uint64_t, std::weak_ptr<Memory>> by_begin;
};
Windows& AllWindows() {
  static auto* const windows = new Windows();
  return *windows;
}

// The handle of a block is the address where it is shown, with these bits: no address that a
// processor knows. Whoever adds to it gets a number that is the handle of no block.
constexpr uint64_t kHandleBits = (uint64_t{1} << 62) | 1;

void* HandleOf(uint64_t begin) { return reinterpret_cast<void*>(begin | kHandleBits); }
bool IsHandle(const void* base) {
  return (reinterpret_cast<uint64_t>(base) & kHandleBits) == kHandleBits;
}
uint64_t BeginOf(const void* handle) { return reinterpret_cast<uint64_t>(handle) & ~kHandleBits; }

}  // namespace

ms::Status Memory::Create(const std::string& device, uint32_t ordinal, const Rules& rules,
                          std::shared_ptr<Memory>* out) {
  std::unique_ptr<AddressWindow> window;
  MS_TRY(AddressWindow::Create(rules.limit, &window));
  const uint64_t begin = window->shown_begin();
  out->reset(new Memory(device, ordinal, rules, std::move(window)));
  const std::lock_guard<std::mutex> lock(AllWindows().mutex);
  AllWindows().by_begin[begin] = *out;
  return ms::Status();
}

Memory::Memory(const std::string& device, uint32_t ordinal, const Rules& rules,
               std::unique_ptr<AddressWindow> window)
    : device_(device),
      ordinal_(ordinal),
      rules_(rules),
      window_(std::move(window)),
      blocks_(window_->shown_begin(), rules.limit) {}

Memory::~Memory() {
  {
    const std::lock_guard<std::mutex> lock(AllWindows().mutex);
    AllWindows().by_begin.erase(window_->shown_begin());
  }
  const uint64_t left = blocks_.num_taken() + host_blocks_.size() + registered_.size();
  if (left != 0) Warn(ms::StrCat(device_, ": ", left, " blocks of memory were never freed"));
  for (const auto& [base, size] : host_blocks_) std::free(base);
}

std::shared_ptr<Memory> Memory::Showing(const void* address) {
  const std::lock_guard<std::mutex> lock(AllWindows().mutex);
  const auto& windows = AllWindows().by_begin;
  const auto next = windows.upper_bound(reinterpret_cast<uint64_t>(address));
  if (next == windows.begin()) return nullptr;
  std::shared_ptr<Memory> memory = std::prev(next)->second.lock();
  return memory != nullptr && memory->window().Shows(address) ? memory : nullptr;
}

std::shared_ptr<Memory> Memory::OfBase(const void* base) {
  if (!IsHandle(base)) return Showing(base);
  return Showing(reinterpret_cast<const void*>(BeginOf(base)));
}

char* Memory::Shown(const MS_MemRef& ref) const {
  if (!rules_.is_opaque || ref.space != MS_SPACE_DEVICE || ref.base == nullptr) {
    return static_cast<char*>(ref.base) + ref.offset;
  }
  if (!IsHandle(ref.base)) return nullptr;
  const uint64_t begin = BeginOf(ref.base);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ref.offset > blocks_.SizeAt(begin)) return nullptr;
  return reinterpret_cast<char*>(begin + ref.offset);
}

// ---- Allocation ---------------------------------------------------------------------------------

ms::Status Memory::Allocate(uint32_t space, uint64_t bytes, uint64_t alignment, MS_MemRef* out) {
  if (space > MS_SPACE_HOST) {
    return ms::Unimplemented(device_, " has no memory of space ", space);
  }
  if ((alignment & (alignment - 1)) != 0) {
    return ms::InvalidArgument(device_, ": alignment ", alignment, " is not a power of two");
  }
  *out = MS_MemRef{nullptr, 0, bytes, space, ordinal_};
  if (bytes == 0) return ms::Status();
  if (space == MS_SPACE_DEVICE) return AllocateDevice(bytes, alignment, &out->base);
  return AllocateHost(bytes, alignment, &out->base);
}

ms::Status Memory::AllocateDevice(uint64_t bytes, uint64_t alignment, void** out) {
  void* shown = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::optional<uint64_t> begin = blocks_.Take(bytes, alignment);
    if (!begin.has_value()) {
      return ms::Status(
          MS_RESOURCE_EXHAUSTED,
          ms::StrCat(device_, ": no ", bytes, " bytes of device memory: ", rules_.limit,
                     " there are, ", blocks_.taken_bytes(),
                     " are in use, the largest free block has ", blocks_.largest_free()));
    }
    shown = reinterpret_cast<void*>(*begin);
    *out = rules_.is_opaque ? HandleOf(*begin) : shown;
    peak_ = std::max(peak_, blocks_.taken_bytes());
    ++num_allocs_;
    largest_alloc_ = std::max(largest_alloc_, bytes);
  }
  Poison(window_->Local(shown), bytes);
  return ms::Status();
}

ms::Status Memory::AllocateHost(uint64_t bytes, uint64_t alignment, void** out) {
  const uint64_t granule = std::max(alignment, kAlignment);
  // So large that rounding up wraps around.
  if (bytes + granule - 1 >= bytes) {
    *out = std::aligned_alloc(granule, (bytes + granule - 1) / granule * granule);
  }
  if (*out == nullptr) {
    return ms::Status(MS_RESOURCE_EXHAUSTED,
                      ms::StrCat(device_, ": no ", bytes, " bytes of host memory"));
  }
  Poison(*out, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  host_blocks_[*out] = bytes;
  return ms::Status();
}

void Memory::Free(const MS_MemRef& ref) {
  if (ref.base == nullptr) return;
  const bool found = ref.space == MS_SPACE_DEVICE ? FreeDevice(ref.base) : FreeHost(ref.base);
  if (!found) {
    Warn(ms::StrCat(device_, ": nothing is allocated at ", ref.base, ", space ", ref.space,
                    ", that could be freed"));
  }
}

bool Memory::FreeDevice(void* base) {
  if (rules_.is_opaque != IsHandle(base)) return false;
  const uint64_t begin = rules_.is_opaque ? BeginOf(base) : reinterpret_cast<uint64_t>(base);
  uint64_t size = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    size = blocks_.SizeAt(begin);
  }
  if (size == 0) return false;
  // Before somebody else gets it.
  Poison(window_->Local(reinterpret_cast<void*>(begin)), size);
  const std::lock_guard<std::mutex> lock(mutex_);
  return blocks_.Give(begin);
}

bool Memory::FreeHost(void* base) {
  uint64_t size = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto block = host_blocks_.find(base);
    if (block == host_blocks_.end()) return false;
    size = block->second;
    host_blocks_.erase(block);
  }
  Poison(base, size);
  std::free(base);
  return true;
}

void Memory::Poison(void* memory, uint64_t bytes) const {
  if (rules_.poison) std::memset(memory, kPoison, bytes);
}

// ---- Access -------------------------------------------------------------------------------------

ms::Status Memory::Resolve(const MS_MemRef& ref, uint64_t bytes, char** out) const {
  if (ref.space > MS_SPACE_HOST) {
    return ms::Unimplemented(device_, " has no memory of space ", ref.space);
  }
  if (bytes > ref.bytes) {
    return ms::InvalidArgument(device_, ": ", bytes, " bytes of a block of ", ref.bytes);
  }
  char* const address = Shown(ref);
  *out = window_->Local(address);
  if (ref.space != MS_SPACE_DEVICE) return ResolveHost(ref, bytes);
  if (address == nullptr && bytes != 0) {
    return ms::InvalidArgument(device_, ": ", ref.base, " is the handle of no block");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (blocks_.Covers(reinterpret_cast<uint64_t>(address), bytes)) return ms::Status();
  return ms::InvalidArgument(device_, ": the ", bytes, " bytes at ", static_cast<void*>(address),
                             " are not in one block of its memory");
}

ms::Status Memory::ResolveHost(const MS_MemRef& ref, uint64_t bytes) const {
  char* const address = Shown(ref);
  if (OfBase(address) != nullptr) {
    return ms::InvalidArgument(device_, ": ", static_cast<void*>(address),
                               " is said to be host memory, and is memory of a device");
  }
  if (ref.space == MS_SPACE_HOST || rules_.has_pinned) return ms::Status();
  const auto begin = reinterpret_cast<uint64_t>(address);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto next = registered_.upper_bound(begin);
  if (next != registered_.begin()) {
    const auto& [first, size] = *std::prev(next);
    if (begin - first + bytes <= size) return ms::Status();
  }
  return ms::InvalidArgument(device_, ": ", static_cast<void*>(address),
                             " is said to be pinned memory, and is not registered");
}

// ---- Registered host memory ---------------------------------------------------------------------

ms::Status Memory::RegisterHost(void* address, uint64_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(address);
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes == 0 || begin % page != 0 || bytes % page != 0) {
    return ms::InvalidArgument(device_, ": the ", bytes, " bytes at ", address,
                               " are not whole pages");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto next = registered_.lower_bound(begin);
  bool is_apart = next == registered_.end() || next->first - begin >= bytes;
  if (next != registered_.begin()) {
    const auto& [other, size] = *std::prev(next);
    is_apart &= begin - other >= size;
  }
  if (!is_apart) {
    return ms::InvalidArgument(device_, ": of the ", bytes, " bytes at ", address,
                               " some are registered already");
  }
  registered_.emplace(begin, bytes);
  return ms::Status();
}

void Memory::UnregisterHost(void* address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (registered_.erase(reinterpret_cast<uint64_t>(address)) != 0) return;
  Warn(ms::StrCat(device_, ": ", address, " is not registered"));
}

uint64_t Memory::CountRegistered() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return registered_.size();
}

// ---- Numbers ------------------------------------------------------------------------------------

uint64_t Memory::FreeBytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return rules_.limit - blocks_.taken_bytes();
}

void Memory::FillStats(MS_MemStats* stats) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  stats->in_use = blocks_.taken_bytes();
  stats->peak = peak_;
  stats->limit = rules_.limit;
  stats->num_allocs = num_allocs_;
  stats->largest_alloc = largest_alloc_;
  stats->largest_free = blocks_.largest_free();
  // All of them but reserved and peak_reserved.
  stats->valid_mask = 1u | 2u | 16u | 32u | 64u | 128u;
}

}  // namespace millstream::sim
