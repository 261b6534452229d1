// Staging areas and staging maps: tensors that one step leaves for another.
#ifndef MILLSTREAM_CORE_RESOURCES_STAGING_H_
#define MILLSTREAM_CORE_RESOURCES_STAGING_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/resource.h"
#include "core/resources/waiting_list.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The properties of both kinds.
struct StagingSpec {
  int64_t capacity = 0;      // in elements; 0: no limit
  int64_t memory_limit = 0;  // in bytes; 0: no limit
};

using StagedTensors = std::vector<Tensor>;

// What both kinds have in common: their elements take room, and operations wait for room and for
// elements. Thread-safe. No function is called under the lock.
class Staging : public Resource {
 public:
  using Ticket = WaitingList::Ticket;
  // Called once, by any thread. An operation that gives tensors has set `*tensors` of the caller.
  using Done = WaitingList::Done;

  const std::string& name() const { return name_; }
  const StagingSpec& spec() const { return spec_; }
  // Ends the waiting operation `ticket` with CANCELLED. Does nothing if there is none.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes all elements.
  void Clear() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends all waiting operations with CANCELLED, and removes all elements.
  void Drop() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool KeepsItsName() const override { return true; }

 protected:
  Staging(absl::string_view type, std::string name, StagingSpec spec)
      : Resource(type), name_(std::move(name)), spec_(std::move(spec)) {}
  // Begins an operation.
  void Begin(Ticket ticket, WaitingList::Line line, WaitingList::Attempt attempt, Done done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // INVALID_ARGUMENT if tensors will never have room.
  Status CheckFits(int64_t bytes) const;
  bool HasRoom(int64_t count, int64_t bytes, int64_t used) const;
  virtual void RemoveAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Has puts tried again, after something was removed.
  void WakePuts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const StagingSpec spec_;
  mutable absl::Mutex mutex_;
  WaitingList waiting_ ABSL_GUARDED_BY(mutex_);
};

// Elements come out in the order in which they were added.
class StagingArea final : public Staging {
 public:
  static constexpr char kType[] = "StagingArea";
  StagingArea(std::string name, StagingSpec spec)
      : Staging(kType, std::move(name), std::move(spec)) {}

  // Waits for room. INVALID_ARGUMENT if the element is larger than the memory limit.
  void Put(Ticket ticket, StagedTensors element, Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for an element and removes it.
  void Get(Ticket ticket, StagedTensors* tensors, Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until there is an element `index`, and copies it.
  void Peek(Ticket ticket, int64_t index, StagedTensors* tensors, Done done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t size() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void RemoveAll() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::deque<StagedTensors> elements_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Elements have keys. An element is complete when it has all components, which may be added one by
// one.
class StagingMap final : public Staging {
 public:
  static constexpr char kType[] = "StagingMap";
  using Indices = std::vector<int64_t>;  // of components

  StagingMap(std::string name, StagingSpec spec)
      : Staging(kType, std::move(name), std::move(spec)) {}

  // Adds some of the `num_components` components of an element. Waits for room. INVALID_ARGUMENT if
  // the element has one of them, or another number of components.
  // REQUIRES: `indices` names a component for each value.
  void Put(Ticket ticket, int64_t key, size_t num_components, Indices indices, StagedTensors values,
           Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until the element is complete, and removes the components. INVALID_ARGUMENT if there is
  // no such component, or it was removed before.
  void Get(Ticket ticket, int64_t key, Indices indices, StagedTensors* tensors, Done done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for the element with the smallest key.
  void GetAny(Ticket ticket, Indices indices, int64_t* key, StagedTensors* tensors, Done done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until the element is complete, and copies the components.
  void Peek(Ticket ticket, int64_t key, Indices indices, StagedTensors* tensors, Done done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t size() const ABSL_LOCKS_EXCLUDED(mutex_);             // complete elements
  int64_t incomplete_size() const ABSL_LOCKS_EXCLUDED(mutex_);  // the others

 private:
  using Elements = std::map<int64_t, StagedTensors>;  // a tensor without value is missing

  Status Take(Elements::iterator element, const Indices& indices, bool remove,
              StagedTensors* tensors) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveAll() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Elements complete_ ABSL_GUARDED_BY(mutex_);
  Elements incomplete_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_STAGING_H_
