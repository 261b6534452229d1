#include "core/resources/fifo_queue.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millstream {
namespace {

std::string Names(const DataTypeList& dtypes) {
  return absl::StrCat("[",
                      absl::StrJoin(dtypes, ", ",
                                    [](std::string* out, DataType dtype) {
                                      absl::StrAppend(out, DataTypeName(dtype));
                                    }),
                      "]");
}

Status EnqueueCancelled() { return errors::Cancelled("Enqueue operation was cancelled"); }
Status DequeueCancelled() { return errors::Cancelled("Dequeue operation was cancelled"); }

// Whether a batch of tensors of shape `element` may have shape `batch`.
bool IsBatchOf(const Shape& element, const Shape& batch) {
  const auto dims = batch.dims();
  return batch.rank() == element.rank() + 1 &&
         std::equal(dims.begin() + 1, dims.end(), element.dims().begin());
}

}  // namespace

Status FifoQueue::CheckTypes(const DataTypeList& dtypes) const {
  if (dtypes == spec_.dtypes) return absl::OkStatus();
  return errors::InvalidArgument("queue '", name_, "' has components of types ",
                                 Names(spec_.dtypes), ", got ", Names(dtypes));
}

Status FifoQueue::CheckComponents(const std::vector<Tensor>& components, bool many) const {
  DataTypeList dtypes;
  for (const Tensor& component : components) dtypes.push_back(component.dtype());
  MS_RETURN_IF_ERROR(CheckTypes(dtypes));
  for (size_t i = 0; i < components.size(); ++i) {
    const Shape& shape = components[i].shape();
    if (many && (shape.rank() == 0 || shape.dim(0) != components[0].shape().dim(0))) {
      return errors::InvalidArgument(
          "All components must have the same size in the 0th dimension, got component ", i,
          " of shape ", shape.ToString());
    }
    if (spec_.shapes.empty()) continue;
    const Shape& expected = spec_.shapes[i];
    if (many ? IsBatchOf(expected, shape) : expected == shape) continue;
    return errors::InvalidArgument("Shape mismatch in tuple component ", i, ". Expected ",
                                   many ? "a batch of " : "", expected.ToString(), ", got ",
                                   shape.ToString());
  }
  return absl::OkStatus();
}

// ---- What callers begin ----

void FifoQueue::Enqueue(Ticket ticket, std::vector<Element> elements, Callback done) {
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    Giver giver;
    giver.ticket = ticket;
    std::move(elements.begin(), elements.end(), std::back_inserter(giver.elements));
    giver.done = std::move(done);
    givers_.push_back(std::move(giver));
    Advance(&ended);
  }
  Tell(std::move(ended));
}

void FifoQueue::Dequeue(Ticket ticket, int64_t count, Callback done) {
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    Taker taker;
    taker.ticket = ticket;
    taker.count = static_cast<size_t>(count);
    taker.done = std::move(done);
    takers_.push_back(std::move(taker));
    Advance(&ended);
  }
  Tell(std::move(ended));
}

void FifoQueue::Close(Ticket ticket, bool cancel_enqueues, Callback done) {
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    if (cancel_enqueues) {
      EndGivers(EnqueueCancelled(), &ended);
      is_closed_ = true;
      ended.push_back({std::move(done), absl::OkStatus(), {}});
    } else {
      Giver giver;
      giver.ticket = ticket;
      giver.closes = true;
      giver.done = std::move(done);
      givers_.push_back(std::move(giver));
    }
    Advance(&ended);
  }
  Tell(std::move(ended));
}

