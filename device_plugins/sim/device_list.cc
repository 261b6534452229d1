#include "device_plugins/sim/device_list.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "device_plugins/sim/device_table.h"

namespace millstream::sim {
namespace {

// The kind of memory for DLPack: that of an extension (kDLExtDev).
constexpr uint32_t kDLPackExtension = 12;

// The description of one device, and what it points to.
struct Description {
  MS_SpaceDesc spaces[3];
  const MS_SpaceDesc* space_pointers[3];
  MS_DeviceDesc device;
};

struct State {
  Settings settings;
  std::vector<const Description*> devices;  // by ordinal
  // Every description that was ever given away; they stay where they are.
  std::deque<Description> descriptions;
};
State& TheState() {
  static auto* const state = new State();
  return *state;
}

uint64_t HostMemory() {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

MS_SpaceDesc DescribeSpace(uint32_t space, uint32_t flags, uint64_t max_alloc) {
  MS_SpaceDesc result{};
  result.head.size = sizeof(result);
  result.space = space;
  result.flags = flags;
  result.alignment = kAlignment;
  result.granularity = BlockList::kGranularity;
  result.max_alloc = max_alloc;
  result.mode = MS_ALLOC_RAW;
  return result;
}

void Describe(uint32_t ordinal, const Switches& switches, Description* out) {
  const uint64_t memory = switches.memory_mb << 20;
  const bool is_opaque = switches.opaque != 0;
  out->spaces[0] = DescribeSpace(
      MS_SPACE_DEVICE, MS_SPACE_DEVICE_VISIBLE | (is_opaque ? 0 : MS_SPACE_LINEAR), memory);
  if (switches.pooled != 0) out->spaces[0].mode = MS_ALLOC_POOLED;
  out->spaces[1] = DescribeSpace(
      MS_SPACE_HOST_PINNED,
      MS_SPACE_HOST_VISIBLE | MS_SPACE_DEVICE_VISIBLE | MS_SPACE_COHERENT | MS_SPACE_LINEAR,
      HostMemory());
  out->spaces[2] =
      DescribeSpace(MS_SPACE_HOST, MS_SPACE_HOST_VISIBLE | MS_SPACE_LINEAR, HostMemory());
  uint64_t n_spaces = 0;
  for (const MS_SpaceDesc& space : out->spaces) {
    if (space.space == MS_SPACE_HOST_PINNED && switches.pinned == 0) continue;
    out->space_pointers[n_spaces++] = &space;
  }
  MS_DeviceDesc& device = out->device;
  device = MS_DeviceDesc{};
  device.head.size = sizeof(device);
  device.device_type = ms::ToAbi(std::string_view("SIM"));
  device.name = ms::ToAbi(std::string_view("Simulated device"));
  device.vendor = ms::ToAbi(std::string_view("Millstream"));
  device.arch = ms::ToAbi(std::string_view("threads"));
  device.ordinal = ordinal;
  device.numa = -1;
  device.mem_total = memory;
  // Not MS_DEVICE_OPEN: kernels of others do not know where its memory can be touched.
  device.flags = is_opaque ? 0 : MS_DEVICE_LINEAR_POINTERS;
  device.spaces = out->space_pointers;
  device.n_spaces = n_spaces;
  device.dlpack_device_type = is_opaque ? 0 : kDLPackExtension;
}

MS_Status* Enumerate(const MS_Plugin*, const MS_DeviceDesc** out, uint64_t* n,
                     MS_Str* reason) noexcept {
  const std::vector<const Description*>& devices = TheState().devices;
  for (uint64_t i = 0; i < std::min<uint64_t>(*n, devices.size()); ++i) {
    out[i] = &devices[i]->device;
  }
  *n = devices.size();
  if (devices.empty()) *reason = ms::ToAbi(std::string_view("option devices is 0"));
  return nullptr;
}

// `options` are switches of this one device.
MS_Status* Create(const MS_Plugin*, uint32_t ordinal, const MS_KV* options, uint64_t n_options,
                  MS_Device** out) noexcept {
  return ms::Guarded([&]() -> ms::Status {
    const Settings& settings = TheState().settings;
    if (ordinal >= settings.num_devices()) {
      return ms::InvalidArgument("there are ", settings.num_devices(), " simulated devices, asked ",
                                 "was ordinal ", ordinal);
    }
    Switches switches = settings.switches(ordinal);
    for (uint64_t i = 0; i < n_options; ++i) {
      MS_TRY(SetSwitch(ms::ToView(options[i].key), ms::ToView(options[i].value), &switches));
    }
    std::unique_ptr<Device> device;
    MS_TRY(Device::Create(ordinal, switches, &device));
    *out = Wrap(device.release());
    return ms::Status();
  });
}

void Destroy(MS_Device* device) noexcept { delete Unwrap(device); }

const MS_DeviceApi* Functions(MS_Device*) noexcept { return DeviceTable(); }

}  // namespace

void SetSettings(Settings settings) {
  State& state = TheState();
  state.settings = std::move(settings);
  state.devices.clear();
  for (uint32_t ordinal = 0; ordinal < state.settings.num_devices(); ++ordinal) {
    state.descriptions.emplace_back();
    Describe(ordinal, state.settings.switches(ordinal), &state.descriptions.back());
    state.devices.push_back(&state.descriptions.back());
  }
}

const MS_DevicesApi* DevicesTable() {
  static const MS_DevicesApi table = {{sizeof(MS_DevicesApi), 1, MS_ABI_MINOR, MS_DEVICES_API},
                                      &Enumerate,
                                      &Create,
                                      &Destroy,
                                      &Functions};
  return &table;
}

}  // namespace millstream::sim
