// Ops that return a tensor's shape, change it without moving elements, or create a tensor from
// sizes.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "framework/half.h"
#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- Reshape ----

// The sizes that Reshape is asked for.
struct ReshapeTarget {
  PartialShape shape = PartialShape::Scalar();  // what is to be found, or not known, is unknown
  int inferred = -1;                            // position of the -1
  int unknown_sizes = 0;                        // sizes of which nothing is known
};

StatusOr<ReshapeTarget> ReadReshapeTarget(const ShapeContext& context, const PartialValue& sizes) {
  ReshapeTarget target;
  for (const std::optional<int64_t>& size : sizes) {
    const int position = target.shape.rank();
    if (!size.has_value()) {
      ++target.unknown_sizes;
    } else if (*size < -1) {
      return InvalidInput(context, 1, "size ", position, " must be -1 or not negative, got ",
                          *size);
    } else if (*size == -1) {
      if (target.inferred >= 0) {
        return InvalidInput(context, 1, "only one size may be -1, got -1 at ", target.inferred,
                            " and ", position);
      }
      target.inferred = position;
    }
    target.shape.AddDim(size.value_or(kUnknownDim));
  }
  return target;
}

// The product of the sizes that are known; INVALID_ARGUMENT when it overflows.
StatusOr<int64_t> KnownElements(const PartialShape& shape) {
  Shape known;
  for (const int64_t size : shape.dims()) {
    if (size != kUnknownDim) known.AddDim(size);
  }
  MS_RETURN_IF_ERROR(ValidateShape(known));
  return known.num_elements();
}

// Fills in the one size that is missing, now that the count of elements is known.
Status InferMissingSize(const ShapeContext& context, int64_t elements, int64_t known,
                        ReshapeTarget* target) {
  const bool is_minus_one = target->inferred >= 0;
  if (known == 0) {
    if (elements == 0 && !is_minus_one) return absl::OkStatus();  // any size will do
    return InvalidInput(context, 1, "cannot reshape ", elements, " elements into ",
                        target->shape.ToString(),
                        is_minus_one ? ": no size follows for the -1" : "");
  }
  if (elements % known != 0) {
    return InvalidInput(context, 1, "cannot reshape ", elements, " elements into ",
                        target->shape.ToString(), ": their number must be evenly divisible by ",
                        known);
  }
  for (int i = 0; i < target->shape.rank(); ++i) {
    if (target->shape.dim(i) == kUnknownDim) target->shape.set_dim(i, elements / known);
  }
  return absl::OkStatus();
}

Status ReshapeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(1, 1).status());
  const std::optional<PartialValue> sizes = IndexElements(*context, 1);
  if (!sizes.has_value()) {
    context->SetOutput(0, PartialShape());
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(ReshapeTarget target, ReadReshapeTarget(*context, *sizes));
  const int64_t elements = context->input(0).num_elements();
  const int missing = target.unknown_sizes + (target.inferred >= 0 ? 1 : 0);
  const StatusOr<int64_t> known = KnownElements(target.shape);
  if (!known.ok()) return InputError(*context, 1, known.status());
  if (elements != kUnknownDim && missing == 1) {
    MS_RETURN_IF_ERROR(InferMissingSize(*context, elements, *known, &target));
  } else if (elements != kUnknownDim && missing == 0 && elements != *known) {
    return InvalidInput(*context, 1, "cannot reshape ", context->input(0).ToString(), ", ",
                        elements, " elements, into ", target.shape.ToString(), ", ", *known);
  }
  context->SetOutput(0, std::move(target.shape));
  return absl::OkStatus();
}

// The last two inputs and outputs are the ends of the tensor's range.
Status QuantizedReshapeShape(ShapeContext* context) {
  for (int i = 2; i < 4; ++i) MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  for (int i = 1; i < 3; ++i) context->SetOutput(i, PartialShape::Scalar());
  return ReshapeShape(context);
}

// Unknown sizes prove nothing: an output that is taken for known is never computed, nor are they
// checked.
void ReshapeValue(ShapeContext* context) {
  if (KnownIndexElements(*context, 1).has_value()) ForwardIndexValue(context);
}

// ---- ExpandDims and Squeeze ----

