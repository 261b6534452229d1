// Ops that draw classes, and what else losses of sampled classes need. Each sampler is a stream of
// its own, set by its two seeds.
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The batch size of true_classes, a matrix of num_true columns.
StatusOr<int64_t> TrueClassesBatch(const ShapeContext& context, int64_t num_true) {
  MS_ASSIGN_OR_RETURN(const PartialShape classes, context.WithRank(0, 2));
  const StatusOr<int64_t> columns = context.MergeDim(classes.dim(1), num_true);
  if (!columns.ok()) {
    return InvalidInput(context, 0, "true_classes must have num_true = ", num_true,
                        " columns, but its shape is ", classes.ToString());
  }
  return classes.dim(0);
}

Status SetSamplerShapes(ShapeContext* context, int64_t range, absl::string_view range_name) {
  MS_ASSIGN_OR_RETURN(const int64_t num_true, context->Attr<int64_t>("num_true"));
  MS_ASSIGN_OR_RETURN(const int64_t num_sampled, context->Attr<int64_t>("num_sampled"));
  MS_ASSIGN_OR_RETURN(const bool unique, context->Attr<bool>("unique"));
  if (unique && num_sampled > range) {
    return InvalidAttr(*context, "num_sampled", "Sampler's range is too small: ", num_sampled,
                       " different classes of ", range_name, " = ", range);
  }
  MS_ASSIGN_OR_RETURN(const int64_t batch, TrueClassesBatch(*context, num_true));
  context->SetOutput(0, PartialShape::Vector(num_sampled));
  context->SetOutput(1, PartialShape::Matrix(batch, num_true));
  context->SetOutput(2, PartialShape::Vector(num_sampled));
  return absl::OkStatus();
}

Status SamplerShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t range, context->Attr<int64_t>("range_max"));
  return SetSamplerShapes(context, range, "range_max");
}

// The ids of a learned or a fixed distribution are counted in 31 bits.
constexpr int64_t kLargestTableRange = INT32_MAX;

Status TableSamplerShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t range, context->Attr<int64_t>("range_max"));
  if (range >= kLargestTableRange) {
    return InvalidAttr(*context, "range_max", "must be below ", kLargestTableRange, ", got ",
                       range);
  }
  return SetSamplerShapes(context, range, "range_max");
}

Status FixedUnigramShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t shard, context->Attr<int64_t>("shard"));
  MS_ASSIGN_OR_RETURN(const int64_t num_shards, context->Attr<int64_t>("num_shards"));
  if (shard >= num_shards) {
    return InvalidAttr(*context, "shard", "must be below num_shards = ", num_shards, ", got ",
                       shard);
  }
  MS_ASSIGN_OR_RETURN(const std::string file, context->Attr<std::string>("vocab_file"));
  MS_ASSIGN_OR_RETURN(const std::vector<float> unigrams,
                      context->Attr<std::vector<float>>("unigrams"));
  if (file.empty() && unigrams.empty()) {
    return InvalidAttr(*context, "unigrams", "Must provide either vocab_file or unigrams.");
  }
  if (!file.empty() && !unigrams.empty()) {
    return InvalidAttr(*context, "unigrams", "Must only provide one of vocab_file and unigrams.");
  }
  return TableSamplerShape(context);
}

Status AllCandidatesShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t num_sampled, context->Attr<int64_t>("num_sampled"));
  return SetSamplerShapes(context, num_sampled, "num_sampled");
}

Status AccidentalHitsShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t num_true, context->Attr<int64_t>("num_true"));
  if (num_true < 0) return InvalidAttr(*context, "num_true", "must not be negative: ", num_true);
  MS_RETURN_IF_ERROR(TrueClassesBatch(*context, num_true).status());
  MS_RETURN_IF_ERROR(context->WithRank(1, 1).status());
  for (int i = 0; i < 3; ++i) context->SetOutput(i, PartialShape::Vector(kUnknownDim));
  return absl::OkStatus();
}

void SamplerArguments(OpSpec* spec) {
  (*spec)
      .Input("true_classes: int64")
      .Output("sampled_candidates: int64")
      .Output("true_expected_count: float")
      .Output("sampled_expected_count: float")
      .Attr("num_true: int >= 1")
      .Attr("num_sampled: int >= 1")
      .Attr("unique: bool")
      .Stateful();
}

