// The regions of memory that an arena allocates from a plugin's device.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_REGIONS_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_REGIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/device/arena.h"
#include "framework/plugin/loader.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// Memory of a plugin's device as a source of regions. INTERNAL, with plugin and device, for a piece
// that is too small, misaligned, or overlaps one that the plugin gave before and did not get back:
// two tensors in one place would be wrong numbers, and no error.
//
// Pieces of opaque memory have no addresses. The arena knows them by numbers that are made up here,
// and that only PlaceOf understands.
class DeviceRegions final : public ArenaSource {
 public:
  // `name` is the device's, for messages; `space` is an MS_SPACE_*.
  DeviceRegions(const OpenDevice& device, std::string name, uint32_t space, bool is_opaque,
                uint32_t ordinal, size_t alignment, std::function<void()> update_progress,
                std::function<bool()> await_idle)
      : device_(device),
        name_(std::move(name)),
        space_(space),
        is_opaque_(is_opaque),
        ordinal_(ordinal),
        alignment_(alignment),
        update_progress_(std::move(update_progress)),
        await_idle_(std::move(await_idle)),
        next_number_(alignment) {}
  StatusOr<char*> AllocateRegion(size_t bytes) override ABSL_LOCKS_EXCLUDED(mutex_);
  void FreeRegion(char* region, size_t bytes) override ABSL_LOCKS_EXCLUDED(mutex_);
  void UpdateProgress() override { update_progress_(); }
  bool AwaitIdle() override { return await_idle_(); }
  // The place of the arena's block of `bytes` at `address`, as the plugin understands it.
  MS_MemRef PlaceOf(char* address, size_t bytes) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A piece as the plugin named it, and as many bytes of it as the arena has.
  struct Region {
    MS_MemRef ref;
    size_t bytes;
  };
  using Regions = std::map<uintptr_t, Region>;

  Status CheckPiece(const MS_MemRef& ref, size_t bytes) const;
  StatusOr<char*> Keep(const MS_MemRef& ref, size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  uintptr_t NewNumber(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const Region* FindOverlap(const MS_MemRef& ref, size_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const OpenDevice device_;
  const std::string name_;
  const uint32_t space_;
  const bool is_opaque_;
  const uint32_t ordinal_;
  const size_t alignment_;
  const std::function<void()> update_progress_;
  const std::function<bool()> await_idle_;
  mutable absl::Mutex mutex_;
  uintptr_t next_number_ ABSL_GUARDED_BY(mutex_);
  Regions regions_ ABSL_GUARDED_BY(mutex_);  // by address, or by number
};

// Pinned memory of a device that cannot allocate such memory but takes the host's
// (ms.device/1.host_register): each region is memory of the host that is registered.
class RegisteredRegions final : public ArenaSource {
 public:
  RegisteredRegions(const OpenDevice& device, std::function<void()> update_progress)
      : device_(device), update_progress_(std::move(update_progress)) {}
  StatusOr<char*> AllocateRegion(size_t bytes) override;
  void FreeRegion(char* region, size_t bytes) override;
  void UpdateProgress() override { update_progress_(); }
  bool AwaitIdle() override { return false; }

 private:
  const OpenDevice device_;
  const std::function<void()> update_progress_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_REGIONS_H_
