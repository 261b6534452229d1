// Random tensors. Each op is a stream of its own, set by its two seeds; stateless ones are
// functions of an input.
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

Status StatelessShape(ShapeContext* context) {
  const StatusOr<PartialShape> seed = context->input(1).MergeWith(PartialShape::Vector(2));
  if (!seed.ok()) return InputError(*context, 1, seed.status());
  return RandomShape(context);
}

// The last inputs are the limits.
Status RandomUniformIntShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 0));
  const int last = context->num_inputs() - 1;
  MS_ASSIGN_OR_RETURN(std::optional<int64_t> minval, IndexScalar(*context, last - 1));
  MS_ASSIGN_OR_RETURN(std::optional<int64_t> maxval, IndexScalar(*context, last));
  // Nothing is drawn from an empty range for an empty tensor.
  const bool draws = shape.IsFullyKnown() && shape.num_elements() > 0;
  if (draws && minval.has_value() && maxval.has_value() && *minval >= *maxval) {
    return InvalidInput(*context, last, "must be above minval, ", *minval, ", got ", *maxval);
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status MultinomialShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape logits, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(std::optional<int64_t> samples, IndexScalar(*context, 1));
  if (samples.value_or(0) < 0) {
    return InvalidInput(*context, 1, "num_samples should be nonnegative, got ", *samples);
  }
  if (logits.dim(1) == 0) {
    return InvalidInput(*context, 0, "num_classes should be positive, got shape ",
                        logits.ToString());
  }
  PartialShape output = PartialShape::UnknownOfRank(2);
  output.set_dim(0, logits.dim(0));
  output.set_dim(1, samples.value_or(kUnknownDim));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status StatelessMultinomialShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape seed, context->WithRank(2, 1));
  if (seed.dim(0) != kUnknownDim && seed.dim(0) != 2) {
    return InvalidInput(*context, 2, "seed must have shape [2], not ", seed.ToString());
  }
  return MultinomialShape(context);
}

Status StatelessUniformIntShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(StatelessShape(context));
  return RandomUniformIntShape(context);
}

// Input 0 says the shape. Parameters are for all of its first dimension, or for each.
Status TruncatedNormalShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 0));
  if (shape.rank() == 0) return InvalidInput(*context, 0, "must not be empty");
  const int64_t batches = shape.known_rank() ? shape.dim(0) : kUnknownDim;
  for (int i = 1; i < context->num_inputs(); ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape parameter, context->WithRankAtMost(i, 1));
    const int64_t count = parameter.num_elements();
    if (count == 1 || count == kUnknownDim || batches == kUnknownDim || count == batches) continue;
    return InvalidInput(*context, i, "expected one number or ", batches, ", got shape ",
                        parameter.ToString());
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// The shape that input 0 says, then that of the parameters, input 1.
Status ParameterShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 0));
  const PartialShape& parameters = context->input(1);
  if (!shape.known_rank() || !parameters.known_rank()) {
    context->SetOutput(0, PartialShape());
    return absl::OkStatus();
  }
  for (const int64_t dim : parameters.dims()) shape.AddDim(dim);
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

MILLSTREAM_OP("ParameterizedTruncatedNormal")
    .Input("shape: T")
    .Input("means: dtype")
    .Input("stdevs: dtype")
    .Input("minvals: dtype")
    .Input("maxvals: dtype")
    .Output("output: dtype")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr(TypeAttr("dtype", kNnTypes))
    .Attr(TypeAttr("T", kIndexTypes))
    .Stateful()
    .Shape(TruncatedNormalShape)
    .Doc(R"(Draws numbers from normal distributions within limits.

shape is a vector of sizes, of which the first counts batches. Means, deviations and limits are single numbers, or
vectors with one for each batch. INVALID_ARGUMENT if a deviation is not positive, or a lower limit is not below
the upper one. For the seeds see RandomUniform.)");

MILLSTREAM_OP("Multinomial")
    .Input("logits: T")
    .Input("num_samples: int32")
    .Output("output: output_dtype")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr(TypeAttr("T", kRealTypes))
    .Attr(TypeAttr("output_dtype", kIndexTypes, " = int64"))
    .Stateful()
    .Shape(MultinomialShape)
    .Doc(R"(Draws classes from the distributions that the rows of a matrix describe.

Row i of logits has the logarithms of the probabilities of all classes, less a number of its
own. Row i of the output has num_samples classes that are drawn with these probabilities, each
independently of the others. A class whose logit is not finite is never drawn. For the seeds
see RandomUniform.)");

MILLSTREAM_OP("StatelessMultinomial")
    .Input("logits: T")
    .Input("num_samples: int32")
    .Input("seed: Tseed")
    .Output("output: output_dtype")
    .Attr(TypeAttr("T", kRealTypes))
    .Attr(TypeAttr("Tseed", kIndexTypes, " = int64"))
    .Attr(TypeAttr("output_dtype", kIndexTypes, " = int64"))
    .Shape(StatelessMultinomialShape)
    .Doc(R"(Draws classes as Multinomial does, the same in every step.

seed is a vector of two numbers. The same seed and the same arguments give the same classes.)");

