// The regions of memory that an arena allocates from a plugin's device.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_REGIONS_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_REGIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/device/arena.h"
#include "framework/plugin/loader.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// Memory of a plugin's device as a source of regions.
class DeviceRegions final : public ArenaSource {
 public:
  // `space` is an MS_SPACE_*.
  DeviceRegions(const OpenDevice& device, uint32_t space, std::function<void()> update_progress,
                std::function<bool()> await_idle)
      : device_(device),
        space_(space),
        update_progress_(std::move(update_progress)),
        await_idle_(std::move(await_idle)) {}
  StatusOr<char*> AllocateRegion(size_t bytes) override ABSL_LOCKS_EXCLUDED(mutex_);
  void FreeRegion(char* region, size_t bytes) override ABSL_LOCKS_EXCLUDED(mutex_);
  void UpdateProgress() override { update_progress_(); }
  bool AwaitIdle() override { return await_idle_(); }

 private:
  const OpenDevice device_;
  const uint32_t space_;
  const std::function<void()> update_progress_;
  const std::function<bool()> await_idle_;
  absl::Mutex mutex_;
  std::map<char*, MS_MemRef> regions_ ABSL_GUARDED_BY(mutex_);  // as the plugin named them
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_REGIONS_H_
