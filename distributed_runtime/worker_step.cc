#include "distributed_runtime/worker_step.h"

#include <utility>
#include <vector>

#include "core/partition/rendezvous_name.h"
#include "framework/buffer.h"

namespace millstream {
namespace {

// A tensor in memory that a device has pinned, and the devices, which outlive it.
struct PinnedTensor {
  std::shared_ptr<const SharedDevices> devices;
  Tensor tensor;
};

}  // namespace

// Messages, and other tasks of the process, may have it for longer than the session its devices. It
// is not copied if nobody else has it.
StatusOr<Tensor> WorkerStep::Leaving(Tensor tensor) const {
  if (!tensor.buffer()->IsUnique()) return tensor.DeepCopy();
  const auto pinned = std::make_shared<PinnedTensor>(PinnedTensor{devices_, std::move(tensor)});
  const Tensor& held = pinned->tensor;
  BufferRef buffer = BorrowBuffer(held.raw(), held.bytes(), /*writable=*/true, [pinned] {});
  return Tensor(held.dtype(), held.shape(), std::move(buffer));
}

Status WorkerStep::Send(const RendezvousKey& key, Parcel parcel) {
  if (parcel.tensor.space() == MemorySpace::kPinned) {
    MS_ASSIGN_OR_RETURN(parcel.tensor, Leaving(std::move(parcel.tensor)));
  }
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
  return outgoing_.Send(name.ToText(), std::string(TaskOf(name.destination)), std::move(parcel));
}

StatusOr<bool> WorkerStep::Receive(const RendezvousKey& key, Receiver* receiver, Parcel* parcel) {
  if (carrier_ != nullptr && carrier_->Carries(key.edge)) {
    carrier_->Await(key.edge);
    return ReceiveCarried(key.edge, receiver, parcel);
  }
  MS_ASSIGN_OR_RETURN(const RendezvousName name, RendezvousName::Of(key));
  const std::string text = name.ToText();
  const std::string task(TaskOf(name.source));
  MS_ASSIGN_OR_RETURN(const std::shared_ptr<Channel> channel, peers_->ChannelTo(task));
  uint64_t number = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return aborted_;
    const auto early = early_.find(text);
    if (early != early_.end()) {
      *parcel = std::move(early->second);
      early_.erase(early);
      return true;
    }
    if (!receivers_.try_emplace(text, receiver).second) {
      return errors::Internal("two receivers await the same tensor of a step");
    }
    number = next_++;
  }
  proto::RecvTensorRequest request;
  request.set_session(session_);
  request.set_step(step_);
  request.set_key(text);
  request.set_takes_more(true);
  const auto take = [self = shared_from_this(), number, text, task](const Status& status,
                                                                    PayloadReader* response) {
    self->Forget(number);
    self->TakeResponse(text, task, status, response);
  };
  Asked asked;
  asked.call = StartRequest(channel.get(), "RecvTensor", EncodeMessage(request),
                            absl::InfiniteFuture(), take);
  asked.name = std::move(*request.mutable_key());
  Remember(number, std::move(asked));
  return false;
}

// What waits is noted before the table is asked: Deliver, which fills the table first, finds it.
StatusOr<bool> WorkerStep::ReceiveCarried(int64_t edge, Receiver* receiver, Parcel* parcel) {
  {
    absl::MutexLock lock(&mutex_);
    awaited_.insert(edge);
  }
  const StatusOr<bool> here = delivered_.Receive(edge, receiver, parcel);
  if (here.ok() && !*here) return here;
  absl::MutexLock lock(&mutex_);
  awaited_.erase(edge);
  return here;
}

WorkerStep::Waits WorkerStep::waits() const {
  Waits waits;
  absl::MutexLock lock(&mutex_);
  for (const auto& [number, asked] : asked_) waits.names.push_back(asked.name);
  waits.edges.assign(awaited_.begin(), awaited_.end());
  return waits;
}

void WorkerStep::TakeResponse(const std::string& key, const std::string& task, const Status& status,
                              PayloadReader* response) {
  proto::RecvTensorResponse message;
  const auto read = [&]() -> Status {
    MS_RETURN_IF_ERROR(status);
    MS_RETURN_IF_ERROR(DecodeMessage(response, &message));
    MS_ASSIGN_OR_RETURN(Tensor tensor, DecodeTensor(message.tensor(), response));
    std::vector<Parcel> more;
    for (const proto::FurtherTensor& one : message.more()) {
      Parcel& parcel = more.emplace_back();
      parcel.dead = one.dead();
      MS_ASSIGN_OR_RETURN(parcel.tensor, DecodeTensor(one.tensor(), response));
    }
    // The others first: the Receive may be what the rest of the part waits for.
    for (size_t i = 0; i < more.size(); ++i) {
      Accept(message.more(static_cast<int>(i)).key(), std::move(more[i]));
    }
    if (!message.came_before()) Accept(key, Parcel{std::move(tensor), message.dead(), nullptr});
    return absl::OkStatus();
  };
  const Status result = read();
  if (result.ok()) return;
  if (Receiver* const receiver = TakeReceiver(key)) {
    receiver->Receive(WithTask(result, task), Parcel());
  }
}

void WorkerStep::Accept(const std::string& key, Parcel parcel) {
  Receiver* receiver = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return;
    const auto found = receivers_.find(key);
    if (found == receivers_.end()) {
      early_[key] = std::move(parcel);
      return;
    }
    receiver = found->second;
    receivers_.erase(found);
  }
  receiver->Receive(absl::OkStatus(), std::move(parcel));
}

Rendezvous::Receiver* WorkerStep::TakeReceiver(const std::string& key) {
  absl::MutexLock lock(&mutex_);
  const auto found = receivers_.find(key);
  if (found == receivers_.end()) return nullptr;
  Receiver* const receiver = found->second;
  receivers_.erase(found);
  return receiver;
}

Status WorkerStep::Deliver(std::vector<CarriedParcel> parcels) {
  for (CarriedParcel& carried : parcels) {
    MS_RETURN_IF_ERROR(delivered_.Send(carried.edge, std::move(carried.parcel)));
  }
  absl::MutexLock lock(&mutex_);
  for (const CarriedParcel& carried : parcels) awaited_.erase(carried.edge);
  return absl::OkStatus();
}

void WorkerStep::Abort(const Status& error) {
  std::vector<std::shared_ptr<Channel::Call>> calls;
  absl::flat_hash_map<std::string, Receiver*> receivers;
  absl::flat_hash_map<std::string, Parcel> dropped;  // destroyed without the lock
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return;
    aborted_ = error;
    for (const auto& [number, asked] : asked_) calls.push_back(asked.call);
    receivers.swap(receivers_);
    dropped.swap(early_);
  }
  outgoing_.Abort(error);
  delivered_.Abort(error);
  for (const auto& [key, receiver] : receivers) receiver->Receive(error, Parcel());
  for (const std::shared_ptr<Channel::Call>& call : calls) call->Cancel();
}

void WorkerStep::Remember(uint64_t number, Asked asked) {
  const std::shared_ptr<Channel::Call> call = asked.call;
  bool is_aborted = false;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_early_.erase(number) > 0) return;
    is_aborted = !aborted_.ok();
    asked_[number] = std::move(asked);
  }
  if (is_aborted) call->Cancel();
}

void WorkerStep::Forget(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  if (asked_.erase(number) == 0) ended_early_.insert(number);
}

}  // namespace millstream
