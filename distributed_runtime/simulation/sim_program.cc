#include "distributed_runtime/simulation/sim_program.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millstream {

SimProgram::SimProgram(SimClients* clients, SimPlace place, uint64_t seed)
    : clients_(*clients),
      cluster_(*clients->cluster),
      place_(std::move(place)),
      task_(place_.task),
      process_(place_.process),
      chance_(Mixed(seed, absl::StrCat("client ", task_, " ", process_))) {}

StatusOr<SimProgram::Session> SimProgram::Begin(const std::string& config,
                                                absl::Duration patience) {
  const absl::Time deadline = clients_.threads->now() + patience;
  StatusOr<Session> session =
      place_.master != nullptr
          ? MasterClient::Begin(place_.master, config, deadline)
          : MasterClient::Connect(absl::StrCat("grpc://", SimNetwork::AddressOf(place_.home)),
                                  config, place_.transport, deadline);
  cluster_.NoteSessions();
  return session;
}

StatusOr<SimProgram::Step> SimProgram::Prepare(MasterClient* session, GraphSender* sender,
                                               const Graph& graph, const StepSignature& signature) {
  proto::GraphChunk chunk;
  proto::SignatureRecord record;
  MS_RETURN_IF_ERROR(sender->AddChanges(graph, &chunk));
  EncodeSignature(signature, &record);
  return session->Prepare(chunk, record);
}

void SimProgram::Judge(const Status& error, bool was_cancelled) {
  ++clients_.failed;
  if (HasEnded()) return;
  const bool is_usual = absl::IsUnavailable(error) || absl::IsAborted(error) ||
                        absl::IsDeadlineExceeded(error) || absl::IsCancelled(error) ||
                        absl::StrContains(error.message(), "closed");
  if (was_cancelled && absl::IsCancelled(error)) return;
  if (!is_usual) Report(absl::StrCat("no fault explains the error ", error.ToString()));
  if (!cluster_.HasFaults()) Report(absl::StrCat("without a fault: ", error.ToString()));
  const bool names_master = place_.master == nullptr &&
                            absl::StrContains(error.message(), SimNetwork::AddressOf(place_.home));
  if (!names_master && !absl::StrContains(error.message(), "/job:worker/replica:0/task:")) {
    Report(absl::StrCat("the error names no task: ", error.ToString()));
  }
}

void SimProgram::Report(const std::string& text) {
  clients_.trace->Note("FOUND: ", text);
  clients_.findings.push_back(absl::StrCat("client ", task_, ": ", text));
}

}  // namespace millstream