Status ExpandDimsShape(ShapeContext* context) {
  // A vector of one element is accepted in place of a scalar.
  const int64_t count = context->input(1).num_elements();
  if (count != kUnknownDim && count != 1) {
    return InvalidInput(*context, 1, "expected one axis, got shape ", context->input(1).ToString());
  }
  const PartialShape& input = context->input(0);
  if (!input.known_rank()) {
    context->SetOutput(0, PartialShape());
    return absl::OkStatus();
  }
  const std::optional<std::vector<int64_t>> axes = KnownIndexElements(*context, 1);
  if (!axes.has_value() || axes->size() != 1) {
    context->SetOutput(0, PartialShape::UnknownOfRank(input.rank() + 1));
    return absl::OkStatus();
  }
  const StatusOr<int> axis = NormalizeAxis((*axes)[0], input.rank() + 1);
  if (!axis.ok()) return InputError(*context, 1, axis.status());
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i < input.rank() + 1; ++i) {
    output.AddDim(i < *axis ? input.dim(i) : i == *axis ? 1 : input.dim(i - 1));
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// Which dimensions Squeeze is told to drop.
StatusOr<std::vector<bool>> SqueezedDimensions(const ShapeContext& context,
                                               const std::vector<int64_t>& axes) {
  const PartialShape& input = context.input(0);
  std::vector<bool> dropped(input.rank(), false);
  for (const int64_t value : axes) {
    const StatusOr<int> axis = NormalizeAxis(value, input.rank());
    if (!axis.ok()) return AttrError(context, "squeeze_dims", axis.status());
    const int64_t size = input.dim(*axis);
    if (size != kUnknownDim && size != 1) {
      return InvalidAttr(context, "squeeze_dims", "cannot drop dimension ", *axis, " of input ",
                         input.ToString(), ": its size is not 1");
    }
    dropped[*axis] = true;
  }
  return dropped;
}

Status SqueezeShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> axes,
                      context->Attr<std::vector<int64_t>>("squeeze_dims"));
  const PartialShape& input = context->input(0);
  context->SetOutput(0, PartialShape());
  if (!input.known_rank()) return absl::OkStatus();
  // Without axes every dimension of size 1 goes, so all sizes must be known.
  if (axes.empty() && !input.IsFullyKnown()) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(std::vector<bool> dropped, SqueezedDimensions(*context, axes));
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i < input.rank(); ++i) {
    const bool drop = axes.empty() ? input.dim(i) == 1 : dropped[i];
    if (!drop) output.AddDim(input.dim(i));
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// ---- Shape, ShapeN, Rank, Size ----

Status ShapeShape(ShapeContext* context) {
  for (int i = 0; i < context->num_outputs(); ++i) {
    const PartialShape& input = context->input(i);
    context->SetOutput(i, PartialShape::Vector(input.known_rank() ? input.rank() : kUnknownDim));
  }
  return absl::OkStatus();
}

void ShapeValue(ShapeContext* context) {
  for (int i = 0; i < context->num_outputs(); ++i) {
    if (!context->input(i).known_rank()) continue;
    PartialValue value;
    for (const int64_t size : context->input(i).dims()) {
      value.push_back(size == kUnknownDim ? std::nullopt : std::optional<int64_t>(size));
    }
    SetIndexValue(context, i, std::move(value));
  }
}

void RankValue(ShapeContext* context) {
  if (context->input(0).known_rank()) SetIndexValue(context, 0, {context->input(0).rank()});
}

void SizeValue(ShapeContext* context) {
  const int64_t elements = context->input(0).num_elements();
  if (elements != kUnknownDim) SetIndexValue(context, 0, {elements});
}

// ---- Fill and Range ----

Status FillShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 0));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

void FillValue(ShapeContext* context) {
  const int64_t count = context->output(0).num_elements();
  const std::optional<std::vector<int64_t>> value = KnownIndexElements(*context, 1);
  if (count == kUnknownDim || count > kMaxFollowedElements || !value.has_value()) return;
  SetIndexValue(context, 0, PartialValue(count, (*value)[0]));
}