void FifoQueue::Cancel(Ticket ticket) {
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    const auto giver = std::find_if(givers_.begin(), givers_.end(),
                                    [=](const Giver& each) { return each.ticket == ticket; });
    const auto taker = std::find_if(takers_.begin(), takers_.end(),
                                    [=](const Taker& each) { return each.ticket == ticket; });
    if (giver != givers_.end()) {
      ended.push_back({std::move(giver->done), EnqueueCancelled(), {}});
      givers_.erase(giver);
    }
    if (taker != takers_.end()) {
      PutBack(&*taker);
      ended.push_back({std::move(taker->done), DequeueCancelled(), {}});
      takers_.erase(taker);
    }
    Advance(&ended);
  }
  Tell(std::move(ended));
}

void FifoQueue::Drop() {
  AllEnded ended;
  std::deque<Element> dropped;  // goes without the lock
  {
    absl::MutexLock lock(&mutex_);
    EndGivers(EnqueueCancelled(), &ended);
    for (Taker& taker : takers_) {
      ended.push_back({std::move(taker.done), DequeueCancelled(), {}});
    }
    takers_.clear();
    dropped.swap(elements_);
    is_closed_ = false;
  }
  Tell(std::move(ended));
}

int64_t FifoQueue::size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(elements_.size());
}

bool FifoQueue::is_closed() const {
  absl::MutexLock lock(&mutex_);
  return is_closed_;
}

// ---- What becomes of it ----

// Does all that can be done now.
void FifoQueue::Advance(AllEnded* ended) {
  uint64_t before = 0;
  do {
    before = num_moves_;
    while (!givers_.empty() && Give(&givers_.front(), ended)) givers_.pop_front();
    while (!takers_.empty() && Take(&takers_.front(), ended)) takers_.pop_front();
  } while (num_moves_ != before);
}

// True when the giver is done, well or not.
bool FifoQueue::Give(Giver* giver, AllEnded* ended) {
  if (giver->closes) {
    const Status status =
        is_closed_ ? errors::Cancelled("FIFOQueue '", label_, "' is already closed.") : Status();
    is_closed_ = true;
    ended->push_back({std::move(giver->done), status, {}});
    return true;
  }
  if (is_closed_) {
    ended->push_back(
        {std::move(giver->done), errors::Cancelled("FIFOQueue '", label_, "' is closed."), {}});
    return true;
  }
  while (!giver->elements.empty() && HasRoom()) {
    elements_.push_back(std::move(giver->elements.front()));
    giver->elements.pop_front();
    ++num_moves_;
  }
  if (!giver->elements.empty()) return false;
  ended->push_back({std::move(giver->done), absl::OkStatus(), {}});
  return true;
}

// True when the taker is done, well or not.
bool FifoQueue::Take(Taker* taker, AllEnded* ended) {
  while (taker->taken.size() < taker->count && !elements_.empty()) {
    taker->taken.push_back(std::move(elements_.front()));
    elements_.pop_front();
    ++num_moves_;
  }
  if (taker->taken.size() == taker->count) {
    ended->push_back({std::move(taker->done), absl::OkStatus(), std::move(taker->taken)});
    return true;
  }
  if (!is_closed_) return false;
  PutBack(taker);
  ended->push_back({std::move(taker->done),
                    errors::OutOfRange("FIFOQueue '", label_,
                                       "' is closed and has insufficient elements (requested ",
                                       taker->count, ", current size ", elements_.size(), ")"),
                    {}});
  return true;
}

// They are the first again.
void FifoQueue::PutBack(Taker* taker) {
  std::vector<Element>& taken = taker->taken;
  elements_.insert(elements_.begin(), std::make_move_iterator(taken.begin()),
                   std::make_move_iterator(taken.end()));
  taken.clear();
}

// A close among them has what it wants: nothing waits before it.
void FifoQueue::EndGivers(const Status& status, AllEnded* ended) {
  for (Giver& giver : givers_) {
    is_closed_ |= giver.closes;
    ended->push_back({std::move(giver.done), giver.closes ? absl::OkStatus() : status, {}});
  }
  givers_.clear();
}

void FifoQueue::Tell(AllEnded ended) {
  for (Ended& each : ended) each.done(each.status, std::move(each.elements));
}

}  // namespace millstream
