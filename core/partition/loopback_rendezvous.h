// A rendezvous of several tasks that are in one process, for tests and for trying a cluster out.
#ifndef MILLSTREAM_CORE_PARTITION_LOOPBACK_RENDEZVOUS_H_
#define MILLSTREAM_CORE_PARTITION_LOOPBACK_RENDEZVOUS_H_

#include <string>

#include "core/device/device_set.h"
#include "core/partition/rendezvous.h"
#include "core/partition/rendezvous_table.h"
#include "framework/status.h"

namespace millstream {

// Finds tensors by the text of their key, as tasks in different processes do (RendezvousName). For
// one step of all tasks. Must outlive the step. Thread-safe.
//
// In addition to the errors of Rendezvous, Send and Receive return INTERNAL for a key without a
// name and for a tensor that is not in host memory, and ABORTED if the sending device does not
// exist, or was created again after the graph was cut.
class LoopbackRendezvous final : public Rendezvous {
 public:
  // `devices` are the present devices of all tasks. REQUIRES: they outlive the rendezvous.
  explicit LoopbackRendezvous(const DeviceSet* devices) : devices_(*devices) {}
  // Passes CANCELLED to waiting receivers.
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
