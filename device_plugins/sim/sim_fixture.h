// Simulated devices for tests, reached as a host reaches them: the plugin is loaded, and its tables
// are called.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_SIM_FIXTURE_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_SIM_FIXTURE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device_plugins/sim/control.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/loader.h"
#include "gtest/gtest.h"

namespace millstream {

// From the root of a copy of the repository.
inline constexpr char kSimPlugin[] = "device_plugins/sim/libmillstream_sim.so";
// So many devices the plugin has in these tests.
inline constexpr uint32_t kNumSims = 3;

// Numbers as options want them.
PluginOptions SimOptions(const std::map<std::string, uint64_t>& switches);

// One device with what was made of it, which goes with it. What is expected to succeed fails the
// test when it does not.
class SimDevice {
 public:
  explicit SimDevice(const std::map<std::string, uint64_t>& switches = {}, uint32_t ordinal = 0);
  ~SimDevice();
  SimDevice(const SimDevice&) = delete;
  SimDevice& operator=(const SimDevice&) = delete;

  // The error of a device that cannot be created.
  static Status CreationError(const PluginOptions& options, uint32_t ordinal = 0);

  // For a host's side that wants the whole of it.
  const OpenDevice& open() const { return open_; }
  static const MS_DeviceDesc& Description(uint32_t ordinal = 0);
  MS_Device* get() const { return open_.device; }
  const MS_DeviceApi* operator->() const { return open_.functions; }

  MS_MemRef Allocate(uint64_t bytes, uint32_t space = MS_SPACE_DEVICE, uint64_t alignment = 0);
  Status AllocationError(uint64_t bytes, uint64_t alignment = 0);
  // What Allocate gave may also be freed before the device goes.
  void Free(const MS_MemRef& ref);
  MS_MemStats Stats();
  // The n-th stream, created when it is first asked for.
  MS_Stream* stream(size_t n = 0);
  void DestroyStream(size_t n);
  // The same for events.
  MS_Event* event(size_t n = 0);

  // Copies of device memory, by a stream of their own.
  void Write(const MS_MemRef& to, const std::string& bytes);
  std::string Read(const MS_MemRef& from);

  Status Fill(const MS_MemRef& ref, uint32_t pattern, size_t stream_number = 0);
  Status Error() const { return TakeAbiStatus(open_.functions->device_error(open_.device)); }
  // Throws a switch.
  Status Set(const std::string& name, uint64_t value);
  // Returns once work of a device of that ordinal hangs.
  void AwaitHang() const;
  // How much of what is optional is used, of all devices of that ordinal.
  SIM_Uses Uses() const;

 private:
  const uint32_t ordinal_;
  OpenDevice open_;
  std::vector<MS_Stream*> streams_;
  std::vector<MS_Event*> events_;
  std::vector<MS_MemRef> blocks_;
};

// Of `bytes` at that place, for the tables.
MS_MemRef HostRef(void* base, uint64_t bytes);

// Fails the test unless the status is OK; frees it.
void ExpectOk(MS_Status* status);
// The code of a status, which is freed.
absl::StatusCode CodeOf(MS_Status* status);
bool IsDone(const SimDevice& device, MS_Event* event);

}  // namespace millstream

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_SIM_FIXTURE_H_
