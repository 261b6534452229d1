#include "core/worker_pool.h"

#include <pthread.h>

namespace millstream {

WorkerPool* WorkerPool::Global() {
  static auto* const pool = new WorkerPool();
  return pool;
}

// pthread_create and not std::thread: running out of threads is an answer here, not an exception.
bool WorkerPool::StartThread() {
  pthread_t thread;
  const auto run = +[](void* pool) -> void* {
    static_cast<WorkerPool*>(pool)->Loop();
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, run, this) != 0) return false;
  pthread_detach(thread);
  ++threads_;
  return true;
}

bool WorkerPool::Run(Work work, void* argument, int most) {
  absl::MutexLock lock(&mutex_);
  const int waiting = static_cast<int>(tasks_.size());
  if (waiting >= idle_ && threads_ < most && !StartThread() && threads_ == 0) return false;
  if (threads_ == 0) return false;
  tasks_.push_back(Task{work, argument});
  return true;
}

void WorkerPool::Loop() {
  const auto has_task = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !tasks_.empty(); };
  while (true) {
    Task task;
    {
      absl::MutexLock lock(&mutex_);
      ++idle_;
      mutex_.Await(absl::Condition(&has_task));
      --idle_;
      task = tasks_.front();
      tasks_.pop_front();
    }
    task.work(task.argument);
  }
}

}  // namespace millstream
