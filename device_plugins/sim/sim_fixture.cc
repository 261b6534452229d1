#include "device_plugins/sim/sim_fixture.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/testing/stub_interfaces.h"
#include "framework/testing/hang_guard.h"

namespace millstream {
namespace {

// Streams and events beyond this number are the fixture's own.
constexpr size_t kOwnStream = 1000;

// The plugin, loaded once a process.
PluginLoader* Loader() {
  static PluginLoader* const loader = [] {
    RegisterStubInterfaces();
    auto* const result =
        new PluginLoader(new KernelRegistry(), OpRegistry::Global(), PluginLoaderOptions());
    const auto plugin = result->Load(kSimPlugin, SimOptions({{"devices", kNumSims}}));
    EXPECT_TRUE(plugin.ok()) << plugin.status();
    return result;
  }();
  return loader;
}

const SIM_ControlApi* Control() {
  const MS_Plugin* const abi = Loader()->Plugins().at(0)->abi;
  return reinterpret_cast<const SIM_ControlApi*>(abi->get_interface(abi, SIM_CONTROL_API));
}

}  // namespace

PluginOptions SimOptions(const std::map<std::string, uint64_t>& switches) {
  PluginOptions options;
  for (const auto& [name, value] : switches) options.emplace_back(name, absl::StrCat(value));
  return options;
}

SimDevice::SimDevice(const std::map<std::string, uint64_t>& switches, uint32_t ordinal)
    : ordinal_(ordinal) {
  const PluginDevice device = Loader()->DevicesOf("SIM").at(ordinal);
  StatusOr<OpenDevice> open = PluginLoader::CreateDevice(device, SimOptions(switches));
  EXPECT_TRUE(open.ok()) << open.status();
  open_ = *open;
}

SimDevice::~SimDevice() {
  for (size_t n = 0; n < streams_.size(); ++n) DestroyStream(n);
  for (MS_Event* event : events_) {
    if (event != nullptr) open_.functions->event_destroy(event);
  }
  while (!blocks_.empty()) Free(MS_MemRef(blocks_.back()));
  PluginLoader::DestroyDevice(open_);
}

Status SimDevice::CreationError(const PluginOptions& options, uint32_t ordinal) {
  const PluginDevice device = Loader()->DevicesOf("SIM").at(ordinal);
  return PluginLoader::CreateDevice(device, options).status();
}

const MS_DeviceDesc& SimDevice::Description(uint32_t ordinal) {
  return *Loader()->DevicesOf("SIM").at(ordinal).description;
}

MS_MemRef SimDevice::Allocate(uint64_t bytes, uint32_t space, uint64_t alignment) {
  MS_MemRef ref = {};
  ExpectOk(open_.functions->mem_alloc(open_.device, space, bytes, alignment, &ref));
  blocks_.push_back(ref);
  return ref;
}

Status SimDevice::AllocationError(uint64_t bytes, uint64_t alignment) {
  MS_MemRef ref = {};
  return TakeAbiStatus(
      open_.functions->mem_alloc(open_.device, MS_SPACE_DEVICE, bytes, alignment, &ref));
}

void SimDevice::Free(const MS_MemRef& ref) {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&ref](const MS_MemRef& other) {
    return other.base == ref.base;
  });
  ASSERT_NE(found, blocks_.end());
  blocks_.erase(found);
  open_.functions->mem_free(open_.device, &ref);
}

MS_MemStats SimDevice::Stats() {
  MS_MemStats stats = {};
  stats.head.size = sizeof(stats);
  ExpectOk(open_.functions->mem_stats(open_.device, &stats));
  return stats;
}

MS_Stream* SimDevice::stream(size_t n) {
  if (streams_.size() <= n) streams_.resize(n + 1, nullptr);
  if (streams_[n] == nullptr) {
    ExpectOk(open_.functions->stream_create(open_.device, n % 4, 0, &streams_[n]));
  }
  return streams_[n];
}

void SimDevice::DestroyStream(size_t n) {
  if (streams_[n] != nullptr) open_.functions->stream_destroy(streams_[n]);
  streams_[n] = nullptr;
}

MS_Event* SimDevice::event(size_t n) {
  if (events_.size() <= n) events_.resize(n + 1, nullptr);
  if (events_[n] == nullptr) ExpectOk(open_.functions->event_create(open_.device, 0, &events_[n]));
  return events_[n];
}

void SimDevice::Write(const MS_MemRef& to, const std::string& bytes) {
  const MS_MemRef from = HostRef(const_cast<char*>(bytes.data()), bytes.size());
  ExpectOk(open_.functions->copy_async(stream(kOwnStream), &to, &from, bytes.size()));
  ExpectOk(open_.functions->stream_sync(stream(kOwnStream)));
}

std::string SimDevice::Read(const MS_MemRef& from) {
  std::string bytes(from.bytes, '?');
  const MS_MemRef to = HostRef(bytes.data(), bytes.size());
  ExpectOk(open_.functions->copy_async(stream(kOwnStream), &to, &from, bytes.size()));
  ExpectOk(open_.functions->stream_sync(stream(kOwnStream)));
  return bytes;
}

Status SimDevice::Fill(const MS_MemRef& ref, uint32_t pattern, size_t stream_number) {
  return TakeAbiStatus(
      open_.functions->fill_async(stream(stream_number), &ref, pattern, 1, ref.bytes));
}

Status SimDevice::Set(const std::string& name, uint64_t value) {
  const std::string text = absl::StrCat(value);
  return TakeAbiStatus(Control()->set(open_.device, ToAbi(name), ToAbi(text)));
}

void SimDevice::AwaitHang() const {
  EXPECT_TRUE(Eventually([this] {
    uint64_t hung = 0;
    ExpectOk(Control()->count_hung(ordinal_, &hung));
    return hung != 0;
  }));
}

SIM_Uses SimDevice::Uses() const {
  SIM_Uses uses = {};
  ExpectOk(Control()->count_uses(ordinal_, &uses));
  return uses;
}

MS_MemRef HostRef(void* base, uint64_t bytes) {
  return MS_MemRef{base, 0, bytes, MS_SPACE_HOST, 0};
}

void ExpectOk(MS_Status* status) {
  const Status taken = TakeAbiStatus(status);
  EXPECT_TRUE(taken.ok()) << taken;
}

absl::StatusCode CodeOf(MS_Status* status) { return TakeAbiStatus(status).code(); }

bool IsDone(const SimDevice& device, MS_Event* event) {
  uint8_t done = 2;
  ExpectOk(device->event_query(event, &done));
  EXPECT_LE(done, 1);
  return done == 1;
}

}  // namespace millstream
