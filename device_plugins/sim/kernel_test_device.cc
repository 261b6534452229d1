#include "device_plugins/sim/kernel_test_device.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "device_plugins/sim/adapted_kernel.h"
#include "device_plugins/sim/kernel_host.h"
#include "framework/op_registry.h"

namespace millstream::sim {
namespace {

constexpr uint64_t kMemoryMegabytes = 1024;
constexpr uint64_t kDelayMicroseconds = 20;

void CheckOk(const ms::Status& status) {
  if (status.ok()) return;
  ms::host_tables.base->log(ms::host_tables.base, MS_LOG_ERROR, ms::ToAbi(status.message()));
  std::abort();
}

bool IsNamed(std::string_view name, const MS_KernelDef& kernel) {
  const MS_Str* const names = kernel.host_args;
  return std::any_of(names, names + kernel.n_host_args,
                     [name](const MS_Str& other) { return ms::ToView(other) == name; });
}

const auto* const set = kernels::testing::SetTestDevice(SimTestDevice::Get());

}  // namespace

SimTestDevice* SimTestDevice::Get() {
  static SimTestDevice device;
  return &device;
}

SimTestDevice::SimTestDevice() {
  Switches switches;
  switches.memory_mb = kMemoryMegabytes;
  switches.delay_us = kDelayMicroseconds;
  CheckOk(Device::Create(0, switches, &device_));
  CheckOk(device_->CreateStream(MS_STREAM_COMPUTE, &stream_));
}

SimTestDevice::~SimTestDevice() { device_->DestroyStream(stream_); }

const MS_KernelDef* SimTestDevice::Adapt(const MS_KernelDef& cpu) { return AdaptKernel(cpu); }

std::shared_ptr<uint8_t> SimTestDevice::Allocate(uint64_t bytes, uint8_t** shown) {
  MS_MemRef ref{};
  CheckOk(device_->Allocate(MS_SPACE_DEVICE, bytes, 0, &ref));
  *shown = static_cast<uint8_t*>(ref.base);
  const std::shared_ptr<Memory> memory = device_->memory();
  return {memory->window().Local(*shown), [memory, ref](uint8_t*) { memory->Free(ref); }};
}

void SimTestDevice::Prepare(MS_Frame* frame) {
  InterposeHostTables();
  frame->device_state = reinterpret_cast<MS_Device*>(device_.get());
  frame->stream = reinterpret_cast<MS_Stream*>(stream_);
  frame->stream_native = stream_;
}

// Arguments of several tensors share what the others leave.
std::vector<bool> SimTestDevice::InputsInHost(const MS_KernelInfo& info,
                                              const MS_KernelDef& kernel) {
  const OpDef* const op = *OpRegistry::Global()->Find(info.op);
  const auto is_list = [](const ArgDef& argument) {
    return !argument.number_attr.empty() || !argument.type_list_attr.empty();
  };
  const size_t lists = std::count_if(op->inputs.begin(), op->inputs.end(), is_list);
  const size_t in_lists = info.input_dtypes.size() - (op->inputs.size() - lists);
  std::vector<bool> in_host;
  for (const ArgDef& argument : op->inputs) {
    const size_t tensors = is_list(argument) ? in_lists / lists : 1;
    in_host.insert(in_host.end(), tensors, IsNamed(argument.name, kernel));
  }
  return in_host;
}

}  // namespace millstream::sim
