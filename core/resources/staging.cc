#include "core/resources/staging.h"

namespace millstream {
namespace {

// What operations wait for. Puts of a map wait in a line for each key, because the components of
// one element take the place of one.
constexpr int kPuts = 0;
constexpr int kGets = 1;
constexpr int kPeeks = 2;
constexpr int kGetsOfAny = 3;

Status StagingCancelled() { return errors::Cancelled("the staging operation was cancelled"); }

int64_t BytesOf(const StagedTensors& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.has_value()) bytes += static_cast<int64_t>(tensor.bytes());
  }
  return bytes;
}

}  // namespace

// ---- What both kinds have in common ----

void Staging::Begin(Ticket ticket, WaitingList::Line line, WaitingList::Attempt attempt,
                    Done done) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.Add(ticket, line, std::move(attempt), std::move(done));
    waiting_.Advance(&ended);
  }
  ended.Tell();
}

void Staging::Cancel(Ticket ticket) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.Cancel(ticket, StagingCancelled(), &ended);
    waiting_.Advance(&ended);
  }
  ended.Tell();
}

void Staging::Clear() {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    RemoveAll();
    WakePuts();
    waiting_.Advance(&ended);
  }
  ended.Tell();
}

void Staging::Drop() {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.CancelAll(StagingCancelled(), &ended);
    RemoveAll();
  }
  ended.Tell();
}

// Without a limit of memory all puts need the same: where one has no room, no other has.
void Staging::WakePuts() { waiting_.WakeAll(kPuts, spec_.memory_limit == 0); }

Status Staging::CheckFits(int64_t bytes) const {
  if (spec_.memory_limit == 0 || bytes <= spec_.memory_limit) return absl::OkStatus();
  return errors::InvalidArgument(
      "attribute 'memory_limit': attempted to insert tensors with combined size of '", bytes,
      "' bytes into a staging area with a memory limit of '", spec_.memory_limit, "'");
}

bool Staging::HasRoom(int64_t count, int64_t bytes, int64_t used) const {
  return (spec_.capacity == 0 || count < spec_.capacity) &&
         (spec_.memory_limit == 0 || used + bytes <= spec_.memory_limit);
}

// ---- Areas ----

void StagingArea::Put(Ticket ticket, StagedTensors element, Done done) {
  const int64_t bytes = BytesOf(element);
  const Status fits = CheckFits(bytes);
  if (!fits.ok()) return done(fits);
  auto attempt = [this, bytes, element = std::move(element)](Status*) mutable {
    mutex_.AssertHeld();
    if (!HasRoom(static_cast<int64_t>(elements_.size()), bytes, bytes_)) return false;
    elements_.push_back(std::move(element));
    bytes_ += bytes;
    waiting_.Wake({kGets, 0});
    waiting_.Wake({kPeeks, static_cast<int64_t>(elements_.size()) - 1});
    return true;
  };
  Begin(ticket, {kPuts, 0}, std::move(attempt), std::move(done));
}

void StagingArea::Get(Ticket ticket, StagedTensors* tensors, Done done) {
  auto attempt = [this, tensors](Status*) {
    mutex_.AssertHeld();
    if (elements_.empty()) return false;
    *tensors = std::move(elements_.front());
    elements_.pop_front();
    bytes_ -= BytesOf(*tensors);
    WakePuts();
    return true;
  };
  Begin(ticket, {kGets, 0}, std::move(attempt), std::move(done));
}

void StagingArea::Peek(Ticket ticket, int64_t index, StagedTensors* tensors, Done done) {
  auto attempt = [this, index, tensors](Status*) {
    mutex_.AssertHeld();
    if (index >= static_cast<int64_t>(elements_.size())) return false;
    *tensors = elements_[static_cast<size_t>(index)];
    return true;
  };
  Begin(ticket, {kPeeks, index}, std::move(attempt), std::move(done));
}

int64_t StagingArea::size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(elements_.size());
}

void StagingArea::RemoveAll() {
  elements_.clear();
  bytes_ = 0;
}

// ---- Maps ----

