#include "device_plugins/sim/switches.h"

#include <charconv>
#include <string>

namespace millstream::sim {
namespace {

constexpr uint64_t kMostDevices = 16;
constexpr uint64_t kMostMegabytes = 64 * 1024;
// Nobody waits longer for a device that is merely slow.
constexpr uint64_t kMostMicroseconds = 10 * 1000 * 1000;
constexpr uint64_t kMostMegabytesPerSecond = 1000 * 1000;
constexpr uint64_t kMostCount = 1000 * 1000 * 1000;

constexpr char kDevices[] = "devices";
constexpr char kFailInit[] = "fail_init";

constexpr SwitchInfo kSwitches[] = {
    {"memory_mb", &Switches::memory_mb, 1, kMostMegabytes, Counted::kNothing, false},
    {"poison", &Switches::poison, 0, 1, Counted::kNothing, false},
    {"seed", &Switches::seed, 0, UINT64_MAX, Counted::kNothing, false},
    {"delay_us", &Switches::delay_us, 0, kMostMicroseconds, Counted::kNothing, true},
    {"latency_us", &Switches::latency_us, 0, kMostMicroseconds, Counted::kNothing, true},
    {"copy_mb_per_s", &Switches::copy_mb_per_s, 0, kMostMegabytesPerSecond, Counted::kNothing,
     true},
    {"speed_percent", &Switches::speed_percent, 1, 100, Counted::kNothing, true},
    {"peer", &Switches::peer, 0, 1, Counted::kNothing, true},
    {"fail_create", &Switches::fail_create, 0, 1, Counted::kNothing, false},
    {"fail_alloc", &Switches::fail_alloc, 0, kMostCount, Counted::kAllocations, true},
    {"fail_copy", &Switches::fail_copy, 0, kMostCount, Counted::kCopies, true},
    {"fail_work", &Switches::fail_work, 0, kMostCount, Counted::kWork, true},
    {"hang_copy", &Switches::hang_copy, 0, kMostCount, Counted::kCopies, true},
    {"hang_work", &Switches::hang_work, 0, kMostCount, Counted::kWork, true},
    {"lose_copy", &Switches::lose_copy, 0, kMostCount, Counted::kCopies, true},
    {"lose_work", &Switches::lose_work, 0, kMostCount, Counted::kWork, true},
    {"lost", &Switches::lost, 0, 1, Counted::kNothing, true},
    {"garbage_sizes", &Switches::garbage_sizes, 0, 1, Counted::kNothing, true},
};

std::string SwitchNames() {
  std::string names;
  for (const SwitchInfo& info : kSwitches) {
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  return names;
}

ms::Status ParseNumber(std::string_view name, std::string_view text, uint64_t least, uint64_t most,
                       uint64_t* out) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < least || value > most) {
    return ms::InvalidArgument("option ", name, " must be a whole number in [", least, ", ", most,
                               "], got \"", text, "\"");
  }
  *out = value;
  return ms::Status();
}

ms::Status UnknownOption(std::string_view name) {
  return ms::InvalidArgument("unknown option \"", name, "\": known are ", kDevices, ", ", kFailInit,
                             ", ", SwitchNames(),
                             ", and each of them but the first two with @<ordinal>");
}

// "<switch>@<ordinal>" and the value.
ms::Status SetOfOne(std::string_view name, std::string_view value,
                    std::vector<Switches>* switches) {
  const size_t at = name.find('@');
  uint64_t ordinal = 0;
  MS_TRY(ParseNumber(name, name.substr(at + 1), 0, switches->size() - 1, &ordinal));
  if (FindSwitch(name.substr(0, at)) == nullptr) return UnknownOption(name);
  return SetSwitch(name.substr(0, at), value, &(*switches)[ordinal]);
}

}  // namespace

const SwitchInfo* FindSwitch(std::string_view name) {
  for (const SwitchInfo& info : kSwitches) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

ms::Status SetSwitch(std::string_view name, std::string_view value, Switches* switches) {
  const SwitchInfo* const info = FindSwitch(name);
  if (info == nullptr) {
    return ms::InvalidArgument("unknown option \"", name, "\" of a device: known are ",
                               SwitchNames());
  }
  return ParseNumber(name, value, info->least, info->most, &(switches->*info->value));
}

ms::Status Settings::Parse(const ms::PluginOptions& options, Settings* out) {
  uint64_t num_devices = 1;
  uint64_t fail_init = 0;
  Switches common;
  for (const auto& [name, value] : options) {
    if (name == kDevices) {
      MS_TRY(ParseNumber(name, value, 0, kMostDevices, &num_devices));
    } else if (name == kFailInit) {
      MS_TRY(ParseNumber(name, value, 0, 1, &fail_init));
    } else if (name.find('@') == std::string_view::npos) {
      if (FindSwitch(name) == nullptr) return UnknownOption(name);
      MS_TRY(SetSwitch(name, value, &common));
    }
  }
  std::vector<Switches> switches(num_devices, common);
  for (const auto& [name, value] : options) {
    if (name.find('@') == std::string_view::npos) continue;
    if (switches.empty()) return ms::InvalidArgument("option ", name, ": there are no devices");
    MS_TRY(SetOfOne(name, value, &switches));
  }
  if (fail_init != 0) return ms::Internal("init fails: option ", kFailInit);
  out->switches_ = std::move(switches);
  return ms::Status();
}

}  // namespace millstream::sim
