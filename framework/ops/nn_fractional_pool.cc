// Fractional pooling: cells of two neighbouring sizes, so that a pooling by any ratio is possible.
#include <cmath>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

constexpr int kRank = 4;

// Attribute pooling_ratio: one number a dimension, 1 for batch and channels.
StatusOr<std::vector<float>> PoolingRatio(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(std::vector<float> ratio, context.Attr<std::vector<float>>("pooling_ratio"));
  if (ratio.size() != kRank) {
    return InvalidAttr(context, "pooling_ratio", "expected ", kRank, " values, got ", ratio.size());
  }
  for (const float value : ratio) {
    if (value >= 1) continue;
    return InvalidAttr(context, "pooling_ratio", "expected values of 1 at least, got ", value);
  }
  if (ratio.front() == 1 && ratio.back() == 1) return ratio;
  return errors::Unimplemented("attribute 'pooling_ratio' of ", context.op().name,
                               ": pooling over batch or channels is not implemented");
}

Status CheckSeeds(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const bool deterministic, context.Attr<bool>("deterministic"));
  MS_ASSIGN_OR_RETURN(const int64_t seed, context.Attr<int64_t>("seed"));
  MS_ASSIGN_OR_RETURN(const int64_t seed2, context.Attr<int64_t>("seed2"));
  if (deterministic || (seed == 0 && seed2 == 0)) return absl::OkStatus();
  return InvalidAttr(context, "seed", "seeds must be 0 unless deterministic is true, got ", seed,
                     " and ", seed2);
}

Status FractionalPoolShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::vector<float> ratio, PoolingRatio(*context));
  MS_RETURN_IF_ERROR(CheckSeeds(*context));
  MS_ASSIGN_OR_RETURN(PartialShape output, context->WithRank(0, kRank));
  for (int i = 1; i < 3; ++i) {
    const int64_t size = output.dim(i);
    int64_t cells = kUnknownDim;
    if (size != kUnknownDim) {
      cells = static_cast<int64_t>(std::floor(static_cast<float>(size) / ratio[i]));
      if (cells == 0) {
        return InvalidInput(*context, 0, "has ", size, " elements in dimension ", i,
                            ", fewer than pooling_ratio there, ", ratio[i]);
      }
    }
    output.set_dim(i, cells);
    context->SetOutput(i, PartialShape({cells == kUnknownDim ? kUnknownDim : cells + 1}));
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// Inputs `first` and the next are the sequences for a gradient of the shape of input `gradient`.
Status CheckSequences(const ShapeContext& context, int first, const PartialShape& gradient) {
  for (int i = 0; i < 2; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape sequence, context.WithRank(first + i, 1));
    const int64_t cells = gradient.dim(i + 1);
    if (cells == kUnknownDim || sequence.dim(0) == kUnknownDim || sequence.dim(0) == cells + 1) {
      continue;
    }
    return InvalidInput(context, first + i, "expected ", cells + 1, " positions for out_backprop ",
                        gradient.ToString(), ", got ", sequence.dim(0));
  }
  return absl::OkStatus();
}

// `image` and `gradient` must have the same batch and channels.
Status CheckGradient(const ShapeContext& context, int i, const PartialShape& image,
                     const PartialShape& gradient) {
  for (const int dimension : {0, 3}) {
    const int64_t given = gradient.dim(dimension);
    const int64_t expected = image.dim(dimension);
    if (given == kUnknownDim || expected == kUnknownDim || given == expected) continue;
    return InvalidInput(context, i, "expected batch and channels of the image, ", image.ToString(),
                        ", got ", gradient.ToString());
  }
  return absl::OkStatus();
}

Status FractionalMaxPoolGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape image, context->WithRank(0, kRank));
  MS_ASSIGN_OR_RETURN(const PartialShape output, context->WithRank(1, kRank));
  MS_ASSIGN_OR_RETURN(const PartialShape gradient, context->WithRank(2, kRank));
  if (!output.IsCompatibleWith(gradient)) {
    return InvalidInput(*context, 1, "expected the shape of out_backprop, ", gradient.ToString(),
                        ", got ", output.ToString());
  }
  MS_RETURN_IF_ERROR(CheckGradient(*context, 2, image, gradient));
  MS_RETURN_IF_ERROR(CheckSequences(*context, 3, gradient));
  context->SetOutput(0, std::move(image));
  return absl::OkStatus();
}

Status FractionalAvgPoolGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape image, ShapeFromSizesOfRank(*context, 0, kRank));
  MS_ASSIGN_OR_RETURN(const PartialShape gradient, context->WithRank(1, kRank));
  MS_RETURN_IF_ERROR(CheckGradient(*context, 1, image, gradient));
  MS_RETURN_IF_ERROR(CheckSequences(*context, 2, gradient));
  context->SetOutput(0, std::move(image));
  return absl::OkStatus();
}

constexpr absl::string_view kTypes = "{float, double, int32, int64}";

void FractionalPool(OpSpec* spec) {
  (*spec)
      .Input("value: T")
      .Output("output: T")
      .Output("row_pooling_sequence: int64")
      .Output("col_pooling_sequence: int64")
      .Attr("pooling_ratio: list(float) >= 4")
      .Attr("pseudo_random: bool = false")
      .Attr("overlapping: bool = false")
      .Attr("deterministic: bool = false")
      .Attr("seed: int = 0")
      .Attr("seed2: int = 0")
      .Attr(TypeAttr("T", kTypes))
      .Shape(FractionalPoolShape);
}

MILLSTREAM_OP("FractionalMaxPool")
    .With(FractionalPool)
    .KeepsFinite()
    .Doc(R"(Gives the largest element of each cell of an image, by Graham (2014).

value is a batch of images with the channels last; pooling_ratio has a number a dimension, by
which the size is divided, 1 for batch and channels. Cell (i, j) has the rows from
row_pooling_sequence[i] up to row_pooling_sequence[i + 1], exclusive, and the columns likewise;
overlapping adds the next row and column. The sequences are drawn at random in each execution,
or are the same in all with deterministic, which alone allows seeds. pseudo_random draws one
number a sequence, from which all cells follow.)");

MILLSTREAM_OP("FractionalAvgPool")
    .With(FractionalPool)
    .Doc("Gives the average of each cell of an image. The cells are those of FractionalMaxPool.");

MILLSTREAM_OP("FractionalMaxPoolGrad")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("out_backprop: T")
    .Input("row_pooling_sequence: int64")
    .Input("col_pooling_sequence: int64")
    .Output("output: T")
    .Attr("overlapping: bool = false")
    .Attr(TypeAttr("T", kTypes))
    .Shape(FractionalMaxPoolGradShape)
    .Doc(R"(Gives the gradient of FractionalMaxPool: each cell's goes to its largest element.

Of equal elements the first one gets it. orig_input is what FractionalMaxPool was given;
orig_output and the sequences are what it gave; out_backprop is the gradient for orig_output.)");

MILLSTREAM_OP("FractionalAvgPoolGrad")
    .Input("orig_input_tensor_shape: int64")
    .Input("out_backprop: T")
    .Input("row_pooling_sequence: int64")
    .Input("col_pooling_sequence: int64")
    .Output("output: T")
    .Attr("overlapping: bool = false")
    .Attr(TypeAttr("T", kTypes))
    .Shape(FractionalAvgPoolGradShape)
    .Doc(R"(Gives the gradient of FractionalAvgPool: each cell's is shared by its elements.

orig_input_tensor_shape is the shape of what FractionalAvgPool was given; the sequences are
what it gave; out_backprop is the gradient for its output.)");

}  // namespace
}  // namespace millstream
