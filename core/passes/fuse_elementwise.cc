// fuse_elementwise: makes one operation of elementwise operations on one shape that read each
// other. It reads and writes memory once, in tiles that fit the first-level cache. Each element is
// computed by the same operations in the same order as before, so no bit changes.
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "core/passes/pass.h"
#include "framework/op_registry.h"

namespace millstream {
namespace {

constexpr char kFused[] = "_FusedElementwise";

// Operations that become one, at the position of the last one.
struct Cluster {
  std::vector<int> members;    // ascending
  std::multiset<int> outside;  // readers of the members' outputs that are not members
  Shape shape;                 // of all outputs
};

// True if a tensor of `shape` can be an operand of a fused operation on `whole`: it has the same
// shape, is a scalar, or is a row that is repeated.
bool GoesAlong(const Shape& shape, const Shape& whole) {
  if (shape.num_elements() == 1 || shape == whole) return true;
  int first = 0;
  while (first < shape.rank() && shape.dim(first) == 1) ++first;
  const int rank = shape.rank() - first;
  if (shape.rank() > whole.rank()) return false;
  for (int i = 1; i <= rank; ++i) {
    if (shape.dim(shape.rank() - i) != whole.dim(whole.rank() - i)) return false;
  }
  return true;
}

class ElementwiseFusion {
 public:
  explicit ElementwiseFusion(StepOps* ops) : ops_(*ops) {}
  Status Run();

 private:
  bool IsCandidate(const StepOp& op, Shape* shape) const;
  void Join(int i, Shape shape);
  bool MayMerge(const std::set<Cluster*>& clusters, int i) const;
  Status Fuse(const Cluster& cluster);

  StepOps& ops_;
  std::vector<std::unique_ptr<Cluster>> clusters_;
  absl::flat_hash_map<int, Cluster*> cluster_of_;
};

bool ElementwiseFusion::IsCandidate(const StepOp& op, Shape* shape) const {
  if (op.outputs.size() != 1 || op.outputs[0].dtype() != DataType::kFloat ||
      !op.node->op().is_elementwise || ops_.IsNew(op.node)) {
    return false;
  }
  const PartialShape* const whole = ops_.KnownShape(op.outputs[0]);
  if (whole == nullptr || op.names_kernel()) return false;
  *shape = whole->ToShape();
  return absl::c_all_of(op.inputs, [&](const Output& input) {
    const PartialShape* const known = ops_.KnownShape(input);
    return input.dtype() == DataType::kFloat && known != nullptr &&
           GoesAlong(known->ToShape(), *shape);
  });
}

// True if the outputs of the clusters are read only by operation i, by members, or after operation
// i.
bool ElementwiseFusion::MayMerge(const std::set<Cluster*>& clusters, int i) const {
  for (const Cluster* cluster : clusters) {
    for (int reader : cluster->outside) {
      if (reader > i) break;
      if (reader == i) continue;
      auto other = cluster_of_.find(reader);
      if (other == cluster_of_.end() || clusters.count(other->second) == 0) return false;
    }
  }
  return true;
}

// Joins the clusters that produce the inputs of operation i and adds it, or makes a new cluster for
// it.
void ElementwiseFusion::Join(int i, Shape shape) {
  std::set<Cluster*> joined;
  for (const Output& input : ops_.op(i).inputs) {
    auto found = cluster_of_.find(ops_.Producer(input));
    if (found == cluster_of_.end() || found->second->shape != shape) continue;
    joined.insert(found->second);
    if (!MayMerge(joined, i)) joined.erase(found->second);
  }
  Cluster* cluster = nullptr;
  if (joined.empty()) {
    clusters_.push_back(std::make_unique<Cluster>());
    cluster = clusters_.back().get();
    cluster->shape = std::move(shape);
  } else {
    cluster = *absl::c_max_element(joined, [](const Cluster* a, const Cluster* b) {
      return a->members.size() < b->members.size();
    });
  }
  for (Cluster* other : joined) {
    if (other == cluster) continue;
    std::vector<int> members;
    absl::c_merge(cluster->members, other->members, std::back_inserter(members));
    cluster->members = std::move(members);
    cluster->outside.merge(other->outside);
    for (int member : other->members) cluster_of_[member] = cluster;
    other->members.clear();
  }
  cluster->members.push_back(i);
  cluster_of_[i] = cluster;
  const std::vector<int>& readers = ops_.Readers(ops_.op(i).outputs[0]);
  cluster->outside.insert(readers.begin(), readers.end());
  // Readers that are members by now.
  while (!cluster->outside.empty() && *cluster->outside.begin() <= i) {
    cluster->outside.erase(cluster->outside.begin());
  }
}

Status ElementwiseFusion::Fuse(const Cluster& cluster) {
  std::vector<Output> inputs;
  std::vector<Output> outputs;
  std::vector<std::string> steps;
  absl::flat_hash_map<Output, int64_t> numbers;
  const auto is_member = [&](int i) { return absl::c_binary_search(cluster.members, i); };
  for (int i : cluster.members) {
    for (const Output& input : ops_.op(i).inputs) {
      if (is_member(ops_.Producer(input)) || numbers.contains(input)) continue;
      numbers[input] = static_cast<int64_t>(inputs.size());
      inputs.push_back(input);
    }
  }
  std::vector<int64_t> operands;
  std::vector<int64_t> results;
  for (int i : cluster.members) {
    const StepOp& op = ops_.op(i);
    const int64_t number = static_cast<int64_t>(inputs.size() + steps.size());
    steps.push_back(op.type());
    operands.push_back(numbers.at(op.inputs[0]));
    operands.push_back(op.inputs.size() == 2 ? numbers.at(op.inputs[1]) : -1);
    const Output value = op.outputs[0];
    numbers[value] = number;
    if (!ops_.IsVisible(value) && absl::c_all_of(ops_.Readers(value), is_member)) continue;
    results.push_back(number);
    outputs.push_back(value);
  }
  // What others only wait for, and nobody reads.
  if (outputs.empty()) {
    const Output& value = ops_.op(cluster.members.back()).outputs[0];
    results.push_back(numbers.at(value));
    outputs.push_back(value);
  }
  AttrMap attrs;
  SetAttr(&attrs, "N", static_cast<int64_t>(inputs.size()));
  SetAttr(&attrs, "M", static_cast<int64_t>(outputs.size()));
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "steps", std::move(steps));
  SetAttr(&attrs, "operands", std::move(operands));
  SetAttr(&attrs, "results", std::move(results));
  SetAttr(&attrs, "compile", ops_.machine_code_allowed());
  if (!ops_.HasKernel(kFused, attrs)) return absl::OkStatus();
  const int last = cluster.members.back();
  return ops_.Replace(last, cluster.members, kFused, std::move(attrs), *ops_.op(last).node,
                      std::move(inputs), std::move(outputs));
}

Status ElementwiseFusion::Run() {
  for (int i = 0; i < ops_.size(); ++i) {
    Shape shape;
    if (!ops_.IsGone(i) && IsCandidate(ops_.op(i), &shape)) Join(i, std::move(shape));
  }
  for (const std::unique_ptr<Cluster>& cluster : clusters_) {
    if (cluster->members.size() > 1) MS_RETURN_IF_ERROR(Fuse(*cluster));
  }
  return absl::OkStatus();
}

Status FuseElementwise(StepOps* ops) { return ElementwiseFusion(ops).Run(); }

MILLSTREAM_PASS("fuse_elementwise", 30, FuseElementwise);

}  // namespace
}  // namespace millstream