// How many numbers there are from start on, `delta` apart, before limit.
StatusOr<int64_t> IntegerRangeSize(int64_t start, int64_t limit, int64_t delta) {
  // Differences of int64 numbers may need 65 bits.
  const __int128 distance = static_cast<__int128>(limit) - start;
  const __int128 size = (distance + (delta > 0 ? delta - 1 : delta + 1)) / delta;
  if (size > std::numeric_limits<int64_t>::max()) {
    return errors::InvalidArgument("'delta' of Range: a range from ", start, " to ", limit, " by ",
                                   delta, " has too many elements");
  }
  return static_cast<int64_t>(size);
}

// The division is done in Real, as in the kernel: this decides how many there are when the last one
// ends on the limit but for rounding.
template <typename Real>
StatusOr<int64_t> RealRangeSize(Real start, Real limit, Real delta) {
  const Real size = std::ceil(std::abs((limit - start) / delta));
  // Also false for NaN.
  if (!(size < static_cast<Real>(INT64_MAX))) {
    return errors::InvalidArgument("'delta' of Range: a range from ", start, " to ", limit, " by ",
                                   delta, " has too many elements");
  }
  return static_cast<int64_t>(size);
}

template <typename T>
Status CheckRangeDirection(T start, T limit, T delta) {
  if (delta == 0) return errors::InvalidArgument("'delta' of Range: must not be zero");
  if ((delta > 0 && start > limit) || (delta < 0 && start < limit)) {
    return errors::InvalidArgument("'limit' of Range: a range from ", start, " by ", delta,
                                   " cannot reach ", limit);
  }
  return absl::OkStatus();
}

// The inputs hold a Stored each, which `number` makes a number of.
template <typename Stored, typename Number>
StatusOr<int64_t> RealRangeSizeOf(const ShapeContext& context, const Number& number) {
  const auto start = number(context.constant(0)->data<Stored>()[0]);
  const auto limit = number(context.constant(1)->data<Stored>()[0]);
  const auto delta = number(context.constant(2)->data<Stored>()[0]);
  MS_RETURN_IF_ERROR(CheckRangeDirection(start, limit, delta));
  return RealRangeSize(start, limit, delta);
}

// kUnknownDim when not all inputs are known.
StatusOr<int64_t> RangeSize(const ShapeContext& context) {
  const DataType dtype = context.input_type(0);
  if (dtype != DataType::kInt32 && dtype != DataType::kInt64) {
    for (int i = 0; i < 3; ++i) {
      if (context.constant(i) == nullptr) return kUnknownDim;
    }
    if (dtype == DataType::kBFloat16) return RealRangeSizeOf<uint16_t>(context, BFloat16ToFloat);
    const auto itself = [](auto value) { return value; };
    return dtype == DataType::kFloat ? RealRangeSizeOf<float>(context, itself)
                                     : RealRangeSizeOf<double>(context, itself);
  }
  int64_t bounds[3];
  for (int i = 0; i < 3; ++i) {
    MS_ASSIGN_OR_RETURN(std::optional<int64_t> bound, IndexScalar(context, i));
    if (!bound.has_value()) return kUnknownDim;
    bounds[i] = *bound;
  }
  MS_RETURN_IF_ERROR(CheckRangeDirection(bounds[0], bounds[1], bounds[2]));
  return IntegerRangeSize(bounds[0], bounds[1], bounds[2]);
}

Status RangeShape(ShapeContext* context) {
  for (int i = 0; i < 3; ++i) MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  MS_ASSIGN_OR_RETURN(int64_t size, RangeSize(*context));
  context->SetOutput(0, PartialShape::Vector(size));
  return absl::OkStatus();
}

void RangeValue(ShapeContext* context) {
  const int64_t size = context->output(0).num_elements();
  if (size == kUnknownDim || size > kMaxFollowedElements) return;
  const std::optional<std::vector<int64_t>> start = KnownIndexElements(*context, 0);
  const std::optional<std::vector<int64_t>> delta = KnownIndexElements(*context, 2);
  if (!start.has_value() || !delta.has_value()) return;
  PartialValue value;
  // Every element lies before limit; one more might overflow.
  for (int64_t i = 0; i < size; ++i) {
    value.push_back(i == 0 ? (*start)[0] : *value.back() + (*delta)[0]);
  }
  SetIndexValue(context, 0, std::move(value));
}

// ---- Definitions ----

