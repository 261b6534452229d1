// A simulated device for KernelTester: a test of kernels that is linked with this runs all of them
// on it as well.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_KERNEL_TEST_DEVICE_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_KERNEL_TEST_DEVICE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "device_plugins/sim/device.h"
#include "kernels/testing/fake_host.h"

namespace millstream::sim {

// One device with one stream, and random delays.
class SimTestDevice : public kernels::testing::TestDevice, public kernels::testing::BufferMemory {
 public:
  static SimTestDevice* Get();
  ~SimTestDevice() override;

  Device* device() const { return device_.get(); }
  Stream* stream() const { return stream_; }

  const MS_KernelDef* Adapt(const MS_KernelDef& cpu) override;
  BufferMemory* memory() override { return this; }
  std::vector<bool> InputsInHost(const MS_KernelInfo& info, const MS_KernelDef& kernel) override;
  void Prepare(MS_Frame* frame) override;
  ms::Status Finish() override { return stream_->Sync(); }
  std::shared_ptr<uint8_t> Allocate(uint64_t bytes, uint8_t** shown) override;

 private:
  SimTestDevice();

  std::unique_ptr<Device> device_;
  Stream* stream_ = nullptr;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_KERNEL_TEST_DEVICE_H_
