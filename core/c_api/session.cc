// Sessions, callables and cancellation.
#include "core/session/session.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "core/c_api/json.h"
#include "core/c_api/session_options.h"
#include "core/graph/fork_guard.h"
#include "core/session/live_sessions.h"
#include "core/step/run_metadata.h"
#include "core/step/wait_judge.h"
#include "framework/message.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/framework/protos/config.pb.h"

using millstream::Callable;
using millstream::ForkGuard;
using millstream::LiveSessions;
using millstream::RunOptions;
using millstream::Session;
using millstream::SessionOptions;
using millstream::SetWaitJudge;
using millstream::Status;
using millstream::StatusOr;
using millstream::StepReport;
using millstream::StepSignature;
using millstream::Tensor;
using millstream::WaitVerdict;
using millstream::c_api::FindNodes;
using millstream::c_api::FindOutputs;
using millstream::c_api::Give;
using millstream::c_api::GiveBytes;
using millstream::c_api::MakeSessionOptions;

namespace errors = millstream::errors;

namespace {

// Steps of up to so many feeds and fetches keep them on the stack.
constexpr int kInlineTensors = 8;
using TensorVector = absl::InlinedVector<Tensor, kInlineTensors>;

StatusOr<StepSignature> MakeSignature(const millstream_graph* graph, const millstream_output* feeds,
                                      int32_t n_feeds, const millstream_output* fetches,
                                      int32_t n_fetches, const int32_t* targets,
                                      int32_t n_targets) {
  MS_RETURN_IF_ERROR(ForkGuard::Check());
  StepSignature signature;
  MS_ASSIGN_OR_RETURN(signature.feeds, FindOutputs(graph, feeds, n_feeds));
  MS_ASSIGN_OR_RETURN(signature.fetches, FindOutputs(graph, fetches, n_fetches));
  MS_ASSIGN_OR_RETURN(signature.targets, FindNodes(graph, targets, n_targets));
  return signature;
}

// The caller's function gives an int32_t, the runtime's a bool.
bool ShouldStop(void* argument) {
  const auto* options = static_cast<const millstream_run_options*>(argument);
  return options->should_stop(options->should_stop_argument) != 0;
}

std::atomic<int32_t (*)(const char* waits)> g_waits_in_vain{nullptr};

WaitVerdict JudgeWaits(const std::string& waits) {
  const auto waits_in_vain = g_waits_in_vain.load();
  const int32_t answer = waits_in_vain == nullptr ? 0 : waits_in_vain(waits.c_str());
  if (answer == 0) return WaitVerdict::kMayEnd;
  return answer > 0 ? WaitVerdict::kInVain : WaitVerdict::kStop;
}

// What one run was told, in the runtime's terms. Points to what the caller gave.
struct GivenOptions {
  RunOptions options;
  std::unique_ptr<StepReport> report;  // null: nothing was asked
};

Status ReadMessage(const millstream_run_options& given, GivenOptions* out) {
  const absl::string_view bytes(static_cast<const char*>(given.options), given.options_size);
  MS_ASSIGN_OR_RETURN(const millstream::MessagePtr message,
                      millstream::ParseBinary("RunOptions", bytes));
  const auto& fields = static_cast<const millstream::proto::RunOptions&>(*message);
  if (out->options.timeout_ms == 0) {
    out->options.timeout_ms = std::max<int64_t>(fields.timeout_in_ms(), 0);
  }
  if (given.metadata == nullptr) return absl::OkStatus();
  out->report = std::make_unique<StepReport>();
  out->report->want_trace = fields.trace_level() != millstream::proto::RunOptions::NO_TRACE;
  out->report->want_partition_graphs = fields.output_partition_graphs();
  out->options.report = out->report.get();
  return absl::OkStatus();
}

Status ReadRunOptions(const millstream_run_options* given, GivenOptions* out) {
  if (given == nullptr) return absl::OkStatus();
  RunOptions& options = out->options;
  if (given->cancellation != nullptr) options.cancellation = &given->cancellation->cancellation;
  options.timeout_ms = given->timeout_ms;
  if (given->should_stop != nullptr) {
    options.should_stop = &ShouldStop;
    options.should_stop_argument = const_cast<millstream_run_options*>(given);
  }
  if (given->metadata != nullptr) *given->metadata = GiveBytes("");
  return given->options == nullptr ? absl::OkStatus() : ReadMessage(*given, out);
}

// Hands the caller what was reported.
Status GiveMetadata(const GivenOptions& read, millstream_bytes* metadata) {
  if (read.report == nullptr) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(const std::string bytes, millstream::RunMetadataOf(*read.report));
  millstream_bytes_free(metadata);
  *metadata = GiveBytes(bytes);
  return absl::OkStatus();
}

// Runs one step by run(feeds, fetches, options).
template <typename Run>
millstream_status* RunStep(millstream_tensor* const* feed_tensors, int32_t n_feeds,
                           int32_t n_fetches, const millstream_run_options* given,
                           millstream_tensor** out_tensors, Run run) {
  std::fill_n(out_tensors, std::max(n_fetches, 0), nullptr);
  if (ForkGuard::Forked()) return Give(ForkGuard::Check());
  TensorVector feeds;
  feeds.reserve(std::max(n_feeds, 0));
  for (int32_t i = 0; i < n_feeds; ++i) {
    if (feed_tensors[i] == nullptr) {
      return Give(errors::InvalidArgument("feed ", i, " of ", n_feeds, " has no tensor"));
    }
    feeds.push_back(feed_tensors[i]->tensor);
  }
  TensorVector fetches(std::max(n_fetches, 0));
  GivenOptions read;
  Status status = ReadRunOptions(given, &read);
  if (!status.ok()) return Give(status);
  status = run(absl::MakeConstSpan(feeds), absl::MakeSpan(fetches), read.options);
  if (read.report != nullptr) {
    const Status reported = GiveMetadata(read, given->metadata);
    if (status.ok()) status = reported;
  }
  if (!status.ok()) return Give(status);
  for (int32_t i = 0; i < n_fetches; ++i) {
    out_tensors[i] = new millstream_tensor{std::move(fetches[i])};
  }
  return nullptr;
}

}  // namespace

