#include "distributed_runtime/testing/any_message.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/graph/graph.h"
#include "core/resources/collective_meetings.h"
#include "core/step/step_trace.h"
#include "distributed_runtime/collective_coding.h"
#include "distributed_runtime/device_coding.h"
#include "distributed_runtime/graph_coding.h"
#include "distributed_runtime/host_frame.h"
#include "distributed_runtime/payload.h"
#include "distributed_runtime/step_carrier.h"
#include "distributed_runtime/tensor_coding.h"
#include "distributed_runtime/trace_coding.h"
#include "framework/proto_conversion.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"
#include "millstream/distributed_runtime/protos/trace_messages.pb.h"
#include "millstream/framework/protos/tensor.pb.h"

namespace millstream {
namespace {

// Of a tensor.
constexpr int64_t kMostElements = int64_t{1} << 20;
// What fits into a socket at once.
constexpr size_t kMostFrameBytes = size_t{1} << 16;

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

Payload Cut(absl::string_view bytes, size_t slice) {
  Payload payload;
  if (slice == 0) slice = std::max<size_t>(bytes.size(), 1);
  for (size_t at = 0; at < bytes.size(); at += slice) {
    payload.Append(std::string(bytes.substr(at, slice)));
  }
  return payload;
}

// The elements that dims ask for; too many for those that no memory holds.
template <typename Dims, typename SizeOf>
int64_t Product(const Dims& dims, const SizeOf& size_of) {
  int64_t count = 1;
  for (const auto& dim : dims) {
    if (__builtin_mul_overflow(count, size_of(dim), &count)) return 0;  // refused
  }
  return count;
}

// Whether the tensors behind a message ask for little memory. `bytes` begin with the first of them.
class SizeCheck {
 public:
  explicit SizeCheck(absl::string_view bytes) : bytes_(bytes) {}

  bool IsSmall(const proto::TensorHeader& header) {
    if (header.dtype() == 0) return true;
    if (Product(header.dims(), [](int64_t dim) { return dim; }) > kMostElements) return false;
    const size_t size = static_cast<size_t>(header.bytes());
    if (header.is_shape_only() || size > bytes_.size()) return true;
    const absl::string_view own = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    if (!header.is_message()) return true;
    proto::TensorProto message;
    if (!message.ParseFromArray(own.data(), static_cast<int>(own.size()))) return true;
    return Product(message.tensor_shape().dim(), [](const auto& dim) { return dim.size(); }) <=
           kMostElements;
  }

