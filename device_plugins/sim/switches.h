// The switches of simulated devices: how large and how fast they are, and what fails on purpose.
// docs/sim.md lists them for users; the table in switches.cc is what is parsed.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_SWITCHES_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_SWITCHES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin_entry.hpp"

namespace millstream::sim {

// Of one device. All are whole numbers; of those that count, n is the n-th from when it was set,
// and 0 none.
struct Switches {
  uint64_t memory_mb = 256;
  uint64_t pooled = 0;           // the plugin pools device memory, and the host does not
  uint64_t opaque = 0;           // device memory has handles and no addresses
  uint64_t pinned = 1;           // there is pinned memory; 0: host memory is registered instead
  uint64_t capture = 1;          // work can be recorded
  uint64_t follow = 1;           // recorded work follows memory that moves
  uint64_t poison = 1;           // memory is filled with NaN when it is allocated and when freed
  uint64_t seed = 0;             // of the delays
  uint64_t delay_us = 0;         // the longest random delay before anything on a stream
  uint64_t latency_us = 0;       // what every copy and every piece of work takes at least
  uint64_t copy_mb_per_s = 0;    // bandwidth of copies; 0: what the machine gives
  uint64_t speed_percent = 100;  // of work
  uint64_t peer = 1;             // it copies from and to other simulated devices
  uint64_t fail_create = 0;      // it cannot be created
  uint64_t fail_alloc = 0;       // the n-th allocation fails
  uint64_t fail_copy = 0;        // the n-th copy is refused
  uint64_t fail_work = 0;        // the n-th piece of work is refused
  uint64_t fail_capture = 0;     // the n-th recording fails at its end
  uint64_t fail_replay = 0;      // the n-th replay of recorded work is refused
  uint64_t hang_copy = 0;        // the n-th copy never begins
  uint64_t hang_work = 0;
  uint64_t lose_copy = 0;  // the device is lost in the middle of the n-th copy
  uint64_t lose_work = 0;  // the device is lost as the n-th piece of work begins
  uint64_t lost = 0;       // the device is lost at once
  uint64_t garbage_sizes = 0;
};

// What a switch that counts counts.
enum class Counted { kNothing, kAllocations, kCopies, kWork, kRecordings, kReplays };
inline constexpr size_t kNumCounted = 6;

struct SwitchInfo {
  const char* name;
  const char* doc;  // a sentence
  uint64_t Switches::*value;
  uint64_t least;
  uint64_t most;
  Counted counts;
  bool is_live;  // it may be set while the device exists
};

// Null for an unknown name.
const SwitchInfo* FindSwitch(std::string_view name);

// "ms.options/1": all options of the plugin.
const MS_OptionsApi* OptionsTable();

// Sets the switch of that name. INVALID_ARGUMENT for an unknown one, naming those there are, and
// for a value that is no whole number within its bounds.
ms::Status SetSwitch(std::string_view name, std::string_view value, Switches* switches);

// What the options of the plugin say: how many devices there are, and the switches of each.
class Settings {
 public:
  // One device with nothing special.
  Settings() : switches_(1) {}

  // Options are "devices", the switches for all devices, and "<switch>@<ordinal>" for one, which
  // goes before what is said for all. INVALID_ARGUMENT for any other; INTERNAL when the option
  // "fail_init" says so.
  static ms::Status Parse(const ms::PluginOptions& options, Settings* out);

  uint32_t num_devices() const { return static_cast<uint32_t>(switches_.size()); }
  // REQUIRES: ordinal < num_devices().
  const Switches& switches(uint32_t ordinal) const { return switches_[ordinal]; }

 private:
  std::vector<Switches> switches_;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_SWITCHES_H_
