#include "core/loops/raise_branches.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/loops/branch_paths.h"
#include "core/loops/graph_copy.h"

namespace millstream {
namespace {

// The items of one conditional.
struct Conditional {
  int path[2] = {-1, -1};  // by side
  std::vector<StepItem> switches;
  std::vector<StepItem> inside[2];
  std::vector<StepItem> merges;
};

// Makes a node of a conditional.
class BranchBuilder {
 public:
  BranchBuilder(const InnerLimits& limits, const BranchPaths& paths, const Conditional& found)
      : limits_(limits), paths_(paths), found_(found) {}

  StatusOr<StepItem> Run() {
    for (const StepItem& item : found_.switches) Need(item.inputs[0]);
    for (const auto& side : found_.inside) {
      for (const StepItem& item : side) {
        for (const Output& input : item.inputs) {
          if (IsOutside(input)) Need(input);
        }
      }
    }
    auto branch = std::make_shared<BranchBody>();
    MS_ASSIGN_OR_RETURN(branch->on_false, Side(false));
    MS_ASSIGN_OR_RETURN(branch->on_true, Side(true));
    StepItem item;
    item.node = found_.merges[0].node;
    item.inputs = {found_.switches[0].inputs[1]};
    item.inputs.insert(item.inputs.end(), feeds_.begin(), feeds_.end());
    for (const StepItem& from : found_.switches) AddControls(from, &item);
    for (const StepItem& merge : found_.merges) {
      AddControls(merge, &item);
      item.outputs.push_back(merge.outputs[0]);
      item.stands_for.push_back(merge.node);
    }
    item.branch = std::move(branch);
    return item;
  }

 private:
  bool IsOutside(const Output& value) const {
    const int path = paths_.Of(value);
    return path != found_.path[0] && path != found_.path[1];
  }
  void Need(const Output& value) {
    if (!needed_.insert(value).second) return;
    const Output source = BehindEnters(value);
    const bool is_source = IsSource(*source.node) && !limits_.fed.contains(source);
    (is_source ? sources_ : feeds_).push_back(value);
  }
  static void AddControls(const StepItem& from, StepItem* item) {
    item->controls.insert(item->controls.end(), from.controls.begin(), from.controls.end());
  }

  StatusOr<InnerGraph> Side(bool side) const {
    GraphCopy copy;
    InnerGraph result;
    for (const Output& value : feeds_) {
      MS_ASSIGN_OR_RETURN(const Output feed, copy.AddFeed(value, value.node->name()));
      result.signature.feeds.push_back(feed);
    }
    for (const Output& value : sources_) MS_RETURN_IF_ERROR(copy.AddSource(value));
    for (const StepItem& item : found_.switches) {
      copy.Bind(item.outputs[side ? 1 : 0], copy.Of(item.inputs[0]));
    }
    for (const StepItem& item : found_.inside[side ? 1 : 0]) MS_RETURN_IF_ERROR(copy.Add(item));
    for (const StepItem& merge : found_.merges) {
      const bool is_first = paths_.Of(merge.inputs[0]) == found_.path[side ? 1 : 0];
      result.signature.fetches.push_back(copy.Of(merge.inputs[is_first ? 0 : 1]));
    }
    result.graph = copy.TakeGraph();
    result.pruned = copy.TakePruned();
    return result;
  }

  const InnerLimits& limits_;
  const BranchPaths& paths_;
  const Conditional& found_;
  absl::flat_hash_set<Output> needed_;
  std::vector<Output> feeds_;
  std::vector<Output> sources_;
};

class BranchRaiser {
 public:
  // REQUIRES: the items are sorted, and outlive this object.
  BranchRaiser(const InnerLimits& limits, const std::vector<StepItem>& items)
      : limits_(limits), paths_(limits, items), all_(items), gone_(items.size()) {
    members_.resize(paths_.size());
    for (int i = 0; i < static_cast<int>(items.size()); ++i) {
      const int side = SideOf(i);
      side_.push_back(side);
      if (side != BranchPaths::kRoot) members_[KeyOf(side)].push_back(i);
    }
  }

  // Gives what remains of the items, and the nodes.
  StatusOr<std::vector<StepItem>> Run() {
    std::vector<int> keys;
    for (int path = 1; path < paths_.size(); ++path) {
      if (KeyOf(path) == path) keys.push_back(path);
    }
    const auto is_deeper = [&](int a, int b) { return paths_[a].depth > paths_[b].depth; };
    std::stable_sort(keys.begin(), keys.end(), is_deeper);
    for (const int key : keys) MS_RETURN_IF_ERROR(RaiseAllOf(key));
    std::vector<StepItem> rest;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!gone_[i]) rest.push_back(std::move(all_[i]));
    }
    return rest;
  }