 private:
  absl::string_view bytes_;
};

// Writes tensors and reads them again.
void CheckTensors(const std::vector<Tensor>& tensors) {
  proto::RunGraphRequest request;
  TensorWriter writer;
  for (const Tensor& tensor : tensors) {
    if (!writer.Add(tensor, request.add_feeds()).ok()) return;
  }
  PayloadReader reader(writer.Finish(request));
  proto::RunGraphRequest again;
  if (!DecodeMessage(&reader, &again).ok()) Fail("a request is not read as it was written");
  for (int i = 0; i < again.feeds_size(); ++i) {
    const StatusOr<Tensor> tensor = DecodeTensor(again.feeds(i), &reader);
    const bool is_equal = tensor.ok() && tensor->has_value() == tensors[i].has_value() &&
                          (!tensor->has_value() || TensorsEqual(*tensor, tensors[i]));
    if (!is_equal) Fail("a tensor is not read as it was written");
  }
}

// `headers` and then `carried` are those of the tensors behind a message, which begin at `bytes`.
void ReadTensors(const google::protobuf::RepeatedPtrField<proto::TensorHeader>& headers,
                 const CarriedRecords& carried, absl::string_view bytes, PayloadReader* reader) {
  SizeCheck check(bytes);
  for (const proto::TensorHeader& header : headers) {
    if (!check.IsSmall(header)) return;
  }
  for (const proto::CarriedTensor& record : carried) {
    if (!check.IsSmall(record.tensor())) return;
  }
  std::vector<Tensor> tensors;
  for (const proto::TensorHeader& header : headers) {
    StatusOr<Tensor> tensor = DecodeTensor(header, reader);
    if (!tensor.ok()) return;
    tensors.push_back(*std::move(tensor));
  }
  const StatusOr<std::vector<CarriedParcel>> parcels = DecodeCarried(carried, reader);
  if (!parcels.ok()) return;
  for (const CarriedParcel& one : *parcels) tensors.push_back(one.parcel.tensor);
  CheckTensors(tensors);
}

template <typename Message>
void ReadStep(absl::string_view bytes, size_t slice) {
  PayloadReader reader(Cut(bytes, slice));
  Message message;
  if (!DecodeMessage(&reader, &message).ok()) return;
  const absl::string_view behind = bytes.substr(bytes.size() - reader.left());
  if constexpr (std::is_same_v<Message, proto::RunGraphRequest>) {
    ReadTensors(message.feeds(), message.carried(), behind, &reader);
  } else {
    ReadTensors(message.fetches(), message.carried(), behind, &reader);
  }
}

// What a task answers that was asked for a tensor.
void ReadSent(absl::string_view bytes, size_t slice) {
  PayloadReader reader(Cut(bytes, slice));
  proto::RecvTensorResponse message;
  if (!DecodeMessage(&reader, &message).ok()) return;
  google::protobuf::RepeatedPtrField<proto::TensorHeader> headers;
  *headers.Add() = message.tensor();
  for (const proto::FurtherTensor& one : message.more()) *headers.Add() = one.tensor();
  ReadTensors(headers, CarriedRecords(), bytes.substr(bytes.size() - reader.left()), &reader);
}

void ReadMember(absl::string_view bytes, size_t slice) {
  PayloadReader reader(Cut(bytes, slice));
  proto::JoinCollectiveRequest message;
  if (!DecodeMessage(&reader, &message).ok()) return;
  const StatusOr<CollectiveSpec> spec = DecodeSpec(message.operation());
  if (!spec.ok()) return;
  proto::CollectiveRecord written;
  EncodeSpec(*spec, &written);
  const StatusOr<CollectiveSpec> again = DecodeSpec(written);
  if (!again.ok() || again->kind != spec->kind || again->merge != spec->merge ||
      again->dtype != spec->dtype || again->group_size != spec->group_size) {
    Fail("a collective operation is not read as it was written");
  }
  SizeCheck check(bytes.substr(bytes.size() - reader.left()));
  if (!check.IsSmall(message.tensor())) return;
  const StatusOr<Tensor> tensor = DecodeTensor(message.tensor(), &reader);
  if (tensor.ok()) CheckGiven(*spec, *tensor).IgnoreError();
}

void ReadMeeting(absl::string_view bytes, size_t slice) {
  PayloadReader first(Cut(bytes, slice));
  proto::JoinCollectiveResponse message;
  if (!DecodeMessage(&first, &message).ok()) return;
  SizeCheck check(bytes.substr(bytes.size() - first.left()));
  if (!check.IsSmall(message.result())) return;
  PayloadReader reader(Cut(bytes, slice));
  MeetingOutcome outcome;
  AnswerRecord record;
  if (!ReadOutcome(&reader, &outcome, &record).ok() || outcome.result.has_value()) return;
  if (outcome.source < 0 || static_cast<size_t>(outcome.source) >= outcome.members.size()) {
    Fail("a meeting has a source that is no member");
  }
}

// A report that was accepted can be sent on.
void ReadReport(absl::string_view bytes, size_t slice) {
  PayloadReader reader(Cut(bytes, slice));
  proto::StepReportRecord record;
  if (!DecodeMessage(&reader, &record).ok()) return;
  StepReport report;
  if (!AddReport(record, 0, &report).ok()) return;
  proto::StepReportRecord written;
  EncodeReport(report, &written);
  if (written.parts_size() != record.parts_size() ||
      written.ranges_size() != record.ranges_size()) {
    Fail("a report is not read as it was written");
  }
}

void CheckDevices(const DeviceRecords& records) {
  const StatusOr<DeviceSet> devices = DecodeDevices(records);
  if (!devices.ok()) return;
  DeviceRecords written;
  EncodeDevices(*devices, &written);
  const StatusOr<DeviceSet> again = DecodeDevices(written);
  if (!again.ok() || again->size() != devices->size()) {
    Fail("devices are not read as they were written");
  }
}

// A graph that was accepted can be sent on.
void CheckGraph(const proto::RegisterGraphRequest& request) {
  CheckDevices(request.devices());
  Graph graph;
  if (!AddChunk(request.chunk(), &graph).ok()) return;
  const StatusOr<StepSignature> signature = DecodeSignature(graph, request.signature());
  if (signature.ok()) {
    proto::SignatureRecord record;
    EncodeSignature(*signature, &record);
    if (record.targets_size() != request.signature().targets_size()) {
      Fail("a signature is not read as it was written");
    }
  }
  GraphSender sender;
  proto::GraphChunk chunk;
  if (!sender.AddChanges(graph, &chunk).ok()) return;
  Graph copy;
  if (AddChunk(chunk, &copy).ok() && copy.num_nodes() != graph.num_nodes()) {
    Fail("a graph is not read as it was written");
  }
}

void ReadFrames(absl::string_view bytes) {
  bytes = bytes.substr(0, kMostFrameBytes);
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) Fail("no sockets");
  if (write(sockets[0], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    Fail("a socket takes too little");
  }
  close(sockets[0]);
  {
    FrameReader reader(sockets[1]);
    for (StatusOr<Frame> frame = reader.Read(); frame.ok(); frame = reader.Read()) {
      if (frame->descriptor >= 0) close(frame->descriptor);
      Frame again = *frame;
      if (again.Encode().size() < sizeof(FrameHead)) Fail("a frame without a head");
    }
  }
  close(sockets[1]);
}

}  // namespace

void ReadAnyMessage(const uint8_t* data, size_t size) {
  if (size < 2) return;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t slice = data[1];
  if (data[0] == 'f') return ReadFrames(bytes);
  if (data[0] == 'r') return ReadStep<proto::RunGraphRequest>(bytes, slice);
  if (data[0] == 'R') return ReadStep<proto::RunGraphResponse>(bytes, slice);
  if (data[0] == 't') return ReadSent(bytes, slice);
  if (data[0] == 'j') return ReadMember(bytes, slice);
  if (data[0] == 'J') return ReadMeeting(bytes, slice);
  if (data[0] == 'p') return ReadReport(bytes, slice);
  PayloadReader reader(Cut(bytes, slice));
  proto::CreateWorkerSessionRequest create;
  proto::CreateWorkerSessionResponse created;
  proto::RegisterGraphRequest graph;
  proto::StatusMessage status;
  switch (data[0]) {
    case 'c': DecodeMessage(&reader, &create).IgnoreError(); return;
    case 'd':
      if (DecodeMessage(&reader, &created).ok()) CheckDevices(created.devices());
      return;
    case 'g':
      if (DecodeMessage(&reader, &graph).ok()) CheckGraph(graph);
      return;
    default:
      if (!DecodeMessage(&reader, &status).ok()) return;
      proto::StatusMessage again;
      EncodeStatus(DecodeStatus(status), &again);
      if (DecodeStatus(again).code() != DecodeStatus(status).code()) {
        Fail("an error is not read as it was written");
      }
  }
}

}  // namespace millstream
