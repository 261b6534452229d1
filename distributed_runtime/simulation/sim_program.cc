#include "distributed_runtime/simulation/sim_program.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millstream {

SimProgram::SimProgram(SimClients* clients, int task, int process, std::shared_ptr<Master> master,
                       uint64_t seed)
    : clients_(*clients),
      cluster_(*clients->cluster),
      task_(task),
      process_(process),
      master_(std::move(master)),
      chance_(Mixed(seed, absl::StrCat("client ", task, " ", process))) {}

StatusOr<SimProgram::Step> SimProgram::Prepare(MasterSession* session, GraphSender* sender,
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
  if (!absl::StrContains(error.message(), "/job:worker/replica:0/task:")) {
    Report(absl::StrCat("the error names no task: ", error.ToString()));
  }
}

void SimProgram::Report(const std::string& text) {
  clients_.trace->Note("FOUND: ", text);
  clients_.findings.push_back(absl::StrCat("client ", task_, ": ", text));
}

}  // namespace millstream
