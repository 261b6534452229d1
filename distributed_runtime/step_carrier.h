// Tensors of a step that travel in the messages between the master's task and another.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_CARRIER_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_CARRIER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/partition/rendezvous.h"
#include "distributed_runtime/tensor_coding.h"
#include "framework/status.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {

// What the parts of one task send and receive in this way. Thread-safe.
class StepCarrier {
 public:
  virtual ~StepCarrier() = default;
  // Whether the tensor of the edge travels so.
  virtual bool Carries(int64_t edge) const = 0;
  // Takes a tensor that a part sends.
  virtual void Carry(int64_t edge, Parcel parcel) = 0;
  // A part needs a tensor, and may wait for it from now on.
  virtual void Await(int64_t edge) = 0;
};

struct CarriedParcel {
  int64_t edge = 0;
  Parcel parcel;
};

// As parts of messages. `shortens`: see TensorWriter::AddSent.
using CarriedRecords = google::protobuf::RepeatedPtrField<proto::CarriedTensor>;
Status EncodeCarried(absl::Span<const CarriedParcel> parcels, bool shortens, TensorWriter* writer,
                     CarriedRecords* records);
StatusOr<std::vector<CarriedParcel>> DecodeCarried(const CarriedRecords& records,
                                                   PayloadReader* reader);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_CARRIER_H_
