// Descriptions of devices as messages.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_DEVICE_CODING_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_DEVICE_CODING_H_

#include "core/device/device_set.h"
#include "framework/status.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"

namespace millstream {

using DeviceRecords = google::protobuf::RepeatedPtrField<proto::DeviceRecord>;

void EncodeDevices(const DeviceSet& devices, DeviceRecords* records);
// INVALID_ARGUMENT for a name without all parts, and for one that occurs twice.
StatusOr<DeviceSet> DecodeDevices(const DeviceRecords& records);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_DEVICE_CODING_H_
