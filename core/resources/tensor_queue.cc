#include "core/resources/tensor_queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/resources/find_waiting.h"

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

// The shape of an element of a batch. REQUIRES: the batch has at least one dimension.
PartialShape ElementShape(const Shape& batch) { return PartialShape(batch.dims().subspan(1)); }

}  // namespace

TensorQueue::TensorQueue(std::string name, std::string label, QueueSpec spec)
    : Resource(kType),
      name_(std::move(name)),
      label_(std::move(label)),
      spec_(std::move(spec)),
      elements_(MakeQueueElements(spec_)) {}

std::string TensorQueue::Label() const {
  return absl::StrCat(NameOf(spec_.kind), " '", label_, "'");
}

PartialShape TensorQueue::ShapeOf(size_t component) const {
  if (!spec_.shapes.empty()) return spec_.shapes[component];
  const bool is_priority = spec_.kind == QueueKind::kPriority && component == 0;
  return is_priority ? PartialShape::Scalar() : PartialShape();
}

Status TensorQueue::CheckTypes(const DataTypeList& dtypes) const {
  if (dtypes == spec_.dtypes) return absl::OkStatus();
  return errors::InvalidArgument("queue '", name_, "' has components of types ",
                                 Names(spec_.dtypes), ", got ", Names(dtypes));
}

Status TensorQueue::CheckComponents(const std::vector<Tensor>& components, bool many) const {
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
    const PartialShape expected = ShapeOf(i);
    if (expected.IsCompatibleWith(many ? ElementShape(shape) : PartialShape(shape))) continue;
    return errors::InvalidArgument("Shape mismatch in tuple component ", i, ". Expected ",
                                   many ? "a batch of " : "", expected.ToString(), ", got ",
                                   shape.ToString());
  }
  return absl::OkStatus();
}

// ---- What callers begin ----

void TensorQueue::Enqueue(Ticket ticket, std::vector<QueueRows> elements, Callback done) {
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    Giver giver;
    giver.ticket = ticket;
    giver.elements = std::move(elements);
    giver.done = std::move(done);
    givers_.push_back(std::move(giver));
    Advance(&ended);
  }
  Tell(std::move(ended));
}

void TensorQueue::Dequeue(Ticket ticket, int64_t count, bool or_fewer, Callback done) {
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    Taker taker;
    taker.ticket = ticket;
    taker.missing = count;
    taker.or_fewer = or_fewer;
    taker.done = std::move(done);
    takers_.push_back(std::move(taker));
    Advance(&ended);
  }
  Tell(std::move(ended));
}

void TensorQueue::Close(Ticket ticket, bool cancel_enqueues, Callback done) {
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

void TensorQueue::Cancel(Ticket ticket) {
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    const auto giver = FindWaiting(&givers_, ticket);
    const auto taker = FindWaiting(&takers_, ticket);
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

void TensorQueue::Drop() {
  AllEnded ended;
  std::unique_ptr<QueueElements> dropped = MakeQueueElements(spec_);  // goes without the lock
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

int64_t TensorQueue::size() const {
  absl::MutexLock lock(&mutex_);
  return elements_->size();
}

bool TensorQueue::is_closed() const {
  absl::MutexLock lock(&mutex_);
  return is_closed_;
}

// ---- What becomes of it ----

// Does all that can be done now.
void TensorQueue::Advance(AllEnded* ended) {
  uint64_t before = 0;
  do {
    before = num_moves_;
    while (!givers_.empty() && Give(&givers_.front(), ended)) givers_.pop_front();
    while (!takers_.empty() && Take(&takers_.front(), ended)) takers_.pop_front();
  } while (num_moves_ != before);
}

// True when the giver is done, well or not.
bool TensorQueue::Give(Giver* giver, AllEnded* ended) {
  if (giver->closes) {
    const Status status = is_closed_ ? errors::Cancelled(Label(), " is already closed.") : Status();
    is_closed_ = true;
    ended->push_back({std::move(giver->done), status, {}});
    return true;
  }
  if (is_closed_) {
    ended->push_back({std::move(giver->done), errors::Cancelled(Label(), " is closed."), {}});
    return true;
  }
  while (giver->HasMore() && Room() > 0) {
    QueueRows& next = giver->elements[giver->num_added];
    const int64_t count = std::min(next.count, Room());
    num_moves_ += static_cast<uint64_t>(count);
    if (count < next.count) {
      elements_->Add(next.TakeFirst(count));
      continue;
    }
    elements_->Add(std::move(next));
    ++giver->num_added;
  }
  if (giver->HasMore()) return false;
  ended->push_back({std::move(giver->done), absl::OkStatus(), {}});
  return true;
}

// True when the taker is done, well or not.
bool TensorQueue::Take(Taker* taker, AllEnded* ended) {
  while (taker->missing > 0 && Available() > 0) {
    taker->taken.push_back(elements_->Take(std::min(taker->missing, Available())));
    const int64_t count = taker->taken.back().count;
    taker->missing -= count;
    num_moves_ += static_cast<uint64_t>(count);
  }
  const bool suffices = is_closed_ && taker->or_fewer && !taker->taken.empty();
  if (taker->missing == 0 || suffices) {
    ended->push_back({std::move(taker->done), absl::OkStatus(), std::move(taker->taken)});
    return true;
  }
  if (!is_closed_) return false;
  const int64_t requested = PutBack(taker);
  ended->push_back(
      {std::move(taker->done),
       errors::OutOfRange(Label(), " is closed and has insufficient elements (requested ",
                          requested, ", current size ", elements_->size(), ")"),
       {}});
  return true;
}

int64_t TensorQueue::PutBack(Taker* taker) {
  int64_t requested = taker->missing;
  for (const QueueRows& rows : taker->taken) requested += rows.count;
  elements_->PutBack(std::move(taker->taken));
  taker->taken.clear();
  return requested;
}

// A close among them has what it wants: nothing waits before it.
void TensorQueue::EndGivers(const Status& status, AllEnded* ended) {
  for (Giver& giver : givers_) {
    is_closed_ |= giver.closes;
    ended->push_back({std::move(giver.done), giver.closes ? absl::OkStatus() : status, {}});
  }
  givers_.clear();
}

void TensorQueue::Tell(AllEnded ended) {
  for (Ended& each : ended) each.done(each.status, std::move(each.elements));
}

}  // namespace millstream
