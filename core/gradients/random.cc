// Gradients of numbers of a distribution by its parameters.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// The first dimensions of the numbers are those of the draws of each parameter.
Status RandomGammaGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output alpha = context->input(1);
  const Output slopes = builder->Op("RandomGammaGrad", {alpha, context->output(0)});
  const Output products = builder->Op("Mul", {context->dy(0), slopes});
  const Output count = builder->Op("Size", {context->input(0)});
  const Output draws = builder->Op("Range", {builder->Int32(0), count, builder->Int32(1)});
  context->SetDx(1, builder->Op("Sum", {products, draws}));
  return absl::OkStatus();
}

// The number s of the parameter a keeps its place in the distribution, F(a, s), and so moves by
// r = -dF/da / p with p the density at s. As d(dF/da)/ds = p (log s - digamma(a)), that changes
// with s by digamma(a) - log s - r ((a - 1) / s - 1). Its change with a has the second derivative
// of F by a, which has no closed form.
Status RandomGammaGradGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output alpha = context->input(0);
  const Output sample = context->input(1);
  const Output one = builder->ScalarOf(alpha.dtype(), 1);
  const Output less_one = builder->Op("Sub", {alpha, one});
  const Output log_slope = builder->Op("Sub", {builder->Op("RealDiv", {less_one, sample}), one});
  const Output difference =
      builder->Op("Sub", {builder->Op("Digamma", {alpha}), builder->Op("Log", {sample})});
  const Output through_density = builder->Op("Mul", {context->output(0), log_slope});
  const Output slope = builder->Op("Sub", {difference, through_density});
  const Output dx = builder->Op("Mul", {context->dy(0), slope});
  context->SetNoDx(0);
  context->SetDx(1, SumToShapeOf(builder, dx, sample, alpha));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("RandomGamma", RandomGammaGradient);
MILLSTREAM_GRADIENT("RandomGammaGrad", RandomGammaGradGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("AllCandidateSampler");
MILLSTREAM_NOT_DIFFERENTIABLE("ComputeAccidentalHits");
MILLSTREAM_NOT_DIFFERENTIABLE("FixedUnigramCandidateSampler");
MILLSTREAM_NOT_DIFFERENTIABLE("LearnedUnigramCandidateSampler");
MILLSTREAM_NOT_DIFFERENTIABLE("LogUniformCandidateSampler");
MILLSTREAM_NOT_DIFFERENTIABLE("Multinomial");
MILLSTREAM_NOT_DIFFERENTIABLE("NonDeterministicInts");
MILLSTREAM_NOT_DIFFERENTIABLE("ParameterizedTruncatedNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomPoisson");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomPoissonV2");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomStandardNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomUniform");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomUniformInt");
MILLSTREAM_NOT_DIFFERENTIABLE("StatefulRandomBinomial");
MILLSTREAM_NOT_DIFFERENTIABLE("StatefulStandardNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("StatefulStandardNormalV2");
MILLSTREAM_NOT_DIFFERENTIABLE("StatefulTruncatedNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("StatefulUniform");
MILLSTREAM_NOT_DIFFERENTIABLE("StatefulUniformFullInt");
MILLSTREAM_NOT_DIFFERENTIABLE("StatefulUniformInt");
MILLSTREAM_NOT_DIFFERENTIABLE("StatelessMultinomial");
MILLSTREAM_NOT_DIFFERENTIABLE("StatelessRandomNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("StatelessRandomUniform");
MILLSTREAM_NOT_DIFFERENTIABLE("StatelessRandomUniformFullInt");
MILLSTREAM_NOT_DIFFERENTIABLE("StatelessRandomUniformInt");
MILLSTREAM_NOT_DIFFERENTIABLE("StatelessTruncatedNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("ThreadUnsafeUnigramCandidateSampler");
MILLSTREAM_NOT_DIFFERENTIABLE("TruncatedNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("UniformCandidateSampler");

}  // namespace
}  // namespace millstream
