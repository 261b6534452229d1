// Readers: work whose names come out of a queue, such as files, as one sequence of items.
#ifndef MILLSTREAM_CORE_RESOURCES_WORK_READER_H_
#define MILLSTREAM_CORE_RESOURCES_WORK_READER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/resource.h"
#include "core/resources/tensor_queue.h"
#include "framework/status.h"

namespace millstream {

struct WorkItem {
  std::string key;
  std::string value;
};

// The items of one piece of work, in order. Not thread-safe.
class WorkItems {
 public:
  virtual ~WorkItems() = default;
  // The next item; no value at the end.
  virtual StatusOr<std::optional<WorkItem>> Next() = 0;
  // True where it is known, before Next says so, that no more items follow.
  virtual bool is_at_end() const { return false; }
};

// Begins the work of this name.
using OpenWork = std::function<StatusOr<std::unique_ptr<WorkItems>>(const std::string& name)>;

// How far a reader has come.
struct ReaderState {
  int64_t num_started = 0;  // pieces of work
  int64_t num_finished = 0;
  int64_t num_items = 0;
  std::string current_work;  // the name of the last piece that was begun
};

// Whether the state of a reader can be taken and set: only where a piece of work is one item.
enum class StateOfReader { kFixed, kSaved };

// Reads one piece of work after the other. A read that finds no more items takes the name of the
// next piece out of its queue. It waits in the queue, without a thread. Reads complete in the order
// in which they were called. Thread-safe. No callback is called under the lock.
class WorkReader final : public Resource {
 public:
  static constexpr char kType[] = "Reader";
  // Called once, by any thread.
  using Callback = std::function<void(const Status& status, std::vector<WorkItem> items)>;
  // Identifies a read for Cancel. No two reads may have the same one at the same time.
  using Ticket = const void*;

  WorkReader(std::string name, OpenWork open, StateOfReader state = StateOfReader::kFixed)
      : Resource(kType), name_(std::move(name)), open_(std::move(open)), state_(state) {}
  const std::string& name() const { return name_; }

  // Reads at least one item and at most `count`, all of one piece of work. OUT_OF_RANGE if the
  // queue is closed and empty. Errors of the work end it; the next read takes a new piece.
  // REQUIRES: count > 0, and elements of the queue are one string tensor.
  void Read(Ticket ticket, ResourceRef<TensorQueue> queue, int64_t count, Callback done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the read `ticket` with CANCELLED if it waits. Does nothing if there is none.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets the work that has begun, and the counts.
  void Reset() ABSL_LOCKS_EXCLUDED(mutex_);
  // How far the reader has come. UNIMPLEMENTED for a reader whose state is fixed.
  StatusOr<ReaderState> State() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Goes on from `state`: begins its current work anew if that is not finished. INVALID_ARGUMENT
  // for numbers that no reader has; UNIMPLEMENTED as State. Reads that wait go on waiting.
  Status Restore(const ReaderState& state) ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t num_items() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t num_finished_works() const ABSL_LOCKS_EXCLUDED(mutex_);

  void Drop() override { Reset(); }
  bool KeepsItsName() const override { return true; }

 private:
  struct Request {
    Ticket ticket = nullptr;
    ResourceRef<TensorQueue> queue;
    int64_t count = 0;
    Callback done;
    bool is_cancelled = false;  // guarded by the reader's lock
  };
  using SharedRequest = std::shared_ptr<Request>;

  // Serves requests until the first one waits for its queue, or none is left.
  // REQUIRES: the caller has set is_serving_, or goes on for the one who did.
  void Serve() ABSL_LOCKS_EXCLUDED(mutex_);
  // Empty if the work is at its end.
  StatusOr<std::vector<WorkItem>> ReadItems(int64_t count) ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks for the next piece of work. False if it is there, or the request ended with an error; true
  // if the answer of the queue will call Serve.
  bool WaitForWork(const SharedRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);
  // Begins the work that the queue gave, or ends the request.
  void Begin(const SharedRequest& request, const Status& status, const std::vector<QueueRows>& rows)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Status CheckStateIsSaved() const;
  // Removes the first request.
  void EndFirst(const SharedRequest& request, const Status& status, std::vector<WorkItem> items)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string name_;
  const OpenWork open_;
  const StateOfReader state_;
  mutable absl::Mutex mutex_;
  std::deque<SharedRequest> requests_ ABSL_GUARDED_BY(mutex_);
  bool is_serving_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<WorkItems> items_ ABSL_GUARDED_BY(mutex_);
  int64_t num_items_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_finished_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string current_work_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_WORK_READER_H_
