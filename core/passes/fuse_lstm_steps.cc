// fuse_lstm_steps: makes one operation of a step of an LSTM that is unrolled and has constant
// weights, as programs write it after join_products has multiplied the inputs of all steps:
//
//   i, j, f, o = Split(h * weights + x_gates + bias)
//   next_c = c * Sigmoid(f + forget_bias) + Sigmoid(i) * Tanh(j)
//   next_h = Tanh(next_c) * Sigmoid(o)
//
// Its kernel computes the gates of a unit directly after their products, so that threads share out
// both. Gradients read the gates; steps that have some stay. Sums are rounded in another order than
// the library's.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kFused[] = "_LstmStep";

// Columns of a strip, as the operation defines it.
constexpr int64_t kStripColumns = 16;
// Larger batches are left to the library.
constexpr int64_t kMostRows = 64;
constexpr int64_t kMostElements = int64_t{1} << 22;  // strips are in memory besides the weights

// Finds a step, part by part, and keeps the operations that it is made of.
class LstmStepMatcher {
 public:
  explicit LstmStepMatcher(const StepOps& ops) : ops_(ops) {}

  // True if operation i is the product of a step. Else the matcher is useless.
  bool Matches(int i) {
    if (!IsStateProduct(ops_.op(i))) return false;
    members_ = {i};
    const int split = Next(ops_.op(i).outputs[0], "Split");
    if (split < 0 || !CutsIntoGates(ops_.op(split))) return false;
    const std::vector<Output>& gates = ops_.op(split).outputs;
    const Output input = Apply("Sigmoid", gates[0]);
    const Output added = Apply("Tanh", gates[1]);
    const Output forget = Apply("Sigmoid", AddForgetBias(gates[2]));
    const Output output = Apply("Sigmoid", gates[3]);
    return input && added && forget && output && FindMemory(input, added, forget) &&
           FindState(output) && HaveShapes() && MemoryIsReadLater();
  }

  const std::vector<int>& members() const { return members_; }  // the last one gives the state
  float forget_bias() const { return forget_bias_; }
  std::vector<Output> inputs() const {
    const std::vector<Output>& of_product = ops_.op(members_[0]).inputs;
    std::vector<Output> inputs = {of_product[2], of_product[0], c_, of_product[1]};
    inputs.insert(inputs.end(), of_product.begin() + 3, of_product.end());
    return inputs;
  }
  std::vector<Output> outputs() const { return {ops_.op(members_.back()).outputs[0], next_c_}; }

 private:
  bool Is(int i, const char* type) const {
    return i >= 0 && !ops_.IsGone(i) && ops_.op(i).type() == type && !ops_.op(i).names_kernel() &&
           ops_.op(i).outputs[0].dtype() == DataType::kFloat;
  }
  bool IsSum(int i) const { return Is(i, "AddV2") || Is(i, "Add"); }

  // A product of a matrix and constant weights, to which a matrix and perhaps a vector are added.
  bool IsStateProduct(const StepOp& op) const {
    if (op.type() != "_PartMatMul" || op.must_run || ops_.constant(op.inputs[1]) == nullptr ||
        (op.inputs.size() != 3 && op.inputs.size() != 4) ||
        op.node->Attr<bool>("transpose_b").value_or(true)) {
      return false;
    }
    const PartialShape* const state = ops_.KnownShape(op.inputs[0]);
    if (state == nullptr || !HaveSameShape(ops_, op.inputs[2], op.outputs[0])) return false;
    if (op.inputs.size() == 4) {
      const PartialShape* const bias = ops_.KnownShape(op.inputs[3]);
      if (bias == nullptr || bias->rank() != 1) return false;
    }
    const int64_t units = state->dim(1);
    return state->dim(0) > 0 && state->dim(0) <= kMostRows && units > 0 &&
           units % kStripColumns == 0 && units <= kMostElements / (4 * units) &&
           ops_.KnownShape(op.outputs[0])->dim(1) == 4 * units;
  }

  bool CutsIntoGates(const StepOp& split) const {
    const std::optional<std::vector<int64_t>> axis = KnownIntegers(ops_, split.inputs[0]);
    return split.outputs.size() == 4 && axis.has_value() && axis->size() == 1 &&
           ((*axis)[0] == 1 || (*axis)[0] == -1);
  }

  // The only operation that reads the value, if it is a `type`. It becomes a member. Else -1.
  int Next(const Output& value, const char* type) {
    const int reader = ops_.OnlyReader(value);
    if (!Is(reader, type) || ops_.op(reader).must_run) return -1;
    members_.push_back(reader);
    return reader;
  }

  // What such an operation gives; none if there is none.
  Output Apply(const char* type, const Output& value) {
    const int reader = value ? Next(value, type) : -1;
    return reader < 0 ? Output() : ops_.op(reader).outputs[0];
  }

