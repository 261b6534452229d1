#include "distributed_runtime/worker_step.h"

#include <utility>
#include <vector>

#include "core/partition/rendezvous_name.h"
#include "distributed_runtime/rpc.h"

namespace millstream {
namespace {

Status ReadParcel(PayloadReader* response, Parcel* parcel) {
  proto::RecvTensorResponse message;
  MS_RETURN_IF_ERROR(DecodeMessage(response, &message));
  parcel->dead = message.dead();
  MS_ASSIGN_OR_RETURN(parcel->tensor, DecodeTensor(message.tensor(), response));
  return absl::OkStatus();
}

}  // namespace

// Another task that waits for a tensor. Deletes itself when it has it.
class WorkerStep::Asker final : public Receiver {
 public:
  explicit Asker(Take take) : take_(std::move(take)) {}
  void Receive(Status status, Parcel parcel) override {
    take_(status, std::move(parcel));
    delete this;
  }

 private:
  const Take take_;
};

Status WorkerStep::Send(const RendezvousKey& key, Parcel parcel) {
  const Tensor& tensor = parcel.tensor;
  if (carrier_ != nullptr && carrier_->Carries(key.edge) && !tensor.is_on_device()) {
    carrier_->Carry(key.edge, std::move(parcel));
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(const RendezvousName name, RendezvousName::Of(key));
  if (tensor.is_on_device()) {
    return errors::Internal(name.ToText(), ": a tensor leaves its task in host memory");
  }
  // The owner of borrowed memory knows nothing of other tasks.
  if (tensor.buffer() && !tensor.buffer()->writable()) {
    MS_ASSIGN_OR_RETURN(parcel.tensor, tensor.DeepCopy());
  }
  return table_.Send(name.ToText(), std::move(parcel));
}

StatusOr<bool> WorkerStep::Receive(const RendezvousKey& key, Receiver* receiver, Parcel* parcel) {
  if (carrier_ != nullptr && carrier_->Carries(key.edge)) {
    carrier_->Await(key.edge);
    return delivered_.Receive(key.edge, receiver, parcel);
  }
  MS_ASSIGN_OR_RETURN(const RendezvousName name, RendezvousName::Of(key));
  const std::string task(TaskOf(name.source));
  MS_ASSIGN_OR_RETURN(const std::shared_ptr<Channel> channel, peers_->ChannelTo(task));
  uint64_t number = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return aborted_;
    number = next_++;
  }
  proto::RecvTensorRequest request;
  request.set_session(session_);
  request.set_step(step_);
  request.set_key(name.ToText());
  const auto take = [self = shared_from_this(), number, receiver, task](Status status,
                                                                        PayloadReader* response) {
    self->Forget(number);
    Parcel received;
    if (status.ok()) status = ReadParcel(response, &received);
    receiver->Receive(WithTask(status, task), std::move(received));
  };
  Remember(number, StartRequest(channel.get(), "RecvTensor", EncodeMessage(request),
                                absl::InfiniteFuture(), take));
  return false;
}

void WorkerStep::Give(const std::string& key, Take take) {
  auto* const asker = new Asker(std::move(take));
  Parcel parcel;
  StatusOr<bool> here = table_.Receive(key, asker, &parcel);
  if (here.ok() && !*here) return;
  asker->Receive(here.status(), std::move(parcel));
}

Status WorkerStep::Deliver(std::vector<CarriedParcel> parcels) {
  for (CarriedParcel& carried : parcels) {
    MS_RETURN_IF_ERROR(delivered_.Send(carried.edge, std::move(carried.parcel)));
  }
  return absl::OkStatus();
}

void WorkerStep::Abort(const Status& error) {
  std::vector<std::shared_ptr<Channel::Call>> calls;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return;
    aborted_ = error;
    for (const auto& [number, call] : calls_) calls.push_back(call);
  }
  table_.Abort(error);
  delivered_.Abort(error);
  for (const std::shared_ptr<Channel::Call>& call : calls) call->Cancel();
}

void WorkerStep::Remember(uint64_t number, std::shared_ptr<Channel::Call> call) {
  bool is_aborted = false;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_early_.erase(number) > 0) return;
    is_aborted = !aborted_.ok();
    calls_[number] = call;
  }
  if (is_aborted) call->Cancel();
}

void WorkerStep::Forget(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  if (calls_.erase(number) == 0) ended_early_.insert(number);
}

}  // namespace millstream
