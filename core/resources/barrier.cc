#include "core/resources/barrier.h"

#include <algorithm>

namespace millstream {
namespace {

// All takes wait in one line.
constexpr WaitingList::Line kTakes;

}  // namespace

Status Barrier::InsertOne(size_t component, const std::string& key, const Tensor& value) {
  auto found = incomplete_.find(key);
  const bool is_new = found == incomplete_.end();
  if (has_dropped_ || (is_closed_ && is_new)) {
    return errors::Cancelled("Barrier ", name_, " is closed, but attempted to insert a ",
                             is_new ? "brand new " : "", "key: ", key);
  }
  if (is_new) {
    Element element;
    element.number = next_number_++;
    element.key = key;
    element.components.resize(spec_.dtypes.size());
    found = incomplete_.emplace(key, std::move(element)).first;
  }
  std::vector<Tensor>& components = found->second.components;
  if (components[component].has_value()) {
    return errors::InvalidArgument("Key ", key, " already has a value for component ", component,
                                   " in barrier ", name_);
  }
  components[component] = value;
  const bool is_complete = std::all_of(components.begin(), components.end(),
                                       [](const Tensor& each) { return each.has_value(); });
  if (!is_complete) return absl::OkStatus();
  const int64_t number = found->second.number;
  ready_.emplace(number, std::move(found->second));
  incomplete_.erase(found);
  return absl::OkStatus();
}

Status Barrier::Insert(size_t component, const std::vector<std::string>& keys,
                       const std::vector<Tensor>& values) {
  WaitingList::Ended ended;
  Status status;
  {
    absl::MutexLock lock(&mutex_);
    for (size_t i = 0; i < keys.size() && status.ok(); ++i) {
      status = InsertOne(component, keys[i], values[i]);
    }
    waiting_.Wake(kTakes);
    waiting_.Advance(&ended);
  }
  ended.Tell();
  return status;
}

bool Barrier::TryTake(size_t count, TakeOptions options, std::vector<Element>* elements,
                      Status* status) {
  const size_t total = ready_.size() + incomplete_.size();
  if (ready_.size() < count) {
    if (!is_closed_) return false;
    const bool will_have = options.waits_for_incomplete || !options.allows_fewer;
    if (will_have && !incomplete_.empty() && (options.allows_fewer || total >= count)) return false;
    if (!options.allows_fewer || ready_.empty()) {
      *status = errors::OutOfRange("Barrier '", name_,
                                   "' is closed and has insufficient elements (requested ", count,
                                   ", total size ", total, ")");
      return true;
    }
  }
  for (size_t i = 0; i < count && !ready_.empty(); ++i) {
    elements->push_back(std::move(ready_.begin()->second));
    ready_.erase(ready_.begin());
  }
  return true;
}

void Barrier::Take(Ticket ticket, size_t count, TakeOptions options, std::vector<Element>* elements,
                   Done done) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.Add(
        ticket, kTakes,
        [this, count, options, elements](Status* status) {
          mutex_.AssertHeld();
          return TryTake(count, options, elements, status);
        },
        std::move(done));
    waiting_.Advance(&ended);
  }
  ended.Tell();
}

Status Barrier::Close(bool drops_incomplete) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    const bool changes = !is_closed_ || (drops_incomplete && !has_dropped_);
    if (!changes) return errors::Cancelled("Barrier '", name_, "' is already closed.");
    is_closed_ = true;
    has_dropped_ |= drops_incomplete;
    if (drops_incomplete) incomplete_.clear();
    waiting_.Wake(kTakes);
    waiting_.Advance(&ended);
  }
  ended.Tell();
  return absl::OkStatus();
}

void Barrier::Cancel(Ticket ticket) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.Cancel(ticket, errors::Cancelled("the take from the barrier was cancelled"), &ended);
    waiting_.Advance(&ended);
  }
  ended.Tell();
}

int64_t Barrier::ready_size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(ready_.size());
}

int64_t Barrier::incomplete_size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(incomplete_.size());
}

void Barrier::Drop() {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.CancelAll(errors::Cancelled("the barrier was dropped"), &ended);
    ready_.clear();
    incomplete_.clear();
    is_closed_ = false;
    has_dropped_ = false;
    next_number_ = std::numeric_limits<int64_t>::min();
  }
  ended.Tell();
}

}  // namespace millstream