MILLSTREAM_OP("RandomShuffle")
    .Input("value: T")
    .Output("output: T")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("T: type")
    .Stateful()
    .KeepsFinite()
    .Shape(UnchangedShape)
    .Doc(R"(Gives the rows of a tensor, the slices along its first dimension, in random order.

For the seeds see RandomUniform.)");

MILLSTREAM_OP("RandomGamma")
    .Input("shape: S")
    .Input("alpha: T")
    .Output("output: T")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr(TypeAttr("S", kIndexTypes))
    .Attr("T: {half, float, double}")
    .Stateful()
    .Shape(ParameterShape)
    .Doc(R"(Draws numbers from gamma distributions.

shape is a vector of sizes: that of the numbers of each parameter. The output has its dimensions, then
those of alpha. The rate is 1. For the seeds see RandomUniform.)");

MILLSTREAM_OP("RandomGammaGrad")
    .Input("alpha: T")
    .Input("sample: T")
    .Output("output: T")
    .Attr("T: {float, double}")
    .Shape(BroadcastBinaryShape)
    .Doc(
        R"(Gives the derivative of a number of a gamma distribution by its parameter, with broadcasting.

That of the number for which the distribution function is the same (M. Figurnov, S. Mohamed, A. Mnih:
Implicit Reparameterization Gradients, 2018). NaN where alpha is not positive or sample is negative.)");

MILLSTREAM_OP("RandomPoissonV2")
    .Input("shape: S")
    .Input("rate: R")
    .Output("output: dtype")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr(TypeAttr("S", kIndexTypes))
    .Attr("R: {half, float, double, int32, int64} = double")
    .Attr("dtype: {half, float, double, int32, int64} = int64")
    .Stateful()
    .Shape(ParameterShape)
    .Doc(R"(Draws counts from Poisson distributions.

shape is a vector of sizes: that of the counts of each rate. The output has its dimensions, then those of
rate. A negative rate has no counts above 0. INVALID_ARGUMENT for a NaN, and for a rate that is not below
the largest number of dtype. For the seeds see RandomUniform.)");

MILLSTREAM_OP("RandomPoisson")
    .Input("shape: S")
    .Input("rate: dtype")
    .Output("output: dtype")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr(TypeAttr("S", kIndexTypes))
    .Attr("dtype: {half, float, double}")
    .Stateful()
    .Shape(ParameterShape)
    .Doc(R"(Draws counts from Poisson distributions, as RandomPoissonV2.)");

void StatelessDistribution(OpSpec* spec) {
  spec->Input("shape: T")
      .Input("seed: Tseed")
      .Output("output: dtype")
      .Attr(TypeAttr("dtype", kNnTypes, " = float"))
      .Attr(TypeAttr("T", kIndexTypes, " = int32"))
      .Attr(TypeAttr("Tseed", kIndexTypes, " = int64"))
      .Shape(StatelessShape);
}

MILLSTREAM_OP("StatelessRandomUniform")
    .With(StatelessDistribution)
    .KeepsFinite()
    .Doc(R"(Makes numbers of the uniform distribution over [0, 1) from a seed.

shape is a vector of sizes, seed one of two numbers. The same seed gives the same numbers.)");

MILLSTREAM_OP("StatelessRandomNormal")
    .With(StatelessDistribution)
    .Doc(R"(Makes numbers of the normal distribution with mean 0 and deviation 1 from a seed.

shape is a vector of sizes, seed one of two numbers. The same seed gives the same numbers.)");

MILLSTREAM_OP("StatelessTruncatedNormal")
    .With(StatelessDistribution)
    .Doc(R"(Makes numbers of the normal distribution within two deviations of its mean from a seed.

The mean is 0 and the deviation 1. shape is a vector of sizes, seed one of two numbers. The same seed
gives the same numbers.)");

MILLSTREAM_OP("StatelessRandomUniformInt")
    .Input("shape: T")
    .Input("seed: Tseed")
    .Input("minval: dtype")
    .Input("maxval: dtype")
    .Output("output: dtype")
    .Attr(TypeAttr("dtype", kIndexTypes))
    .Attr(TypeAttr("T", kIndexTypes))
    .Attr(TypeAttr("Tseed", kIndexTypes, " = int64"))
    .Shape(StatelessUniformIntShape)
    .Doc(R"(Makes whole numbers from minval to maxval exclusive from a seed.

shape is a vector of sizes, seed one of two numbers. The same seed gives the same numbers. For the
limits see RandomUniformInt.)");

// 1.15 has none; the signature is that of 2.21.
MILLSTREAM_OP("StatelessRandomUniformFullInt")
    .Input("shape: T")
    .Input("seed: Tseed")
    .Output("output: dtype")
    .Attr("dtype: {int32, int64, uint32, uint64} = uint64")
    .Attr(TypeAttr("T", kIndexTypes, " = int32"))
    .Attr(TypeAttr("Tseed", kIndexTypes, " = int64"))
    .Shape(StatelessShape)
    .Doc(R"(Makes whole numbers, any of the type, from a seed.

shape is a vector of sizes, seed one of two numbers. The same seed gives the same numbers.)");

}  // namespace
}  // namespace millstream
