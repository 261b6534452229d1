#include "core/device/shared_devices.h"

#include <algorithm>

namespace millstream {

// What one has for its copies may be memory of another, so all are closed before the first one
// goes.
SharedDevices::~SharedDevices() {
  for (DeviceMemory* const memory : Memories()) memory->Close();
}

StatusOr<DeviceList> SharedDevices::Create(const std::map<std::string, int>& counts) {
  const auto open = [this](const PluginDevice& device, const std::string& name) {
    return Open(device, name);
  };
  return CreateDevices(counts, task_, open);
}

const Device* SharedDevices::Find(const std::string& name) const {
  absl::MutexLock lock(&mutex_);
  const auto found = devices_.find(name);
  return found == devices_.end() ? nullptr : found->second.get();
}

// No lock is held while the plugin opens a device.
StatusOr<std::unique_ptr<Device>> SharedDevices::Open(const PluginDevice& device,
                                                      const std::string& name) {
  const BuildTurns<std::string>::Turn turn(&turns_, name);
  const Device* const shared = Find(name);
  if (shared != nullptr && shared->memory()->LostError().ok()) {
    return std::make_unique<Device>(shared);
  }
  MS_ASSIGN_OR_RETURN(std::unique_ptr<Device> opened, OpenLogicalDevice(device, name));
  if (opened->memory() == nullptr) return opened;
  opened->memory()->SetReclaimer([this] { Reclaim(); });
  auto own = std::make_unique<Device>(opened.get());
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<Device>& place = devices_[name];
  if (place != nullptr) lost_.push_back(std::move(place));
  place = std::move(opened);
  return own;
}

void SharedDevices::AddUser(std::weak_ptr<DeviceUser> user) {
  absl::MutexLock lock(&mutex_);
  const auto is_gone = [](const std::weak_ptr<DeviceUser>& one) { return one.expired(); };
  users_.erase(std::remove_if(users_.begin(), users_.end(), is_gone), users_.end());
  users_.push_back(std::move(user));
}

void SharedDevices::Reclaim() {
  std::vector<std::weak_ptr<DeviceUser>> users;
  {
    absl::MutexLock lock(&mutex_);
    users = users_;
  }
  for (const std::weak_ptr<DeviceUser>& one : users) {
    if (const std::shared_ptr<DeviceUser> user = one.lock()) user->DropKeptMemory();
  }
}

std::vector<DeviceMemory*> SharedDevices::Memories() const {
  std::vector<DeviceMemory*> memories;
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, device] : devices_) memories.push_back(device->memory());
  for (const auto& device : lost_) memories.push_back(device->memory());
  return memories;
}

bool SharedDevices::HasLost() const {
  const std::vector<DeviceMemory*> memories = Memories();
  return std::any_of(memories.begin(), memories.end(),
                     [](const DeviceMemory* memory) { return !memory->LostError().ok(); });
}

void SharedDevices::KeepUntilIdle(std::shared_ptr<DeviceUser> user) {
  absl::MutexLock lock(&mutex_);
  left_.push_back(std::move(user));
}

// Those that come meanwhile, whose work the look may not see, go the next time.
void SharedDevices::LetGo() {
  std::vector<std::shared_ptr<DeviceUser>> users;  // destroyed without the lock
  {
    absl::MutexLock lock(&mutex_);
    users.swap(left_);
  }
  if (users.empty()) return;
  bool all_idle = true;
  for (DeviceMemory* const memory : Memories()) all_idle &= memory->ForgetAbandonedOrLost();
  if (all_idle) return;
  absl::MutexLock lock(&mutex_);
  left_.insert(left_.end(), users.begin(), users.end());
}

void SharedDevices::Close() {
  LetGo();
  std::vector<std::shared_ptr<DeviceUser>> users;  // destroyed without the lock
  {
    absl::MutexLock lock(&mutex_);
    users.swap(left_);
  }
  if (users.empty()) return;
  for (DeviceMemory* const memory : Memories()) {
    if (!memory->ForgetAbandonedOrLost()) memory->Close();
  }
}

}  // namespace millstream
