#include "core/session/measured_step.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/graph/structural_role.h"

namespace millstream {
namespace {

// Ops of the copies that plans add; see PlanRun.
constexpr char kCopyToDevice[] = "_CopyToDevice";
constexpr char kCopyToHost[] = "_CopyToHost";

// What of a transfer the streams of its two devices did.
struct TransferTime {
  int64_t bytes = 0;
  double nanoseconds = 0;
};

// What a transfer to another task shows in the threads of the two tasks.
struct MessageTime {
  bool was_sent = false;
  bool was_received = false;
  int64_t sent = 0;      // begin of the Send
  int64_t idle = 0;      // since when the receiver had nothing else to do
  int64_t received = 0;  // end of the Receive
};

bool IsTransfer(const Node& node) {
  const StructuralRole role = RoleOf(node.op().name);
  return role == StructuralRole::kSend || role == StructuralRole::kReceive;
}

// In a thread of the host a transfer waits for the other side, which is no cost of its own.
bool IsCopy(const TracedNode& traced) { return !traced.lane.empty(); }

double TimeOf(const TracedNode& traced) { return static_cast<double>(traced.end - traced.start); }

class StepMeasurer {
 public:
  StepMeasurer(const PrunedGraph& pruned, const StepWork& work, const PartitionedGraph& partitions,
               CostModel* model)
      : work_(work),
        partitions_(partitions),
        transfers_(partitions.transfers.size()),
        messages_(partitions.transfers.size()),
        model_(*model) {
    for (size_t i = 0; i < pruned.nodes.size(); ++i) {
      index_[pruned.nodes[i]] = static_cast<int>(i);
    }
  }

  void AddPart(const TracedPart& traced, const Partition& part) {
    absl::flat_hash_map<std::string, double> times;  // of all executions of a node
    absl::flat_hash_map<std::string, const TracedNode*> last;
    absl::flat_hash_map<std::string, int64_t> idle;  // see MessageTime
    int64_t before = std::numeric_limits<int64_t>::min();
    for (const TracedNode& node : traced.nodes) {
      times[node.name] += TimeOf(node);
      last[node.name] = &node;
      idle[node.name] = std::min(before, node.start);
      before = node.end;
      AddCopyOfPart(node, part.device);
    }
    for (const Node* node : part.pruned.nodes) {
      auto time = times.find(node->name());
      if (IsTransfer(*node)) {
        if (time != times.end()) {
          AddTransfer(*node, *last.at(node->name()), idle.at(node->name()));
        }
        continue;
      }
      auto found = index_.find(node->origin());
      if (found == index_.end()) continue;
      model_.AddNodeTime(node->origin(), work_.of(found->second), part.device,
                         time == times.end() ? 0 : time->second);
    }
  }

  // After all parts.
  void AddTransfers() {
    for (size_t edge = 0; edge < transfers_.size(); ++edge) {
      const TransferTime& transfer = transfers_[edge];
      const Transfer& ends = partitions_.transfers[edge];
      if (!model_.AreOfOneTask(ends.from, ends.to)) {
        AddMessage(edge);
      } else if (transfer.nanoseconds != 0) {
        model_.AddTransferTime(ends.from, ends.to, transfer.bytes, transfer.nanoseconds);
      }
    }
  }

 private:
  // What is fed to a device and fetched from it is copied by the device's own part.
  void AddCopyOfPart(const TracedNode& copy, int device) {
    const int host = model_.HostOf(device);
    if (!IsCopy(copy) || copy.outputs.empty() || host == device) return;
    const int64_t bytes = copy.outputs[0].bytes;
    if (copy.op == kCopyToDevice) {
      model_.AddTransferTime(host, device, bytes, TimeOf(copy));
    } else if (copy.op == kCopyToHost) {
      model_.AddTransferTime(device, host, bytes, TimeOf(copy));
    }
  }

  void AddTransfer(const Node& node, const TracedNode& traced, int64_t idle) {
    const StatusOr<int64_t> edge = node.Attr<int64_t>(kEdgeAttr);
    if (!edge.ok()) return;
    TransferTime& transfer = transfers_[*edge];
    if (IsCopy(traced)) transfer.nanoseconds += TimeOf(traced);
    if (!traced.outputs.empty()) transfer.bytes = traced.outputs[0].bytes;
    MessageTime& message = messages_[*edge];
    if (RoleOf(node.op().name) == StructuralRole::kSend) {
      message.was_sent = true;
      message.sent = traced.start;
    } else {
      message.was_received = true;
      message.idle = idle;
      message.received = traced.end;
    }
  }

  // True if the other transfer goes the same way, and was on its way when this one arrived.
  bool IsWith(size_t other, size_t edge) const {
    const Transfer& ends = partitions_.transfers[edge];
    const Transfer& of = partitions_.transfers[other];
    return model_.AreOfOneTask(of.from, ends.from) && model_.AreOfOneTask(of.to, ends.to) &&
           messages_[other].was_sent && messages_[other].was_received &&
           messages_[other].sent < messages_[edge].received &&
           messages_[other].received >= messages_[edge].received;
  }

  // Of an edge between tasks. Where a stream of a device has a share in it, the times are those of
  // the stream.
  void AddMessage(size_t edge) {
    const MessageTime& message = messages_[edge];
    if (!message.was_sent || !message.was_received || transfers_[edge].nanoseconds != 0) return;
    int64_t begin = message.sent;
    int64_t bytes = 0;
    for (size_t other = 0; other < messages_.size(); ++other) {
      if (!IsWith(other, edge)) continue;
      begin = std::max(begin, messages_[other].sent);
      bytes += transfers_[other].bytes;
    }
    if (message.idle > begin || message.received <= begin) return;
    const Transfer& ends = partitions_.transfers[edge];
    model_.AddTransferTime(ends.from, ends.to, bytes,
                           static_cast<double>(message.received - begin));
  }

  const StepWork& work_;
  const PartitionedGraph& partitions_;
  std::vector<TransferTime> transfers_;  // by edge
  std::vector<MessageTime> messages_;    // likewise
  CostModel& model_;
  absl::flat_hash_map<const Node*, int> index_;
};

}  // namespace

void MeasureStep(const StepTrace& trace, const PrunedGraph& pruned, const StepWork& work,
                 const PartitionedGraph& partitions, const DeviceSet& devices, CostModel* model) {
  StepMeasurer measurer(pruned, work, partitions, model);
  absl::flat_hash_map<absl::string_view, const TracedPart*> traced;  // by device
  for (const TracedPart& part : trace.parts()) traced[part.device] = &part;
  for (const Partition& part : partitions.parts) {
    const auto found = traced.find(devices[part.device].name);
    if (found != traced.end()) measurer.AddPart(*found->second, part);
  }
  measurer.AddTransfers();
}

}  // namespace millstream
