#include "core/partition/late_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/graph/node_state.h"
#include "core/graph/structural_role.h"

namespace millstream {
namespace {

// What must be left of all peaks together for a new order to be worth it.
constexpr double kGain = 0.9;

class LateOrderer {
 public:
  LateOrderer(const PrunedGraph& pruned, const std::vector<int>& devices,
              const StepSignature& signature, const StepWork& work)
      : pruned_(pruned),
        devices_(devices),
        work_(work),
        fed_(signature.feeds.begin(), signature.feeds.end()) {
    for (int i = 0; i < size(); ++i) index_[pruned.nodes[i]] = i;
    for (int i = 0; i < size(); ++i) needed_.push_back(NeededBy(i));
    for (const Output& fetch : signature.fetches) kept_.insert(RootOf(fetch));
  }

  std::vector<int> AsWritten() const {
    std::vector<int> order(size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }

  std::vector<int> Late() const {
    std::vector<bool> is_read(size());
    for (const std::vector<int>& needed : needed_) {
      for (const int i : needed) is_read[i] = true;
    }
    std::vector<int> order;
    std::vector<bool> is_done(size());
    for (int i = 0; i < size(); ++i) {
      if (HasState(*pruned_.nodes[i]) || !is_read[i]) AddWithNeeded(i, &is_done, &order);
    }
    return order;
  }

  // The most bytes that live at a time, by device, if nodes run in the order.
  std::map<int, double> Peaks(const std::vector<int>& order) const {
    absl::flat_hash_map<Place, int> last = LastReaders(order);
    std::map<int, double> live;
    std::map<int, double> peaks;
    absl::flat_hash_set<Place> here;
    const auto add = [&](const Output& root, int device) {
      if (!TakesMemory(root) || !here.insert({root, device}).second) return;
      live[device] += work_.bytes(root);
      peaks[device] = std::max(peaks[device], live[device]);
    };
    for (const int i : order) {
      const Node* const node = pruned_.nodes[i];
      std::vector<Output> touched;
      for (const Output& input : node->inputs()) touched.push_back(RootOf(input));
      for (int k = 0; k < node->num_outputs(); ++k) touched.push_back(RootOf(node->output(k)));
      for (const Output& root : touched) add(root, devices_[i]);
      for (const Output& root : touched) {
        const Place place{root, devices_[i]};
        auto reader = last.find(place);
        const bool is_last = reader == last.end() || reader->second == i;
        if (is_last && !kept_.contains(root) && here.erase(place) > 0) {
          live[devices_[i]] -= work_.bytes(root);
        }
      }
    }
    return peaks;
  }

 private:
  using Place = std::pair<Output, int>;  // a tensor's copy on a device

  int size() const { return static_cast<int>(pruned_.nodes.size()); }

  // Which nodes run before it.
  std::vector<int> NeededBy(int i) const {
    std::vector<int> needed;
    const auto add = [&](const Node* node) {
      auto found = index_.find(node);
      if (found != index_.end()) needed.push_back(found->second);
    };
    for (const Output& input : pruned_.nodes[i]->inputs()) {
      if (!fed_.contains(input)) add(input.node);
    }
    for (const Node* control : pruned_.controls[i]) add(control);
    return needed;
  }

  void AddWithNeeded(int last, std::vector<bool>* is_done, std::vector<int>* order) const {
    std::vector<std::pair<int, size_t>> stack = {{last, 0}};  // a node, and its next needed node
    while (!stack.empty()) {
      auto& [i, next] = stack.back();
      if ((*is_done)[i] || next == needed_[i].size()) {
        if (!(*is_done)[i]) order->push_back(i);
        (*is_done)[i] = true;
        stack.pop_back();
        continue;
      }
      const int needed = needed_[i][next++];
      if (!(*is_done)[needed]) stack.emplace_back(needed, 0);
    }
  }

  // The tensor in whose memory the output is.
  Output RootOf(Output output) const {
    while (!fed_.contains(output) && index_.contains(output.node)) {
      const StructuralRole role = RoleOf(output.node->op().name);
      if (role == StructuralRole::kIdentity) {
        output = output.node->input(output.index);
      } else if (role == StructuralRole::kReshape) {
        output = output.node->input(0);
      } else {
        break;
      }
    }
    return output;
  }

  // False for constants, feeds and values of variables, which exist before the step.
  bool TakesMemory(const Output& root) const {
    if (fed_.contains(root) || !index_.contains(root.node)) return false;
    return RoleOf(root.node->op().name) == StructuralRole::kKernel &&
           root.node->op().name != "ReadVariableOp";
  }

  absl::flat_hash_map<Place, int> LastReaders(const std::vector<int>& order) const {
    absl::flat_hash_map<Place, int> last;
    for (const int i : order) {
      for (const Output& input : pruned_.nodes[i]->inputs()) {
        const Output root = RootOf(input);
        last[{root, devices_[i]}] = i;
        // A tensor for another device is sent directly after it is computed.
        if (index_.contains(root.node)) {
          const int maker = index_.at(root.node);
          last.try_emplace({root, devices_[maker]}, maker);
        }
      }
    }
    return last;
  }

  const PrunedGraph& pruned_;
  const std::vector<int>& devices_;
  const StepWork& work_;
  const absl::flat_hash_set<Output> fed_;
  absl::flat_hash_set<Output> kept_;  // to the end of the step
  absl::flat_hash_map<const Node*, int> index_;
  std::vector<std::vector<int>> needed_;  // by node
};

}  // namespace

std::vector<int> LateOrder(const PrunedGraph& pruned, const std::vector<int>& devices,
                           const StepSignature& signature, const StepWork& work) {
  const LateOrderer orderer(pruned, devices, signature, work);
  const std::map<int, double> as_written = orderer.Peaks(orderer.AsWritten());
  std::vector<int> order = orderer.Late();
  double before = 0;
  double after = 0;
  for (const auto& [device, peak] : orderer.Peaks(order)) {
    if (peak > as_written.at(device)) return {};
    before += as_written.at(device);
    after += peak;
  }
  return after < kGain * before ? order : std::vector<int>();
}

}  // namespace millstream
