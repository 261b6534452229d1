// The devices with memory of their own that all sessions of a task share: variables are there and
// outlive the sessions.
#ifndef MILLSTREAM_CORE_DEVICE_SHARED_DEVICES_H_
#define MILLSTREAM_CORE_DEVICE_SHARED_DEVICES_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/device/device.h"
#include "framework/build_turns.h"
#include "framework/plugin/loader.h"
#include "framework/status.h"

namespace millstream {

// A session that uses shared devices.
class DeviceUser {
 public:
  // Releases what is kept in a device's memory only to be used again. Any thread may call it.
  virtual void DropKeptMemory() = 0;

 protected:
  ~DeviceUser() = default;
};

// Opens each device when a session first wants it, and again for later sessions when it is lost.
// Closes all at the end of this object. Thread-safe. Must outlive what it has created, and all
// tensors in the memory of its devices.
class SharedDevices {
 public:
  // The device names begin with `task`.
  explicit SharedDevices(std::string task) : task_(std::move(task)) {}
  ~SharedDevices();
  SharedDevices(const SharedDevices&) = delete;
  SharedDevices& operator=(const SharedDevices&) = delete;

  // As CreateDevices, for one session: devices that work in host memory are its own, as are the
  // kernels on all of them.
  StatusOr<DeviceList> Create(const std::map<std::string, int>& counts) ABSL_LOCKS_EXCLUDED(mutex_);
  // Has the user release what it keeps, as long as it exists, when the memory of a device is
  // exhausted.
  void AddUser(std::weak_ptr<DeviceUser> user) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether one of the devices is lost, or was and has been opened again.
  bool HasLost() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Keeps a session whose steps have ended, because what they left at work on a device needs its
  // kernels. It is let go by a later call of LetGo, when that work is complete, or by Close.
  void KeepUntilIdle(std::shared_ptr<DeviceUser> user) ABSL_LOCKS_EXCLUDED(mutex_);
  void LetGo() ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets all go, and closes devices that still work for them, as those do that hang. REQUIRES: no
  // session uses the devices any more.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  StatusOr<std::unique_ptr<Device>> Open(const PluginDevice& device, const std::string& name)
      ABSL_LOCKS_EXCLUDED(mutex_);
  const Device* Find(const std::string& name) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Those of lost devices, too.
  std::vector<DeviceMemory*> Memories() const ABSL_LOCKS_EXCLUDED(mutex_);
  void Reclaim() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string task_;
  BuildTurns<std::string> turns_;
  mutable absl::Mutex mutex_;
  // By full name.
  std::map<std::string, std::unique_ptr<Device>> devices_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Device>> lost_ ABSL_GUARDED_BY(mutex_);  // which have others' tensors
  std::vector<std::weak_ptr<DeviceUser>> users_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<DeviceUser>> left_ ABSL_GUARDED_BY(mutex_);  // see KeepUntilIdle
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_SHARED_DEVICES_H_
