// fuse_gelu: makes one operation of the Gaussian error linear unit, which programs write as
//
//   x/2 (1 + erf(x/√2))   or   x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))
//
// with the factors in any order, the power as products or Pow, and √(2/π) x (1 + 0.044715 x²) as
// well. The fused operation rounds in another way; it is off by less than 4e-7 |x|
// (kernels/common/gelu.h).
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kFused[] = "_Gelu";

bool IsAbout(double number, double expected) {
  return std::fabs(number - expected) <= 1e-6 * std::fabs(expected);
}

// A product, taken apart: a number, how often `x` is a factor, and all other factors.
struct Factors {
  double number = 1;
  int of_x = 0;
  std::vector<Output> others;
};

// Finds a GELU of one given x.
class GeluMatcher {
 public:
  GeluMatcher(const StepOps& ops, const Output& x) : ops_(ops), x_(x) {}

  // True if operation `root` gives the GELU of x by way of operation `function`, an Erf or a Tanh.
  bool Matches(int root, int function) {
    const Factors outer = TakeApart(ops_.op(root).outputs[0]);
    if (!IsAbout(outer.number, 0.5) || outer.of_x != 1 || outer.others.size() != 1) return false;
    const std::optional<Output> term = OneAndOther(outer.others[0]);
    if (!term.has_value() || *term != ops_.op(function).outputs[0]) return false;
    members_.insert(function);
    const Output argument = ops_.op(function).inputs[0];
    const bool fits =
        ops_.op(function).type() == "Erf" ? IsErfArgument(argument) : IsTanhArgument(argument);
    return fits && OnlyMembersRead(root);
  }

  std::vector<int> members() const {
    std::vector<int> sorted(members_.begin(), members_.end());
    absl::c_sort(sorted);
    return sorted;
  }

 private:
  static constexpr double kErfFactor = 0.70710678118654752;   // 1/√2
  static constexpr double kTanhFactor = 0.79788456080286536;  // √(2/π)
  static constexpr double kCubeFactor = 0.044715;

  bool IsErfArgument(const Output& value) {
    const Factors factors = TakeApart(value);
    return IsAbout(factors.number, kErfFactor) && factors.of_x == 1 && factors.others.empty();
  }

  bool IsTanhArgument(const Output& value) {
    const Factors factors = TakeApart(value);
    if (!IsAbout(factors.number, kTanhFactor) || factors.others.size() != 1) return false;
    const std::optional<Output> term =
        factors.of_x == 0 ? XAndOther(factors.others[0]) : OneAndOther(factors.others[0]);
    if (!term.has_value()) return false;
    const Factors inner = TakeApart(*term);
    return IsAbout(inner.number, kCubeFactor) && inner.of_x + factors.of_x == 3 &&
           factors.of_x <= 1 && inner.others.empty();
  }

  // The operation that gives `value`, if it may be a member.
  int MemberFor(const Output& value) const {
    const int producer = ops_.Producer(value);
    if (producer < 0 || value == x_) return -1;
    const StepOp& op = ops_.op(producer);
    return op.names_kernel() || op.outputs.size() != 1 ? -1 : producer;
  }

  // The other addend, where one is 1, or one is x.
  std::optional<Output> OneAndOther(const Output& sum) {
    return OtherAddend(sum, [this](const Output& value) {
      const std::optional<Tensor> uniform = UniformValue(ops_, value);
      return uniform.has_value() && IsNumber(*uniform, 1);
    });
  }
  std::optional<Output> XAndOther(const Output& sum) {
    return OtherAddend(sum, [this](const Output& value) { return value == x_; });
  }
  template <typename Is>
  std::optional<Output> OtherAddend(const Output& sum, Is&& is) {
    const int producer = MemberFor(sum);
    if (producer < 0) return std::nullopt;
    const StepOp& op = ops_.op(producer);
    if (op.type() != "Add" && op.type() != "AddV2") return std::nullopt;
    for (const int addend : {0, 1}) {
      if (!is(op.inputs[addend])) continue;
      members_.insert(producer);
      return op.inputs[1 - addend];
    }
    return std::nullopt;
  }

  Factors TakeApart(const Output& value) {
    Factors factors;
    Multiply(value, 0, &factors);
    return factors;
  }

  // Multiplies `factors` by the value. Products are not deep: the formula has six factors.
  void Multiply(const Output& value, int depth, Factors* factors) {
    constexpr int kMostDepth = 6;
    if (value == x_) {
      ++factors->of_x;
      return;
    }
    if (const std::optional<Tensor> uniform = UniformValue(ops_, value)) {
      factors->number *= static_cast<double>(*uniform->data<float>());
      return;
    }
    const int producer = MemberFor(value);
    const std::vector<Output> parts =
        producer < 0 || depth == kMostDepth ? std::vector<Output>() : Parts(producer, factors);
    if (parts.empty()) {
      factors->others.push_back(value);
      return;
    }
    members_.insert(producer);
    for (const Output& part : parts) Multiply(part, depth + 1, factors);
  }

