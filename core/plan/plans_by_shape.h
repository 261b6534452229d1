// What is compiled of one graph, for each set of shapes of its feeds.
#ifndef MILLSTREAM_CORE_PLAN_PLANS_BY_SHAPE_H_
#define MILLSTREAM_CORE_PLAN_PLANS_BY_SHAPE_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "framework/build_turns.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The turn of a thread that compiles a plan for these shapes of feeds.
using PlanTurn = BuildTurns<std::vector<Shape>>::Turn;

// The plans of one graph (`Compiled` has the member std::vector<Shape> feed_shapes). Those for the
// first kMostShapes sets of shapes are for these shapes. Feeds of all further shapes share one plan
// that finds shapes as it runs. No plan is removed before this object is destroyed, so steps find
// plans without a lock. Thread-safe.
template <typename Compiled>
class PlansByShape {
 public:
  static constexpr int kMostShapes = 32;

  PlansByShape() = default;
  PlansByShape(const PlansByShape&) = delete;
  PlansByShape& operator=(const PlansByShape&) = delete;

  // Returns the plan for the shapes of these feeds; null if there is none for exactly these. Takes
  // no lock.
  Compiled* Find(absl::Span<const Tensor> feeds) const {
    for (const std::atomic<Compiled*>& entry : by_shape_) {
      Compiled* const plan = entry.load(std::memory_order_acquire);
      if (plan == nullptr) return nullptr;
      if (Fits(*plan, feeds)) return plan;
    }
    return nullptr;
  }

  // Returns the plan for these feeds. If there is none, keeps the one that build(shapes, turn)
  // gives, a StatusOr<std::unique_ptr<Compiled>>, or returns its error. `shapes` is null for the
  // plan for feeds of any shape; else the plan must have them as feed_shapes.
  //
  // Threads that want a plan wait for the thread that builds it. After an error one of them tries
  // next, because the error may be that of the other's step. A thread that waits calls go_on(), a
  // Status, regularly; an error of it ends the wait and is returned. No lock is held over build()
  // and go_on(). REQUIRES: build() calls code that may want a plan of this object by turn->Lend().
  template <typename Build, typename GoOn>
  StatusOr<Compiled*> FindOrBuild(absl::Span<const Tensor> feeds, const Build& build,
                                  const GoOn& go_on) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (Compiled* found = Find(feeds)) return found;
    if (!IsFull()) {
      MS_ASSIGN_OR_RETURN(Compiled* const plan, BuildForShapes(feeds, build, go_on));
      if (plan != nullptr) return plan;
    }
    if (Compiled* found = for_any_shape_.load(std::memory_order_acquire)) return found;
    return BuildForAnyShape(build, go_on);
  }
  // The same for a thread that waits as long as it takes.
  template <typename Build>
  StatusOr<Compiled*> FindOrBuild(absl::Span<const Tensor> feeds, const Build& build)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    return FindOrBuild(feeds, build, [] { return absl::OkStatus(); });
  }

  // Calls visit(plan) for each plan.
  template <typename Visit>
  void ForEach(const Visit& visit) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    for (const std::unique_ptr<Compiled>& plan : owned_) visit(plan.get());
  }

 private:
  static bool Fits(const Compiled& plan, absl::Span<const Tensor> feeds) {
    for (size_t i = 0; i < feeds.size(); ++i) {
      if (plan.feed_shapes[i] != feeds[i].shape()) return false;
    }
    return true;
  }
  bool IsFull() const {
    return by_shape_[kMostShapes - 1].load(std::memory_order_acquire) != nullptr;
  }

  // Null: other plans have taken the room meanwhile.
  template <typename Build, typename GoOn>
  StatusOr<Compiled*> BuildForShapes(absl::Span<const Tensor> feeds, const Build& build,
                                     const GoOn& go_on) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<Shape> shapes;
    for (const Tensor& feed : feeds) shapes.push_back(feed.shape());
    PlanTurn turn(&turns_, shapes, go_on);
    MS_RETURN_IF_ERROR(turn.status());
    if (Compiled* found = Find(feeds)) return found;
    MS_ASSIGN_OR_RETURN(std::unique_ptr<Compiled> made, build(&shapes, &turn));
    return Keep(std::move(made), feeds);
  }
  template <typename Build, typename GoOn>
  StatusOr<Compiled*> BuildForAnyShape(const Build& build, const GoOn& go_on)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const std::vector<Shape> any;
    PlanTurn turn(&turns_, any, go_on);
    MS_RETURN_IF_ERROR(turn.status());
    if (Compiled* found = for_any_shape_.load(std::memory_order_acquire)) return found;
    MS_ASSIGN_OR_RETURN(std::unique_ptr<Compiled> made, build(nullptr, &turn));
    return KeepForAnyShape(std::move(made));
  }

  // A thread whose turn is lent may build beside another one: the first to be done has its way.
  // Null: other plans have taken the room meanwhile.
  Compiled* Keep(std::unique_ptr<Compiled> made, absl::Span<const Tensor> feeds)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (Compiled* found = Find(feeds)) return found;
    for (std::atomic<Compiled*>& entry : by_shape_) {
      if (entry.load(std::memory_order_relaxed) == nullptr) return Own(std::move(made), &entry);
    }
    return nullptr;
  }
  Compiled* KeepForAnyShape(std::unique_ptr<Compiled> made) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (Compiled* found = for_any_shape_.load(std::memory_order_relaxed)) return found;
    return Own(std::move(made), &for_any_shape_);
  }
  Compiled* Own(std::unique_ptr<Compiled> made, std::atomic<Compiled*>* entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Compiled* const plan = made.get();
    owned_.push_back(std::move(made));
    entry->store(plan, std::memory_order_release);
    return plan;
  }

  // Entries are set once, in order, and read without lock.
  std::atomic<Compiled*> by_shape_[kMostShapes] = {};
  std::atomic<Compiled*> for_any_shape_{nullptr};
  BuildTurns<std::vector<Shape>> turns_;  // for any shape: no shapes
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Compiled>> owned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLANS_BY_SHAPE_H_
