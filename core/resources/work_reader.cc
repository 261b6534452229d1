#include "core/resources/work_reader.h"

#include <algorithm>
#include <atomic>

#include "absl/status/status.h"
#include "framework/tensor.h"

namespace millstream {
namespace {

// What a queue answers, possibly before the call that asks has returned.
struct Answer {
  std::atomic<bool> is_second{false};  // set by the first of both, the answer and the return
  Status status;
  std::vector<QueueRows> rows;
};

}  // namespace

void WorkReader::Read(Ticket ticket, ResourceRef<TensorQueue> queue, int64_t count, Callback done) {
  auto request = std::make_shared<Request>();
  request->ticket = ticket;
  request->queue = std::move(queue);
  request->count = count;
  request->done = std::move(done);
  {
    absl::MutexLock lock(&mutex_);
    requests_.push_back(std::move(request));
    if (is_serving_) return;
    is_serving_ = true;
  }
  Serve();
}

void WorkReader::Serve() {
  // The end of a request may release the last other reference.
  const auto self = ResourceRef<WorkReader>::Share(this);
  while (true) {
    SharedRequest request;
    {
      absl::MutexLock lock(&mutex_);
      if (requests_.empty()) {
        is_serving_ = false;
        return;
      }
      request = requests_.front();
    }
    StatusOr<std::vector<WorkItem>> items = ReadItems(request->count);
    if (!items.ok()) {
      EndFirst(request, items.status(), {});
    } else if (!items->empty()) {
      EndFirst(request, absl::OkStatus(), *std::move(items));
    } else if (WaitForWork(request)) {
      return;
    }
  }
}

StatusOr<std::vector<WorkItem>> WorkReader::ReadItems(int64_t count) {
  std::vector<WorkItem> items;
  absl::MutexLock lock(&mutex_);
  while (items_ != nullptr && static_cast<int64_t>(items.size()) < count) {
    StatusOr<std::optional<WorkItem>> item = items_->Next();
    if (!item.ok()) {
      items_ = nullptr;
      return item.status();
    }
    bool is_at_end = true;
    if (item->has_value()) {
      items.push_back(**std::move(item));
      ++num_items_;
      is_at_end = items_->is_at_end();
    }
    if (!is_at_end) continue;
    items_ = nullptr;
    ++num_finished_;
  }
  return items;
}

bool WorkReader::WaitForWork(const SharedRequest& request) {
  auto answer = std::make_shared<Answer>();
  const auto self = ResourceRef<WorkReader>::Share(this);
  request->queue->Dequeue(
      request.get(), 1, false,
      [self, request, answer](const Status& status, std::vector<QueueRows> rows) {
        answer->status = status;
        answer->rows = std::move(rows);
        if (!answer->is_second.exchange(true)) return;
        self->Begin(request, answer->status, answer->rows);
        self->Serve();
      });
  if (answer->is_second.exchange(true)) {
    Begin(request, answer->status, answer->rows);
    return false;
  }
  bool is_cancelled = false;
  {
    absl::MutexLock lock(&mutex_);
    is_cancelled = request->is_cancelled;
  }
  // Cancel may have asked the queue before the queue knew of the request.
  if (is_cancelled) request->queue->Cancel(request.get());
  return true;
}

void WorkReader::Begin(const SharedRequest& request, const Status& status,
                       const std::vector<QueueRows>& rows) {
  if (!status.ok()) return EndFirst(request, status, {});
  const Tensor name = rows[0].FirstOf(0);
  if (name.num_elements() != 1) {
    return EndFirst(
        request,
        errors::InvalidArgument("Expected to dequeue a one-element string tensor from ", "queue '",
                                request->queue->name(), "', got shape ", name.shape().ToString()),
        {});
  }
  StatusOr<std::unique_ptr<WorkItems>> opened = open_(*name.data<std::string>());
  if (!opened.ok()) return EndFirst(request, opened.status(), {});
  absl::MutexLock lock(&mutex_);
  items_ = *std::move(opened);
  current_work_ = *name.data<std::string>();
}

void WorkReader::EndFirst(const SharedRequest& request, const Status& status,
                          std::vector<WorkItem> items) {
  {
    absl::MutexLock lock(&mutex_);
    requests_.pop_front();
  }
  request->done(status, std::move(items));
}

void WorkReader::Cancel(Ticket ticket) {
  SharedRequest request;
  bool is_first = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto found =
        std::find_if(requests_.begin(), requests_.end(),
                     [&](const SharedRequest& one) { return one->ticket == ticket; });
    if (found == requests_.end()) return;
    request = *found;
    request->is_cancelled = true;
    is_first = found == requests_.begin();
    if (!is_first) requests_.erase(found);
  }
  if (is_first) {
    request->queue->Cancel(request.get());
  } else {
    request->done(absl::CancelledError("the read was cancelled"), {});
  }
}

void WorkReader::Reset() {
  absl::MutexLock lock(&mutex_);
  items_ = nullptr;
  num_items_ = 0;
  num_finished_ = 0;
  current_work_.clear();
}

Status WorkReader::CheckStateIsSaved() const {
  if (state_ == StateOfReader::kSaved) return absl::OkStatus();
  return errors::Unimplemented("reader '", name_,
                               "' does not save its state: only readers of whole files and of "
                               "names do");
}

StatusOr<ReaderState> WorkReader::State() const {
  MS_RETURN_IF_ERROR(CheckStateIsSaved());
  absl::MutexLock lock(&mutex_);
  ReaderState state;
  state.num_finished = num_finished_;
  state.num_started = num_finished_ + (items_ != nullptr ? 1 : 0);
  state.num_items = num_items_;
  state.current_work = current_work_;
  return state;
}

Status WorkReader::Restore(const ReaderState& state) {
  MS_RETURN_IF_ERROR(CheckStateIsSaved());
  // Without an overflow: numbers below 0 are refused first.
  if (state.num_finished < 0 || state.num_items < 0 || state.num_started < state.num_finished ||
      state.num_started - state.num_finished > 1) {
    return errors::InvalidArgument("the state of a reader has ", state.num_started,
                                   " pieces of work begun, ", state.num_finished, " finished and ",
                                   state.num_items, " records");
  }
  std::unique_ptr<WorkItems> items;
  if (state.num_started > state.num_finished) {
    MS_ASSIGN_OR_RETURN(items, open_(state.current_work));
  }
  absl::MutexLock lock(&mutex_);
  items_ = std::move(items);
  num_items_ = state.num_items;
  num_finished_ = state.num_finished;
  current_work_ = state.current_work;
  return absl::OkStatus();
}

int64_t WorkReader::num_items() const {
  absl::MutexLock lock(&mutex_);
  return num_items_;
}

int64_t WorkReader::num_finished_works() const {
  absl::MutexLock lock(&mutex_);
  return num_finished_;
}

}  // namespace millstream
