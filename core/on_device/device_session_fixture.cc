#include "core/on_device/device_session_fixture.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/loader.h"
#include "framework/testing/hang_guard.h"

namespace millstream {
namespace {

constexpr char kPath[] = "device_plugins/sim/libmillstream_sim.so";
// Variables of the environment: a switch of all devices for a test as a whole.
constexpr char kSwitchedOn[] = "MILLSTREAM_TEST_SIM_ON";
constexpr char kSwitchedOff[] = "MILLSTREAM_TEST_SIM_OFF";

const LoadedPlugin* LoadSim() {
  static const LoadedPlugin* const loaded = [] {
    EXPECT_EQ(LoadCpuPlugin(), absl::OkStatus());
    PluginOptions options = {
        {"devices", absl::StrCat(kNumSims)}, {"memory_mb", "64"}, {"pooled@2", "1"}};
    if (const char* const one = std::getenv(kSwitchedOn)) options.emplace_back(one, "1");
    if (const char* const one = std::getenv(kSwitchedOff)) options.emplace_back(one, "0");
    const StatusOr<const LoadedPlugin*> sim = PluginLoader::Global()->Load(
        absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"), "/", kPath),
        options);
    EXPECT_TRUE(sim.ok()) << sim.status();
    return sim.ok() ? *sim : nullptr;
  }();
  return loaded;
}

const SIM_ControlApi& Control() {
  const MS_Plugin* const plugin = LoadSim()->abi;
  return *reinterpret_cast<const SIM_ControlApi*>(plugin->get_interface(plugin, SIM_CONTROL_API));
}

}  // namespace

void LoadSims() {
  if (LoadSim() == nullptr) std::abort();
}

DeviceSessionTest::DeviceSessionTest(const std::map<std::string, uint64_t>& switches,
                                     const SessionOptions& options) {
  LoadSims();
  StartSession(options);
  for (int ordinal = 0; ordinal < kNumSims; ++ordinal) {
    for (const auto& [name, value] : switches) Set(ordinal, name, value);
  }
}

Output DeviceSessionTest::NodeOn(const std::string& device, const std::string& name,
                                 const std::string& op, const std::vector<Output>& inputs) {
  const Node* const node = *TryNode(name, op, inputs);
  EXPECT_EQ(graph.SetDevice(node, "/device:" + device), absl::OkStatus());
  return node->output(0);
}

void SetOnSims(int ordinal, const std::string& name, uint64_t value) {
  const std::string text = absl::StrCat(value);
  const Status set =
      TakeAbiStatus(Control().set_all(static_cast<uint32_t>(ordinal), ToAbi(name), ToAbi(text)));
  EXPECT_EQ(set, absl::OkStatus()) << name;
}

SIM_Uses UsesOfSims(int ordinal) {
  SIM_Uses uses = {};
  const Status counted = TakeAbiStatus(Control().count_uses(static_cast<uint32_t>(ordinal), &uses));
  EXPECT_EQ(counted, absl::OkStatus());
  return uses;
}

void AwaitHangOnSims(int ordinal) {
  EXPECT_TRUE(Eventually([ordinal] {
    uint64_t hung = 0;
    const Status counted =
        TakeAbiStatus(Control().count_hung(static_cast<uint32_t>(ordinal), &hung));
    EXPECT_EQ(counted, absl::OkStatus());
    return hung != 0;
  }));
}

}  // namespace millstream
