// A task of a cluster in this process: its worker, its master, and the address where they listen.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SERVER_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SERVER_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "distributed_runtime/master.h"
#include "distributed_runtime/pulse.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"
#include "framework/steady_time.h"

namespace millstream {

// Who calls Server::Beat.
enum class Heartbeats {
  kRegular,  // a thread, once a second
  kByHand,   // the owner: tests
};

// Thread-safe.
class Server {
 public:
  // `server_def` is a serialized ServerDef. The address is taken now, and requests are answered
  // from now on. INVALID_ARGUMENT if it does not name a task of its cluster, or a task has an
  // address with a port that cannot be; UNAVAILABLE if the address is in use.
  static StatusOr<std::unique_ptr<Server>> Create(absl::string_view server_def,
                                                  Transport* transport,
                                                  Heartbeats heartbeats = Heartbeats::kRegular);
  ~Server() { Stop(); }

  // "grpc://localhost:2222", or "unix:/a/path"
  const std::string& target() const { return target_; }
  // Waits until Stop is called.
  void Join() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for a while. True if Stop was called.
  bool Join(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mutex_);
  const std::shared_ptr<Worker>& worker() const { return worker_; }
  const std::shared_ptr<Master>& master() const { return master_; }
  // See Master::AddStatus.
  void AddStatus(proto::TaskStatusRecord* status) { master_->AddStatus(status); }
  // One heartbeat: see Master::Beat and both EndAbandoned.
  void Beat();
  // Refuses further requests and closes all sessions of the task. Waits until other tasks have what
  // collective operations owe them: see Worker::Stop. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Server() = default;
  void StartPulses() ABSL_LOCKS_EXCLUDED(mutex_);

  std::shared_ptr<Worker> worker_;
  std::shared_ptr<Master> master_;  // null: the server could not be created
  std::unique_ptr<TransportServer> listening_;
  std::string target_;
  absl::Mutex mutex_;
  SteadyCondVar stopped_;
  // One sends, the other closes what nobody holds any more.
  std::unique_ptr<Pulse> heart_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Pulse> sweeper_ ABSL_GUARDED_BY(mutex_);
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

// The master of a server in this process; null if `address` is that of none.
std::shared_ptr<Master> FindLocalMaster(const std::string& address);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SERVER_H_
