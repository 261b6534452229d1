// fuse_concats: makes one operation of convolutions with a bias whose outputs are concatenated
// along their channels, as those of the branches of an inception module:
//
//   ConcatV2(_FusedConv2D(a, ...), _FusedConv2D(b, ...), axis) becomes _JoinedConv2D(a, b, ...)
//
// Each convolution writes its channels where they belong in the result. Otherwise each output would
// be written to memory of its own, read and written again. The convolutions move to the place of
// the concatenation, as fuse_products moves what it fuses to the last part's.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kJoined[] = "_JoinedConv2D";
constexpr int kImageRank = 4;

// The attributes that the convolutions must have in common.
constexpr absl::string_view kCommon[] = {
    "T", "strides", "padding", "explicit_paddings", "data_format", "dilations", "fused_ops"};

// What `op` joins along the channels of images with channels last; empty if it does something else.
absl::Span<const Output> JoinedValues(const StepOps& ops, const StepOp& op) {
  const bool is_old = op.type() == "Concat";
  if ((!is_old && op.type() != "ConcatV2") || op.names_kernel()) return {};
  const PartialShape* const shape = ops.KnownShape(op.outputs[0]);
  const std::optional<std::vector<int64_t>> axis =
      KnownIntegers(ops, is_old ? op.inputs.front() : op.inputs.back());
  if (shape == nullptr || shape->rank() != kImageRank || !axis.has_value() || axis->size() != 1) {
    return {};
  }
  if ((*axis)[0] != -1 && (*axis)[0] != kImageRank - 1) return {};
  return absl::MakeConstSpan(op.inputs).subspan(is_old ? 1 : 0, op.inputs.size() - 1);
}

// A convolution with a bias and perhaps an activation, but no other tensor that is added. Its
// shapes are known: one that is not would keep all others from being prepared when the plan is
// made.
bool IsConvolution(const StepOps& ops, const StepOp& op) {
  constexpr size_t kInputs = 3;  // image, filter, bias
  const auto is_known = [&](const Output& input) { return ops.KnownShape(input) != nullptr; };
  return op.type() == "_FusedConv2D" && op.inputs.size() == kInputs && !op.must_run &&
         !op.names_kernel() && absl::c_all_of(op.inputs, is_known);
}

bool AreAlike(const StepOp& a, const StepOp& b) {
  for (const absl::string_view name : kCommon) {
    const AttrValue* const of_a = FindAttr(a.node->attrs(), name);
    const AttrValue* const of_b = FindAttr(b.node->attrs(), name);
    if ((of_a == nullptr) != (of_b == nullptr)) return false;
    if (of_a != nullptr && *of_a != *of_b) return false;
  }
  return true;
}

AttrMap JoinedAttrs(const StepOp& convolution, int64_t count) {
  AttrMap attrs;
  for (const absl::string_view name : kCommon) {
    const AttrValue* const value = FindAttr(convolution.node->attrs(), name);
    if (value != nullptr) SetAttr(&attrs, name, *value);
  }
  SetAttr(&attrs, "N", count);
  return attrs;
}

// REQUIRES: operation i is there.
Status FuseAt(StepOps* ops, int i) {
  const StepOp concat = ops->op(i);
  const absl::Span<const Output> values = JoinedValues(*ops, concat);
  if (values.size() < 2) return absl::OkStatus();
  std::vector<int> members;
  for (const Output& value : values) {
    const int member = ops->Producer(value);
    if (member < 0 || ops->OnlyReader(value) != i || !IsConvolution(*ops, ops->op(member))) {
      return absl::OkStatus();
    }
    members.push_back(member);
    if (!AreAlike(ops->op(members.front()), ops->op(member))) return absl::OkStatus();
  }
  AttrMap attrs = JoinedAttrs(ops->op(members.front()), static_cast<int64_t>(members.size()));
  if (!ops->HasKernel(kJoined, attrs)) return absl::OkStatus();
  std::vector<Output> inputs;  // all images, then all filters, then all biases
  for (size_t argument = 0; argument < 3; ++argument) {
    for (const int member : members) inputs.push_back(ops->op(member).inputs[argument]);
  }
  members.push_back(i);
  return ops->Replace(i, members, kJoined, std::move(attrs), *concat.node, std::move(inputs),
                      concat.outputs);
}

Status FuseConcats(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(FuseAt(ops, i));
  }
  return absl::OkStatus();
}

// After fuse_products, which gives convolutions their biases.
MILLSTREAM_PASS("fuse_concats", 21, FuseConcats);

}  // namespace
}  // namespace millstream
