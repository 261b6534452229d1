// merge_equal: of operations with equal ops, attributes and inputs, only the first runs, and all
// readers read its outputs. Constants of up to a kilobyte are equal if their bits are.
//
// Reads of a variable are equal if they wait for the same nodes and no operation between them may
// write to a variable.
//
// The order of arguments counts, also for Add and Mul, because it decides which of two NaNs is
// returned. A value stays in memory until its last reader, however late. This is always faster than
// to compute it again. Recomputation to save memory would be a separate pass.
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/graph/colocation.h"
#include "core/graph/structural_role.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr size_t kComparedBytes = 1024;

// True for attributes that no kernel reads.
bool IsRemark(const std::string& attr) {
  return attr == kColocationAttr || attr == "_output_shapes";
}

bool HaveEqualAttrs(const Node& a, const Node& b) {
  auto x = a.attrs().begin();
  auto y = b.attrs().begin();
  while (true) {
    while (x != a.attrs().end() && IsRemark(x->first)) ++x;
    while (y != b.attrs().end() && IsRemark(y->first)) ++y;
    if (x == a.attrs().end() || y == b.attrs().end()) break;
    if (x->first != y->first || x->second != y->second) return false;
    ++x;
    ++y;
  }
  return x == a.attrs().end() && y == b.attrs().end();
}

// Ops that read what a handle names.
constexpr absl::string_view kReaders[] = {"ReadVariableOp", "ResourceGather", "ResourceGatherNd",
                                          "VarIsInitializedOp", "VariableShape"};

// Ops on arrays of tensors write to nothing else.
bool MayWrite(const StepOp& op) {
  return absl::c_any_of(op.inputs,
                        [](const Output& input) { return input.dtype() == DataType::kResource; }) &&
         !absl::StartsWith(op.type(), "TensorArray") && !absl::c_linear_search(kReaders, op.type());
}

class EqualMerger {
 public:
  explicit EqualMerger(StepOps* ops) : ops_(*ops) {}
  Status Run();

 private:
  struct Key {
    const OpDef* op;
    std::vector<Output> inputs;
    std::vector<const Node*> controls;  // of a read
    friend bool operator==(const Key& a, const Key& b) {
      return a.op == b.op && a.inputs == b.inputs && a.controls == b.controls;
    }
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.op, key.inputs, key.controls);
    }
  };

  Output NameOf(const Output& value);
  bool IsRead(int i) const;
  bool IsCandidate(int i) const;
  Status Merge(int i, int first);

  StepOps& ops_;
  absl::flat_hash_map<Key, std::vector<int>> seen_;
  std::vector<Key> reads_;                              // of those
  absl::flat_hash_map<std::string, Output> constants_;  // the first of each value
};

// The value itself, or the first constant that equals it.
Output EqualMerger::NameOf(const Output& value) {
  const Tensor* const constant = ops_.constant(value);
  if (constant == nullptr || !IsPlainData(value.dtype()) || constant->bytes() > kComparedBytes) {
    return value;
  }
  std::string key = absl::StrCat(DataTypeName(value.dtype()), constant->shape().ToString());
  if (constant->bytes() > 0) {
    key.append(static_cast<const char*>(constant->raw()), constant->bytes());
  }
  return constants_.try_emplace(std::move(key), value).first->second;
}

bool EqualMerger::IsRead(int i) const { return ops_.op(i).type() == "ReadVariableOp"; }

// True if the outputs depend only on the inputs, and all effects of the operation are its outputs;
// or, while nothing is written, if it is a read.
bool EqualMerger::IsCandidate(int i) const {
  const StepOp& op = ops_.op(i);
  if (op.outputs.empty() || (op.node->op().is_stateful && !IsRead(i))) return false;
  switch (RoleOf(op.type())) {
    case StructuralRole::kKernel:
    case StructuralRole::kIdentity:
    case StructuralRole::kReshape: break;
    default: return false;
  }
  return absl::c_all_of(op.outputs,
                        [&](const Output& output) { return ops_.Producer(output) == i; });
}

Status EqualMerger::Merge(int i, int first) {
  const std::vector<Output> outputs = ops_.op(i).outputs;
  const std::vector<Output> same = ops_.op(first).outputs;
  if (IsRead(i)) {
    if (ops_.Redirect(outputs[0], same[0])) ops_.Remove(i);
    return absl::OkStatus();
  }
  if (outputs.size() == 1) return ops_.Forward(i, same[0]);
  for (size_t k = 0; k < outputs.size(); ++k) ops_.Redirect(outputs[k], same[k]);
  ops_.RemoveUnread(i);
  return absl::OkStatus();
}

Status EqualMerger::Run() {
  for (int i = 0; i < ops_.size(); ++i) {
    if (ops_.IsGone(i)) continue;
    const StepOp& op = ops_.op(i);
    if (MayWrite(op)) {
      for (const Key& read : reads_) seen_.erase(read);
      reads_.clear();
    }
    if (!IsCandidate(i)) continue;
    Key key{&op.node->op(), {}, {}};
    for (const Output& input : op.inputs) key.inputs.push_back(NameOf(input));
    if (IsRead(i)) {
      key.controls = ops_.ControlsOf(i);
      reads_.push_back(key);
    }
    std::vector<int>& equals = seen_[std::move(key)];
    const auto first = absl::c_find_if(
        equals, [&](int other) { return HaveEqualAttrs(*ops_.op(other).node, *op.node); });
    if (first == equals.end()) {
      equals.push_back(i);
    } else if (!op.must_run) {
      MS_RETURN_IF_ERROR(Merge(i, *first));
    }
  }
  return absl::OkStatus();
}

Status MergeEqual(StepOps* ops) { return EqualMerger(ops).Run(); }

MILLSTREAM_PASS("merge_equal", 10, MergeEqual);

}  // namespace
}  // namespace millstream
