// The list of devices; devices are created and destroyed.
#include <set>
#include <string>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/device_rules.h"
#include "framework/plugin/check/suite.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin_check.h"

namespace millstream::plugin_check {

std::vector<uint32_t> OrdinalsOf(CheckContext* context, absl::Span<const char* const> rules) {
  std::vector<uint32_t> ordinals;
  for (const MS_DeviceDesc* description : context->plugin->descriptions) {
    ordinals.push_back(description->ordinal);
  }
  if (!ordinals.empty()) return ordinals;
  for (const char* rule : rules) {
    context->report->Begin(rule);
    context->report->Skip(context->plugin->devices == nullptr
                              ? "the plugin has no devices, only kernels"
                              : "the plugin finds no device here");
  }
  return ordinals;
}

std::unique_ptr<CheckedDevice> CreateDevice(CheckContext* context, uint32_t ordinal) {
  StatusOr<std::unique_ptr<CheckedDevice>> device =
      CheckedDevice::Create(*context->plugin, ordinal);
  if (device.ok()) return *std::move(device);
  context->report->Fail(absl::StrCat("device ", ordinal, ": ", device.status().ToString()));
  return nullptr;
}

namespace {

constexpr const char* kEnumerationRules[] = {"DEV-STABLE", "DEV-COUNT", "DEV-DESCRIPTION"};
constexpr const char* kCreationRules[] = {"DEV-CREATE", "DEV-TWICE", "DEV-ORDINAL", "DEV-ERROR"};

void CheckReason(CheckContext* context) {
  Reporter& report = *context->report;
  const CheckedPlugin& plugin = *context->plugin;
  report.Begin("DEV-REASON");
  if (plugin.devices == nullptr || !plugin.descriptions.empty()) {
    report.Skip(plugin.devices == nullptr ? "the plugin has no devices, only kernels"
                                          : "the plugin finds devices");
    return;
  }
  std::string reason;
  const auto found = EnumerateDevices(plugin.abi, plugin.devices, &reason);
  report.Expect(found.ok() && !reason.empty(), "no device, and no reason");
}

// What a description says, as one text.
std::string TextOf(const MS_DeviceDesc& description) {
  return absl::StrCat(FromAbi(description.device_type), "/", description.ordinal, "/",
                      FromAbi(description.name), "/", FromAbi(description.arch), "/",
                      description.mem_total, "/", description.flags, "/", description.n_spaces);
}

void CheckEnumeration(CheckContext* context) {
  if (OrdinalsOf(context, kEnumerationRules).empty()) return;
  Reporter& report = *context->report;
  const CheckedPlugin& plugin = *context->plugin;
  report.Begin("DEV-STABLE");
  const auto again = EnumerateDevices(plugin.abi, plugin.devices, nullptr);
  if (report.Expect(again.ok(), again.status().ToString()) &&
      report.Expect(again->size() == plugin.descriptions.size(), plugin.descriptions.size(),
                    " devices, then ", again->size())) {
    for (size_t i = 0; i < again->size(); ++i) {
      const std::string first = TextOf(*plugin.descriptions[i]);
      const std::string second = TextOf(*(*again)[i]);
      report.Expect(first == second, "first ", first, ", then ", second);
    }
  }
  report.Begin("DEV-COUNT");
  const auto* const untouched = reinterpret_cast<const MS_DeviceDesc*>(&report);
  std::vector<const MS_DeviceDesc*> room(plugin.descriptions.size() + 1, untouched);
  uint64_t count = plugin.descriptions.size() - 1;
  MS_Str reason = {};
  const Status status = Take(plugin.devices->enumerate(plugin.abi, room.data(), &count, &reason));
  report.Expect(status.ok() && count == plugin.descriptions.size(), "with room for ",
                plugin.descriptions.size() - 1, " of ", plugin.descriptions.size(), " it counts ",
                count, " ", status.ToString());
  report.Expect(room[plugin.descriptions.size() - 1] == untouched, "it fills more than it may");
}

void CheckDescriptions(CheckContext* context) {
  Reporter& report = *context->report;
  std::set<std::pair<std::string, uint32_t>> seen;
  for (const MS_DeviceDesc* description : context->plugin->descriptions) {
    report.Begin("DEV-DESCRIPTION", absl::StrCat("device ", description->ordinal));
    const std::string type(FromAbi(description->device_type));
    report.Expect(
        !type.empty() && type.find('/') == std::string::npos && type.find(':') == std::string::npos,
        "its type is \"", type, "\"");
    report.Expect(seen.emplace(type, description->ordinal).second, "another has its ordinal");
    report.Expect(description->head.required == 0, "it requires what version 1 does not have");
    if (!report.Expect(description->n_spaces > 0 && description->spaces != nullptr,
                       "it has no space of memory")) {
      continue;
    }
    std::set<uint32_t> spaces;
    for (uint64_t i = 0; i < description->n_spaces; ++i) {
      const MS_SpaceDesc& space = *description->spaces[i];
      report.Expect(spaces.insert(space.space).second, "space ", space.space, " stands twice");
      report.Expect((space.alignment & (space.alignment - 1)) == 0, "space ", space.space,
                    " has alignment ", space.alignment, ", which is no power of two");
    }
  }
}

void CheckTwice(CheckContext* context, uint32_t ordinal) {
  Reporter& report = *context->report;
  report.Begin("DEV-TWICE", absl::StrCat("device ", ordinal));
  const auto first = CreateDevice(context, ordinal);
  const auto second = CreateDevice(context, ordinal);
  if (first == nullptr || second == nullptr) return;
  report.Expect(first->device() != second->device(), "both are one");
  const auto block = Block::Make({first->device(), &first->functions(), first->stream()}, 100, 1);
  const auto other =
      Block::Make({second->device(), &second->functions(), second->stream()}, 100, 2);
  if (!report.Expect(block.ok(), block.status().ToString())) return;
  if (!report.Expect(other.ok(), other.status().ToString())) return;
  std::string bytes(100, '\0');
  report.Expect((*block)->Read(bytes.data()).ok() && bytes == std::string(100, '\1'),
                "the second's memory is the first's");
}

void CheckCreation(CheckContext* context) {
  Reporter& report = *context->report;
  const CheckedPlugin& plugin = *context->plugin;
  const std::vector<uint32_t> ordinals = OrdinalsOf(context, kCreationRules);
  uint32_t beyond = 0;
  for (const uint32_t ordinal : ordinals) {
    beyond = std::max(beyond, ordinal + 1);
    report.Begin("DEV-CREATE", absl::StrCat("device ", ordinal));
    const auto device = CreateDevice(context, ordinal);
    if (device == nullptr) continue;
    report.Begin("DEV-ERROR", absl::StrCat("device ", ordinal));
    const Status error = Take(device->functions().device_error(device->device()));
    report.Expect(error.ok(), error.ToString());
    CheckTwice(context, ordinal);
  }
  if (ordinals.empty()) return;
  report.Begin("DEV-ORDINAL", absl::StrCat("device ", beyond));
  MS_Device* device = nullptr;
  const Status status =
      Take(plugin.devices->device_create(plugin.abi, beyond, nullptr, 0, &device));
  report.Expect(!status.ok(), "it was created, and is not there");
}

constexpr Check kChecks[] = {&CheckReason, &CheckEnumeration, &CheckDescriptions, &CheckCreation};

}  // namespace

Suite DeviceSuite() { return SuiteOf<kChecks, 4>("devices", /*loads_itself=*/false); }

}  // namespace millstream::plugin_check
