#include "distributed_runtime/rpc.h"

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/graph/error_details.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

constexpr char kTaskPayload[] = "millstream/task";

// Reads the status at the beginning of a response.
Status ReadStatus(PayloadReader* response) {
  proto::StatusMessage message;
  MS_RETURN_IF_ERROR(DecodeMessage(response, &message));
  return DecodeStatus(message);
}

// The responses to the requests of RequestAll. Some may come after the caller has given up.
class Responses {
 public:
  explicit Responses(size_t n) : statuses_(n), readers_(n), missing_(n) {}

  void Set(size_t i, const Status& status, PayloadReader* response) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    statuses_[i] = status;
    readers_[i] = std::make_unique<PayloadReader>(std::move(*response));
    if (--missing_ == 0) complete_.SignalAll();
  }
  void Await(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto is_complete = [this]()
                                 ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return missing_ == 0; };
    complete_.Await(&mutex_, deadline, is_complete);
  }
  // Null: it has not come.
  std::unique_ptr<PayloadReader> Take(size_t i, Status* status) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    *status = statuses_[i];
    return std::move(readers_[i]);
  }

 private:
  absl::Mutex mutex_;
  SteadyCondVar complete_;
  std::vector<Status> statuses_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<PayloadReader>> readers_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

Status CheckMessageVersion(int version, absl::string_view task) {
  if (version == kMessageVersion) return absl::OkStatus();
  return errors::FailedPrecondition("the task ", task, " has messages of version ", kMessageVersion,
                                    ", and who asks for a session has version ", version,
                                    "; all need the same version of Millstream");
}

void Reply::Give(Payload message) const {
  Payload response = EncodeMessage(proto::StatusMessage());
  for (const Slice& slice : message.slices()) response.Append(slice);
  respond_(absl::OkStatus(), std::move(response));
}

void Reply::Give(const Status& status) const {
  proto::StatusMessage message;
  if (!status.ok()) EncodeStatus(status, &message);
  respond_(absl::OkStatus(), EncodeMessage(message));
}

std::shared_ptr<Channel::Call> StartRequest(Channel* channel, absl::string_view method,
                                            Payload request, absl::Time deadline, TakeResponse take,
                                            bool is_awaited) {
  Respond respond = [take = std::move(take)](const Status& status, Payload response) {
    PayloadReader reader(std::move(response));
    take(status.ok() ? ReadStatus(&reader) : status, &reader);
  };
  return is_awaited
             ? channel->StartAwaited(method, std::move(request), deadline, std::move(respond))
             : channel->Start(method, std::move(request), deadline, std::move(respond));
}

Status RequestMessage(Channel* channel, absl::string_view method,
                      const google::protobuf::MessageLite& request, absl::Time deadline,
                      google::protobuf::MessageLite* response) {
  MS_ASSIGN_OR_RETURN(Payload payload,
                      CallAndWait(channel, method, EncodeMessage(request), deadline));
  PayloadReader reader(std::move(payload));
  MS_RETURN_IF_ERROR(ReadStatus(&reader));
  return reader.left() == 0 ? absl::OkStatus() : DecodeMessage(&reader, response);
}

void AskEach(
    absl::string_view method, std::vector<TaskRequest> requests, absl::Time deadline,
    absl::FunctionRef<void(size_t i, const Status& status, PayloadReader* response)> take) {
  const auto responses = std::make_shared<Responses>(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    StartRequest(requests[i].channel.get(), method, std::move(requests[i].payload), deadline,
                 [responses, i](const Status& status, PayloadReader* response) {
                   responses->Set(i, status, response);
                 });
  }
  responses->Await(deadline);
  for (size_t i = 0; i < requests.size(); ++i) {
    Status status;
    const std::unique_ptr<PayloadReader> response = responses->Take(i, &status);
    if (response == nullptr) {
      status = absl::DeadlineExceededError(absl::StrCat("no answer to ", method));
    }
    take(i, status, response.get());
  }
}

std::vector<Status> RequestEach(absl::string_view method, std::vector<TaskRequest> requests,
                                absl::Time deadline,
                                absl::FunctionRef<Status(size_t i, PayloadReader* response)> take) {
  std::vector<std::string> tasks;
  for (const TaskRequest& request : requests) tasks.push_back(request.task);
  std::vector<Status> results;
  const auto read = [&](size_t i, const Status& status, PayloadReader* response) {
    results.push_back(WithTask(status.ok() ? take(i, response) : status, tasks[i]));
  };
  AskEach(method, std::move(requests), deadline, read);
  return results;
}

Status RequestAll(absl::string_view method, std::vector<TaskRequest> requests, absl::Time deadline,
                  absl::FunctionRef<Status(size_t i, PayloadReader* response)> take) {
  for (const Status& status : RequestEach(method, std::move(requests), deadline, take)) {
    MS_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

bool MayBeLost(const Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

Status GraphInDoubt(absl::string_view receiver) {
  return absl::AbortedError(absl::StrCat(receiver,
                                         " may not know the session's graph: a request that had a "
                                         "part of it was lost. A new session can go on"));
}

Status WithTask(const Status& status, absl::string_view task) {
  if (status.ok() || HasTask(status)) return status;
  Status result = WithErrorText(status, absl::StrCat(status.message(), "\n  task: ", task));
  result.SetPayload(kTaskPayload, absl::Cord(task));
  return result;
}

bool HasTask(const Status& status) { return status.GetPayload(kTaskPayload).has_value(); }

}  // namespace millstream
