// Messages and tensors as payloads: the size of the message (4 bytes, the least first), the
// message, and then the elements of its tensors in the order of their headers.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_TENSOR_CODING_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_TENSOR_CODING_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "distributed_runtime/payload.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "google/protobuf/message_lite.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {

// Protobuf writes no larger messages. The elements of tensors are not in them, but for strings.
constexpr size_t kMostBytesOfMessage = std::numeric_limits<int32_t>::max();

// The tensors of a message that is about to be sent.
class TensorWriter {
 public:
  // `most` is less in tests.
  explicit TensorWriter(size_t most = kMostBytesOfMessage) : most_(most) {}
  // Sets the header. The payload shares the tensor's memory; borrowed memory is copied, because the
  // payload may outlive its owner. UNIMPLEMENTED for elements that cannot leave the process,
  // RESOURCE_EXHAUSTED for strings that fill a message.
  Status Add(const Tensor& tensor, proto::TensorHeader* header);
  // The same for a tensor that crosses between tasks: if the session `shortens` such tensors,
  // elements of float32 are sent as 16 bits (shortened_floats.h).
  Status AddSent(const Tensor& tensor, bool shortens, proto::TensorHeader* header);
  // For a receiver that needs only dtype and shape, who gets no elements. Many strings are sent all
  // the same, because the receiver takes memory for no more elements than came.
  Status AddShape(const Tensor& tensor, proto::TensorHeader* header);
  // The message with the tensors.
  Payload Finish(const google::protobuf::MessageLite& message);
  // The same, see EncodeLargeMessage.
  StatusOr<Payload> FinishLarge(const google::protobuf::MessageLite& message);

 private:
  Payload WithSlices(Payload message);

  const size_t most_;
  std::vector<Slice> slices_;
};

// A message without tensors. It is a small one: who gets one that could not be written refuses it.
Payload EncodeMessage(const google::protobuf::MessageLite& message);
// The same for a message of any size: with parts of graphs, or with what a step reports.
// RESOURCE_EXHAUSTED, with the size, if it has more than `most` bytes.
StatusOr<Payload> EncodeLargeMessage(const google::protobuf::MessageLite& message,
                                     size_t most = kMostBytesOfMessage);

// Reads the message; tensors follow. INVALID_ARGUMENT for other bytes.
Status DecodeMessage(PayloadReader* reader, google::protobuf::MessageLite* message);

// Reads the next tensor. It shares the memory of the payload if that is possible. A tensor of which
// only the shape was sent has elements of zeros. INVALID_ARGUMENT for other bytes, also for fewer
// or more than the shape needs, before memory is taken for it.
StatusOr<Tensor> DecodeTensor(const proto::TensorHeader& header, PayloadReader* reader);

// Errors as messages.
void EncodeStatus(const Status& status, proto::StatusMessage* message);
Status DecodeStatus(const proto::StatusMessage& message);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_TENSOR_CODING_H_
