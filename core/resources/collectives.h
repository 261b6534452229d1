// Collective operations, whose members give tensors to each other.
#ifndef MILLSTREAM_CORE_RESOURCES_COLLECTIVES_H_
#define MILLSTREAM_CORE_RESOURCES_COLLECTIVES_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/resources/collective_math.h"
#include "core/resources/collective_meetings.h"
#include "core/resources/resource.h"
#include "core/resources/resource_manager.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// One member's execution of a collective operation.
struct CollectiveMember {
  const void* ticket = nullptr;  // for Cancel; no two executions have the same one at a time
  std::string device;
  bool gives = true;  // false: it gets a broadcast
  Tensor tensor;      // what it gives
  // Called once, by any thread, without a lock. After OK, `result` may share memory with others.
  std::function<void(const Status& status, const Tensor& result)> done;
};

// The collective operations that sessions of a task take part in. A member waits without a thread.
// Thread-safe.
class Collectives : public Resource {
 public:
  static constexpr char kType[] = "Collectives";
  static constexpr char kName[] = "collectives";  // in the default container

  // Those of the sessions that have these resources. If nobody has added any, members meet within
  // the process.
  static StatusOr<ResourceRef<Collectives>> Of(ResourceManager* resources);

  // Begins an execution. The caller's thread, and `loop`, may compute the result. Errors: see
  // CollectiveMeetings.
  virtual void Join(const CollectiveSpec& spec, CollectiveMember member, ParallelLoop loop) = 0;
  // Ends a waiting execution with CANCELLED. Does nothing if there is none.
  virtual void Cancel(const void* ticket) = 0;
  // For whom an execution on this device waits, or would wait, for messages.
  virtual std::string Missing(const CollectiveSpec& spec, absl::string_view device) = 0;
  bool KeepsItsName() const override { return true; }

 protected:
  Collectives() : Resource(kType) {}
};

// All members are in one process.
class LocalCollectives final : public Collectives {
 public:
  LocalCollectives() : meetings_(1) {}
  void Join(const CollectiveSpec& spec, CollectiveMember member, ParallelLoop loop) override;
  void Cancel(const void* ticket) override;
  std::string Missing(const CollectiveSpec& spec, absl::string_view device) override {
    return meetings_.Missing(spec, device);
  }
  void Drop() override;

 private:
  CollectiveMeetings meetings_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_COLLECTIVES_H_
