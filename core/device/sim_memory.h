// The memory of a simulated device, for tests.
#ifndef MILLSTREAM_CORE_DEVICE_SIM_MEMORY_H_
#define MILLSTREAM_CORE_DEVICE_SIM_MEMORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "device_plugins/sim/sim_fixture.h"
#include "gmock/gmock.h"

namespace millstream {

// Changes functions of a device before a test uses them.
using ChangeFunctions = std::function<void(MS_DeviceApi*)>;

// Removes all optional functions of a device.
void RemoveOptionalFunctions(MS_DeviceApi* functions);

// One simulated device and its DeviceMemory. Functions without a Status fail the test on an error.
class SimMemory {
 public:
  explicit SimMemory(const std::map<std::string, uint64_t>& switches = {}, uint32_t ordinal = 0,
                     const ChangeFunctions& change = nullptr);
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;

  DeviceMemory* get() const { return memory_.get(); }
  DeviceMemory* operator->() const { return memory_.get(); }
  SimDevice& device() { return device_; }
  // The error, if get() is null.
  const Status& status() const { return status_; }

  // Sets a switch of docs/sim.md.
  void Set(const std::string& name, uint64_t value);
  // A tensor of words in the device's memory.
  Tensor Allocate(int64_t words);
  // Sets all words, on the compute stream.
  Status Fill(const Tensor& tensor, uint32_t word);
  Tensor Filled(int64_t words, uint32_t word);
  Tensor CopyToDevice(const Tensor& host);
  // Copies to the host, and waits.
  std::vector<uint32_t> Read(const Tensor& tensor);
  // Waits until all enqueued work is complete.
  void AwaitAll();

 private:
  SimDevice device_;
  MS_DeviceApi functions_;
  std::unique_ptr<DeviceMemory> memory_;
  Status status_;
};

// Matches `count` words that are all equal to `word`.
inline auto Words(size_t count, uint32_t word) {
  return ::testing::AllOf(::testing::SizeIs(count), ::testing::Each(word));
}
// A tensor in host memory whose words are all the same.
Tensor HostWords(int64_t words, uint32_t word);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_SIM_MEMORY_H_
