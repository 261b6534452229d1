#include "core/device/sim_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {
namespace {

// What takes longer will not end.
constexpr absl::Duration kPatience = absl::Seconds(60);

// The description of a device with these switches. The plugin's own is that of its options alone.
struct SimDescription {
  SimDescription(const std::map<std::string, uint64_t>& switches, uint32_t ordinal)
      : device(SimDevice::Description(ordinal)) {
    const bool is_opaque = switches.count("opaque") != 0;
    const bool has_pinned = switches.count("pinned") == 0;
    for (uint64_t i = 0; i < device.n_spaces; ++i) {
      if (device.spaces[i]->space == MS_SPACE_HOST_PINNED && !has_pinned) continue;
      spaces.push_back(*device.spaces[i]);
    }
    if (is_opaque) {
      device.flags &= ~uint64_t{MS_DEVICE_LINEAR_POINTERS};
      spaces[0].flags &= ~MS_SPACE_LINEAR;
    }
    for (const MS_SpaceDesc& space : spaces) pointers.push_back(&space);
    device.spaces = pointers.data();
    device.n_spaces = pointers.size();
  }

  MS_DeviceDesc device;
  std::vector<MS_SpaceDesc> spaces;  // the first is the device's own
  std::vector<const MS_SpaceDesc*> pointers;
};

}  // namespace

void RemoveOptionalFunctions(MS_DeviceApi* functions) {
  functions->alloc_on_stream = nullptr;
  functions->free_on_stream = nullptr;
  functions->mem_stats = nullptr;
  functions->copy_peer_async = nullptr;
  functions->peer_ok = nullptr;
  functions->fill_async = nullptr;
  functions->stream_host_fn = nullptr;
  functions->host_register = nullptr;
  functions->host_unregister = nullptr;
}

SimMemory::SimMemory(const std::map<std::string, uint64_t>& switches, uint32_t ordinal,
                     const ChangeFunctions& change)
    : device_(switches, ordinal), functions_(*device_.open().functions) {
  if (change) change(&functions_);
  OpenDevice open = device_.open();
  open.functions = &functions_;
  const SimDescription description(switches, ordinal);
  StatusOr<std::unique_ptr<DeviceMemory>> memory =
      DeviceMemory::Create(open, absl::StrCat("/device:SIM:", ordinal), description.device);
  status_ = memory.status();
  if (memory.ok()) memory_ = *std::move(memory);
}

void SimMemory::Set(const std::string& name, uint64_t value) {
  const Status set = device_.Set(name, value);
  EXPECT_TRUE(set.ok()) << set;
}

Tensor SimMemory::Allocate(int64_t words) {
  StatusOr<Tensor> tensor = memory_->Allocate(DataType::kUInt32, Shape({words}));
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  return tensor.ok() ? *std::move(tensor) : Tensor();
}

// By the functions of the plugin: those of the memory may lack what fills.
Status SimMemory::Fill(const Tensor& tensor, uint32_t word) {
  const MS_MemRef ref = PlaceOf(tensor);
  return TakeAbiStatus(
      device_->fill_async(memory_->compute()->raw(), &ref, word, sizeof(word), ref.bytes));
}

Tensor SimMemory::Filled(int64_t words, uint32_t word) {
  Tensor tensor = Allocate(words);
  const Status filled = Fill(tensor, word);
  EXPECT_TRUE(filled.ok()) << filled;
  return tensor;
}

Tensor SimMemory::CopyToDevice(const Tensor& host) {
  StatusOr<Tensor> copy = memory_->CopyToDevice(host);
  EXPECT_TRUE(copy.ok()) << copy.status();
  return copy.ok() ? *std::move(copy) : Tensor();
}

std::vector<uint32_t> SimMemory::Read(const Tensor& tensor) {
  auto copied = std::make_shared<absl::Notification>();
  const StatusOr<Tensor> host =
      memory_->CopyToHost(tensor, [copied](const Tensor&) { copied->Notify(); });
  EXPECT_TRUE(host.ok()) << host.status();
  if (!host.ok()) return {};
  EXPECT_TRUE(copied->WaitForNotificationWithTimeout(kPatience));
  const auto words = host->flat<uint32_t>();
  return std::vector<uint32_t>(words.begin(), words.end());
}

void SimMemory::AwaitAll() {
  auto done = std::make_shared<absl::Notification>();
  const Status asked = memory_->CallWhenDone([done] { done->Notify(); });
  ASSERT_TRUE(asked.ok()) << asked;
  EXPECT_TRUE(done->WaitForNotificationWithTimeout(kPatience));
}

Tensor HostWords(int64_t words, uint32_t word) {
  return Tensor::Vector<uint32_t>(std::vector<uint32_t>(words, word));
}

}  // namespace millstream
