// The rendezvous of a step within one task.
#ifndef MILLSTREAM_CORE_PARTITION_LOCAL_RENDEZVOUS_H_
#define MILLSTREAM_CORE_PARTITION_LOCAL_RENDEZVOUS_H_

#include "core/partition/rendezvous.h"
#include "core/partition/rendezvous_table.h"
#include "framework/status.h"

namespace millstream {

// Finds tensors by the number of their edge. A tensor may be in a device's memory.
class LocalRendezvous final : public Rendezvous {
 public:
  Status Send(const RendezvousKey& key, Parcel parcel) override;
  StatusOr<bool> Receive(const RendezvousKey& key, Receiver* receiver, Parcel* parcel) override;
  void Abort(const Status& error) override;

 private:
  RendezvousTable<RendezvousKey> table_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_LOCAL_RENDEZVOUS_H_
