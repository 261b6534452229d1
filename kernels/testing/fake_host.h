// A host in one process for tests of kernels: the function tables of plugin.h over plain memory.
//
// It knows no graph and no op: KernelTester (kernel_tester.h) describes one node and asks for one
// execution at a time. Every buffer stands between guard bytes and starts with a given fill, so
// that writing outside it and leaving it unwritten both show.
#ifndef MILLSTREAM_KERNELS_TESTING_FAKE_HOST_H_
#define MILLSTREAM_KERNELS_TESTING_FAKE_HOST_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/testing/tensor_value.h"

namespace millstream::kernels::testing {

// One attribute of a node; `kind` says which member counts.
struct AttrValue {
  MS_AttrKind kind = MS_ATTR_NONE;
  int64_t i64 = 0;
  float f32 = 0;
  bool boolean = false;
  MS_DType dtype = 0;
  std::string text;
  std::vector<int64_t> i64_list;  // the dims of a shape, too
  std::vector<float> f32_list;
  std::vector<MS_DType> dtype_list;
  std::vector<std::string> text_list;
  std::vector<MS_Str> text_views;
  TensorValue tensor;
};

// A kernel as the host keeps it after registration.
struct RegisteredKernel {
  MS_KernelDef def{};
  std::string op;
  std::string label;
  std::vector<std::pair<std::string, std::vector<MS_DType>>> constraints;
  std::vector<MS_InPlacePair> in_place;
  const MS_KernelDef* on_device = nullptr;  // the test device's
};

// A device with memory and streams of its own, on which KernelTester runs every kernel as well.
class TestDevice {
 public:
  virtual ~TestDevice() = default;
  // The device's kernel for one of the CPU's, while that is registered; null when it has none.
  virtual const MS_KernelDef* Adapt(const MS_KernelDef& cpu) = 0;
  virtual BufferMemory* memory() = 0;
  // Which of the node's inputs are in host memory.
  virtual std::vector<bool> InputsInHost(const MS_KernelInfo& info, const MS_KernelDef& kernel) = 0;
  // Called before the kernel is, in any way.
  virtual void Prepare(MS_Frame* frame) = 0;
  // Waits for what compute has enqueued; what failed of it.
  virtual ms::Status Finish() = 0;
};

// For good, before any kernel is registered: in an initializer of a file that tests are linked
// with.
TestDevice* SetTestDevice(TestDevice* device);
TestDevice* GetTestDevice();

// Sets ms::host_tables to the fake host's; does nothing the second time.
void BindFakeHost();

// All kernels of ms::KernelEntries(), registered through the ABI. Calls BindFakeHost.
const std::vector<RegisteredKernel>& RegisteredKernels();

}  // namespace millstream::kernels::testing

// The host's own types, which plugin.h leaves open.

struct MS_Tensor {
  std::atomic<int> references{1};
  millstream::kernels::testing::TensorValue value;
};

struct MS_KernelInfo {
  std::string op;
  std::string node_name;
  std::map<std::string, millstream::kernels::testing::AttrValue> attrs;
  std::vector<MS_DType> input_dtypes;
  std::vector<MS_DType> output_dtypes;
  std::map<std::string, std::pair<uint32_t, uint32_t>> input_ranges;
  std::map<std::string, std::pair<uint32_t, uint32_t>> output_ranges;
};

struct MS_Ctx {
  using TensorValue = millstream::kernels::testing::TensorValue;
  struct Input {
    TensorValue value;
    TensorValue* variable = nullptr;  // of a resource input; a null buffer: never assigned
  };

  uint32_t threads = 1;
  bool may_forward = false;
  uint8_t fill = 0;
  std::vector<Input> inputs;
  std::vector<MS_DType> output_dtypes;
  std::vector<TensorValue> outputs;  // a null buffer: not yet made
  std::deque<TensorValue> temps;
  uint64_t philox_key = 0;
  std::array<uint64_t, 2> philox_counter{};
  int held_lock_sets = 0;
  // How often cancel_check may still be asked before the step is cancelled; negative: as often as
  // anybody likes. One thread asks.
  int checks_before_cancel = -1;
};

#endif  // MILLSTREAM_KERNELS_TESTING_FAKE_HOST_H_
