#include "device_plugins/sim/switches.h"

#include <charconv>
#include <deque>
#include <string>
#include <vector>

namespace millstream::sim {
namespace {

constexpr uint64_t kDefaultDevices = 1;
constexpr uint64_t kMostDevices = 16;
constexpr uint64_t kMostMegabytes = 64 * 1024;
// Nobody waits longer for a device that is merely slow.
constexpr uint64_t kMostMicroseconds = 10 * 1000 * 1000;
constexpr uint64_t kMostMegabytesPerSecond = 1000 * 1000;
constexpr uint64_t kMostCount = 1000 * 1000 * 1000;

constexpr char kDevices[] = "devices";
constexpr char kFailInit[] = "fail_init";

constexpr SwitchInfo kSwitches[] = {
    {"memory_mb", "How much device memory there is, in MiB.", &Switches::memory_mb, 1,
     kMostMegabytes, Counted::kNothing, false},
    {"pooled",
     "1: the device gives memory for each tensor by its streams, and the host does not pool.",
     &Switches::pooled, 0, 1, Counted::kNothing, false},
    {"opaque", "1: device memory is known by handles, and has no addresses.", &Switches::opaque, 0,
     1, Counted::kNothing, false},
    {"pinned", "0: there is no pinned memory, and memory of the host can be registered instead.",
     &Switches::pinned, 0, 1, Counted::kNothing, false},
    {"capture", "0: work cannot be recorded.", &Switches::capture, 0, 1, Counted::kNothing, true},
    {"follow", "0: recorded work cannot follow memory that moves.", &Switches::follow, 0, 1,
     Counted::kNothing, true},
    {"poison", "1: memory is filled with NaN when it is allocated and when it is freed.",
     &Switches::poison, 0, 1, Counted::kNothing, false},
    {"seed", "The seed of the random delays.", &Switches::seed, 0, UINT64_MAX, Counted::kNothing,
     false},
    {"delay_us", "The longest random delay before anything that a stream does, in microseconds.",
     &Switches::delay_us, 0, kMostMicroseconds, Counted::kNothing, true},
    {"latency_us", "What every copy and every piece of work takes at least, in microseconds.",
     &Switches::latency_us, 0, kMostMicroseconds, Counted::kNothing, true},
    {"copy_mb_per_s", "The bandwidth of copies, in 10^6 bytes a second; 0: as fast as it goes.",
     &Switches::copy_mb_per_s, 0, kMostMegabytesPerSecond, Counted::kNothing, true},
    {"speed_percent", "Work takes 100 / speed_percent times as long.", &Switches::speed_percent, 1,
     100, Counted::kNothing, true},
    {"peer", "0: there are no copies from or to other devices.", &Switches::peer, 0, 1,
     Counted::kNothing, true},
    {"fail_create", "1: the device cannot be created.", &Switches::fail_create, 0, 1,
     Counted::kNothing, false},
    {"fail_alloc", "The n-th allocation fails; 0: none.", &Switches::fail_alloc, 0, kMostCount,
     Counted::kAllocations, true},
    {"fail_copy", "The n-th copy is refused; 0: none.", &Switches::fail_copy, 0, kMostCount,
     Counted::kCopies, true},
    {"fail_work", "The n-th piece of work is refused; 0: none.", &Switches::fail_work, 0,
     kMostCount, Counted::kWork, true},
    {"fail_capture", "The n-th recording fails at its end; 0: none.", &Switches::fail_capture, 0,
     kMostCount, Counted::kRecordings, true},
    {"fail_replay", "The n-th replay of recorded work is refused; 0: none.", &Switches::fail_replay,
     0, kMostCount, Counted::kReplays, true},
    {"hang_copy", "The n-th copy never ends; 0: none.", &Switches::hang_copy, 0, kMostCount,
     Counted::kCopies, true},
    {"hang_work", "The n-th piece of work never ends; 0: none.", &Switches::hang_work, 0,
     kMostCount, Counted::kWork, true},
    {"lose_copy", "The device is lost in the middle of the n-th copy; 0: in none.",
     &Switches::lose_copy, 0, kMostCount, Counted::kCopies, true},
    {"lose_work", "The device is lost as the n-th piece of work begins; 0: in none.",
     &Switches::lose_work, 0, kMostCount, Counted::kWork, true},
    {"lost", "1: the device is lost at once.", &Switches::lost, 0, 1, Counted::kNothing, true},
    {"garbage_sizes", "1: sizes and statistics of memory are nonsense.", &Switches::garbage_sizes,
     0, 1, Counted::kNothing, true},
};

// What hosts are told. Texts live as long as the object, which stays where it is.
struct Option {
  Option(const char* name, const char* doc, uint64_t value, uint64_t least, uint64_t most,
         uint32_t flags)
      : default_value(std::to_string(value)),
        minimum(std::to_string(least)),
        maximum(std::to_string(most)) {
    description.head.size = sizeof(description);
    description.name = ms::ToAbi(std::string_view(name));
    description.doc = ms::ToAbi(std::string_view(doc));
    description.default_value = ms::ToAbi(default_value);
    description.minimum = ms::ToAbi(minimum);
    description.maximum = ms::ToAbi(maximum);
    description.kind = MS_OPTION_U64;
    description.flags = flags;
  }
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;

  const std::string default_value;
  const std::string minimum;
  const std::string maximum;
  MS_OptionDesc description{};
};

void FillSchema(const MS_Plugin*, const MS_OptionDesc* const** out, uint64_t* n) noexcept {
  static std::deque<Option> options;
  static const std::vector<const MS_OptionDesc*> descriptions = [] {
    options.emplace_back(kDevices, "How many ordinals there are.", kDefaultDevices, 0, kMostDevices,
                         0);
    options.emplace_back(kFailInit, "1: the plugin cannot be initialized.", 0, 0, 1, 0);
    const Switches defaults;
    for (const SwitchInfo& info : kSwitches) {
      options.emplace_back(info.name, info.doc, defaults.*info.value, info.least, info.most,
                           MS_OPTION_PER_DEVICE);
    }
    std::vector<const MS_OptionDesc*> pointers;
    for (const Option& option : options) pointers.push_back(&option.description);
    return pointers;
  }();
  *out = descriptions.data();
  *n = descriptions.size();
}

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

const MS_OptionsApi* OptionsTable() {
  static const MS_OptionsApi table = {{sizeof(MS_OptionsApi), 1, MS_ABI_MINOR, MS_OPTIONS_API},
                                      &FillSchema};
  return &table;
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
  uint64_t num_devices = kDefaultDevices;
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