millstream_status* millstream_session_new(millstream_graph* graph, const void* config, size_t size,
                                          millstream_session** out) {
  *out = nullptr;
  if (ForkGuard::Forked()) return Give(ForkGuard::Check());
  const char* bytes = config == nullptr ? "" : static_cast<const char*>(config);
  StatusOr<SessionOptions> options =
      MakeSessionOptions(absl::string_view(bytes, config == nullptr ? 0 : size));
  if (!options.ok()) return Give(options.status());
  StatusOr<std::unique_ptr<Session>> session = Session::Create(&graph->graph, *options);
  if (!session.ok()) return Give(session.status());
  *out = new millstream_session{graph, *std::move(session)};
  return nullptr;
}

millstream_status* millstream_session_close(millstream_session* session) {
  return Give(session->session->Close());
}

millstream_status* millstream_session_trim(millstream_session* session) {
  return Give(session->session->Trim());
}

millstream_status* millstream_reset(const char* const* containers, int32_t n) {
  return Give(Session::ResetAll(std::vector<std::string>(containers, containers + n)));
}

void millstream_session_free(millstream_session* session) {
  if (session == nullptr) return;
  Session::Free(std::move(session->session));
  delete session;
}

void millstream_set_wait_judge(int32_t (*waits_in_vain)(const char* waits)) {
  g_waits_in_vain.store(waits_in_vain);
  SetWaitJudge(waits_in_vain == nullptr ? nullptr : &JudgeWaits);
}

void millstream_end_sessions_at_exit(void) { LiveSessions::EndBeforeLibraries(); }

