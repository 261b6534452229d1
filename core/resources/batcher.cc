#include "core/resources/batcher.h"

#include <algorithm>

#include "core/device/device_memory.h"
#include "core/resources/alarms.h"

namespace millstream {
namespace {

Status TaskCancelled() { return errors::Cancelled("the step was cancelled before its batch ran"); }

// The rows [first, first + count) of a tensor.
Tensor RowsOf(const Tensor& tensor, int64_t first, int64_t count) {
  Shape shape({count});
  for (const int64_t size : tensor.shape().dims().subspan(1)) shape.AddDim(size);
  const int64_t rows = tensor.shape().dim(0);
  const size_t row_bytes = rows == 0 ? 0 : tensor.bytes() / static_cast<size_t>(rows);
  return Tensor(tensor.dtype(), std::move(shape), tensor.buffer(),
                tensor.offset() + static_cast<size_t>(first) * row_bytes);
}

bool HaveEqualRows(const Tensor& a, const Tensor& b) {
  return a.shape().dims().subspan(1) == b.shape().dims().subspan(1);
}

// The least allowed size for so many rows.
int64_t PaddedSize(const BatcherSpec& spec, int64_t rows) {
  for (const int64_t size : spec.allowed_batch_sizes) {
    if (size >= rows) return size;
  }
  return rows;
}

}  // namespace

// ---- Collecting ----

Status Batcher::CheckTask(const BatchTask& task) const {
  if (task.size() <= spec_.max_batch_size) return absl::OkStatus();
  return errors::InvalidArgument("argument 'in_tensors' has ", task.size(),
                                 " rows: Task size must be at most the maximum batch size, which "
                                 "attribute 'max_batch_size' says is ",
                                 spec_.max_batch_size);
}

// The first task of a batch decides, so that only the one that does not fit fails.
Status Batcher::CheckRows(const BatchTask& task, const Batch& batch) const {
  const std::vector<Tensor>& first = batch.tasks[0].tensors;
  for (size_t i = 0; i < first.size(); ++i) {
    if (HaveEqualRows(first[i], task.tensors[i])) continue;
    return errors::InvalidArgument("argument 'in_tensors': tensor ", i, " has shape ",
                                   task.tensors[i].shape().ToString(),
                                   "; its rows must have the shape of those in the batch, which "
                                   "began with ",
                                   first[i].shape().ToString());
  }
  return absl::OkStatus();
}

void Batcher::Begin(const std::string& queue, Queue* batches) {
  Batch batch;
  batch.number = ++last_number_;
  batch.is_late = spec_.timeout <= absl::ZeroDuration();
  if (!batch.is_late) {
    auto self = ResourceRef<Batcher>::Share(this);
    batch.alarm = Alarms::Global()->Set(
        spec_.timeout, [self, queue, number = batch.number] { self->BeLate(queue, number); });
  }
  batches->push_back(std::move(batch));
}

Status Batcher::Add(const std::string& queue, BatchTask task) {
  MS_RETURN_IF_ERROR(CheckTask(task));
  std::vector<Tasks> ready;
  {
    absl::MutexLock lock(&mutex_);
    Queue& batches = queues_[queue];
    const int64_t size = task.size();
    const bool has_open = !batches.empty() && !batches.back().is_closed;
    const bool fits = has_open && batches.back().size + size <= spec_.max_batch_size;
    if (fits) {
      MS_RETURN_IF_ERROR(CheckRows(task, batches.back()));
    } else {
      if (!batches.empty() && static_cast<int64_t>(batches.size()) >=
                                  std::max<int64_t>(spec_.max_enqueued_batches, 1)) {
        return absl::UnavailableError(
            "The batch scheduling queue to which this task was submitted is full");
      }
      if (has_open) batches.back().is_closed = true;
      Begin(queue, &batches);
    }
    Batch& batch = batches.back();
    places_[task.ticket] = {queue, batch.number};
    batch.tasks.push_back(std::move(task));
    batch.size += size;
    batch.is_closed = batch.size >= spec_.max_batch_size;
    Advance(&ready);
  }
  RunAll(std::move(ready));
  return absl::OkStatus();
}

void Batcher::BeLate(const std::string& queue, uint64_t number) {
  std::vector<Tasks> ready;
  {
    absl::MutexLock lock(&mutex_);
    const auto batches = queues_.find(queue);
    if (batches == queues_.end()) return;
    for (Batch& batch : batches->second) batch.is_late |= batch.number == number;
    Advance(&ready);
  }
  RunAll(std::move(ready));
}

void Batcher::Cancel(const void* ticket) {
  BatchTask cancelled;
  {
    absl::MutexLock lock(&mutex_);
    const auto place = places_.find(ticket);
    if (place == places_.end()) return;
    const auto batches = queues_.find(place->second.first);
    const auto batch =
        std::find_if(batches->second.begin(), batches->second.end(),
                     [&](const Batch& each) { return each.number == place->second.second; });
    const auto task = std::find_if(batch->tasks.begin(), batch->tasks.end(),
                                   [&](const BatchTask& each) { return each.ticket == ticket; });
    cancelled = std::move(*task);
    batch->tasks.erase(task);
    batch->size -= cancelled.size();
    places_.erase(place);
    if (batch->tasks.empty()) {
      Alarms::Global()->Forget(batch->alarm);
      batches->second.erase(batch);
    }
    if (batches->second.empty()) queues_.erase(batches);
  }
  cancelled.done(TaskCancelled(), {}, {});
}

void Batcher::Drop() {
  std::map<std::string, Queue> dropped;
  {
    absl::MutexLock lock(&mutex_);
    dropped.swap(queues_);
    places_.clear();
  }
  for (auto& [queue, batches] : dropped) {
    for (Batch& batch : batches) {
      Alarms::Global()->Forget(batch.alarm);
      for (BatchTask& task : batch.tasks) task.done(TaskCancelled(), {}, {});
    }
  }
}

// ---- Running ----

bool Batcher::TakeReady(Tasks* tasks) {
  auto oldest = queues_.end();
  for (auto each = queues_.begin(); each != queues_.end(); ++each) {
    const Batch& first = each->second.front();
    const bool is_ready = first.is_closed || first.is_late || each->second.size() > 1;
    const bool is_older = oldest == queues_.end() || first.number < oldest->second.front().number;
    if (is_ready && is_older) oldest = each;
  }
  if (oldest == queues_.end()) return false;
  Batch& batch = oldest->second.front();
  Alarms::Global()->Forget(batch.alarm);
  for (const BatchTask& task : batch.tasks) places_.erase(task.ticket);
  *tasks = std::move(batch.tasks);
  oldest->second.pop_front();
  if (oldest->second.empty()) queues_.erase(oldest);
  return true;
}

void Batcher::Advance(std::vector<Tasks>* ready) {
  Tasks tasks;
  const bool is_limited = spec_.num_results > 0;
  while ((!is_limited || running_ < spec_.num_batch_threads) && TakeReady(&tasks)) {
    if (is_limited) ++running_;
    ready->push_back(std::move(tasks));
  }
}

void Batcher::RunAll(std::vector<Tasks> ready) {
  const auto self = ResourceRef<Batcher>::Share(this);
  for (Tasks& tasks : ready) run_(self, std::move(tasks));
}

void Batcher::Release() {
  std::vector<Tasks> ready;
  {
    absl::MutexLock lock(&mutex_);
    --running_;
    Advance(&ready);
  }
  RunAll(std::move(ready));
}

// ---- Putting together ----

StatusOr<std::vector<Tensor>> JoinTasks(const BatcherSpec& spec, const Batcher::Tasks& tasks) {
  int64_t rows = 0;
  for (const BatchTask& task : tasks) rows += task.size();
  const int64_t padded = PaddedSize(spec, rows);
  std::vector<Tensor> joined;
  for (size_t i = 0; i < spec.dtypes.size(); ++i) {
    const Tensor& first = tasks[0].tensors[i];
    if (padded > rows && first.shape().dim(0) == 0) {
      return errors::InvalidArgument(
          "argument 'in_tensors': Cannot use an empty tensor with zero rows as padding when ",
          "batching. (Input ", i, " got shape ", first.shape().ToString(), ".)");
    }
    if (tasks.size() == 1 && padded == rows) {
      joined.push_back(first);
      continue;
    }
    Shape shape = first.shape();
    shape.set_dim(0, padded);
    MS_ASSIGN_OR_RETURN(const Tensor all, Tensor::Create(spec.dtypes[i], shape));
    int64_t at = 0;
    const auto append = [&](const Tensor& tensor) {
      const int64_t count = tensor.shape().dim(0);
      const Status copied = CopyElements(tensor, RowsOf(all, at, count));
      at += count;
      return copied;
    };
    for (const BatchTask& task : tasks) MS_RETURN_IF_ERROR(append(task.tensors[i]));
    while (at < padded) MS_RETURN_IF_ERROR(append(RowsOf(first, 0, 1)));
    joined.push_back(all);
  }
  return joined;
}

std::vector<int64_t> IndexOf(const Batcher::Tasks& tasks) {
  std::vector<int64_t> index;
  int64_t at = 0;
  for (const BatchTask& task : tasks) {
    index.insert(index.end(), {task.id, at, at + task.size()});
    at += task.size();
  }
  return index;
}

}  // namespace millstream
