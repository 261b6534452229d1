// fuse_dense_layers: makes one operation of a product with constant weights, a bias, a Relu or GELU
// and the addition of a matrix, as a residual connection has. Its kernel keeps the weights as it
// reads them, and finishes each part of the product while it is in a cache. Sums are rounded in
// another order than the library's.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kFused[] = "_DenseLayer";

// A product of fewer rows waits for the weights. Those that leave the caches are read from memory,
// as fast wherever they lie, and would be there twice.
constexpr int64_t kFewRows = 8;
constexpr int64_t kManyWeights = int64_t{1} << 21;

bool IsPlain(const StepOp& op) {
  return !op.names_kernel() && op.outputs.size() == 1 && op.outputs[0].dtype() == DataType::kFloat;
}

// A product whose right operand is the same in every step, with columns enough for a strip of 16.
bool IsDenseProduct(const StepOps& ops, const StepOp& op) {
  if (op.type() != "MatMul" || !IsPlain(op) || ops.constant(op.inputs[1]) == nullptr) return false;
  const StatusOr<bool> transpose_a = op.node->Attr<bool>("transpose_a");
  const PartialShape* const left = ops.KnownShape(op.inputs[0]);
  const PartialShape* const right = ops.KnownShape(op.inputs[1]);
  constexpr int64_t kFewestColumns = 8;
  return transpose_a.ok() && !*transpose_a && left != nullptr && right != nullptr &&
         left->rank() == 2 && left->dim(0) > 0 && right->rank() == 2 && right->num_elements() > 0 &&
         (left->dim(0) >= kFewRows || right->num_elements() <= kManyWeights) &&
         ops.KnownShape(op.outputs[0]) != nullptr &&
         ops.KnownShape(op.outputs[0])->dim(1) >= kFewestColumns;
}

std::string ActivationOf(const StepOp& op) {
  if (op.type() == "Relu") return "Relu";
  if (op.type() != "_Gelu") return "";
  const StatusOr<bool> approximate = op.node->Attr<bool>("approximate");
  return approximate.ok() && *approximate ? "GeluTanh" : "GeluErf";
}

// The matrix that `op` adds to `value`, if that is what it does.
std::optional<Output> AddedMatrix(const StepOps& ops, const StepOp& op, const Output& value) {
  if (op.type() != "Add" && op.type() != "AddV2") return std::nullopt;
  const Output other = op.inputs[op.inputs[0] == value ? 1 : 0];
  if (other == value || !HaveSameShape(ops, other, value)) return std::nullopt;
  return other;
}

// Takes the operations after a product, one after the other.
class DenseLayer {
 public:
  DenseLayer(StepOps* ops, int product)
      : ops_(*ops), members_({product}), inputs_(ops->op(product).inputs) {}

  Status Fuse() {
    if (const StepOp* next = Next()) {
      const std::optional<Output> bias = AddedVector(ops_, *next, value());
      if (bias.has_value()) Take(&biases_, *bias);
    }
    if (const StepOp* next = Next()) {
      const std::string activation = ActivationOf(*next);
      if (!activation.empty()) {
        activation_ = activation;
        members_.push_back(ops_.OnlyReader(value()));
      }
    }
    if (const StepOp* next = Next()) {
      const std::optional<Output> addend = AddedMatrix(ops_, *next, value());
      if (addend.has_value()) Take(&addends_, *addend);
    }
    return Replace();
  }

 private:
  Output value() const { return ops_.op(members_.back()).outputs[0]; }

  // The only operation that reads the value so far; null if it cannot become a part.
  const StepOp* Next() const {
    const int next = ops_.OnlyReader(value());
    if (next < 0 || ops_.op(members_.back()).must_run || !IsPlain(ops_.op(next))) return nullptr;
    return &ops_.op(next);
  }

  void Take(int64_t* count, const Output& input) {
    *count = 1;
    inputs_.push_back(input);
    members_.push_back(ops_.OnlyReader(value()));
  }

  Status Replace() {
    AttrMap attrs;
    SetAttr(&attrs, "T", DataType::kFloat);
    SetAttr(&attrs, "num_biases", biases_);
    SetAttr(&attrs, "num_addends", addends_);
    SetAttr(&attrs, "activation", activation_);
    MS_ASSIGN_OR_RETURN(const bool transpose_b,
                        ops_.op(members_[0]).node->Attr<bool>("transpose_b"));
    SetAttr(&attrs, "transpose_b", transpose_b);
    if (!ops_.HasKernel(kFused, attrs)) return absl::OkStatus();
    const StepOp last = ops_.op(members_.back());
    return ops_.Replace(members_.back(), members_, kFused, std::move(attrs), *last.node,
                        std::move(inputs_), last.outputs);
  }

  StepOps& ops_;
  std::vector<int> members_;
  std::vector<Output> inputs_;
  std::string activation_ = "Identity";
  int64_t biases_ = 0;
  int64_t addends_ = 0;
};

Status FuseDenseLayers(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i) || !IsDenseProduct(*ops, ops->op(i))) continue;
    MS_RETURN_IF_ERROR(DenseLayer(ops, i).Fuse());
  }
  return absl::OkStatus();
}

// After fuse_gelu, before fuse_products, which would take products and biases.
MILLSTREAM_PASS("fuse_dense_layers", 18, FuseDenseLayers);

}  // namespace
}  // namespace millstream