  Output AddForgetBias(const Output& gate) {
    Output sum = Apply("AddV2", gate);
    if (!sum) sum = Apply("Add", gate);
    if (!sum) return Output();
    const std::vector<Output>& terms = ops_.op(members_.back()).inputs;
    const std::optional<Tensor> number = UniformValue(ops_, terms[terms[0] == gate ? 1 : 0]);
    if (!number.has_value() || !HaveSameShape(ops_, sum, gate)) return Output();
    forget_bias_ = *number->data<float>();
    return sum;
  }

  // True if the new memory is c times `forget`, and `input` times `added`.
  bool FindMemory(const Output& input, const Output& added, const Output& forget) {
    const int fresh = ops_.OnlyReader(input);
    if (ops_.OnlyReader(added) != fresh || Next(input, "Mul") < 0) return false;
    const int kept = Next(forget, "Mul");
    if (kept < 0 || kept == fresh) return false;
    const std::vector<Output>& factors = ops_.op(kept).inputs;
    c_ = factors[factors[0] == forget ? 1 : 0];
    const int sum = ops_.OnlyReader(ops_.op(fresh).outputs[0]);
    if (!IsSum(sum) || ops_.op(sum).must_run || ops_.OnlyReader(ops_.op(kept).outputs[0]) != sum) {
      return false;
    }
    members_.push_back(sum);
    next_c_ = ops_.op(sum).outputs[0];
    return true;
  }

  // True if the new state is the Tanh of the memory times `output`.
  bool FindState(const Output& output) {
    last_ = ops_.OnlyReader(output);
    if (!Is(last_, "Mul")) return false;
    for (const int reader : ops_.Readers(next_c_)) {
      if (!Is(reader, "Tanh") || ops_.op(reader).must_run ||
          ops_.OnlyReader(ops_.op(reader).outputs[0]) != last_) {
        continue;
      }
      shown_ = reader;
      members_.push_back(shown_);
      members_.push_back(last_);
      return true;
    }
    return false;
  }

  // The memory before the first step may be one number for all units, as simplify_arithmetic writes
  // it.
  bool HaveShapes() const {
    const Output& h = ops_.op(members_[0]).inputs[0];
    return (HaveSameShape(ops_, h, c_) || UniformValue(ops_, c_).has_value()) &&
           HaveSameShape(ops_, h, next_c_) && HaveSameShape(ops_, h, ops_.op(last_).outputs[0]);
  }

  // The memory is there when the state is.
  bool MemoryIsReadLater() const {
    return absl::c_all_of(ops_.Readers(next_c_),
                          [this](int reader) { return reader == shown_ || reader > last_; });
  }

  const StepOps& ops_;
  std::vector<int> members_;
  Output c_;
  Output next_c_;
  int shown_ = -1;  // the Tanh of the memory
  int last_ = -1;
  float forget_bias_ = 0;
};

// The number that `memory` is, for each unit of a state.
StatusOr<Output> WholeMemory(StepOps* ops, const Output& memory, const Output& state) {
  const std::optional<Tensor> number = UniformValue(*ops, memory);
  MS_ASSIGN_OR_RETURN(Tensor whole,
                      Tensor::Create(DataType::kFloat, ops->KnownShape(state)->ToShape()));
  std::fill_n(whole.data<float>(), whole.num_elements(), *number->data<float>());
  return ops->NewConstant(std::move(whole));
}

Status FuseAt(StepOps* ops, int i) {
  LstmStepMatcher step(*ops);
  if (!step.Matches(i)) return absl::OkStatus();
  const StepOp product = ops->op(i);
  MS_ASSIGN_OR_RETURN(const int64_t first_row, product.node->Attr<int64_t>("first_row"));
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "num_biases", static_cast<int64_t>(product.inputs.size()) - 3);
  SetAttr(&attrs, "first_row", first_row);
  SetAttr(&attrs, "forget_bias", step.forget_bias());
  if (!ops->HasKernel(kFused, attrs)) return absl::OkStatus();
  const int last = step.members().back();
  const Node* const like = ops->op(last).node;
  std::vector<Output> inputs = step.inputs();
  constexpr size_t kState = 1;
  constexpr size_t kMemory = 2;
  if (!HaveSameShape(*ops, inputs[kState], inputs[kMemory])) {
    MS_ASSIGN_OR_RETURN(inputs[kMemory], WholeMemory(ops, inputs[kMemory], inputs[kState]));
  }
  return ops->Replace(last, step.members(), kFused, std::move(attrs), *like, std::move(inputs),
                      step.outputs());
}

Status FuseLstmSteps(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(FuseAt(ops, i));
  }
  return absl::OkStatus();
}

// After join_products and share_strips, before fuse_elementwise, which would take the gates.
MILLSTREAM_PASS("fuse_lstm_steps", 15, FuseLstmSteps);

}  // namespace
}  // namespace millstream
