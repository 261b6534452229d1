#include "core/step/run_metadata.h"

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/message.h"
#include "millstream/framework/protos/config.pb.h"
#include "millstream/framework/protos/step_stats.pb.h"

namespace millstream {
namespace {

constexpr int64_t kNanosPerMicro = 1000;
constexpr char kAllocator[] = "cpu";

void AddOutput(const TracedOutput& output, proto::NodeExecStats* stats) {
  proto::NodeOutput* const added = stats->add_output();
  added->set_slot(output.index);
  proto::TensorDescription* const tensor = added->mutable_tensor_description();
  tensor->set_dtype(static_cast<proto::DataType>(output.dtype));
  for (int64_t size : output.shape.dims()) tensor->mutable_shape()->add_dim()->set_size(size);
  proto::AllocationDescription* const memory = tensor->mutable_allocation_description();
  memory->set_requested_bytes(output.bytes);
  memory->set_allocator_name(kAllocator);
}

void AddMemory(const TracedNode& node, proto::NodeExecStats* stats) {
  int64_t allocated = 0;
  for (const TracedOutput& output : node.outputs) {
    if (output.allocated) allocated += output.bytes;
  }
  proto::AllocatorMemoryUsed* const memory = stats->add_memory();
  memory->set_allocator_name(kAllocator);
  memory->set_total_bytes(allocated + node.scratch_bytes);
  memory->set_peak_bytes(allocated + node.scratch_bytes);
  memory->set_live_bytes(allocated);
  stats->mutable_memory_stats()->set_temp_memory_size(node.scratch_bytes);
}

// "Neg", or "_FusedElementwise(Add,Mul)".
std::string Describe(const TracedNode& node) {
  if (node.fused_ops.empty()) return node.op;
  return absl::StrCat(node.op, "(", absl::StrJoin(node.fused_ops, ","), ")");
}

// Number and name of what ran the node: a thread of the host, or a stream of the device.
std::pair<uint32_t, std::string> LaneOf(const TracedNode& node) {
  if (node.lane.empty()) return {node.thread, absl::StrCat("thread ", node.thread)};
  constexpr uint32_t kFirstStream = 1 << 16;  // behind all threads
  return {kFirstStream + node.stream, absl::StrCat("stream ", node.lane)};
}

void AddNode(const StepTrace& trace, const TracedNode& node, uint32_t lane,
             proto::DeviceStepStats* device) {
  proto::NodeExecStats* const stats = device->add_node_stats();
  const int64_t start = trace.WallTime(node.start);
  const int64_t duration = node.end - node.start;
  stats->set_node_name(node.name);
  stats->set_timeline_label(
      absl::StrCat(node.name, " = ", Describe(node), "(", absl::StrJoin(node.inputs, ", "), ")"));
  stats->set_all_start_nanos(start);
  stats->set_all_start_micros(start / kNanosPerMicro);
  stats->set_scheduled_nanos(start);
  stats->set_scheduled_micros(start / kNanosPerMicro);
  stats->set_op_end_rel_nanos(duration);
  stats->set_op_end_rel_micros(duration / kNanosPerMicro);
  stats->set_all_end_rel_nanos(duration);
  stats->set_all_end_rel_micros(duration / kNanosPerMicro);
  stats->set_thread_id(lane);
  for (const TracedOutput& output : node.outputs) AddOutput(output, stats);
  AddMemory(node, stats);
}

// A range is shown as a node of the device that it belongs to.
void AddRange(const StepTrace& trace, const TracedRange& range, proto::DeviceStepStats* device) {
  TracedNode node;
  node.name = range.node.empty() ? range.name : absl::StrCat(range.node, ":", range.name);
  node.op = range.name;
  node.start = range.start;
  node.end = range.end;
  node.thread = range.lane;
  for (const auto& [key, value] : range.args) node.inputs.push_back(absl::StrCat(key, "=", value));
  AddNode(trace, node, range.lane, device);
  (*device->mutable_thread_names())[range.lane] =
      absl::StrCat(range.node.empty() ? "stream " : "thread ", range.lane);
}

// After the nodes, whose devices are those of their ranges.
void AddRanges(const StepTrace& trace, proto::StepStats* stats) {
  std::map<std::string, proto::DeviceStepStats*, std::less<>> by_device;
  for (auto& device : *stats->mutable_dev_stats()) by_device.emplace(device.device(), &device);
  std::map<absl::string_view, absl::string_view> device_of_node;
  for (const TracedPart& part : trace.parts()) {
    for (const TracedNode& node : part.nodes) device_of_node[node.name] = part.device;
  }
  for (const TracedRange& range : trace.ranges()) {
    std::string name = range.device;
    if (name.empty()) name = std::string(device_of_node[range.node]);
    proto::DeviceStepStats*& device = by_device[name];
    if (device == nullptr) {
      device = stats->add_dev_stats();
      device->set_device(name);
    }
    AddRange(trace, range, device);
  }
}

}  // namespace

StatusOr<std::string> RunMetadataOf(const StepReport& report) {
  proto::RunMetadata metadata;
  if (report.want_trace) {
    for (const TracedPart& part : report.trace.parts()) {
      proto::DeviceStepStats* const device = metadata.mutable_step_stats()->add_dev_stats();
      device->set_device(part.device);
      for (const TracedNode& node : part.nodes) {
        const auto [lane, name] = LaneOf(node);
        AddNode(report.trace, node, lane, device);
        (*device->mutable_thread_names())[lane] = name;
      }
    }
    AddRanges(report.trace, metadata.mutable_step_stats());
  }
  for (const std::string& graph : report.partition_graphs) {
    if (!metadata.add_partition_graphs()->ParseFromString(graph)) {
      return errors::Internal("a partition's graph cannot be read");
    }
  }
  return ToBinary(metadata);
}

}  // namespace millstream
