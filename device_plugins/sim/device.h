// One simulated device.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_DEVICE_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_DEVICE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device_plugins/sim/memory.h"
#include "device_plugins/sim/stream.h"
#include "device_plugins/sim/switches.h"

namespace millstream::sim {

// The MS_Device of these tables. Thread-safe. What went wrong on purpose is said in its name: every
// message of a fault has the device's and the switch's.
//
// A device is lost when a switch says so, when work throws, or when somebody can wait no longer for
// work that hangs. Then everything that was enqueued and has not begun is left out, and everything
// that returns a status gives UNAVAILABLE; what waits does so only for what is just running, so
// that nothing touches memory afterwards. It stays lost.
class Device {
 public:
  // What the switches for faults say, and RESOURCE_EXHAUSTED when there is no memory for it.
  static ms::Status Create(uint32_t ordinal, const Switches& switches,
                           std::unique_ptr<Device>* out);
  // Streams that the host forgot are closed: their work is left out where it has not begun.
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Whether this is a device of this plugin, and exists.
  static bool Exists(const Device* device);
  static std::vector<Device*> AllOf(uint32_t ordinal);  // that exist

  const std::string& name() const { return name_; }  // "SIM:0"
  uint32_t ordinal() const { return ordinal_; }
  const std::shared_ptr<Memory>& memory() const { return memory_; }

  ms::Status Allocate(uint32_t space, uint64_t bytes, uint64_t alignment, MS_MemRef* out);
  ms::Status MemInfo(uint64_t* free_bytes, uint64_t* total_bytes) const;
  ms::Status MemStats(MS_MemStats* stats) const;

  // UNIMPLEMENTED for a role that is not known.
  ms::Status CreateStream(uint32_t role, Stream** out);
  // After all that was enqueued is done.
  void DestroyStream(Stream* stream);
  // Waits for what was enqueued on any stream.
  ms::Status Sync();
  // UNAVAILABLE once the device is lost.
  ms::Status Error() const;

  // Sets a switch of a device that exists. FAILED_PRECONDITION for one that only counts when it is
  // created. Work that hangs goes on when its switch is cleared.
  ms::Status Set(std::string_view name, std::string_view value);
  // How many of its streams hang at this moment.
  uint64_t CountHung() const;
  // Whether it copies from and to other devices.
  bool has_peers() const;

  // ---- For recorded work (graph.h) ----
  // UNIMPLEMENTED when the switch says that work cannot be recorded, or cannot follow memory.
  ms::Status AdmitCapture() const;
  ms::Status AdmitMoves() const;
  // Count, and give the fault that a switch says.
  ms::Status CountRecording();
  ms::Status CountReplay();
  void AddGraph() { ++num_graphs_; }
  void RemoveGraph() { --num_graphs_; }
  uint64_t num_replays() const;

  // What follows is for streams and events. REQUIRES: StateMutex() is held.
  bool lost() const { return lost_; }
  ms::Status LostStatus() const;
  const Switches& switches() const { return switches_; }
  // Counts the item, or gives the fault that a switch says.
  ms::Status Admit(Item* item);
  // Counts all of them, or after a fault none.
  ms::Status AdmitAll(std::vector<Item>* items);
  bool HangsAt(const Item& item) const;
  bool LosesAt(const Item& item) const;
  // Does nothing the second time.
  void Lose(const std::string& reason);

  // What an item takes that ran for `elapsed`.
  static std::chrono::nanoseconds ModelledTime(const Switches& switches, const Item& item,
                                               std::chrono::nanoseconds elapsed);

 private:
  Device(uint32_t ordinal, const Switches& switches);

  uint64_t& Count(Counted what) { return counts_[static_cast<size_t>(what)]; }
  uint64_t Count(Counted what) const { return counts_[static_cast<size_t>(what)]; }
  ms::Status Fault(MS_Code code, const char* what, uint64_t number, const char* name) const;
  std::vector<std::shared_ptr<Stream>> Streams() const;

  const uint32_t ordinal_;
  const std::string name_;
  std::shared_ptr<Memory> memory_;  // constant after Create
  std::atomic<uint64_t> num_graphs_{0};

  // Guarded by StateMutex().
  Switches switches_;
  std::array<uint64_t, kNumCounted> counts_ = {};
  std::vector<std::shared_ptr<Stream>> streams_;
  uint32_t num_streams_ = 0;  // that were ever created
  bool lost_ = false;
  std::string lost_reason_;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_DEVICE_H_