 private:
  // One side of the conditional that the item belongs to; kRoot: to none.
  int SideOf(int i) const {
    if (paths_.IsMerge(i)) return paths_.Of(all_[i].inputs[0]);
    return paths_.IsSwitch(i) ? paths_.Of(all_[i].outputs[0]) : paths_.OfItem(i);
  }
  int KeyOf(int side) const { return std::min(side, paths_.OtherSide(side)); }
  bool IsSwitch(int i) const { return i < num_program_items() && paths_.IsSwitch(i); }
  bool IsMerge(int i) const { return i < num_program_items() && paths_.IsMerge(i); }
  int num_program_items() const { return paths_.num_items(); }

  Status RaiseAllOf(int key);
  std::vector<std::vector<int>> Connected(const std::vector<int>& members) const;
  Status Raise(int key, const std::vector<int>& members);

  const InnerLimits& limits_;
  BranchPaths paths_;
  std::vector<StepItem> all_;  // those of the program, then the nodes that were made
  std::vector<bool> gone_;     // became a part of a node
  std::vector<int> side_;
  std::vector<std::vector<int>> members_;  // by KeyOf
};

// Conditionals of one predicate are different ones if no value goes from one to the other inside of
// a branch. One may well follow another one.
std::vector<std::vector<int>> BranchRaiser::Connected(const std::vector<int>& members) const {
  absl::flat_hash_map<Output, int> producers;
  absl::flat_hash_map<const Node*, int> places;
  for (size_t m = 0; m < members.size(); ++m) {
    if (IsMerge(members[m])) continue;  // what it gives is outside
    const StepItem& item = all_[members[m]];
    for (const Output& output : item.outputs) producers[output] = static_cast<int>(m);
    if (IsSwitch(members[m])) continue;  // waiting for it is waiting outside
    for (const Node* node : item.stands_for) places[node] = static_cast<int>(m);
  }
  std::vector<int> leader(members.size());
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&](int m) {
    while (leader[m] != m) m = leader[m] = leader[leader[m]];
    return m;
  };
  for (size_t m = 0; m < members.size(); ++m) {
    if (IsSwitch(members[m])) continue;  // what it reads is outside
    const StepItem& item = all_[members[m]];
    for (const Output& input : item.inputs) {
      auto from = producers.find(input);
      if (from != producers.end()) leader[find(from->second)] = find(static_cast<int>(m));
    }
    for (const Node* control : item.controls) {
      auto from = places.find(control);
      if (from != places.end()) leader[find(from->second)] = find(static_cast<int>(m));
    }
  }
  absl::flat_hash_map<int, size_t> number;
  std::vector<std::vector<int>> connected;
  for (size_t m = 0; m < members.size(); ++m) {
    auto [found, is_new] = number.try_emplace(find(static_cast<int>(m)), connected.size());
    if (is_new) connected.emplace_back();
    connected[found->second].push_back(members[m]);
  }
  return connected;
}

Status BranchRaiser::Raise(int key, const std::vector<int>& members) {
  Conditional found;
  found.path[paths_[key].side ? 1 : 0] = key;
  found.path[paths_[key].side ? 0 : 1] = paths_.OtherSide(key);
  for (const int i : members) {
    if (IsMerge(i)) {
      found.merges.push_back(all_[i]);
    } else if (IsSwitch(i)) {
      found.switches.push_back(all_[i]);
    } else {
      found.inside[side_[i] == found.path[1] ? 1 : 0].push_back(all_[i]);
    }
  }
  const bool is_whole = !found.merges.empty() && !found.switches.empty() &&
                        Sort(&found.inside[0]) && Sort(&found.inside[1]);
  if (!is_whole) {
    paths_.Open(key);
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(StepItem node, BranchBuilder(limits_, paths_, found).Run());
  for (const int i : members) gone_[i] = true;
  const int parent = paths_[key].parent;
  if (parent != BranchPaths::kRoot)
    members_[KeyOf(parent)].push_back(static_cast<int>(all_.size()));
  all_.push_back(std::move(node));
  gone_.push_back(false);
  side_.push_back(parent);
  return absl::OkStatus();
}

// REQUIRES: all conditionals within these were tried.
Status BranchRaiser::RaiseAllOf(int key) {
  const bool is_closed = paths_[key].is_closed && paths_[paths_.OtherSide(key)].is_closed;
  if (!is_closed) {
    paths_.Open(key);
    return absl::OkStatus();
  }
  for (const std::vector<int>& members : Connected(members_[key])) {
    MS_RETURN_IF_ERROR(Raise(key, members));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<bool> RaiseBranches(const InnerLimits& limits, std::vector<StepItem>* items) {
  if (!Sort(items)) return false;
  MS_ASSIGN_OR_RETURN(std::vector<StepItem> rest, BranchRaiser(limits, *items).Run());
  if (rest.size() == items->size() || !Sort(&rest)) return false;
  *items = std::move(rest);
  return true;
}

}  // namespace millstream
