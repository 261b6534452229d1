// Random tensors. Each op is a stream of its own, set by its two seeds.
#include <optional>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status RandomShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 0));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status RandomUniformIntShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 0));
  MS_ASSIGN_OR_RETURN(std::optional<int64_t> minval, IndexScalar(*context, 1));
  MS_ASSIGN_OR_RETURN(std::optional<int64_t> maxval, IndexScalar(*context, 2));
  // Nothing is drawn from an empty range for an empty tensor.
  const bool draws = shape.IsFullyKnown() && shape.num_elements() > 0;
  if (draws && minval.has_value() && maxval.has_value() && *minval >= *maxval) {
    return InvalidInput(*context, 2, "must be above minval, ", *minval, ", got ", *maxval);
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// A distribution without parameters.
void StandardDistribution(OpSpec* spec) {
  (*spec)
      .Input("shape: T")
      .Output("output: dtype")
      .Attr("seed: int = 0")
      .Attr("seed2: int = 0")
      .Attr(TypeAttr("dtype", kNnTypes))
      .Attr(TypeAttr("T", kIndexTypes))
      .Stateful()
      .Shape(RandomShape);
}

MILLSTREAM_OP("RandomUniform")
    .With(StandardDistribution)
    .KeepsFinite()
    .Doc(R"(Draws numbers from the uniform distribution over [0, 1).

shape is a vector of sizes. The same seeds give the same numbers in every session; with both
0 the op takes seeds of its own choice.)");

MILLSTREAM_OP("RandomUniformInt")
    .Input("shape: T")
    .Input("minval: Tout")
    .Input("maxval: Tout")
    .Output("output: Tout")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr(TypeAttr("Tout", kIndexTypes))
    .Attr(TypeAttr("T", kIndexTypes))
    .Stateful()
    .Shape(RandomUniformIntShape)
    .Doc(R"(Draws whole numbers from minval to maxval exclusive.

shape is a vector of sizes; minval and maxval are scalars, and INVALID_ARGUMENT unless the
second is the larger. The numbers are slightly uneven unless maxval - minval is a power of
two. For the seeds see RandomUniform.)");

MILLSTREAM_OP("RandomStandardNormal")
    .With(StandardDistribution)
    .Doc(R"(Draws numbers from the normal distribution with mean 0 and deviation 1.

shape is a vector of sizes. For the seeds see RandomUniform.)");

MILLSTREAM_OP("TruncatedNormal")
    .With(StandardDistribution)
    .Doc(R"(Draws numbers from the normal distribution within two deviations of its mean.

The mean is 0 and the deviation 1; numbers further away are drawn again. shape is a vector
of sizes. For the seeds see RandomUniform.)");

}  // namespace
}  // namespace millstream
