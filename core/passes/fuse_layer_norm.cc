// fuse_layer_norm: makes one operation of layer normalization as programs write it, over the last
// dimension:
//
//   mean = Mean(x), d = x - mean, r = Rsqrt(Mean(d²) + epsilon)
//   d * r * gamma + beta   or, as batch_normalization has it,
//   x * (r * gamma) + (beta - mean * (r * gamma))
//
// Sums are rounded in another order.
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kFused[] = "_LayerNorm";

// The two inputs of an operation, once in either order.
std::vector<std::pair<Output, Output>> BothWays(const StepOp& op) {
  return {{op.inputs[0], op.inputs[1]}, {op.inputs[1], op.inputs[0]}};
}

// Finds a layer normalization, part by part. Each function that finds something keeps the
// operations that it is made of.
class LayerNormMatcher {
 public:
  explicit LayerNormMatcher(const StepOps& ops) : ops_(ops) {}

  // True if operation `root`, a sum, gives the normalization of x(). Else the matcher is useless.
  bool MatchesDifference(int root, const Output& product, const Output& addend) {
    members_.insert(root);
    std::vector<Output> factors;
    TakeApart(product, 0, &factors);
    if (factors.size() != 3) return false;
    absl::c_sort(factors, [this](const Output& a, const Output& b) { return Rank(a) < Rank(b); });
    // The vector comes first; of the difference and the root of the variance, either does.
    gamma_ = factors[0];
    beta_ = addend;
    for (const int i : {1, 2}) {
      if (FindDifference(factors[i])) {
        return FindRoot(factors[3 - i], factors[i]) && IsWhole(root);
      }
    }
    return false;
  }
  bool MatchesProducts(int root, const Output& product, const Output& rest) {
    members_.insert(root);
    const StepOp* const times = Member(product, "Mul");
    const StepOp* const minus = Member(rest, "Sub");
    if (times == nullptr || minus == nullptr) return false;
    beta_ = minus->inputs[0];
    const StepOp* const shift = Member(minus->inputs[1], "Mul");
    if (shift == nullptr) return false;
    for (const auto& [x, factor] : BothWays(*times)) {
      for (const auto& [mean, same] : BothWays(*shift)) {
        if (factor == same && IsMeanOf(mean, x))
          return FindFactor(x, mean, factor) && IsWhole(root);
      }
    }
    return false;
  }

  std::vector<Output> inputs() const { return {x_, gamma_, beta_}; }
  float epsilon() const { return epsilon_; }
  std::vector<int> members() const {
    std::vector<int> sorted(members_.begin(), members_.end());
    absl::c_sort(sorted);
    return sorted;
  }

 private:
  int Rank(const Output& value) const {
    const PartialShape* const shape = ops_.KnownShape(value);
    return shape == nullptr ? -1 : shape->rank();
  }

  // The operation that gives `value`, if it is a `type`. It becomes a member.
  const StepOp* Member(const Output& value, const char* type) {
    const int producer = ops_.Producer(value);
    if (producer < 0 || ops_.op(producer).type() != type || ops_.op(producer).names_kernel()) {
      return nullptr;
    }
    members_.insert(producer);
    return &ops_.op(producer);
  }

  void TakeApart(const Output& value, int depth, std::vector<Output>* factors) {
    const StepOp* const product = depth < 2 ? Member(value, "Mul") : nullptr;
    if (product == nullptr) {
      factors->push_back(value);
      return;
    }
    for (const Output& input : product->inputs) TakeApart(input, depth + 1, factors);
  }

  // True if `mean` is the mean of each row of `value`.
  bool IsMeanOf(const Output& mean, const Output& value) {
    const StepOp* const op = Member(mean, "Mean");
    if (op == nullptr || op->inputs[0] != value) return false;
    const StatusOr<bool> keeps = op->node->Attr<bool>("keep_dims");
    const std::optional<std::vector<int64_t>> axes = KnownIntegers(ops_, op->inputs[1]);
    const int rank = Rank(value);
    return keeps.ok() && *keeps && axes.has_value() && axes->size() == 1 && rank > 0 &&
           ((*axes)[0] == rank - 1 || (*axes)[0] == -1);
  }

  bool FindDifference(const Output& value) {
    const StepOp* const op = Member(value, "Sub");
    if (op == nullptr || !IsMeanOf(op->inputs[1], op->inputs[0])) return false;
    x_ = op->inputs[0];
    mean_ = op->inputs[1];
    return true;
  }

