// A client's view of a master, which is in this process or in another.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_CLIENT_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_CLIENT_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/device/device_set.h"
#include "core/step/run_options.h"
#include "distributed_runtime/master.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"
#include "millstream/distributed_runtime/protos/status_messages.pb.h"

namespace millstream {

// A step that the master has prepared. Thread-safe.
class ClientStep {
 public:
  virtual ~ClientStep() = default;
  // As Session::Run.
  virtual Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                     const RunOptions& options) = 0;
  virtual std::string placement_text() = 0;
};

// A session of a master. Thread-safe.
class MasterClient {
 public:
  virtual ~MasterClient() = default;
  virtual const DeviceSet& devices() const = 0;
  virtual StatusOr<std::unique_ptr<ClientStep>> Prepare(
      const proto::GraphChunk& chunk, const proto::SignatureRecord& signature) = 0;
  // Ends the session. Idempotent.
  virtual void Close() = 0;

  // Begins a session of the master at `target` ("grpc://localhost:2222", "unix:/a/path"). NOT_FOUND
  // for another target; UNAVAILABLE if the master, or a task of its cluster, does not answer before
  // `deadline`.
  static StatusOr<std::unique_ptr<MasterClient>> Connect(absl::string_view target,
                                                         const std::string& config,
                                                         Transport* transport, absl::Time deadline);
  // The same of a master in this process.
  static StatusOr<std::unique_ptr<MasterClient>> Begin(const std::shared_ptr<Master>& master,
                                                       const std::string& config,
                                                       absl::Time deadline);
};

// See Master::AskAll. UNAVAILABLE if the master does not answer within some seconds.
StatusOr<proto::ClusterStatusRecord> AskForStatus(absl::string_view target, Transport* transport);

// See Master::Reset.
Status ResetMaster(absl::string_view target, absl::Span<const std::string> containers,
                   Transport* transport);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_CLIENT_H_
