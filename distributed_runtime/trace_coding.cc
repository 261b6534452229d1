#include "distributed_runtime/trace_coding.h"

#include <string>
#include <utility>
#include <vector>

#include "framework/proto_conversion.h"
#include "framework/shape.h"

namespace millstream {
namespace {

void EncodeNode(const StepTrace& trace, const TracedNode& node, proto::TracedNodeRecord* record) {
  record->set_name(node.name);
  record->set_op(node.op);
  for (const std::string& op : node.fused_ops) record->add_fused_ops(op);
  for (const std::string& input : node.inputs) record->add_inputs(input);
  record->set_start(trace.WallTime(node.start));
  record->set_end(trace.WallTime(node.end));
  record->set_thread(node.thread);
  record->set_lane(node.lane);
  record->set_stream(node.stream);
  record->set_scratch_bytes(node.scratch_bytes);
  for (const TracedOutput& output : node.outputs) {
    proto::TracedOutputRecord* const added = record->add_outputs();
    added->set_index(output.index);
    added->set_dtype(DataTypeToProto(output.dtype));
    for (const int64_t dim : output.shape.dims()) added->add_dims(dim);
    added->set_bytes(output.bytes);
    added->set_allocated(output.allocated);
  }
}

void EncodeRange(const StepTrace& trace, const TracedRange& range,
                 proto::TracedRangeRecord* record) {
  record->set_node(range.node);
  record->set_device(range.device);
  record->set_name(range.name);
  record->set_start(trace.WallTime(range.start));
  record->set_end(trace.WallTime(range.end));
  record->set_lane(range.lane);
  for (const auto& [name, value] : range.args) {
    proto::TracedArgument* const added = record->add_args();
    added->set_name(name);
    added->set_value(value);
  }
}

// So far from all others that differences of times do not overflow.
constexpr int64_t kLastTime = int64_t{1} << 62;

Status CheckTimes(int64_t start, int64_t end) {
  if (start >= 0 && start < kLastTime && end >= 0 && end < kLastTime) return absl::OkStatus();
  return errors::InvalidArgument("a traced node has a time that no clock tells");
}

// `base`: what times of records are larger than those of the trace.
StatusOr<TracedNode> DecodeNode(const proto::TracedNodeRecord& record, int64_t base) {
  MS_RETURN_IF_ERROR(CheckTimes(record.start(), record.end()));
  TracedNode node;
  node.name = record.name();
  node.op = record.op();
  node.fused_ops.assign(record.fused_ops().begin(), record.fused_ops().end());
  node.inputs.assign(record.inputs().begin(), record.inputs().end());
  node.start = record.start() - base;
  node.end = record.end() - base;
  node.thread = record.thread();
  node.lane = record.lane();
  node.stream = record.stream();
  node.scratch_bytes = record.scratch_bytes();
  for (const proto::TracedOutputRecord& one : record.outputs()) {
    TracedOutput& output = node.outputs.emplace_back();
    output.index = one.index();
    MS_ASSIGN_OR_RETURN(output.dtype, DataTypeFromProto(one.dtype()));
    output.shape = Shape(std::vector<int64_t>(one.dims().begin(), one.dims().end()));
    MS_RETURN_IF_ERROR(ValidateShape(output.shape));
    output.bytes = one.bytes();
    output.allocated = one.allocated();
  }
  return node;
}

StatusOr<TracedRange> DecodeRange(const proto::TracedRangeRecord& record, int64_t base) {
  MS_RETURN_IF_ERROR(CheckTimes(record.start(), record.end()));
  TracedRange range;
  range.node = record.node();
  range.device = record.device();
  range.name = record.name();
  range.start = record.start() - base;
  range.end = record.end() - base;
  range.lane = record.lane();
  for (const proto::TracedArgument& one : record.args()) {
    range.args.emplace_back(one.name(), one.value());
  }
  return range;
}

}  // namespace

void EncodeReport(const StepReport& report, proto::StepReportRecord* record) {
  for (const TracedPart& part : report.trace.parts()) {
    proto::TracedPartRecord* const added = record->add_parts();
    added->set_device(part.device);
    for (const TracedNode& node : part.nodes) EncodeNode(report.trace, node, added->add_nodes());
  }
  for (const TracedRange& range : report.trace.ranges()) {
    EncodeRange(report.trace, range, record->add_ranges());
  }
  for (const std::string& graph : report.partition_graphs) record->add_partition_graphs(graph);
}

Status AddReport(const proto::StepReportRecord& record, int64_t ahead, StepReport* report) {
  const int64_t base = report->trace.WallTime(0) + ahead;
  for (const proto::TracedPartRecord& one : record.parts()) {
    TracedPart* const part = report->trace.AddPart(one.device());
    for (const proto::TracedNodeRecord& node : one.nodes()) {
      MS_ASSIGN_OR_RETURN(TracedNode decoded, DecodeNode(node, base));
      part->nodes.push_back(std::move(decoded));
    }
  }
  for (const proto::TracedRangeRecord& range : record.ranges()) {
    MS_ASSIGN_OR_RETURN(TracedRange decoded, DecodeRange(range, base));
    report->trace.AddRange(std::move(decoded));
  }
  for (const std::string& graph : record.partition_graphs()) {
    report->partition_graphs.push_back(graph);
  }
  return absl::OkStatus();
}

}  // namespace millstream
