// Readers, which read the files whose names come out of a queue. A read that must wait does so in
// the queue.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/resources/resource_handle.h"
#include "core/resources/tensor_queue.h"
#include "core/resources/work_reader.h"
#include "core/structural/host_kernel.h"
#include "core/structural/reader_works.h"
#include "core/structural/structural.h"
#include "millstream/framework/protos/reader_base.pb.h"

namespace millstream {
namespace {

// ---- The reader ----

StatusOr<Compression> CompressionOf(const Node& node, const char* attribute) {
  MS_ASSIGN_OR_RETURN(const std::string name, node.Attr<std::string>(attribute));
  StatusOr<Compression> compression = CompressionNamed(name);
  if (compression.ok()) return compression;
  return errors::InvalidArgument("attribute '", attribute, "': ", compression.status().message());
}

StatusOr<int64_t> NotNegative(const Node& node, const char* attribute) {
  MS_ASSIGN_OR_RETURN(const int64_t value, node.Attr<int64_t>(attribute));
  if (value >= 0) return value;
  return errors::InvalidArgument("attribute '", attribute, "' must be >= 0, got ", value);
}

StatusOr<OpenWork> LinesFor(const Node& node) {
  MS_ASSIGN_OR_RETURN(const int64_t skipped, NotNegative(node, "skip_header_lines"));
  return LinesOfFiles(LocalFileSystem(), skipped);
}

StatusOr<OpenWork> RecordsFor(const Node& node) {
  MS_ASSIGN_OR_RETURN(const Compression compression, CompressionOf(node, "compression_type"));
  return RecordsOfFiles(LocalFileSystem(), compression);
}

StatusOr<OpenWork> PiecesFor(const Node& node) {
  MS_ASSIGN_OR_RETURN(const Compression compression, CompressionOf(node, "encoding"));
  PieceSizes sizes;
  MS_ASSIGN_OR_RETURN(sizes.header, NotNegative(node, "header_bytes"));
  MS_ASSIGN_OR_RETURN(sizes.record, NotNegative(node, "record_bytes"));
  MS_ASSIGN_OR_RETURN(sizes.footer, NotNegative(node, "footer_bytes"));
  MS_ASSIGN_OR_RETURN(sizes.hop, NotNegative(node, "hop_bytes"));
  if (sizes.record == 0) {
    return errors::InvalidArgument("attribute 'record_bytes' must be > 0, got 0");
  }
  if (sizes.hop == 0) sizes.hop = sizes.record;
  return PiecesOfFiles(LocalFileSystem(), sizes, compression);
}

StatusOr<OpenWork> WholeFilesFor(const Node&) { return WholeFiles(LocalFileSystem()); }
StatusOr<OpenWork> NamesFor(const Node&) { return NamesOfWork(); }

template <StatusOr<OpenWork> (*work_for)(const Node& node),
          StateOfReader state = StateOfReader::kFixed>
StatusOr<ResourceRef<Resource>> FindReader(const Node& node, ResourceManager* resources) {
  MS_ASSIGN_OR_RETURN(const ResourceName name, ResourceNameOf(node));
  MS_ASSIGN_OR_RETURN(OpenWork work, work_for(node));
  MS_ASSIGN_OR_RETURN(ResourceRef<WorkReader> reader,
                      resources->LookupOrCreate<WorkReader>(
                          name.container, name.name, [&]() -> StatusOr<ResourceRef<WorkReader>> {
                            return MakeResource<WorkReader>(name.name, std::move(work), state);
                          }));
  return ResourceRef<Resource>(std::move(reader));
}

StatusOr<WorkReader*> ReaderOf(const StructuralFrame& frame) {
  auto* const reader = ResourceAs<WorkReader>(frame.handle(0));
  if (reader == nullptr) {
    return errors::InvalidArgument("argument 'reader_handle' is no handle of a reader");
  }
  return reader;
}

// ---- Reads ----

class ReadKernel : public AsyncHostKernel {
 public:
  void ComputeAsync(StructuralFrame frame, HostExecution execution) final {
    const Status begun = Begin(frame, execution);
    if (!begun.ok()) execution.End(begun);
  }
  void Cancel(const StructuralFrame& frame, HostExecution execution) final {
    const StatusOr<WorkReader*> reader = ReaderOf(frame);
    if (reader.ok()) (*reader)->Cancel(execution.id());
  }
  std::string WaitsFor(const StructuralFrame& frame) const final {
    auto* const queue = ResourceAs<TensorQueue>(frame.handle(1));
    return queue == nullptr ? "" : absl::StrCat("an element of queue '", queue->name(), "'");
  }

 protected:
  // How many items an execution reads at most.
  virtual StatusOr<int64_t> CountOf(const StructuralFrame& frame) const = 0;
  virtual Status SetOutputs(StructuralFrame frame, std::vector<WorkItem> items) const = 0;