  // The values whose product, times a number that goes into `factors`, operation i gives; none if
  // it is another one.
  std::vector<Output> Parts(int i, Factors* factors) const {
    const StepOp& op = ops_.op(i);
    if (op.type() == "Mul") return op.inputs;
    if (op.type() == "Square") return {op.inputs[0], op.inputs[0]};
    if (op.type() != "RealDiv" && op.type() != "Pow") return {};
    const std::optional<Tensor> uniform = UniformValue(ops_, op.inputs[1]);
    if (!uniform.has_value()) return {};
    if (op.type() == "RealDiv") {
      factors->number /= static_cast<double>(*uniform->data<float>());
      return {op.inputs[0]};
    }
    if (IsNumber(*uniform, 2)) return {op.inputs[0], op.inputs[0]};
    if (IsNumber(*uniform, 3)) return {op.inputs[0], op.inputs[0], op.inputs[0]};
    return {};
  }

  // True if nothing but members reads what members give, except what the root gives, and all have
  // the shape of x.
  bool OnlyMembersRead(int root) const {
    return absl::c_all_of(members_, [&](int member) {
      const StepOp& op = ops_.op(member);
      if (!HaveSameShape(ops_, op.outputs[0], x_)) return false;
      if (member == root) return true;
      return !op.must_run && !ops_.IsVisible(op.outputs[0]) &&
             absl::c_all_of(ops_.Readers(op.outputs[0]),
                            [&](int reader) { return members_.contains(reader); });
    });
  }

  const StepOps& ops_;
  const Output x_;
  absl::flat_hash_set<int> members_;
};

// What x may be: values near the argument of the function that are no numbers.
void CollectCandidates(const StepOps& ops, const Output& value, int depth,
                       std::vector<Output>* candidates) {
  if (UniformValue(ops, value).has_value()) return;
  if (!absl::c_linear_search(*candidates, value)) candidates->push_back(value);
  const int producer = ops.Producer(value);
  if (producer < 0 || depth == 0) return;
  const StepOp& op = ops.op(producer);
  for (const char* type : {"Mul", "RealDiv", "Add", "AddV2"}) {
    if (op.type() != type) continue;
    for (const Output& input : op.inputs) CollectCandidates(ops, input, depth - 1, candidates);
  }
}

// The products that may be the root: they follow from the function by a sum and products.
std::vector<int> RootsOf(const StepOps& ops, int function) {
  constexpr int kMostProducts = 3;
  std::vector<int> roots;
  const int sum = ops.OnlyReader(ops.op(function).outputs[0]);
  if (sum < 0) return roots;
  int last = ops.OnlyReader(ops.op(sum).outputs.empty() ? Output() : ops.op(sum).outputs[0]);
  while (last >= 0 && static_cast<int>(roots.size()) < kMostProducts &&
         ops.op(last).type() == "Mul" && !ops.op(last).names_kernel()) {
    roots.push_back(last);
    last = ops.OnlyReader(ops.op(last).outputs[0]);
  }
  return roots;
}

Status FuseAt(StepOps* ops, int function) {
  const bool is_erf = ops->op(function).type() == "Erf";
  if (!is_erf && ops->op(function).type() != "Tanh") return absl::OkStatus();
  if (ops->op(function).outputs[0].dtype() != DataType::kFloat ||
      ops->op(function).names_kernel()) {
    return absl::OkStatus();
  }
  constexpr int kErfDepth = 1;
  constexpr int kTanhDepth = 3;
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "approximate", !is_erf);
  if (!ops->HasKernel(kFused, attrs)) return absl::OkStatus();
  std::vector<Output> candidates;
  CollectCandidates(*ops, ops->op(function).inputs[0], is_erf ? kErfDepth : kTanhDepth,
                    &candidates);
  for (const int root : RootsOf(*ops, function)) {
    for (const Output& x : candidates) {
      GeluMatcher matcher(*ops, x);
      if (!matcher.Matches(root, function)) continue;
      const StepOp last = ops->op(root);
      return ops->Replace(root, matcher.members(), kFused, std::move(attrs), *last.node, {x},
                          last.outputs);
    }
  }
  return absl::OkStatus();
}

Status FuseGelu(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(FuseAt(ops, i));
  }
  return absl::OkStatus();
}

// Before fuse_dense_layers, which takes it, and fuse_elementwise, which would take its parts.
MILLSTREAM_PASS("fuse_gelu", 17, FuseGelu);

}  // namespace
}  // namespace millstream
