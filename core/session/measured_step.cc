#include "core/session/measured_step.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
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
        model_(*model) {
    for (size_t i = 0; i < pruned.nodes.size(); ++i) {
      index_[pruned.nodes[i]] = static_cast<int>(i);
    }
  }

  void AddPart(const TracedPart& traced, const Partition& part) {
    absl::flat_hash_map<std::string, double> times;  // of all executions of a node
    absl::flat_hash_map<std::string, const TracedNode*> last;
    for (const TracedNode& node : traced.nodes) {
      times[node.name] += TimeOf(node);
      last[node.name] = &node;
      AddCopyOfPart(node, part.device);
    }
    for (const Node* node : part.pruned.nodes) {
      auto time = times.find(node->name());
      if (IsTransfer(*node)) {
        if (time != times.end()) AddTransfer(*node, *last.at(node->name()));
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
      if (transfer.nanoseconds == 0) continue;
      model_.AddTransferTime(ends.from, ends.to, transfer.bytes, transfer.nanoseconds);
    }
  }

 private:
  // What is fed to a device and fetched from it is copied by the device's own part.
  void AddCopyOfPart(const TracedNode& copy, int device) {
    if (!IsCopy(copy) || copy.outputs.empty() || model_.host() < 0) return;
    const int64_t bytes = copy.outputs[0].bytes;
    if (copy.op == kCopyToDevice) {
      model_.AddTransferTime(model_.host(), device, bytes, TimeOf(copy));
    } else if (copy.op == kCopyToHost) {
      model_.AddTransferTime(device, model_.host(), bytes, TimeOf(copy));
    }
  }

  void AddTransfer(const Node& node, const TracedNode& traced) {
    const StatusOr<int64_t> edge = node.Attr<int64_t>(kEdgeAttr);
    if (!edge.ok()) return;
    TransferTime& transfer = transfers_[*edge];
    if (IsCopy(traced)) transfer.nanoseconds += TimeOf(traced);
    if (!traced.outputs.empty()) transfer.bytes = traced.outputs[0].bytes;
  }

  const StepWork& work_;
  const PartitionedGraph& partitions_;
  std::vector<TransferTime> transfers_;  // by edge
  CostModel& model_;
  absl::flat_hash_map<const Node*, int> index_;
};

}  // namespace

void MeasureStep(const StepTrace& trace, const PrunedGraph& pruned, const StepWork& work,
                 const PartitionedGraph& partitions, CostModel* model) {
  StepMeasurer measurer(pruned, work, partitions, model);
  const size_t first = trace.parts().size() - partitions.parts.size();
  for (size_t p = 0; p < partitions.parts.size(); ++p) {
    measurer.AddPart(trace.parts()[first + p], partitions.parts[p]);
  }
  measurer.AddTransfers();
}

}  // namespace millstream
