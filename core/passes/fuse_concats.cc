// fuse_concats: makes one operation of convolutions with a bias whose outputs are concatenated
// along their channels, as those of the branches of an inception module:
//
//   ConcatV2(_FusedConv2D(a, ...), _FusedConv2D(b, ...), axis) becomes _JoinedConv2D(a, b, ...)
//
// Each convolution writes its channels where they belong in the result. Otherwise each output would
// be written to memory of its own, read and written again. The convolutions move to the place of
// the concatenation, as fuse_products moves what it fuses to the last part's.
//
// Likewise of rows that are gathered from matrices and concatenated along their columns, as the
// embeddings of several features:
//
//   ConcatV2(GatherV2(a, i, 0), GatherV2(b, j, 0), axis) becomes _JoinedGather(a, b, i, j)
#include <cstdint>
#include <optional>
#include <string>
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
constexpr char kJoinedGather[] = "_JoinedGather";
constexpr int kImageRank = 4;

// The attributes that the convolutions must have in common.
constexpr absl::string_view kCommon[] = {
    "T", "strides", "padding", "explicit_paddings", "data_format", "dilations", "fused_ops"};

// What `op` joins along its last dimension; empty if it does something else.
absl::Span<const Output> JoinedValues(const StepOps& ops, const StepOp& op) {
  const bool is_old = op.type() == "Concat";
  if ((!is_old && op.type() != "ConcatV2") || op.names_kernel()) return {};
  const PartialShape* const shape = ops.KnownShape(op.outputs[0]);
  const std::optional<std::vector<int64_t>> axis =
      KnownIntegers(ops, is_old ? op.inputs.front() : op.inputs.back());
  if (shape == nullptr || !axis.has_value() || axis->size() != 1) return {};
  if ((*axis)[0] != -1 && (*axis)[0] != shape->rank() - 1) return {};
  return absl::MakeConstSpan(op.inputs).subspan(is_old ? 1 : 0, op.inputs.size() - 1);
}

// The operations that give the values, if operation i alone reads them. Else empty.
std::vector<int> ProducersFor(const StepOps& ops, int i, absl::Span<const Output> values) {
  std::vector<int> members;
  for (const Output& value : values) {
    const int member = ops.Producer(value);
    if (member < 0 || ops.OnlyReader(value) != i || ops.op(member).must_run ||
        ops.op(member).names_kernel()) {
      return {};
    }
    members.push_back(member);
  }
  return members;
}

// Replaces operation i and the members by one whose inputs are those of the members: the first ones
// of all, then the second ones, `arguments` of each.
Status ReplaceByJoined(StepOps* ops, int i, std::vector<int> members, size_t arguments,
                       const char* joined, AttrMap attrs) {
  if (!ops->HasKernel(joined, attrs)) return absl::OkStatus();
  const StepOp concat = ops->op(i);
  std::vector<Output> inputs;
  for (size_t argument = 0; argument < arguments; ++argument) {
    for (const int member : members) inputs.push_back(ops->op(member).inputs[argument]);
  }
  members.push_back(i);
  return ops->Replace(i, members, joined, std::move(attrs), *concat.node, std::move(inputs),
                      concat.outputs);
}

// ---- Convolutions ----

// A convolution with a bias and perhaps an activation, but no other tensor that is added. Its
// shapes are known: one that is not would keep all others from being prepared when the plan is
// made.
bool IsConvolution(const StepOps& ops, const StepOp& op) {
  constexpr size_t kInputs = 3;  // image, filter, bias
  const auto is_known = [&](const Output& input) { return ops.KnownShape(input) != nullptr; };
  return op.type() == "_FusedConv2D" && op.inputs.size() == kInputs &&
         absl::c_all_of(op.inputs, is_known);
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

// What is joined are images with channels last.
bool AreConvolutions(const StepOps& ops, const std::vector<int>& members) {
  const StepOp& first = ops.op(members.front());
  return absl::c_all_of(members, [&](int member) {
    return IsConvolution(ops, ops.op(member)) && AreAlike(first, ops.op(member)) &&
           ops.KnownShape(ops.op(member).outputs[0]) != nullptr &&
           ops.KnownShape(ops.op(member).outputs[0])->rank() == kImageRank;
  });
}

// ---- Gathered rows ----

// True if `op` picks rows of a matrix.
bool IsGatherOfRows(const StepOps& ops, const StepOp& op) {
  const PartialShape* const params = ops.KnownShape(op.inputs[0]);
  if (params == nullptr || params->rank() != 2 || ops.KnownShape(op.inputs[1]) == nullptr) {
    return false;
  }
  if (op.type() == "Gather") return true;
  if (op.type() != "GatherV2" || op.node->Attr<int64_t>("batch_dims").value_or(1) != 0)
    return false;
  const std::optional<std::vector<int64_t>> axis = KnownIntegers(ops, op.inputs[2]);
  return axis.has_value() && axis->size() == 1 && ((*axis)[0] == 0 || (*axis)[0] == -2);
}

// With indices of one type and shape.
bool AreGathers(const StepOps& ops, const std::vector<int>& members) {
  return absl::c_all_of(members, [&](int member) {
    const StepOp& op = ops.op(member);
    constexpr size_t kFewestInputs = 2;
    if (op.inputs.size() < kFewestInputs || !IsGatherOfRows(ops, op)) return false;
    const Output& first = ops.op(members.front()).inputs[1];
    return op.inputs[1].dtype() == first.dtype() && HaveSameShape(ops, op.inputs[1], first);
  });
}

AttrMap GatherAttrs(const StepOps& ops, const std::vector<int>& members) {
  const StepOp& first = ops.op(members.front());
  AttrMap attrs;
  SetAttr(&attrs, "T", first.inputs[0].dtype());
  SetAttr(&attrs, "Tindices", first.inputs[1].dtype());
  SetAttr(&attrs, "N", static_cast<int64_t>(members.size()));
  // The error of an index names the gather that it belongs to.
  std::vector<std::string> names;
  for (const int member : members) names.push_back(ops.op(member).node->name());
  SetAttr(&attrs, "_nodes", std::move(names));
  return attrs;
}

// REQUIRES: operation i is there.
Status FuseAt(StepOps* ops, int i) {
  constexpr size_t kConvolutionArguments = 3;  // images, filters, biases
  constexpr size_t kGatherArguments = 2;       // matrices, indices
  const std::vector<int> members = ProducersFor(*ops, i, JoinedValues(*ops, ops->op(i)));
  if (members.size() < 2) return absl::OkStatus();
  const StepOp& first = ops->op(members.front());
  const auto count = static_cast<int64_t>(members.size());
  if (AreConvolutions(*ops, members)) {
    return ReplaceByJoined(ops, i, members, kConvolutionArguments, kJoined,
                           JoinedAttrs(first, count));
  }
  if (AreGathers(*ops, members)) {
    return ReplaceByJoined(ops, i, members, kGatherArguments, kJoinedGather,
                           GatherAttrs(*ops, members));
  }
  return absl::OkStatus();
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
