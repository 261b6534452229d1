// Bitcast.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The last dimension holds the parts of an element where one type is a part of the other.
Status BitcastShape(ShapeContext* context) {
  const int64_t from = static_cast<int64_t>(DataTypeSize(context->input_type(0)));
  const int64_t to = static_cast<int64_t>(DataTypeSize(context->output_type(0)));
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, from < to ? 1 : 0));
  if (shape.known_rank() && from > to) {
    MS_RETURN_IF_ERROR(CheckEntryCount(*context, 0, shape.rank() + int64_t{1}));
    shape.AddDim(from / to);
  }
  if (shape.known_rank() && from < to) {
    const int64_t last = shape.dim(shape.rank() - 1);
    if (last != kUnknownDim && last != to / from) {
      return InvalidInput(*context, 0, "the last dimension must be ", to / from,
                          " for elements of ", DataTypeName(context->output_type(0)), ", got ",
                          shape.ToString());
    }
    shape = PartialShape(shape.dims().subspan(0, shape.rank() - 1));
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

constexpr absl::string_view kTypesWithBits =
    "{bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, "
    "complex64, complex128, qint8, quint8, qint16, quint16, qint32}";

MILLSTREAM_OP("Bitcast")
    .Input("input: T")
    .Output("output: type")
    .Attr(TypeAttr("T", kTypesWithBits))
    .Attr(TypeAttr("type", kTypesWithBits))
    .Shape(BitcastShape)
    .Doc(R"(Takes the bytes of a tensor for elements of another type.

Elements of a smaller type are parts of the old ones: output has one more dimension, as long as they
are many. For a larger type the last dimension of input must hold the parts of one element.)")
    .Example(R"(
>>> tf.bitcast([1.0, -1.0], tf.int32).eval().tolist()
[1065353216, -1082130432])");

}  // namespace
}  // namespace millstream
