#include "distributed_runtime/step_exchange.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/graph/structural_role.h"
#include "distributed_runtime/peers.h"
#include "framework/plugin/kernel_registry.h"

namespace millstream {
namespace {

// Null: there is none, or more than one.
const Partition* OnlyPartOf(const PartitionedGraph& graph, const DeviceSet& devices,
                            absl::string_view task) {
  const Partition* only = nullptr;
  for (const Partition& part : graph.parts) {
    if (TaskOf(devices[part.device].name) != task) continue;
    if (only != nullptr) return nullptr;
    only = &part;
  }
  return only;
}

// Whether the part's nodes run in their order, and only Receives wait. A device with its own memory
// sends later than the nodes run, and its thread waits for it.
bool RunsInOrder(const Partition& part, const DeviceSet& devices) {
  if (part.pruned.has_control_flow || !devices[part.device].traits.host_memory) return false;
  return absl::c_none_of(part.pruned.nodes, [](const Node* node) {
    return absl::c_any_of(
        KernelRegistry::Global()->KernelsOf(node->op().name),
        [](const KernelRegistration* kernel) { return (kernel->flags & MS_KERNEL_BLOCKING) != 0; });
  });
}

// Whether it takes no time worth a message.
bool IsCheap(StructuralRole role, const std::string& op) {
  switch (role) {
    case StructuralRole::kNothing:
    case StructuralRole::kIdentity:
    case StructuralRole::kReshape:
    case StructuralRole::kConstant:
    case StructuralRole::kMustFeed:
    case StructuralRole::kHandle: return true;
    default: return op == "ReadVariableOp";
  }
}

// Walks over the nodes of the part in their order.
class ExchangePlanner {
 public:
  ExchangePlanner(const PartitionedGraph& graph, const DeviceSet& devices, absl::string_view master)
      : graph_(graph), devices_(devices), master_(master) {
    exchange_.rounds.assign(graph.transfers.size(), StepExchange::kAsked);
  }

  void Add(const Node& node) {
    const StructuralRole role = RoleOf(node.op().name);
    if (role == StructuralRole::kSend || role == StructuralRole::kReceive) {
      const StatusOr<int64_t> edge = TransferEdge(node);
      if (edge.ok() && role == StructuralRole::kSend) return AddSend(*edge);
      if (edge.ok()) return AddReceive(*edge);
    }
    if (!IsCheap(role, node.op().name)) AddWork();
  }
  StepExchange AskForAll() { return std::move(exchange_); }
  StepExchange Finish() {
    EndRound();
    exchange_.is_short = Round() == 0 && !has_worked_;
    return std::move(exchange_);
  }

 private:
  bool IsMasters(int device) const { return TaskOf(devices_[device].name) == master_; }

  // What was sent before would wait for it. The master may need that for what the work waits for.
  void AddWork() {
    sent_.clear();
    has_begun_ = true;
    has_worked_ = true;
  }
  void AddSend(int64_t edge) {
    if (IsMasters(graph_.transfers[edge].to)) sent_.push_back(edge);
    has_begun_ = true;
  }
  // What comes from a device's memory leaves on a thread of the device's plugin, which should not
  // begin a part of another task.
  void AddReceive(int64_t edge) {
    const Transfer& transfer = graph_.transfers[edge];
    if (!IsMasters(transfer.from) || !transfer.from_host) return AddWork();
    if (has_begun_) {
      EndRound();
      exchange_.num_requested.push_back(0);
    }
    exchange_.rounds[edge] = Round();
    ++exchange_.num_requested.back();
  }
  void EndRound() {
    for (const int64_t edge : sent_) exchange_.rounds[edge] = Round();
    sent_.clear();
    has_begun_ = false;
  }
  int Round() const { return static_cast<int>(exchange_.num_requested.size()) - 1; }

  const PartitionedGraph& graph_;
  const DeviceSet& devices_;
  const absl::string_view master_;
  StepExchange exchange_;
  bool has_worked_ = false;
  std::vector<int64_t> sent_;  // to the master's task, without work since
  bool has_begun_ = false;     // the part has work, or sends, in this round
};

}  // namespace

bool RunsInOneOrder(const PartitionedGraph& graph, const DeviceSet& devices,
                    absl::string_view task) {
  const Partition* const part = OnlyPartOf(graph, devices, task);
  return part != nullptr && RunsInOrder(*part, devices);
}

StepExchange PlanExchange(const PartitionedGraph& graph, const DeviceSet& devices,
                          absl::string_view master, absl::string_view task) {
  ExchangePlanner planner(graph, devices, master);
  const Partition* const part = OnlyPartOf(graph, devices, task);
  if (part == nullptr || master == task || !RunsInOrder(*part, devices)) {
    return planner.AskForAll();
  }
  for (const Node* node : part->pruned.nodes) planner.Add(*node);
  return planner.Finish();
}

}  // namespace millstream
