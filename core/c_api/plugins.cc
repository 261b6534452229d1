// Plugins.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "core/c_api/json.h"
#include "core/host/host_ctx.h"
#include "framework/op_json.h"
#include "framework/op_registry.h"
#include "framework/plugin/cpu_bits.h"
#include "framework/plugin/loader.h"
#include "framework/status.h"

using millstream::CpuBitNames;
using millstream::LoadedPlugin;
using millstream::LoadStageName;
using millstream::OpJson;
using millstream::OpRegistry;
using millstream::PluginLoader;
using millstream::PluginOptions;
using millstream::PluginOriginName;
using millstream::PluginRecord;
using millstream::PluginStateName;
using millstream::RegisterRuntimeInterfaces;
using millstream::Status;
using millstream::StatusOr;
using millstream::c_api::AppendJsonString;
using millstream::c_api::Give;
using millstream::c_api::GiveBytes;

namespace {

absl::string_view ToView(MS_Str text) { return absl::string_view(text.data, text.size); }

void AppendText(absl::string_view key, absl::string_view value, std::string* json) {
  absl::StrAppend(json, ", \"", key, "\": ");
  AppendJsonString(value, json);
}

void AppendTexts(absl::string_view key, const std::vector<std::string>& values, std::string* json) {
  absl::StrAppend(json, ", \"", key, "\": [");
  absl::string_view separator = "";
  for (const std::string& value : values) {
    absl::StrAppend(json, separator);
    AppendJsonString(value, json);
    separator = ", ";
  }
  absl::StrAppend(json, "]");
}

void AppendDevice(const MS_DeviceDesc& device, std::string* json) {
  absl::StrAppend(json, "{\"ordinal\": ", device.ordinal, ", \"memory\": ", device.mem_total,
                  ", \"numa\": ", device.numa);
  AppendText("type", ToView(device.device_type), json);
  AppendText("name", ToView(device.name), json);
  AppendText("vendor", ToView(device.vendor), json);
  AppendText("arch", ToView(device.arch), json);
  absl::StrAppend(json, "}");
}

// What the file's note says.
void AppendNote(const MS_Note& note, std::string* json) {
  absl::StrAppend(json, ", \"built_abi\": \"", note.abi_major, ".", note.built_minor,
                  "\", \"needed_abi\": \"", note.abi_major, ".", note.min_host_minor,
                  "\", \"rank\": ", note.rank);
  AppendTexts("cpu", CpuBitNames(note.cpu_bits), json);
}

void AppendRecord(const PluginRecord& record, std::string* json) {
  absl::StrAppend(json, "{\"code\": ", static_cast<int>(record.status.code()),
                  ", \"kernels\": ", record.num_kernels,
                  ", \"kernels_skipped\": ", record.num_kernels_skipped);
  AppendText("path", record.path, json);
  AppendText("origin", PluginOriginName(record.origin), json);
  AppendText("name", record.name, json);
  AppendText("family", record.family, json);
  AppendText("vendor", record.vendor, json);
  AppendText("version", record.version, json);
  AppendText("state", PluginStateName(record.state), json);
  AppendText("stage", LoadStageName(record.stage), json);
  AppendText("text", record.status.message(), json);
  if (record.note.has_value()) AppendNote(*record.note, json);
  AppendTexts("ops", record.ops, json);
  AppendTexts("skipped", record.skipped, json);
  AppendTexts("ties", record.ties, json);
  absl::StrAppend(json, ", \"devices\": [");
  absl::string_view separator = "";
  for (const MS_DeviceDesc* device : record.devices) {
    absl::StrAppend(json, separator);
    AppendDevice(*device, json);
    separator = ", ";
  }
  absl::StrAppend(json, "]}");
}

// The definitions of registered ops.
std::string OpsJson(const std::vector<std::string>& names) {
  std::vector<std::string> ops;
  for (const std::string& name : names) {
    ops.push_back(OpJson(**OpRegistry::Global()->Find(name)));
  }
  return absl::StrCat("[", absl::StrJoin(ops, ",\n"), "]");
}

}  // namespace

millstream_status* millstream_plugin_load(const char* path, const char* const* names,
                                          const char* const* values, size_t n_options,
                                          millstream_bytes* ops) {
  if (ops != nullptr) *ops = {nullptr, 0};
  PluginOptions options;
  for (size_t i = 0; i < n_options; ++i) options.emplace_back(names[i], values[i]);
  const Status interfaces = RegisterRuntimeInterfaces();
  if (!interfaces.ok()) return Give(interfaces);
  const StatusOr<const LoadedPlugin*> plugin = PluginLoader::Global()->Load(path, options);
  if (plugin.ok() && ops != nullptr) *ops = GiveBytes(OpsJson((*plugin)->ops));
  return Give(plugin.status());
}

millstream_status* millstream_plugin_add_path(const char* path) {
  return Give(PluginLoader::Global()->AddPackagePath(path));
}

void millstream_plugin_add_error(const char* package, const char* text) {
  PluginLoader::Global()->RecordPackageError(package, absl::UnknownError(text));
}

millstream_status* millstream_plugin_load_installed(void) {
  const Status interfaces = RegisterRuntimeInterfaces();
  if (!interfaces.ok()) return Give(interfaces);
  return Give(PluginLoader::Global()->LoadInstalled());
}

millstream_status* millstream_plugin_list(millstream_bytes* out) {
  PluginLoader* const loader = PluginLoader::Global();
  // Enumerates devices, so that the records contain them.
  loader->Devices();
  std::string json = "[";
  absl::string_view separator = "";
  for (const PluginRecord& record : loader->Records()) {
    absl::StrAppend(&json, separator);
    AppendRecord(record, &json);
    separator = ",\n";
  }
  json += "]";
  *out = GiveBytes(json);
  return nullptr;
}

millstream_status* millstream_plugin_shutdown(void) {
  return Give(PluginLoader::Global()->Shutdown());
}