  // True if `value` is the square of `difference` or, if there is none, of x less its mean.
  bool IsSquare(const Output& value, const Output& difference) {
    if (const StepOp* op = Member(value, "SquaredDifference")) {
      return (op->inputs[0] == x_ && op->inputs[1] == mean_) ||
             (op->inputs[1] == x_ && op->inputs[0] == mean_);
    }
    Output root = difference;
    if (const StepOp* op = Member(value, "Square")) {
      root = op->inputs[0];
    } else if (const StepOp* product = Member(value, "Mul")) {
      if (product->inputs[0] != product->inputs[1]) return false;
      root = product->inputs[0];
    } else {
      return false;
    }
    if (difference) return root == difference;
    const StepOp* const minus = Member(root, "Sub");
    return minus != nullptr && minus->inputs[0] == x_ && minus->inputs[1] == mean_;
  }

  // True if `value` is 1 by the root of the variance and epsilon.
  bool FindRoot(const Output& value, const Output& difference) {
    const StepOp* const root = Member(value, "Rsqrt");
    if (root == nullptr) return false;
    const StepOp* sum = Member(root->inputs[0], "AddV2");
    if (sum == nullptr) sum = Member(root->inputs[0], "Add");
    if (sum == nullptr) return false;
    for (const auto& [variance, addend] : BothWays(*sum)) {
      const std::optional<Tensor> epsilon = UniformValue(ops_, addend);
      const StepOp* const mean = Member(variance, "Mean");
      if (!epsilon.has_value() || mean == nullptr) continue;
      epsilon_ = *epsilon->data<float>();
      const Output squares = mean->inputs[0];
      return IsMeanOf(variance, squares) && IsSquare(squares, difference);
    }
    return false;
  }

  // `factor` is the inverse root times gamma.
  bool FindFactor(const Output& x, const Output& mean, const Output& factor) {
    x_ = x;
    mean_ = mean;
    const StepOp* const product = Member(factor, "Mul");
    if (product == nullptr) return false;
    for (const auto& [root, gamma] : BothWays(*product)) {
      gamma_ = gamma;
      if (FindRoot(root, Output())) return true;
    }
    return false;
  }

  bool IsRow(const Output& value) const {
    const PartialShape* const x = ops_.KnownShape(x_);
    return Rank(value) == 1 && ops_.KnownShape(value)->dim(0) == x->dim(-1);
  }

  // True if the shapes are right, and nothing but members reads what members give, except what the
  // root gives.
  bool IsWhole(int root) const {
    if (!HaveSameShape(ops_, x_, ops_.op(root).outputs[0]) || !IsRow(gamma_) || !IsRow(beta_) ||
        x_.dtype() != DataType::kFloat) {
      return false;
    }
    for (const Output& input : inputs()) {
      if (members_.contains(ops_.Producer(input))) return false;
    }
    return absl::c_all_of(members_, [&](int member) {
      const StepOp& op = ops_.op(member);
      return member == root || (!op.must_run && !ops_.IsVisible(op.outputs[0]) &&
                                absl::c_all_of(ops_.Readers(op.outputs[0]), [&](int reader) {
                                  return members_.contains(reader);
                                }));
    });
  }

  const StepOps& ops_;
  absl::flat_hash_set<int> members_;
  Output x_;
  Output mean_;
  Output gamma_;
  Output beta_;
  float epsilon_ = 0;
};

Status FuseAt(StepOps* ops, int root) {
  const StepOp sum = ops->op(root);
  if ((sum.type() != "Add" && sum.type() != "AddV2") || sum.names_kernel() ||
      sum.outputs[0].dtype() != DataType::kFloat) {
    return absl::OkStatus();
  }
  for (const auto& [first, second] : BothWays(sum)) {
    LayerNormMatcher by_difference(*ops);
    LayerNormMatcher by_products(*ops);
    const LayerNormMatcher* found = nullptr;
    if (by_difference.MatchesDifference(root, first, second)) found = &by_difference;
    if (by_products.MatchesProducts(root, first, second)) found = &by_products;
    if (found == nullptr) continue;
    AttrMap attrs;
    SetAttr(&attrs, "T", DataType::kFloat);
    SetAttr(&attrs, "epsilon", found->epsilon());
    if (!ops->HasKernel(kFused, attrs)) return absl::OkStatus();
    return ops->Replace(root, found->members(), kFused, std::move(attrs), *sum.node,
                        found->inputs(), sum.outputs);
  }
  return absl::OkStatus();
}

Status FuseLayerNorm(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(FuseAt(ops, i));
  }
  return absl::OkStatus();
}

// Before fuse_dense_layers and fuse_elementwise, which would take parts of it.
MILLSTREAM_PASS("fuse_layer_norm", 15, FuseLayerNorm);

}  // namespace
}  // namespace millstream
