// Random tensors from streams whose places are in variables.
#include <string>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/variable_handles.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Input 0 is the variable; it is a vector.
Status CheckState(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const PartialShape state, VariableShape(context, 0, DataType::kInt64));
  if (!state.known_rank() || state.rank() == 1) return absl::OkStatus();
  return InvalidInput(context, 0, "expected a variable that is a vector, got ", state.ToString());
}

// Inputs from 1 to the one before `shape`, and those behind it, are scalars.
template <int shape>
Status DrawnShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckState(*context));
  for (int i = 1; i < context->num_inputs(); ++i) {
    if (i != shape) MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  }
  MS_ASSIGN_OR_RETURN(PartialShape sizes, ShapeFromSizes(*context, shape));
  context->SetOutput(0, std::move(sizes));
  return absl::OkStatus();
}

// Input 2 says the shape, which ends with that of the broadcast parameters.
Status BinomialShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckState(*context));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 2));
  const StatusOr<PartialShape> batches = BroadcastShapes(context->input(3), context->input(4));
  if (!batches.ok()) return InputError(*context, 4, batches.status());
  if (shape.known_rank() && batches->known_rank()) {
    bool ends_with = shape.rank() >= batches->rank();
    for (int i = 1; ends_with && i <= batches->rank(); ++i) {
      const StatusOr<int64_t> size = context->MergeDim(shape.dim(-i), batches->dim(-i));
      ends_with = size.ok();
      if (ends_with) shape.set_dim(-i, *size);
    }
    if (!ends_with) {
      return InvalidInput(*context, 2, "must end with the shape that counts and probs broadcast ",
                          "to, ", batches->ToString(), ", got ", shape.ToString());
    }
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status SkipShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckState(*context));
  for (int i = 1; i < 3; ++i) MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  return NoOutputs(context);
}

Status SystemShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 0));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

void State(OpSpec* spec) { (*spec).Input("resource: resource").Input("algorithm: int64"); }

void DrawnFloats(OpSpec* spec) {
  (*spec)
      .Input("shape: shape_dtype")
      .Output("output: dtype")
      .Attr("dtype: type = float")
      .Attr("shape_dtype: type = int64")
      .Stateful();
}

constexpr const char* kStateDoc = R"(

resource is a variable of int64 with the place in a stream of numbers: for algorithm 1, Philox, the low and the
high half of a counter, and the key. The counter moves on by 256 for each number. shape is a vector of sizes.)";

MILLSTREAM_OP("StatefulUniform")
    .With(State)
    .With(DrawnFloats)
    .Shape(DrawnShape<2>)
    .Doc(std::string("Draws numbers of the uniform distribution over [0, 1).") + kStateDoc);

MILLSTREAM_OP("StatefulStandardNormal")
    .Input("resource: resource")
    .With(DrawnFloats)
    .Shape(DrawnShape<1>)
    .Doc(R"(Draws numbers of the normal distribution, as StatefulStandardNormalV2.

The variable has the number of the algorithm in front of the place.)");

MILLSTREAM_OP("StatefulStandardNormalV2")
    .With(State)
    .With(DrawnFloats)
    .Shape(DrawnShape<2>)
    .Doc(std::string("Draws numbers of the normal distribution with mean 0 and deviation 1.") +
         kStateDoc);

MILLSTREAM_OP("StatefulTruncatedNormal")
    .With(State)
    .With(DrawnFloats)
    .Shape(DrawnShape<2>)
    .Doc(
        std::string("Draws numbers of the normal distribution within two deviations of its mean.") +
        kStateDoc);

MILLSTREAM_OP("StatefulUniformFullInt")
    .With(State)
    .Input("shape: shape_dtype")
    .Output("output: dtype")
    .Attr("dtype: type = uint64")
    .Attr("shape_dtype: type = int64")
    .Stateful()
    .Shape(DrawnShape<2>)
    .Doc(std::string("Draws whole numbers, any of the type.") + kStateDoc);

MILLSTREAM_OP("StatefulUniformInt")
    .With(State)
    .Input("shape: shape_dtype")
    .Input("minval: dtype")
    .Input("maxval: dtype")
    .Output("output: dtype")
    .Attr("dtype: type = int64")
    .Attr("shape_dtype: type = int64")
    .Stateful()
    .Shape(DrawnShape<2>)
    .Doc(std::string("Draws whole numbers from minval to maxval, exclusive.") + kStateDoc);

MILLSTREAM_OP("StatefulRandomBinomial")
    .With(State)
    .Input("shape: S")
    .Input("counts: T")
    .Input("probs: T")
    .Output("output: dtype")
    .Attr(TypeAttr("S", kIndexTypes))
    .Attr("T: {half, float, double, int32, int64} = double")
    .Attr("dtype: {half, float, double, int32, int64} = int64")
    .Stateful()
    .Shape(BinomialShape)
    .Doc(std::string(
             R"(Draws how many of so many trials succeed: numbers of the binomial distribution.

counts are the numbers of trials, probs the chances of success. They broadcast against each other, and shape
ends with the shape of that. NaN, or 0 as a whole number, for a parameter that is no number.)") +
         kStateDoc);

MILLSTREAM_OP("RngSkip")
    .With(State)
    .Input("delta: int64")
    .Stateful()
    .Shape(SkipShape)
    .Doc(R"(Moves a stream of random numbers on, as drawing delta numbers does.

resource is the variable of StatefulUniform with the place in the stream.)");

MILLSTREAM_OP("NonDeterministicInts")
    .Input("shape: shape_dtype")
    .Output("output: dtype")
    .Attr("dtype: type = int64")
    .Attr("shape_dtype: type = int64")
    .Stateful()
    .Shape(SystemShape)
    .Doc(R"(Draws whole numbers by the operating system.

They are others in each run. shape is a vector of sizes.)");

}  // namespace
}  // namespace millstream