MILLSTREAM_OP("Reshape")
    .Input("tensor: T")
    .Input("shape: Tshape")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tshape", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(ReshapeShape)
    .Value(ReshapeValue)
    .Doc(R"(Gives a tensor another shape with the same elements in the same order.

shape is a vector of sizes. One of them may be -1: it becomes what makes the element count
right. INVALID_ARGUMENT when the counts differ, when no whole size fits the -1, or for other
negative sizes.)");

MILLSTREAM_OP("QuantizedReshape")
    .Input("tensor: T")
    .Input("shape: Tshape")
    .Input("input_min: float")
    .Input("input_max: float")
    .Output("output: T")
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr("T: type")
    .Attr(TypeAttr("Tshape", kIndexTypes, " = int32"))
    .Shape(QuantizedReshapeShape)
    .Doc(R"(Gives a quantized tensor another shape, as Reshape.

Its range stays the same.)");

MILLSTREAM_OP("ExpandDims")
    .Input("input: T")
    .Input("dim: Tdim")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tdim", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Speculatable()
    .Shape(ExpandDimsShape)
    .Value(ForwardIndexValue)
    .Doc(R"(Inserts a dimension of size 1.

dim is the new dimension's place in the output, from -(rank + 1) to rank of the input;
negative values count from the end.)");

MILLSTREAM_OP("Squeeze")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("squeeze_dims: list(int) >= 0 = []")
    .KeepsFinite()
    .Speculatable()
    .Shape(SqueezeShape)
    .Value(ForwardIndexValue)
    .Doc(R"(Drops dimensions of size 1.

squeeze_dims names those to drop, negative values counting from the end; INVALID_ARGUMENT
when one of them has another size. Without squeeze_dims all dimensions of size 1 are
dropped.)");

MILLSTREAM_OP("Shape")
    .Input("input: T")
    .Output("output: out_type")
    .Attr("T: type")
    .Attr(TypeAttr("out_type", kIndexTypes, " = int32"))
    .Speculatable()
    .Shape(ShapeShape)
    .Value(ShapeValue)
    .Doc(R"(Gives the sizes of a tensor's dimensions, as a vector.)");

MILLSTREAM_OP("ShapeN")
    .Input("input: N * T")
    .Output("output: N * out_type")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Attr(TypeAttr("out_type", kIndexTypes, " = int32"))
    .Shape(ShapeShape)
    .Value(ShapeValue)
    .Doc(R"(Gives the sizes of the dimensions of N tensors, as N vectors.)");

MILLSTREAM_OP("Rank")
    .Input("input: T")
    .Output("output: int32")
    .Attr("T: type")
    .Shape(ScalarShape)
    .Value(RankValue)
    .Doc(R"(Gives the number of dimensions of a tensor, 0 for a scalar.)");

MILLSTREAM_OP("Size")
    .Input("input: T")
    .Output("output: out_type")
    .Attr("T: type")
    .Attr(TypeAttr("out_type", kIndexTypes, " = int32"))
    .Shape(ScalarShape)
    .Value(SizeValue)
    .Doc(R"(Gives the number of elements of a tensor, 1 for a scalar.)");

MILLSTREAM_OP("ZerosLike")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: type")
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives zeros in the shape of x.)");

MILLSTREAM_OP("OnesLike")
    .Input("x: T")
    .Output("y: T")
    .Attr(
        "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, int64, complex64, "
        "complex128, bool}")
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives ones in the shape of x.)");

MILLSTREAM_OP("Fill")
    .Input("dims: index_type")
    .Input("value: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("index_type", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(FillShape)
    .Value(FillValue)
    .Doc(R"(Makes a tensor of shape dims in which every element is value.

dims is a vector of sizes, none negative; value is a scalar.)");

MILLSTREAM_OP("Range")
    .Input("start: Tidx")
    .Input("limit: Tidx")
    .Input("delta: Tidx")
    .Output("output: Tidx")
    .Attr("Tidx: {bfloat16, float, double, int32, int64} = int32")
    .Shape(RangeShape)
    .Value(RangeValue)
    .Doc(R"(Counts from start by delta, as long as limit is not reached.

All inputs are scalars. INVALID_ARGUMENT when delta is zero or leads away from limit.)");

}  // namespace
}  // namespace millstream
