#include "distributed_runtime/c_api.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/c_api/handles.h"
#include "core/graph/fork_guard.h"
#include "distributed_runtime/cluster_session.h"
#include "distributed_runtime/cluster_transport.h"
#include "distributed_runtime/master_client.h"
#include "distributed_runtime/network.h"
#include "distributed_runtime/server.h"
#include "distributed_runtime/status_json.h"
#include "framework/steady_time.h"

using millstream::ForkGuard;
using millstream::OtherProcesses;
using millstream::Server;
using millstream::Session;
using millstream::StatusOr;
using millstream::SteadyNow;
using millstream::c_api::Give;
using millstream::c_api::GiveBytes;

struct millstream_server {
  std::unique_ptr<Server> server;
};

namespace {

// Set before the transport is first used.
std::string* LibraryPath() {
  static auto* const path = new std::string;
  return path;
}

// The library reads them from a folder (grpc/credentials.h).
bool AsksForCredentials() {
  const char* const folder = std::getenv("MILLSTREAM_CLUSTER_CREDENTIALS");
  return folder != nullptr && *folder != 0;
}

// "network": as if each process had a host of its own.
OtherProcesses HowOthersComeHere() {
  const char* const way = std::getenv("MILLSTREAM_CLUSTER_TRANSPORT");
  return way != nullptr && absl::string_view(way) == "network"
             ? OtherProcesses::kThroughNetwork
             : OtherProcesses::kOfThisHostDirectly;
}

millstream::Transport* TheTransport() {
  static auto* const transport =
      new millstream::ClusterTransport([] { return millstream::OpenNetwork(*LibraryPath()); },
                                       &AsksForCredentials, HowOthersComeHere());
  return transport;
}

}  // namespace

void millstream_cluster_set_library(const char* path) { *LibraryPath() = path; }

millstream_status* millstream_cluster_session_new(millstream_graph* graph, const char* target,
                                                  const void* config, size_t size,
                                                  int64_t patience_ms, millstream_session** out) {
  *out = nullptr;
  if (ForkGuard::Forked()) return Give(ForkGuard::Check());
  const std::string bytes =
      config == nullptr ? "" : std::string(static_cast<const char*>(config), size);
  StatusOr<std::unique_ptr<Session>> session = millstream::CreateClusterSession(
      &graph->graph, target, bytes, TheTransport(), SteadyNow() + absl::Milliseconds(patience_ms));
  if (!session.ok()) return Give(session.status());
  *out = new millstream_session{graph, *std::move(session)};
  return nullptr;
}

millstream_status* millstream_cluster_reset(const char* target, const char* const* containers,
                                            int32_t n) {
  if (ForkGuard::Forked()) return Give(ForkGuard::Check());
  const std::vector<std::string> names(containers, containers + n);
  return Give(millstream::ResetMaster(target, names, TheTransport()));
}

millstream_status* millstream_cluster_status(const char* target, millstream_bytes* out) {
  if (ForkGuard::Forked()) return Give(ForkGuard::Check());
  const auto status = millstream::AskForStatus(target, TheTransport());
  if (!status.ok()) return Give(status.status());
  *out = GiveBytes(millstream::StatusJson(*status));
  return nullptr;
}

millstream_status* millstream_server_new(const void* server_def, size_t size,
                                         millstream_server** out) {
  *out = nullptr;
  if (ForkGuard::Forked()) return Give(ForkGuard::Check());
  const absl::string_view bytes(static_cast<const char*>(server_def), size);
  StatusOr<std::unique_ptr<Server>> server = Server::Create(bytes, TheTransport());
  if (!server.ok()) return Give(server.status());
  *out = new millstream_server{*std::move(server)};
  return nullptr;
}

void millstream_server_target(const millstream_server* server, millstream_bytes* out) {
  *out = GiveBytes(server->server->target());
}

void millstream_server_status(millstream_server* server, millstream_bytes* out) {
  millstream::proto::TaskStatusRecord status;
  server->server->AddStatus(&status);
  *out = GiveBytes(millstream::StatusJson(status));
}

int32_t millstream_server_join(millstream_server* server, int64_t patience_ms) {
  if (ForkGuard::Forked()) return 1;  // the parent's: nothing of it runs here
  return server->server->Join(absl::Milliseconds(patience_ms)) ? 1 : 0;
}

// A forked child has the server's memory and connections, but none of its threads: it would wait
// for them, and what it sends would end sessions of the parent.
void millstream_server_stop(millstream_server* server) {
  if (!ForkGuard::Forked()) server->server->Stop();
}

void millstream_server_free(millstream_server* server) {
  if (!ForkGuard::Forked()) delete server;
}