void StagingMap::Put(Ticket ticket, int64_t key, size_t num_components, Indices indices,
                     StagedTensors values, Done done) {
  const int64_t bytes = BytesOf(values);
  const Status fits = CheckFits(bytes);
  if (!fits.ok()) return done(fits);
  auto attempt = [this, key, num_components, bytes, indices = std::move(indices),
                  values = std::move(values)](Status* status) mutable {
    mutex_.AssertHeld();
    if (complete_.count(key) > 0) {
      *status = errors::InvalidArgument("the element with key ", key, " is complete already");
      return true;
    }
    auto found = incomplete_.find(key);
    // The components of one element take the place of one.
    const int64_t others = found != incomplete_.end()
                               ? 0
                               : static_cast<int64_t>(complete_.size() + incomplete_.size());
    if (!HasRoom(others, bytes, bytes_)) return false;
    if (found == incomplete_.end()) {
      found = incomplete_.emplace(key, StagedTensors(num_components)).first;
    }
    StagedTensors& element = found->second;
    if (element.size() != num_components) {
      *status = errors::InvalidArgument("the element with key ", key, " has ", element.size(),
                                        " components, not ", num_components);
      return true;
    }
    for (const int64_t index : indices) {
      if (!element[static_cast<size_t>(index)].has_value()) continue;
      *status = errors::InvalidArgument("The tensor for index '", index, "' for key '", key,
                                        "' was already initialized");
      return true;
    }
    for (size_t i = 0; i < indices.size(); ++i) {
      element[static_cast<size_t>(indices[i])] = std::move(values[i]);
    }
    bytes_ += bytes;
    for (const Tensor& tensor : element) {
      if (!tensor.has_value()) return true;
    }
    complete_.insert(incomplete_.extract(found));
    waiting_.Wake({kGets, key});
    waiting_.Wake({kPeeks, key});
    waiting_.Wake({kGetsOfAny, 0});
    return true;
  };
  Begin(ticket, {kPuts, key}, std::move(attempt), std::move(done));
}

// Copies or moves components out. An element of which nothing is left is removed.
Status StagingMap::Take(Elements::iterator element, const Indices& indices, bool remove,
                        StagedTensors* tensors) {
  StagedTensors& values = element->second;
  for (const int64_t index : indices) {
    if (index < 0 || index >= static_cast<int64_t>(values.size())) {
      return errors::InvalidArgument("argument 'indices': ", index, " is not in [0, ",
                                     values.size(), ")");
    }
    if (values[static_cast<size_t>(index)].has_value()) continue;
    return errors::InvalidArgument("Tensor at index '", index, "' for key '", element->first,
                                   "' has already been removed.");
  }
  for (const int64_t index : indices) {
    Tensor& value = values[static_cast<size_t>(index)];
    tensors->push_back(value);
    if (!remove) continue;
    bytes_ -= static_cast<int64_t>(value.bytes());
    value = Tensor();
  }
  if (remove) WakePuts();
  for (const Tensor& value : values) {
    if (value.has_value()) return absl::OkStatus();
  }
  complete_.erase(element);
  return absl::OkStatus();
}

void StagingMap::Get(Ticket ticket, int64_t key, Indices indices, StagedTensors* tensors,
                     Done done) {
  auto attempt = [this, key, indices = std::move(indices), tensors](Status* status) {
    mutex_.AssertHeld();
    const auto found = complete_.find(key);
    if (found == complete_.end()) return false;
    *status = Take(found, indices, true, tensors);
    return true;
  };
  Begin(ticket, {kGets, key}, std::move(attempt), std::move(done));
}

void StagingMap::GetAny(Ticket ticket, Indices indices, int64_t* key, StagedTensors* tensors,
                        Done done) {
  auto attempt = [this, key, indices = std::move(indices), tensors](Status* status) {
    mutex_.AssertHeld();
    if (complete_.empty()) return false;
    *key = complete_.begin()->first;
    *status = Take(complete_.begin(), indices, true, tensors);
    return true;
  };
  Begin(ticket, {kGetsOfAny, 0}, std::move(attempt), std::move(done));
}

void StagingMap::Peek(Ticket ticket, int64_t key, Indices indices, StagedTensors* tensors,
                      Done done) {
  auto attempt = [this, key, indices = std::move(indices), tensors](Status* status) {
    mutex_.AssertHeld();
    const auto found = complete_.find(key);
    if (found == complete_.end()) return false;
    *status = Take(found, indices, false, tensors);
    return true;
  };
  Begin(ticket, {kPeeks, key}, std::move(attempt), std::move(done));
}

int64_t StagingMap::size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(complete_.size());
}

int64_t StagingMap::incomplete_size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(incomplete_.size());
}

void StagingMap::RemoveAll() {
  complete_.clear();
  incomplete_.clear();
  bytes_ = 0;
}

}  // namespace millstream
