#include "distributed_runtime/status_json.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/c_api/json.h"

namespace millstream {
namespace {

using c_api::AppendJsonString;

constexpr double kSecond = 1e9;  // in nanoseconds

// Writes the fields of one object.
class JsonObject {
 public:
  explicit JsonObject(std::string* json) : json_(*json) { json_.push_back('{'); }
  ~JsonObject() { json_.push_back('}'); }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  // The value is to be appended to the result.
  std::string* Key(absl::string_view key) {
    if (has_fields_) json_.push_back(',');
    has_fields_ = true;
    AppendJsonString(key, &json_);
    json_.push_back(':');
    return &json_;
  }
  void Number(absl::string_view key, int64_t value) { absl::StrAppend(Key(key), value); }
  void Flag(absl::string_view key, bool value) {
    absl::StrAppend(Key(key), value ? "true" : "false");
  }
  void Seconds(absl::string_view key, int64_t nanos) {
    absl::StrAppendFormat(Key(key), "%.6f", static_cast<double>(nanos) / kSecond);
  }
  void Text(absl::string_view key, absl::string_view value) { AppendJsonString(value, Key(key)); }
  void Handle(absl::string_view key, uint64_t value) {
    Text(key, absl::StrCat(absl::Hex(value, absl::kZeroPad16)));
  }

 private:
  std::string& json_;
  bool has_fields_ = false;
};

// "[...]": `append` writes one item.
template <typename Items, typename Append>
void AppendList(const Items& items, std::string* json, Append append) {
  json->push_back('[');
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) json->push_back(',');
    is_first = false;
    append(item, json);
  }
  json->push_back(']');
}

void AppendWait(const proto::WaitRecord& wait, std::string* json) {
  JsonObject object(json);
  object.Text("task", wait.task());
  object.Text("tensor", wait.tensor());
}

void AppendStep(const proto::RunningStepRecord& step, std::string* json) {
  JsonObject object(json);
  object.Handle("session", step.session());
  object.Number("step", static_cast<int64_t>(step.step()));
  object.Flag("is_led", step.is_led());
  object.Seconds("seconds", step.nanos());
  AppendList(step.waits(), object.Key("waits"), &AppendWait);
}

void AppendTraffic(const proto::TaskStatusRecord& status, std::string* json) {
  JsonObject object(json);
  for (const proto::TrafficRecord& traffic : status.traffic()) {
    JsonObject peer(object.Key(traffic.peer()));
    peer.Number("sent_bytes", traffic.sent_bytes());
    peer.Number("received_bytes", traffic.received_bytes());
  }
}

void AppendAccumulator(const proto::AccumulatorRecord& accumulator, std::string* json) {
  JsonObject object(json);
  object.Text("container", accumulator.container());
  object.Text("name", accumulator.name());
  if (accumulator.session() == 0) {
    object.Text("session", "");
  } else {
    object.Handle("session", accumulator.session());
  }
  object.Number("applied", accumulator.applied());
  object.Number("dropped", accumulator.dropped());
}

void AppendTask(const proto::TaskStatusRecord& status, std::string* json) {
  JsonObject object(json);
  object.Text("task", status.task());
  object.Handle("incarnation", status.incarnation());
  object.Seconds("up_seconds", status.up_nanos());
  object.Number("sessions", status.sessions());
  object.Number("led_sessions", status.led_sessions());
  object.Number("graphs", status.graphs());
  object.Number("steps", status.steps());
  object.Number("failed_steps", status.failed_steps());
  object.Number("led_steps", status.led_steps());
  object.Number("failed_led_steps", status.failed_led_steps());
  object.Number("losses", status.losses());
  AppendList(status.lost(), object.Key("lost"),
             [](const std::string& task, std::string* out) { AppendJsonString(task, out); });
  AppendTraffic(status, object.Key("traffic"));
  AppendList(status.running(), object.Key("running"), &AppendStep);
  AppendList(status.accumulators(), object.Key("accumulators"), &AppendAccumulator);
}

void AppendClusterTask(const proto::ClusterTaskRecord& task, std::string* json) {
  JsonObject object(json);
  object.Text("task", task.task());
  object.Text("address", task.address());
  object.Text("error", task.error().text());
  if (task.has_status()) {
    AppendTask(task.status(), object.Key("status"));
  } else {
    absl::StrAppend(object.Key("status"), "null");
  }
}

}  // namespace

std::string StatusJson(const proto::TaskStatusRecord& status) {
  std::string json;
  AppendTask(status, &json);
  return json;
}

std::string StatusJson(const proto::ClusterStatusRecord& status) {
  std::string json;
  {
    JsonObject object(&json);
    object.Text("asked", status.asked());
    AppendList(status.tasks(), object.Key("tasks"), &AppendClusterTask);
  }
  return json;
}

}  // namespace millstream