void Seeds(OpSpec* spec) { (*spec).Attr("seed: int = 0").Attr("seed2: int = 0"); }

void RangeSampler(OpSpec* spec) {
  (*spec).With(SamplerArguments).Attr("range_max: int >= 1").With(Seeds);
}

MILLSTREAM_OP("UniformCandidateSampler")
    .With(RangeSampler)
    .Shape(SamplerShape)
    .Doc(R"(Draws num_sampled classes from 0 to range_max exclusive, all with the same probability.

With unique, classes that are drawn again are dropped, and drawing goes on until there are
num_sampled. true_expected_count and sampled_expected_count say how often each element of
true_classes and of the sample is expected in the sample: p num_sampled for a class of
probability p, or 1 - (1 - p)^n if n draws were needed for a unique sample. true_classes is
a matrix [batch, num_true]. The sample is the same for the whole batch. For the seeds see
RandomUniform. INVALID_ARGUMENT if unique and num_sampled is larger than the range.)");

MILLSTREAM_OP("LogUniformCandidateSampler")
    .With(RangeSampler)
    .Shape(SamplerShape)
    .Doc(R"(Draws num_sampled classes, smaller ones more often.

The probability of class c is log((c + 2) / (c + 1)) / log(range_max + 1), about that of
words in a dictionary that is sorted by decreasing frequency (Zipf's law). For the rest see
UniformCandidateSampler.)");

MILLSTREAM_OP("LearnedUnigramCandidateSampler")
    .With(RangeSampler)
    .Shape(TableSamplerShape)
    .Doc(R"(Draws num_sampled classes in proportion to their counts in true_classes so far.

Each class has a count of 1 before the first execution. An execution draws first, and then
adds 1 to the count of a class for each element of true_classes. INVALID_ARGUMENT for
a true class outside 0 to range_max exclusive. For the rest see UniformCandidateSampler.)");

MILLSTREAM_OP("ThreadUnsafeUnigramCandidateSampler")
    .With(RangeSampler)
    .Shape(TableSamplerShape)
    .Doc(R"(Draws num_sampled classes in proportion to their counts in true_classes so far.

It is the same as LearnedUnigramCandidateSampler. Concurrent steps are safe here too.)");

MILLSTREAM_OP("FixedUnigramCandidateSampler")
    .With(SamplerArguments)
    .Attr("range_max: int >= 1")
    .Attr("vocab_file: string = ''")
    .Attr("distortion: float = 1.0")
    .Attr("num_reserved_ids: int = 0")
    .Attr("num_shards: int >= 1 = 1")
    .Attr("shard: int >= 0 = 0")
    .Attr("unigrams: list(float) = []")
    .With(Seeds)
    .Touches("files")
    .Shape(FixedUnigramShape)
    .Doc(R"(Draws num_sampled classes with given weights.

The first num_reserved_ids classes have the weight 0 and are never drawn. The weights of the
following ones are unigrams, or what stands behind the last comma in the lines of the file
vocab_file, each raised to the power distortion. With num_shards above 1 only the weights
at the places i with i % num_shards == shard count, and they are those of the classes 0, 1,
... of this sampler. INVALID_ARGUMENT unless they are as many as range_max. For the rest see
UniformCandidateSampler.)");

MILLSTREAM_OP("AllCandidateSampler")
    .With(SamplerArguments)
    .With(Seeds)
    .Shape(AllCandidatesShape)
    .Doc(R"(Gives all classes, 0 to num_sampled exclusive, in order.

It stands where a sampler does, for tests of what is computed from samples. All expected
counts are 1.)");

MILLSTREAM_OP("ComputeAccidentalHits")
    .Input("true_classes: int64")
    .Input("sampled_candidates: int64")
    .Output("indices: int32")
    .Output("ids: int64")
    .Output("weights: float")
    .Attr("num_true: int")
    .With(Seeds)
    .Shape(AccidentalHitsShape)
    .Doc(R"(Finds the sampled classes that are true ones.

true_classes is a matrix [batch, num_true], sampled_candidates a vector. For each true class
that was sampled, row by row, indices has its row, ids its place in the sample (the last, if
it is there more than once), and weights the lowest float32. Added to the logits of the
sample, the weights remove those classes.)");

}  // namespace
}  // namespace millstream
