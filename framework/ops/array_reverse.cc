// Ops that reverse the order of elements along dimensions.
#include <optional>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

constexpr absl::string_view kReverseTypes =
    "{uint8, int8, uint16, int16, int32, int64, bool, half, float, double, complex64, complex128, "
    "string}";
constexpr absl::string_view kReverseV2Types =
    "{uint8, int8, uint16, int16, int32, int64, bool, bfloat16, half, float, double, complex64, "
    "complex128, string}";

Status ReverseShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape dims, context->WithRank(1, 1));
  const PartialShape& tensor = context->input(0);
  const int64_t count = dims.dim(0);
  context->SetOutput(0, tensor);
  if (count == kUnknownDim) return absl::OkStatus();
  MS_RETURN_IF_ERROR(CheckEntryCount(*context, 1, count));
  if (!tensor.known_rank()) {
    context->SetOutput(0, PartialShape::UnknownOfRank(static_cast<int>(count)));
  } else if (count != tensor.rank()) {
    return InvalidInput(*context, 1, "expected ", tensor.rank(), " entries, one a dimension of ",
                        tensor.ToString(), ", got ", count);
  }
  return absl::OkStatus();
}

Status ReverseV2Shape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(1, 1).status());
  const PartialShape& tensor = context->input(0);
  context->SetOutput(0, tensor);
  const std::optional<PartialValue> axes = IndexElements(*context, 1);
  if (!axes.has_value() || !tensor.known_rank()) return absl::OkStatus();
  std::vector<bool> seen(tensor.rank(), false);
  for (const std::optional<int64_t>& element : *axes) {
    if (!element.has_value()) continue;
    const StatusOr<int> axis = NormalizeAxis(*element, tensor.rank());
    if (!axis.ok()) return InputError(*context, 1, axis.status());
    if (seen[*axis]) {
      return InvalidInput(*context, 1, "axis ", *axis, " specified more than once");
    }
    seen[*axis] = true;
  }
  return absl::OkStatus();
}

// Reads attribute `name`, a dimension of input 0.
StatusOr<int> DimensionAttr(const ShapeContext& context, absl::string_view name) {
  MS_ASSIGN_OR_RETURN(const int64_t dim, context.Attr<int64_t>(name));
  const PartialShape& input = context.input(0);
  const int64_t end = input.known_rank() ? input.rank() : kMaxFollowedElements;
  if (dim >= 0 && dim < end) return static_cast<int>(dim);
  return InvalidAttr(context, name, "expected a dimension of input, which has shape ",
                     input.ToString(), ", got ", dim);
}

Status ReverseSequenceShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int batch_dim, DimensionAttr(*context, "batch_dim"));
  MS_ASSIGN_OR_RETURN(const int seq_dim, DimensionAttr(*context, "seq_dim"));
  if (batch_dim == seq_dim) {
    return InvalidAttr(*context, "seq_dim", "batch_dim == seq_dim == ", seq_dim,
                       "; they must be two dimensions");
  }
  MS_ASSIGN_OR_RETURN(PartialShape lengths, context->WithRank(1, 1));
  PartialShape output = context->input(0);
  if (output.known_rank()) {
    const StatusOr<int64_t> batch = context->MergeDim(output.dim(batch_dim), lengths.dim(0));
    if (!batch.ok()) {
      return InvalidInput(*context, 1, "expected a length for each of the ", output.dim(batch_dim),
                          " entries of dimension ", batch_dim, " of input, got ", lengths.dim(0));
    }
    output.set_dim(batch_dim, *batch);
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

MILLSTREAM_OP("Reverse")
    .Input("tensor: T")
    .Input("dims: bool")
    .Output("output: T")
    .Attr(TypeAttr("T", kReverseTypes))
    .KeepsFinite()
    .Shape(ReverseShape)
    .Doc(R"(Reverses the order of elements along dimensions.

dims has one entry a dimension: whether it is reversed.)");

MILLSTREAM_OP("ReverseV2")
    .Input("tensor: T")
    .Input("axis: Tidx")
    .Output("output: T")
    .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
    .Attr(TypeAttr("T", kReverseV2Types))
    .KeepsFinite()
    .Shape(ReverseV2Shape)
    .Doc(R"(Reverses the order of elements along dimensions.

axis is a vector of the dimensions, counted from the end if negative. INVALID_ARGUMENT if it
names one twice.)")
    .Example(R"(
>>> tf.reverse([[1, 2, 3], [4, 5, 6]], [1]).eval().tolist()
[[3, 2, 1], [6, 5, 4]])");

MILLSTREAM_OP("ReverseSequence")
    .Input("input: T")
    .Input("seq_lengths: Tlen")
    .Output("output: T")
    .Attr("seq_dim: int")
    .Attr("batch_dim: int = 0")
    .Attr("T: type")
    .Attr(TypeAttr("Tlen", kIndexTypes, " = int64"))
    .KeepsFinite()
    .Shape(ReverseSequenceShape)
    .Doc(R"(Reverses the first elements of each sequence of a batch.

Entry i of dimension batch_dim is a sequence along dimension seq_dim. Its first seq_lengths[i]
elements are reversed, and those after them stay where they are.)");

}  // namespace
}  // namespace millstream