millstream_status* millstream_session_run(millstream_session* session,
                                          const millstream_output* feeds,
                                          millstream_tensor* const* feed_tensors, int32_t n_feeds,
                                          const millstream_output* fetches, int32_t n_fetches,
                                          const int32_t* targets, int32_t n_targets,
                                          const millstream_run_options* options,
                                          millstream_tensor** out_tensors) {
  StatusOr<StepSignature> signature =
      MakeSignature(session->graph, feeds, n_feeds, fetches, n_fetches, targets, n_targets);
  if (!signature.ok()) return Give(signature.status());
  return RunStep(
      feed_tensors, n_feeds, n_fetches, options, out_tensors,
      [&](absl::Span<const Tensor> fed, absl::Span<Tensor> fetched, const RunOptions& run_options) {
        return session->session->Run(*signature, fed, fetched, run_options);
      });
}

millstream_status* millstream_session_list_devices(millstream_session* session,
                                                   millstream_bytes* out) {
  if (ForkGuard::Forked()) return Give(ForkGuard::Check());
  const auto append_name = [](std::string* text, const millstream::DeviceInfo& device) {
    text->append(device.name);
  };
  *out = GiveBytes(absl::StrJoin(session->session->ListDevices(), "\n", append_name));
  return nullptr;
}

millstream_status* millstream_session_memory(millstream_session* session, millstream_bytes* out) {
  if (ForkGuard::Forked()) return Give(ForkGuard::Check());
  std::string json = "{";
  for (const millstream::DeviceInfo& device : session->session->ListDevices()) {
    if (!device.has_memory) continue;
    const millstream::ArenaStats& memory = device.memory;
    if (json.size() > 1) json.append(",");
    millstream::c_api::AppendJsonString(device.name, &json);
    absl::StrAppend(&json, ":{\"in_use\":", memory.in_use, ",\"peak_in_use\":", memory.peak_in_use,
                    ",\"reserved\":", memory.reserved, ",\"peak_reserved\":", memory.peak_reserved,
                    ",\"limit\":", memory.limit, ",\"largest_free\":", memory.largest_free,
                    ",\"allocations\":", memory.allocations,
                    ",\"fragmentation\":", memory.fragmentation(), "}");
  }
  *out = GiveBytes(absl::StrCat(json, "}"));
  return nullptr;
}

millstream_status* millstream_callable_new(millstream_session* session,
                                           const millstream_output* feeds, int32_t n_feeds,
                                           const millstream_output* fetches, int32_t n_fetches,
                                           const int32_t* targets, int32_t n_targets,
                                           millstream_callable** out) {
  *out = nullptr;
  StatusOr<StepSignature> signature =
      MakeSignature(session->graph, feeds, n_feeds, fetches, n_fetches, targets, n_targets);
  if (!signature.ok()) return Give(signature.status());
  StatusOr<std::unique_ptr<Callable>> callable = session->session->MakeCallable(*signature);
  if (!callable.ok()) return Give(callable.status());
  *out = new millstream_callable{*std::move(callable), n_feeds, n_fetches};
  return nullptr;
}

millstream_status* millstream_callable_run(millstream_callable* callable,
                                           millstream_tensor* const* feed_tensors,
                                           const millstream_run_options* options,
                                           millstream_tensor** out_tensors) {
  return RunStep(
      feed_tensors, callable->n_feeds, callable->n_fetches, options, out_tensors,
      [&](absl::Span<const Tensor> fed, absl::Span<Tensor> fetched, const RunOptions& run_options) {
        return callable->callable->Run(fed, fetched, run_options);
      });
}

int64_t millstream_callable_num_instructions(const millstream_callable* callable) {
  return callable->callable->num_instructions();
}

void millstream_callable_placement(const millstream_callable* callable, millstream_bytes* out) {
  *out = GiveBytes(callable->callable->placement_text());
}

void millstream_callable_free(millstream_callable* callable) { delete callable; }

millstream_cancellation* millstream_cancellation_new(void) { return new millstream_cancellation(); }

void millstream_cancellation_cancel(millstream_cancellation* cancellation) {
  cancellation->cancellation.Cancel();
}

void millstream_cancellation_free(millstream_cancellation* cancellation) { delete cancellation; }
