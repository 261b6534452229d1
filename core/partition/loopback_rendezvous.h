// A rendezvous of several tasks that are in one process, for tests and for trying a cluster out.
#ifndef MILLSTREAM_CORE_PARTITION_LOOPBACK_RENDEZVOUS_H_
#define MILLSTREAM_CORE_PARTITION_LOOPBACK_RENDEZVOUS_H_

#include <string>

#include "core/device/device_set.h"
#include "core/partition/rendezvous.h"
#include "core/partition/rendezvous_table.h"
#include "framework/status.h"

namespace millstream {

// Finds tensors by their key text alone, as tasks in different processes do (RendezvousName). For
// one step of all tasks, which it outlives. Thread-safe.
//
// Besides what Rendezvous says, Send and Receive give INTERNAL for a key without a name and for a
// tensor that is not in host memory, and ABORTED when the device that sends is not one of those of
// the tasks as they are now: it is not there, or it was made again since the graph was cut.
class LoopbackRendezvous final : public Rendezvous {
 public:
  // `devices`: of all tasks, as they are now. Must outlive the rendezvous.
  explicit LoopbackRendezvous(const DeviceSet* devices) : devices_(*devices) {}
  // Who still waits gets CANCELLED.
  ~LoopbackRendezvous() override;

  Status Send(const RendezvousKey& key, Parcel parcel) override;
  StatusOr<bool> Receive(const RendezvousKey& key, Receiver* receiver, Parcel* parcel) override;
  void Abort(const Status& error) override { table_.Abort(error); }

 private:
  StatusOr<std::string> TextOf(const RendezvousKey& key) const;

  const DeviceSet& devices_;
  RendezvousTable<std::string> table_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_LOOPBACK_RENDEZVOUS_H_
