#include "core/device/device.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "framework/plugin/host_status.h"

namespace millstream {
namespace {

// The one place that names it: elsewhere DeviceTraits are asked.
constexpr char kDefaultType[] = "CPU";
// More of one type are a mistake, and would take the memory of a large graph each.
constexpr int kMostOfAType = 1024;

// Logical devices of `type`, of which the hardware has `found`. Only the default type may be split
// into more than there are: its devices share the host's memory.
int NumberOf(const std::string& type, int found, const std::map<std::string, int>& counts) {
  auto wanted = counts.find(type);
  if (wanted == counts.end()) return found;
  return type == kDefaultType ? std::max(wanted->second, 1) : std::min(wanted->second, found);
}

Status CheckCounts(const std::map<std::string, int>& counts) {
  for (const auto& [type, count] : counts) {
    if (count >= 0 && count <= kMostOfAType) continue;
    return errors::InvalidArgument("device_count of ", type, " must be in [0, ", kMostOfAType,
                                   "], got ", count);
  }
  return absl::OkStatus();
}

// A random one: the process that had the name before may have been another.
int64_t NewIncarnation() {
  std::random_device random;
  const uint64_t number = (static_cast<uint64_t>(random()) << 32) | random();
  return static_cast<int64_t>(number >> 1) | 1;
}

DeviceDescription DescriptionOf(std::string name, const OpenDevice& open, bool host_memory) {
  DeviceDescription description(std::move(name), DeviceTraits());
  description.traits.host_memory = host_memory;
  description.traits.runs_on_callers_thread = host_memory;
  description.traits.is_default = description.type() == kDefaultType;
  description.incarnation = NewIncarnation();
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  if (MS_Status* failed = open.functions->mem_info(open.device, &free_bytes, &total_bytes)) {
    TakeAbiStatus(failed).IgnoreError();
  } else {
    description.memory_limit = static_cast<int64_t>(total_bytes);
  }
  return description;
}

}  // namespace

Device::Device(std::string name, OpenDevice open, uint32_t ordinal,
               std::unique_ptr<DeviceMemory> memory)
    : owner_(std::make_unique<Owner>(open)),
      own_memory_(std::move(memory)),
      memory_(own_memory_.get()),
      description_(DescriptionOf(std::move(name), open, memory_ == nullptr)),
      kernels_(type(), this->name(), memory_ != nullptr ? &memory_->context() : &owner_->context) {
  if (memory_ == nullptr) owner_->MakeContext(ordinal);
}

Device::Device(const Device* shared)
    : memory_(shared->memory()),
      description_(shared->description()),
      kernels_(type(), name(), &memory_->context()) {}

// A device that has no stream is left without one: its kernels do without.
void Device::Owner::MakeContext(uint32_t ordinal) {
  context.device = open.device;
  context.device_ordinal = ordinal;
  MS_Status* const failed =
      open.functions->stream_create(open.device, MS_STREAM_COMPUTE, 0, &context.stream);
  if (failed != nullptr) {
    TakeAbiStatus(failed).IgnoreError();
    context.stream = nullptr;
  }
  if (context.stream != nullptr) {
    context.stream_native = open.functions->stream_native(context.stream);
  }
}

Device::Owner::~Owner() {
  if (context.stream != nullptr) open.functions->stream_destroy(context.stream);
  PluginLoader::DestroyDevice(open);
}

Device::~Device() {
  if (own_memory_ != nullptr) own_memory_->Close();
}

StatusOr<std::unique_ptr<Device>> OpenLogicalDevice(const PluginDevice& device,
                                                    const std::string& name) {
  MS_ASSIGN_OR_RETURN(const OpenDevice open, PluginLoader::CreateDevice(device));
  StatusOr<std::unique_ptr<DeviceMemory>> memory =
      DeviceMemory::Create(open, name, *device.description);
  if (!memory.ok()) {
    PluginLoader::DestroyDevice(open);
    return memory.status();
  }
  return std::make_unique<Device>(name, open, device.description->ordinal, *std::move(memory));
}

StatusOr<DeviceList> CreateDevices(const std::map<std::string, int>& counts,
                                   absl::string_view task) {
  return CreateDevices(counts, task, &OpenLogicalDevice);
}

StatusOr<DeviceList> CreateDevices(const std::map<std::string, int>& counts, absl::string_view task,
                                   DeviceOpener open) {
  MS_RETURN_IF_ERROR(CheckCounts(counts));
  PluginLoader* const loader = PluginLoader::Global();
  std::map<std::string, std::vector<PluginDevice>> found;
  std::vector<std::string> types;
  for (const PluginDevice& device : loader->Devices()) {
    const std::string type = absl::AsciiStrToUpper(device.type());
    std::vector<PluginDevice>& same = found[type];
    if (same.empty()) types.push_back(type);
    same.push_back(device);
  }
  if (found.find(kDefaultType) == found.end()) {
    return errors::NotFound("no device of type ", kDefaultType, " was found. ",
                            loader->FailureReasons());
  }
  DeviceList devices;
  for (const std::string& type : types) {
    const std::vector<PluginDevice>& same = found[type];
    const int count = NumberOf(type, static_cast<int>(same.size()), counts);
    for (int i = 0; i < count; ++i) {
      const PluginDevice& device = same[i % same.size()];
      StatusOr<std::unique_ptr<Device>> opened =
          open(device, absl::StrCat(task, "/device:", type, ":", i));
      if (opened.ok()) {
        devices.push_back(*std::move(opened));
        continue;
      }
      // The session works without this device. Requests for it get the recorded reason.
      if (type == kDefaultType) return opened.status();
      loader->RecordDeviceError(device, opened.status());
    }
  }
  return devices;
}

DeviceSet Describe(const DeviceList& devices) {
  DeviceSet set;
  for (const std::unique_ptr<Device>& device : devices) set.Add(device->description());
  for (int to = 0; to < set.size(); ++to) {
    if (devices[to]->memory() == nullptr) continue;
    for (int from = 0; from < set.size(); ++from) {
      const DeviceMemory* const memory = devices[from]->memory();
      if (memory == nullptr || from == to) continue;
      if (devices[to]->memory()->CanCopyFrom(*memory)) set.AddPeers(from, to);
    }
  }
  return set;
}

std::vector<Device*> FindOwn(const DeviceSet& all, const DeviceList& own) {
  std::vector<Device*> found(all.size());
  for (const std::unique_ptr<Device>& device : own) {
    const int i = all.Find(device->name());
    if (i >= 0) found[i] = device.get();
  }
  return found;
}

}  // namespace millstream
