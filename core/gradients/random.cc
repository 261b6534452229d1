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

MILLSTREAM_GRADIENT("RandomGamma", RandomGammaGradient);
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
MILLSTREAM_NOT_DIFFERENTIABLE("StatelessRandomUniformInt");
MILLSTREAM_NOT_DIFFERENTIABLE("StatelessTruncatedNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("ThreadUnsafeUnigramCandidateSampler");
MILLSTREAM_NOT_DIFFERENTIABLE("TruncatedNormal");
MILLSTREAM_NOT_DIFFERENTIABLE("UniformCandidateSampler");

}  // namespace
}  // namespace millstream
