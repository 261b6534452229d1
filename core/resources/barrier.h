// Barriers: elements whose components come from several steps, by keys.
#ifndef MILLSTREAM_CORE_RESOURCES_BARRIER_H_
#define MILLSTREAM_CORE_RESOURCES_BARRIER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/resource.h"
#include "core/resources/waiting_list.h"
#include "framework/attr_value.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

struct BarrierSpec {
  DataTypeList dtypes;        // of an element's components
  std::vector<Shape> shapes;  // of an element's components; empty: any

  friend bool operator==(const BarrierSpec& a, const BarrierSpec& b) {
    return a.dtypes == b.dtypes && a.shapes == b.shapes;
  }
};

// An element is complete when it has all components. Complete elements come out in the order in
// which their keys were first inserted. Thread-safe. No function is called under the lock.
class Barrier final : public Resource {
 public:
  static constexpr char kType[] = "Barrier";
  using Ticket = WaitingList::Ticket;
  using Done = WaitingList::Done;
  // A complete element.
  struct Element {
    int64_t number = 0;  // of the key: the first one has the smallest
    std::string key;
    std::vector<Tensor> components;
  };
  struct TakeOptions {
    bool allows_fewer = false;          // from a closed barrier
    bool waits_for_incomplete = false;  // a closed barrier may still complete elements
  };

  Barrier(std::string name, BarrierSpec spec)
      : Resource(kType), name_(std::move(name)), spec_(std::move(spec)) {}
  const std::string& name() const { return name_; }
  const BarrierSpec& spec() const { return spec_; }

  // Gives elements a component, `values[i]` to that of `keys[i]`. INVALID_ARGUMENT if an element
  // has it. CANCELLED for new keys of a closed barrier, and for all after Close(true). Those before
  // the one that is refused are inserted.
  Status Insert(size_t component, const std::vector<std::string>& keys,
                const std::vector<Tensor>& values) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes `count` complete elements when there are enough. OUT_OF_RANGE if the barrier is closed
  // and will not have them. Adds them to `elements` before it calls `done`.
  void Take(Ticket ticket, size_t count, TakeOptions options, std::vector<Element>* elements,
            Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Refuses new keys from now on. With `drops_incomplete`, removes the elements that are not
  // complete. CANCELLED if the barrier is closed already, unless it drops them now.
  Status Close(bool drops_incomplete) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the waiting operation `ticket` with CANCELLED. Does nothing if there is none.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t ready_size() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t incomplete_size() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends all waiting operations with CANCELLED, removes all elements, and opens the barrier again.
  void Drop() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool KeepsItsName() const override { return true; }

 private:
  Status InsertOne(size_t component, const std::string& key, const Tensor& value)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TryTake(size_t count, TakeOptions options, std::vector<Element>* elements, Status* status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const BarrierSpec spec_;
  mutable absl::Mutex mutex_;
  std::map<int64_t, Element> ready_ ABSL_GUARDED_BY(mutex_);  // by number
  std::map<std::string, Element> incomplete_ ABSL_GUARDED_BY(mutex_);
  int64_t next_number_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<int64_t>::min();
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_dropped_ ABSL_GUARDED_BY(mutex_) = false;  // the incomplete elements
  WaitingList waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_BARRIER_H_
