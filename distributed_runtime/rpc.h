// Requests and responses of the services of a task: each response begins with a status.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_RPC_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_RPC_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "distributed_runtime/payload.h"
#include "distributed_runtime/tensor_coding.h"
#include "distributed_runtime/traffic.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

// Of the messages between clients, masters, workers and members of collective operations. Sessions
// and members of others are refused.
constexpr int kMessageVersion = 6;

// FAILED_PRECONDITION, with both versions, if the request for a session has another one. `task` is
// who was asked, by `asker`.
Status CheckMessageVersion(int version, absl::string_view task, absl::string_view asker);

// Sends the response to one request, once.
class Reply {
 public:
  explicit Reply(Respond respond) : respond_(std::move(respond)) {}
  // `message` is what EncodeMessage or TensorWriter gave.
  void Give(Payload message) const;
  // An error, or OK for a request that gives nothing.
  void Give(const Status& status) const;
  // The same reply, whose response is counted as sent.
  Reply Counted(std::shared_ptr<Traffic> traffic) const {
    return Reply(CountedRespond(respond_, std::move(traffic)));
  }

 private:
  Respond respond_;
};

// Takes the response: its status, and behind it what the service gave.
using TakeResponse = std::function<void(const Status& status, PayloadReader* response)>;

// Sends a request. `take` is called once, as Respond. `is_awaited`: by Channel::StartAwaited.
std::shared_ptr<Channel::Call> StartRequest(Channel* channel, absl::string_view method,
                                            Payload request, absl::Time deadline, TakeResponse take,
                                            bool is_awaited = false);

// Sends a request and waits for the message of the response.
Status RequestMessage(Channel* channel, absl::string_view method,
                      const google::protobuf::MessageLite& request, absl::Time deadline,
                      google::protobuf::MessageLite* response);

// A request to one of several tasks.
struct TaskRequest {
  std::string task;
  std::shared_ptr<Channel> channel;
  Payload payload;
};

class Responses;

// Waits for responses, which others can end early. Thread-safe.
class RequestWaits {
 public:
  // The requests to the task that have no response get this status. A response that comes later
  // has no effect.
  void Lose(absl::string_view task, const Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // All requests get this status, those that begin later as well.
  void LoseAll(const Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  // For AskEach.
  void Add(const std::shared_ptr<Responses>& responses) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(const std::shared_ptr<Responses>& responses) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<Responses>> waits_ ABSL_GUARDED_BY(mutex_);
  Status end_ ABSL_GUARDED_BY(mutex_);  // of all requests, if it is an error
};

// Sends requests to several tasks at the same time, and waits for all responses. `take` gets them,
// on the caller's thread, in the order of the requests. DEADLINE_EXCEEDED is the status of a task
// that has not answered. `waits`, unless null, may end the wait.
void AskEach(absl::string_view method, std::vector<TaskRequest> requests, absl::Time deadline,
             absl::FunctionRef<void(size_t i, const Status& status, PayloadReader* response)> take,
             RequestWaits* waits = nullptr);
// The same, where `take` reads the responses without an error. Returns the result of each, with its
// task.
std::vector<Status> RequestEach(absl::string_view method, std::vector<TaskRequest> requests,
                                absl::Time deadline,
                                absl::FunctionRef<Status(size_t i, PayloadReader* response)> take,
                                RequestWaits* waits = nullptr);
// The same. Returns the first error.
Status RequestAll(absl::string_view method, std::vector<TaskRequest> requests, absl::Time deadline,
                  absl::FunctionRef<Status(size_t i, PayloadReader* response)> take,
                  RequestWaits* waits = nullptr);

// ABORTED: what was sent of a graph may have been lost, or was refused, so that nothing can follow
// it. A new session begins anew. `receiver` is "the task /job:ps/task:0".
Status GraphInDoubt(absl::string_view receiver);
// Says in the error that the receiver has taken what the request had of a graph.
Status WithGraphTaken(Status status);
// Whether that has been done.
bool HasGraphTaken(const Status& status);

// Adds a line with the task to the error, if none has been added before.
Status WithTask(const Status& status, absl::string_view task);
// Whether that has been done.
bool HasTask(const Status& status);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_RPC_H_
