// Einsum.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/einsum_equation.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// What is known of the dimensions of the inputs seen so far.
struct Labels {
  std::map<char, int64_t> sizes;
  // The dimensions of all ellipses, broadcast.
  PartialShape broadcast = PartialShape::Scalar();
};

// Adds the dimensions of input i.
Status AddInput(const ShapeContext& context, int i, const std::string& subscripts, Labels* labels) {
  const size_t ellipsis = subscripts.find(kEinsumEllipsis);
  const bool has_ellipsis = ellipsis != std::string::npos;
  const int named = static_cast<int>(subscripts.size()) - (has_ellipsis ? 1 : 0);
  MS_ASSIGN_OR_RETURN(const PartialShape shape, has_ellipsis ? context.WithRankAtLeast(i, named)
                                                             : context.WithRank(i, named));
  for (size_t k = 0; k < subscripts.size(); ++k) {
    if (k == ellipsis) continue;
    int64_t size = kUnknownDim;
    if (shape.known_rank()) {
      const int after = static_cast<int>(subscripts.size() - k);
      size = shape.dim(has_ellipsis && k > ellipsis ? -after : static_cast<int>(k));
    }
    const auto [entry, is_new] = labels->sizes.emplace(subscripts[k], size);
    if (is_new) continue;
    const StatusOr<int64_t> merged = context.MergeDim(entry->second, size);
    if (!merged.ok()) {
      return InvalidInput(context, i, UnequalDims(entry->second, size), "label '",
                          std::string(1, subscripts[k]), "' of shape ", shape.ToString());
    }
    entry->second = *merged;
  }
  if (!has_ellipsis) return absl::OkStatus();
  PartialShape own;
  if (shape.known_rank()) {
    own = PartialShape(shape.dims().subspan(ellipsis, shape.rank() - named));
  }
  StatusOr<PartialShape> whole = BroadcastShapes(labels->broadcast, own);
  if (!whole.ok()) return InputError(context, i, whole.status());
  labels->broadcast = *std::move(whole);
  return absl::OkStatus();
}

Status EinsumShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::string text, context->Attr<std::string>("equation"));
  const StatusOr<EinsumEquation> equation = ParseEinsumEquation(text);
  if (!equation.ok()) return AttrError(*context, "equation", equation.status());
  const int count = context->num_inputs();
  if (count > 2) return InvalidAttr(*context, "N", "expected at most 2 inputs, got ", count);
  if (static_cast<int>(equation->inputs.size()) != count) {
    return InvalidAttr(*context, "equation", "'", text, "' is of ", equation->inputs.size(),
                       " inputs, got ", count);
  }
  Labels labels;
  for (int i = 0; i < count; ++i) {
    MS_RETURN_IF_ERROR(AddInput(*context, i, equation->inputs[i], &labels));
  }
  if (!HasLabel(equation->output, kEinsumEllipsis) && labels.broadcast.rank() > 0) {
    return InvalidAttr(*context, "equation", "the output of '", text,
                       "' has no ellipsis for the dimensions ", labels.broadcast.ToString(),
                       " of the inputs");
  }
  PartialShape output = PartialShape::Scalar();
  for (const char label : equation->output) {
    if (label != kEinsumEllipsis) {
      output.AddDim(labels.sizes.at(label));
    } else if (labels.broadcast.known_rank()) {
      for (const int64_t dim : labels.broadcast.dims()) output.AddDim(dim);
    } else {
      output = PartialShape();
      break;
    }
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

MILLSTREAM_OP("Einsum")
    .Input("inputs: N * T")
    .Output("output: T")
    .Attr("equation: string")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Shape(EinsumShape)
    .Doc(R"(Sums products of the elements of one or two tensors, as equation says.

"ij,jk->ik" has a letter for each dimension of each input, then of the output. Dimensions of one letter
have one size. The output is summed over the letters that it does not have. A letter that stands twice in
an input takes a diagonal; twice in the output, it fills one and leaves the rest zero. "..." stands for any
number of dimensions, which broadcast.)")
    .Example(R"(
>>> a, b = tf.constant([[1, 2], [3, 4]]), tf.constant([[5, 6], [7, 8]])
>>> tf.einsum("ij,jk->ik", a, b).eval().tolist()
[[19, 22], [43, 50]])");

}  // namespace
}  // namespace millstream
