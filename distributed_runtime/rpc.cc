#include "distributed_runtime/rpc.h"

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/graph/error_details.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

constexpr char kTaskPayload[] = "millstream/task";
constexpr char kGraphPayload[] = "millstream/graph";

// The status at the beginning of a response without an error.
const Payload& OkAnswer() {
  static const auto* const answer = new Payload(EncodeMessage(proto::StatusMessage()));
  return *answer;
}

// Reads the status at the beginning of a response.
Status ReadStatus(PayloadReader* response) {
  proto::StatusMessage message;
  MS_RETURN_IF_ERROR(DecodeMessage(response, &message));
  return DecodeStatus(message);
}

}  // namespace

// The responses to some requests. Some may come after the caller has given up.
class Responses {
 public:
  explicit Responses(std::vector<std::string> tasks)
      : tasks_(std::move(tasks)),
        are_set_(tasks_.size()),
        statuses_(tasks_.size()),
        readers_(tasks_.size()),
        missing_(tasks_.size()) {}

  void Set(size_t i, const Status& status, PayloadReader* response) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (are_set_[i]) return;
    readers_[i] = std::make_unique<PayloadReader>(std::move(*response));
    End(i, status);
  }
  // Requests to the task, or all if it is null, have no response but this error.
  void Lose(const absl::string_view* task, const Status& error) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (!are_set_[i] && (task == nullptr || tasks_[i] == *task)) End(i, error);
    }
  }
  void Await(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto is_complete = [this]()
                                 ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return missing_ == 0; };
    complete_.Await(&mutex_, deadline, is_complete);
  }
  // Null: it has not come. The status is then OK, or says why nobody waits for it.
  std::unique_ptr<PayloadReader> Take(size_t i, Status* status) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    *status = statuses_[i];
    return std::move(readers_[i]);
  }

 private:
  void End(size_t i, const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    are_set_[i] = true;
    statuses_[i] = status;
    if (--missing_ == 0) complete_.SignalAll();
  }

  const std::vector<std::string> tasks_;
  absl::Mutex mutex_;
  SteadyCondVar complete_;
  std::vector<bool> are_set_ ABSL_GUARDED_BY(mutex_);
  std::vector<Status> statuses_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<PayloadReader>> readers_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_);
};

void RequestWaits::Lose(absl::string_view task, const Status& status) {
  std::vector<std::shared_ptr<Responses>> waits;
  {
    absl::MutexLock lock(&mutex_);
    waits = waits_;
  }
  for (const std::shared_ptr<Responses>& responses : waits) responses->Lose(&task, status);
}

void RequestWaits::LoseAll(const Status& status) {
  std::vector<std::shared_ptr<Responses>> waits;
  {
    absl::MutexLock lock(&mutex_);
    end_ = status;
    waits = waits_;
  }
  for (const std::shared_ptr<Responses>& responses : waits) responses->Lose(nullptr, status);
}

void RequestWaits::Add(const std::shared_ptr<Responses>& responses) {
  Status end;
  {
    absl::MutexLock lock(&mutex_);
    waits_.push_back(responses);
    end = end_;
  }
  if (!end.ok()) responses->Lose(nullptr, end);
}

void RequestWaits::Remove(const std::shared_ptr<Responses>& responses) {
  absl::MutexLock lock(&mutex_);
  waits_.erase(std::find(waits_.begin(), waits_.end(), responses));
}

Status CheckMessageVersion(int version, absl::string_view task, absl::string_view asker) {
  if (version == kMessageVersion) return absl::OkStatus();
  return errors::FailedPrecondition("the task ", task, " has messages of version ", kMessageVersion,
                                    ", and ", asker, ", which asks it, has version ", version,
                                    "; all need the same version of Millstream");
}

void Reply::Give(Payload message) const {
  Payload response = OkAnswer();
  for (const Slice& slice : message.slices()) response.Append(slice);
  respond_(absl::OkStatus(), std::move(response));
}

void Reply::Give(const Status& status) const {
  if (status.ok()) return respond_(absl::OkStatus(), OkAnswer());
  proto::StatusMessage message;
  EncodeStatus(status, &message);
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

void AskEach(absl::string_view method, std::vector<TaskRequest> requests, absl::Time deadline,
             absl::FunctionRef<void(size_t i, const Status& status, PayloadReader* response)> take,
             RequestWaits* waits) {
  std::vector<std::string> tasks;
  for (const TaskRequest& request : requests) tasks.push_back(request.task);
  const auto responses = std::make_shared<Responses>(std::move(tasks));
  if (waits != nullptr) waits->Add(responses);
  for (size_t i = 0; i < requests.size(); ++i) {
    StartRequest(requests[i].channel.get(), method, std::move(requests[i].payload), deadline,
                 [responses, i](const Status& status, PayloadReader* response) {
                   responses->Set(i, status, response);
                 });
  }
  responses->Await(deadline);
  if (waits != nullptr) waits->Remove(responses);
  for (size_t i = 0; i < requests.size(); ++i) {
    Status status;
    const std::unique_ptr<PayloadReader> response = responses->Take(i, &status);
    if (response == nullptr && status.ok()) {
      status = absl::DeadlineExceededError(absl::StrCat("no answer to ", method));
    }
    take(i, status, response.get());
  }
}

std::vector<Status> RequestEach(absl::string_view method, std::vector<TaskRequest> requests,
                                absl::Time deadline,
                                absl::FunctionRef<Status(size_t i, PayloadReader* response)> take,
                                RequestWaits* waits) {
  std::vector<std::string> tasks;
  for (const TaskRequest& request : requests) tasks.push_back(request.task);
  std::vector<Status> results;
  const auto read = [&](size_t i, const Status& status, PayloadReader* response) {
    results.push_back(WithTask(status.ok() ? take(i, response) : status, tasks[i]));
  };
  AskEach(method, std::move(requests), deadline, read, waits);
  return results;
}

Status RequestAll(absl::string_view method, std::vector<TaskRequest> requests, absl::Time deadline,
                  absl::FunctionRef<Status(size_t i, PayloadReader* response)> take,
                  RequestWaits* waits) {
  for (const Status& status : RequestEach(method, std::move(requests), deadline, take, waits)) {
    MS_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

Status GraphInDoubt(absl::string_view receiver) {
  return absl::AbortedError(
      absl::StrCat(receiver,
                   " may not know the session's graph: a request that had a part of it was lost or "
                   "refused. A new session can go on"));
}

Status WithGraphTaken(Status status) {
  if (!status.ok()) status.SetPayload(kGraphPayload, absl::Cord("taken"));
  return status;
}

bool HasGraphTaken(const Status& status) { return status.GetPayload(kGraphPayload).has_value(); }

Status WithTask(const Status& status, absl::string_view task) {
  if (status.ok() || HasTask(status)) return status;
  Status result = WithErrorText(status, absl::StrCat(status.message(), "\n  task: ", task));
  result.SetPayload(kTaskPayload, absl::Cord(task));
  return result;
}

bool HasTask(const Status& status) { return status.GetPayload(kTaskPayload).has_value(); }

}  // namespace millstream
