#include "core/step/worker_pool.h"

#include <pthread.h>

#include <algorithm>

#include "framework/plugin/signal_stack.h"

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
  if (!HasIdleThread() && threads_ - blocking_ < most) StartThread();
  if (threads_ == 0) return false;
  tasks_.push_back(Task{work, argument, false});
  return true;
}

int WorkerPool::Withdraw(const void* argument) {
  absl::MutexLock lock(&mutex_);
  const auto kept = std::remove_if(tasks_.begin(), tasks_.end(), [argument](const Task& task) {
    return task.argument == argument && !task.may_block;
  });
  const int withdrawn = static_cast<int>(tasks_.end() - kept);
  tasks_.erase(kept, tasks_.end());
  return withdrawn;
}

// It goes before all others, so the thread that starts or wakes for it finds it.
bool WorkerPool::RunBlocking(Work work, void* argument) {
  absl::MutexLock lock(&mutex_);
  if (!HasIdleThread() && !StartThread()) return false;
  ++blocking_;
  tasks_.push_front(Task{work, argument, true});
  return true;
}

void WorkerPool::Loop() {
  const auto has_task = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !tasks_.empty(); };
  Task task{};
  EnsureSignalStack();
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (task.may_block) --blocking_;
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
