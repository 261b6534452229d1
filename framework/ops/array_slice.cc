// Ops that extract a block, or elements at regular strides, from a tensor.
#include <optional>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/strided_slice_spec.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/variable_handles.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- Slice ----

// The rank of a Slice as its three inputs tell, or -1.
StatusOr<int> SliceRank(const ShapeContext& context) {
  int64_t rank = context.input(0).rank();
  for (int i = 1; i <= 2; ++i) {
    MS_ASSIGN_OR_RETURN(PartialShape entries, context.WithRank(i, 1));
    const int64_t count = entries.dim(0);
    if (count == kUnknownDim) continue;
    if (rank >= 0 && count != rank) {
      return InvalidInput(context, i, "expected ", rank, " entries, one a dimension of input ",
                          context.input(0).ToString(), ", got ", count);
    }
    MS_RETURN_IF_ERROR(CheckEntryCount(context, i, count));
    rank = count;
  }
  return static_cast<int>(rank);
}

// The size of one dimension of the output, from what is known.
StatusOr<int64_t> SlicedSize(const ShapeContext& context, int dimension, int64_t whole,
                             std::optional<int64_t> begin, std::optional<int64_t> size) {
  if (begin.has_value() && (*begin < 0 || (whole != kUnknownDim && *begin > whole))) {
    return InvalidInput(context, 1, "expected an index of dimension ", dimension, " of input ",
                        context.input(0).ToString(), ", got ", *begin);
  }
  if (!size.has_value()) return kUnknownDim;
  if (*size < -1) {
    return InvalidInput(context, 2, "expected -1 or a size for dimension ", dimension, ", got ",
                        *size);
  }
  const int64_t most = whole == kUnknownDim || !begin.has_value() ? kUnknownDim : whole - *begin;
  if (*size == -1) return most;
  // Even an unknown begin takes nothing back: no slice is longer than the whole.
  const int64_t limit = most == kUnknownDim ? whole : most;
  if (limit != kUnknownDim && *size > limit) {
    return InvalidInput(context, 2, "dimension ", dimension, " of input ",
                        context.input(0).ToString(), " has ", limit, " elements from ",
                        begin.value_or(0), " on, got size ", *size);
  }
  return *size;
}

Status SliceShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(int rank, SliceRank(*context));
  if (rank < 0) {
    context->SetOutput(0, PartialShape());
    return absl::OkStatus();
  }
  const PartialShape& input = context->input(0);
  const PartialValue begin = IndexElements(*context, 1).value_or(PartialValue(rank));
  const PartialValue size = IndexElements(*context, 2).value_or(PartialValue(rank));
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i < rank; ++i) {
    const int64_t whole = input.known_rank() ? input.dim(i) : kUnknownDim;
    MS_ASSIGN_OR_RETURN(int64_t sliced, SlicedSize(*context, i, whole, begin[i], size[i]));
    output.AddDim(sliced);
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

void SliceValue(ShapeContext* context) {
  const std::optional<PartialValue> value = IndexElements(*context, 0);
  const std::optional<std::vector<int64_t>> begin = KnownIndexElements(*context, 1);
  const int64_t count = context->output(0).num_elements();
  if (context->output(0).rank() != 1 || count == kUnknownDim) return;
  if (!value.has_value() || !begin.has_value()) return;
  if ((*begin)[0] + count > static_cast<int64_t>(value->size())) return;
  const auto first = value->begin() + (*begin)[0];
  SetIndexValue(context, 0, PartialValue(first, first + count));
}

// ---- StridedSlice ----

// begin, end and strides, that stand in three inputs from `first` on.
struct Entries {
  PartialValue begin, end, strides;
};

// nullopt when not even their number is known.
StatusOr<std::optional<Entries>> ReadEntries(const ShapeContext& context, int first) {
  int64_t count = kUnknownDim;
  for (int i = first; i < first + 3; ++i) {
    MS_ASSIGN_OR_RETURN(PartialShape shape, context.WithRank(i, 1));
    const StatusOr<int64_t> merged = context.MergeDim(count, shape.dim(0));
    if (!merged.ok()) return InputError(context, i, merged.status());
    count = *merged;
  }
  if (count == kUnknownDim) return std::optional<Entries>();
  MS_RETURN_IF_ERROR(CheckEntryCount(context, first, count));
  const auto read = [&](int i) { return IndexElements(context, i).value_or(PartialValue(count)); };
  return std::optional<Entries>(Entries{read(first), read(first + 1), read(first + 2)});
}

// The slice of a tensor of shape `input`; nullopt when the number of entries is unknown.
StatusOr<std::optional<StridedSliceSpec>> ReadStridedSlice(const ShapeContext& context,
                                                           const PartialShape& input,
                                                           int first_entry) {
  MS_ASSIGN_OR_RETURN(std::optional<Entries> entries, ReadEntries(context, first_entry));
  if (!entries.has_value()) return std::optional<StridedSliceSpec>();
  MS_ASSIGN_OR_RETURN(StridedSliceMasks masks, StridedSliceMasksFrom(context.attrs()));
  StatusOr<StridedSliceSpec> spec =
      ResolveStridedSlice(input, entries->begin, entries->end, entries->strides, masks);
  if (!spec.ok()) return WithContext(spec.status(), context.op().name);
  return std::optional<StridedSliceSpec>(*std::move(spec));
}

Status StridedSliceShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(std::optional<StridedSliceSpec> spec,
                      ReadStridedSlice(*context, context->input(0), 1));
  context->SetOutput(0, spec.has_value() ? spec->result : PartialShape());
  return absl::OkStatus();
}

