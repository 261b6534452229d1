// Plugins.
#include <string>

#include "absl/strings/str_cat.h"
#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "core/c_api/json.h"
#include "core/host_ctx.h"
#include "framework/plugin/loader.h"
#include "framework/status.h"

using millstream::LoadStageName;
using millstream::PluginLoader;
using millstream::PluginRecord;
using millstream::PluginStateName;
using millstream::RegisterRuntimeInterfaces;
using millstream::Status;
using millstream::c_api::AppendJsonString;
using millstream::c_api::Give;
using millstream::c_api::GiveBytes;

namespace {

void AppendRecord(const PluginRecord& record, std::string* json) {
  absl::StrAppend(json, "{\"path\": ");
  AppendJsonString(record.path, json);
  absl::StrAppend(json, ", \"name\": ");
  AppendJsonString(record.name, json);
  absl::StrAppend(json, ", \"state\": ");
  AppendJsonString(PluginStateName(record.state), json);
  absl::StrAppend(json, ", \"stage\": ");
  AppendJsonString(LoadStageName(record.stage), json);
  absl::StrAppend(json, ", \"code\": ", static_cast<int>(record.status.code()), ", \"text\": ");
  AppendJsonString(record.status.message(), json);
  absl::StrAppend(json, "}");
}

}  // namespace

millstream_status* millstream_plugin_load(const char* path) {
  const Status interfaces = RegisterRuntimeInterfaces();
  if (!interfaces.ok()) return Give(interfaces);
  return Give(PluginLoader::Global()->Load(path).status());
}

millstream_status* millstream_plugin_list(millstream_bytes* out) {
  std::string json = "[";
  absl::string_view separator = "";
  for (const PluginRecord& record : PluginLoader::Global()->Records()) {
    absl::StrAppend(&json, separator);
    AppendRecord(record, &json);
    separator = ",\n";
  }
  json += "]";
  *out = GiveBytes(json);
  return nullptr;
}