 private:
  // Begins an execution, which it has not ended where it gives an error.
  Status Begin(StructuralFrame frame, HostExecution execution) {
    MS_ASSIGN_OR_RETURN(WorkReader* const reader, ReaderOf(frame));
    auto* const queue = ResourceAs<TensorQueue>(frame.handle(1));
    if (queue == nullptr) {
      return errors::InvalidArgument("argument 'queue_handle' is no handle of a queue");
    }
    MS_RETURN_IF_ERROR(queue->CheckTypes({DataType::kString}));
    MS_ASSIGN_OR_RETURN(const int64_t count, CountOf(frame));
    reader->Read(execution.id(), ResourceRef<TensorQueue>::Share(queue), count,
                 [this, frame, execution](const Status& status, std::vector<WorkItem> items) {
                   Status ended = status;
                   if (ended.ok()) ended = SetOutputs(frame, std::move(items));
                   execution.End(ended);
                 });
    return absl::OkStatus();
  }
};

class ReadOneKernel final : public ReadKernel {
  StatusOr<int64_t> CountOf(const StructuralFrame&) const override { return 1; }
  Status SetOutputs(StructuralFrame frame, std::vector<WorkItem> items) const override {
    MS_ASSIGN_OR_RETURN(const Tensor key, frame.AllocateOutput(0, Shape()));
    MS_ASSIGN_OR_RETURN(const Tensor value, frame.AllocateOutput(1, Shape()));
    *key.data<std::string>() = std::move(items[0].key);
    *value.data<std::string>() = std::move(items[0].value);
    return absl::OkStatus();
  }
};

class ReadUpToKernel final : public ReadKernel {
  StatusOr<int64_t> CountOf(const StructuralFrame& frame) const override {
    if (frame.input_shape(2).rank() != 0) {
      return errors::InvalidArgument("argument 'num_records' must be a scalar, got shape ",
                                     frame.input_shape(2).ToString());
    }
    MS_ASSIGN_OR_RETURN(const int64_t count, frame.Integer(2));
    if (count > 0) return count;
    return errors::InvalidArgument("argument 'num_records' must be > 0, got ", count);
  }
  Status SetOutputs(StructuralFrame frame, std::vector<WorkItem> items) const override {
    const Shape shape({static_cast<int64_t>(items.size())});
    MS_ASSIGN_OR_RETURN(const Tensor keys, frame.AllocateOutput(0, shape));
    MS_ASSIGN_OR_RETURN(const Tensor values, frame.AllocateOutput(1, shape));
    for (size_t i = 0; i < items.size(); ++i) {
      keys.data<std::string>()[i] = std::move(items[i].key);
      values.data<std::string>()[i] = std::move(items[i].value);
    }
    return absl::OkStatus();
  }
};

// ---- Those that never wait ----

template <int64_t (WorkReader::*count)() const>
Status Count(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const WorkReader* reader, ReaderOf(*frame));
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
  *output.data<int64_t>() = (reader->*count)();
  return absl::OkStatus();
}

Status SaveState(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const WorkReader* reader, ReaderOf(*frame));
  MS_ASSIGN_OR_RETURN(const ReaderState state, reader->State());
  proto::ReaderBaseState message;
  message.set_work_started(state.num_started);
  message.set_work_finished(state.num_finished);
  message.set_num_records_produced(state.num_items);
  message.set_current_work(state.current_work);
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
  *output.data<std::string>() = message.SerializeAsString();
  return absl::OkStatus();
}

Status RestoreState(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(WorkReader* const reader, ReaderOf(*frame));
  const Tensor input = frame->BorrowInput(1);
  proto::ReaderBaseState message;
  if (input.num_elements() != 1 || !message.ParseFromString(*input.data<std::string>())) {
    return errors::InvalidArgument("argument 'state' is not the saved state of a reader");
  }
  return reader->Restore({message.work_started(), message.work_finished(),
                          message.num_records_produced(), message.current_work()});
}

Status Reset(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(WorkReader* const reader, ReaderOf(*frame));
  reader->Reset();
  return absl::OkStatus();
}

MILLSTREAM_RESOURCE_HANDLE("FixedLengthRecordReaderV2", FindReader<PiecesFor>);
MILLSTREAM_RESOURCE_HANDLE("IdentityReaderV2", (FindReader<NamesFor, StateOfReader::kSaved>));
MILLSTREAM_RESOURCE_HANDLE("TFRecordReaderV2", FindReader<RecordsFor>);
MILLSTREAM_RESOURCE_HANDLE("TextLineReaderV2", FindReader<LinesFor>);
MILLSTREAM_RESOURCE_HANDLE("WholeFileReaderV2", (FindReader<WholeFilesFor, StateOfReader::kSaved>));
MILLSTREAM_STRUCTURAL("FixedLengthRecordReaderV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_STRUCTURAL("IdentityReaderV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_STRUCTURAL("TFRecordReaderV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_STRUCTURAL("TextLineReaderV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_STRUCTURAL("WholeFileReaderV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_HOST_KERNEL("ReaderReadV2", ReadOneKernel);
MILLSTREAM_HOST_KERNEL("ReaderReadUpToV2", ReadUpToKernel);
MILLSTREAM_STRUCTURAL("ReaderNumRecordsProducedV2", StructuralRole::kKernel,
                      Count<&WorkReader::num_items>);
MILLSTREAM_STRUCTURAL("ReaderNumWorkUnitsCompletedV2", StructuralRole::kKernel,
                      Count<&WorkReader::num_finished_works>);
MILLSTREAM_STRUCTURAL("ReaderResetV2", StructuralRole::kKernel, Reset);
MILLSTREAM_STRUCTURAL("ReaderRestoreStateV2", StructuralRole::kKernel, RestoreState);
MILLSTREAM_STRUCTURAL("ReaderSerializeStateV2", StructuralRole::kKernel, SaveState);

}  // namespace
}  // namespace millstream