void StridedSliceValue(ShapeContext* context) {
  const std::optional<PartialValue> value = IndexElements(*context, 0);
  if (!value.has_value() || context->input(0).rank() != 1) return;
  const StatusOr<std::optional<StridedSliceSpec>> spec =
      ReadStridedSlice(*context, context->input(0), 1);
  if (!spec.ok() || !spec->has_value()) return;
  const DimensionSlice& slice = (*spec)->dimensions[0];
  if (!slice.known) return;
  PartialValue taken;
  for (int64_t i = 0; i < slice.size; ++i)
    taken.push_back((*value)[slice.begin + i * slice.stride]);
  SetIndexValue(context, 0, std::move(taken));
}

// Inputs 1 to 4 are begin, end and strides of a slice of a tensor of shape `whole`, and what comes
// into its place.
Status CheckSliceValue(const ShapeContext& context, const PartialShape& whole) {
  MS_ASSIGN_OR_RETURN(std::optional<StridedSliceSpec> spec, ReadStridedSlice(context, whole, 1));
  if (!spec.has_value() || spec->result.IsCompatibleWith(context.input(4))) {
    return absl::OkStatus();
  }
  return InvalidInput(context, 4, "expected the shape of the slice, ", spec->result.ToString(),
                      ", got ", context.input(4).ToString());
}

Status StridedSliceGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 0));
  MS_RETURN_IF_ERROR(CheckSliceValue(*context, shape));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status TensorStridedSliceUpdateShape(ShapeContext* context) {
  const PartialShape& input = context->input(0);
  MS_RETURN_IF_ERROR(CheckSliceValue(*context, input));
  context->SetOutput(0, input);
  return absl::OkStatus();
}

Status SliceAssignShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context->Attr<DataType>("T"));
  MS_ASSIGN_OR_RETURN(PartialShape variable, VariableShape(*context, 0, dtype));
  MS_RETURN_IF_ERROR(CheckSliceValue(*context, variable));
  if (context->num_outputs() > 0) context->SetOutput(0, std::move(variable));
  return absl::OkStatus();
}

// ---- Definitions ----

MILLSTREAM_OP("Slice")
    .Input("input: T")
    .Input("begin: Index")
    .Input("size: Index")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Index", kIndexTypes))
    .KeepsFinite()
    .Shape(SliceShape)
    .Value(SliceValue)
    .Doc(R"(Takes a block of a tensor.

begin and size have one entry a dimension: the first index and the number of elements that
are taken; size -1 takes all that are left. INVALID_ARGUMENT when the block leaves the
tensor.)");

void StridedSliceAttrs(OpSpec* spec) {
  (*spec)
      .Attr("T: type")
      .Attr(TypeAttr("Index", kIndexTypes))
      .Attr("begin_mask: int = 0")
      .Attr("end_mask: int = 0")
      .Attr("ellipsis_mask: int = 0")
      .Attr("new_axis_mask: int = 0")
      .Attr("shrink_axis_mask: int = 0");
}

MILLSTREAM_OP("StridedSlice")
    .Input("input: T")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Output("output: T")
    .With(StridedSliceAttrs)
    .KeepsFinite()
    .Shape(StridedSliceShape)
    .Value(StridedSliceValue)
    .Doc(R"(Takes elements at regular distances, as Python's x[begin:end:stride, ...] does.

begin, end and strides are vectors of one length, an entry for each dimension that is
sliced; the dimensions after them are taken whole. Bounds may be negative and are clamped as
Python does; strides may be negative but not zero. Bit i of a mask changes entry i:
begin_mask and end_mask drop the bound, ellipsis_mask makes it stand for all dimensions that
are left over, new_axis_mask inserts a dimension of size 1, shrink_axis_mask takes the
single index begin[i], which must exist, and drops the dimension.)");

MILLSTREAM_OP("StridedSliceGrad")
    .Input("shape: Index")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("dy: T")
    .Output("output: T")
    .With(StridedSliceAttrs)
    .KeepsFinite()
    .Shape(StridedSliceGradShape)
    .Doc(R"(Puts dy where StridedSlice would take from, and zeros elsewhere.

shape is the shape of the tensor that was sliced, and of the output; the other arguments are
as for StridedSlice. dy must have the shape of the slice.)");

MILLSTREAM_OP("TensorStridedSliceUpdate")
    .Input("input: T")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("value: T")
    .Output("output: T")
    .With(StridedSliceAttrs)
    .KeepsFinite()
    .Shape(TensorStridedSliceUpdateShape)
    .Doc(R"(Puts value in the place of a strided slice of a tensor.

The output is input elsewhere. begin, end and strides are as for StridedSlice. value must have the
shape of the slice.)");

MILLSTREAM_OP("ResourceStridedSliceAssign")
    .Input("ref: resource")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("value: T")
    .With(StridedSliceAttrs)
    .Stateful()
    .KeepsFinite()
    .Shape(SliceAssignShape)
    .Doc(R"(Puts value in the place of a strided slice of a variable.

begin, end and strides are as for StridedSlice. value must have the shape of the slice.)");

MILLSTREAM_OP("StridedSliceAssign")
    .Input("ref: Ref(T)")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("value: T")
    .Output("output_ref: Ref(T)")
    .With(StridedSliceAttrs)
    .Shape(SliceAssignShape)
    .Doc(R"(Puts value in the place of a slice of a variable, in imported graphs.

As ResourceStridedSliceAssign; the output is the variable afterwards.)");

}  // namespace
}  // namespace millstream
