// Normalization: of the channels of a batch, and across the channels of a pixel.
#include <string>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/window_arithmetic.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

constexpr const char* kStatisticsTypes = "{half, bfloat16, float}";

// ---- Shapes ----

// Where the channels of images are, by the attribute data_format if the op has it.
StatusOr<int> ChannelsDimension(const ShapeContext& context) {
  if (FindAttr(context.attrs(), "data_format") == nullptr) return kImageRank - 1;
  MS_ASSIGN_OR_RETURN(std::string data_format, context.Attr<std::string>("data_format"));
  MS_ASSIGN_OR_RETURN(ImageLayout layout, ParseImageLayout(data_format));
  return layout.channels;
}

// Images, and vectors that have an element for each of their channels.
struct Channels {
  PartialShape images;
  int dimension = 0;

  int64_t count() const { return images.dim(dimension); }

  Status AddVector(const ShapeContext& context, int i) {
    MS_ASSIGN_OR_RETURN(const PartialShape vector, context.WithRank(i, 1));
    const StatusOr<int64_t> size = context.MergeDim(count(), vector.dim(0));
    if (!size.ok()) return InputError(context, i, size.status());
    images.set_dim(dimension, *size);
    return absl::OkStatus();
  }
};

StatusOr<Channels> ChannelsOf(const ShapeContext& context, int images) {
  MS_ASSIGN_OR_RETURN(const int dimension, ChannelsDimension(context));
  MS_ASSIGN_OR_RETURN(PartialShape shape, context.WithRank(images, kImageRank));
  return Channels{std::move(shape), dimension};
}

// Input i must be a vector without elements.
Status CheckIsEmpty(const ShapeContext& context, int i) {
  MS_ASSIGN_OR_RETURN(const PartialShape vector, context.WithRank(i, 1));
  if (vector.dim(0) == kUnknownDim || vector.dim(0) == 0) return absl::OkStatus();
  return InvalidInput(context, i, "must be empty in training, got ", vector.ToString());
}

Status BatchNormShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const bool is_training, context->Attr<bool>("is_training"));
  MS_ASSIGN_OR_RETURN(Channels channels, ChannelsOf(*context, 0));
  for (int i = 1; i < 5; ++i) {
    const bool is_given = i < 3 || !is_training;
    MS_RETURN_IF_ERROR(is_given ? channels.AddVector(*context, i) : CheckIsEmpty(*context, i));
  }
  context->SetOutput(0, channels.images);
  for (int i = 1; i < 5; ++i) context->SetOutput(i, PartialShape::Vector(channels.count()));
  return absl::OkStatus();
}

// Input i must have the shape of the images.
Status AddImages(const ShapeContext& context, int i, Channels* channels) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context.WithRank(i, kImageRank));
  StatusOr<PartialShape> images = context.Merge(channels->images, shape);
  if (!images.ok()) return InputError(context, i, images.status());
  channels->images = *std::move(images);
  return absl::OkStatus();
}

// The gradients of images, scale and offset, and two empty outputs.
void SetGradientShapes(ShapeContext* context, const Channels& channels) {
  context->SetOutput(0, channels.images);
  for (int i = 1; i < 3; ++i) context->SetOutput(i, PartialShape::Vector(channels.count()));
  for (int i = 3; i < 5; ++i) context->SetOutput(i, PartialShape::Vector(0));
}

Status BatchNormGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(Channels channels, ChannelsOf(*context, 0));
  MS_RETURN_IF_ERROR(AddImages(*context, 1, &channels));
  for (int i = 2; i < 5; ++i) MS_RETURN_IF_ERROR(channels.AddVector(*context, i));
  SetGradientShapes(context, channels);
  return absl::OkStatus();
}

// The gradient of a normalization with a Relu: the offset is before the statistics.
Status BatchNormReluGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(Channels channels, ChannelsOf(*context, 0));
  MS_RETURN_IF_ERROR(AddImages(*context, 1, &channels));
  for (int i = 2; i < 6; ++i) MS_RETURN_IF_ERROR(channels.AddVector(*context, i));
  SetGradientShapes(context, channels);
  return absl::OkStatus();
}

Status GlobalBatchNormShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(Channels channels, ChannelsOf(*context, 0));
  for (int i = 1; i < 5; ++i) MS_RETURN_IF_ERROR(channels.AddVector(*context, i));
  context->SetOutput(0, channels.images);
  return absl::OkStatus();
}

Status GlobalBatchNormGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(Channels channels, ChannelsOf(*context, 0));
  MS_RETURN_IF_ERROR(AddImages(*context, 4, &channels));
  for (int i = 1; i < 4; ++i) MS_RETURN_IF_ERROR(channels.AddVector(*context, i));
  context->SetOutput(0, channels.images);
  for (int i = 1; i < 5; ++i) context->SetOutput(i, PartialShape::Vector(channels.count()));
  return absl::OkStatus();
}

// Images of one shape, as which the output is.
Status ResponseShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t radius, context->Attr<int64_t>("depth_radius"));
  if (radius < 0) {
    return InvalidAttr(*context, "depth_radius", "must not be negative, got ", radius);
  }
  for (int i = 0; i < context->num_inputs(); ++i) {
    MS_RETURN_IF_ERROR(context->WithRank(i, kImageRank).status());
  }
  MS_RETURN_IF_ERROR(MergeAllInputsShape(context));
  if (context->output(0).known_rank()) return absl::OkStatus();
  context->SetOutput(0, PartialShape::UnknownOfRank(kImageRank));
  return absl::OkStatus();
}

// ---- Definitions ----

void BatchNormAttrs(OpSpec* spec) {
  (*spec)
      .Attr("epsilon: float = 0.0001")
      .Attr("data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"")
      .Attr("is_training: bool = true");
}

// The types of the versions whose statistics have a type of their own.
void TypesOfVersion2(OpSpec* spec) {
  (*spec).Attr(TypeAttr("T", kStatisticsTypes)).Attr("U: {float}");
}

constexpr const char* kBatchNormDoc =
    R"(Shifts and scales each channel to mean 0 and variance 1, then by scale and offset.

y is scale * (x - mean) / sqrt(variance + epsilon) + offset (Ioffe, Szegedy, 2015). x has the
order of data_format. In training, mean and variance are those of x, and the inputs mean and
variance are empty. Otherwise they are these inputs. batch_mean and batch_variance are what
moving averages take: the variance is unbiased, of n elements the sum of squares over n - 1.
The reserved outputs are for the gradient.)";

constexpr const char* kBatchNormGradDoc =
    R"(Gives the gradient of batch normalization for images, scale and offset.

y_backprop is the gradient for y. The reserved inputs are the reserved outputs of the forward
op in training, and its mean and variance otherwise. The reserved outputs are empty.)";

MILLSTREAM_OP("FusedBatchNorm")
    .Input("x: T")
    .Input("scale: T")
    .Input("offset: T")
    .Input("mean: T")
    .Input("variance: T")
    .Output("y: T")
    .Output("batch_mean: T")
    .Output("batch_variance: T")
    .Output("reserve_space_1: T")
    .Output("reserve_space_2: T")
    .Attr("T: {float}")
    .With(BatchNormAttrs)
    .Shape(BatchNormShape)
    .Doc(kBatchNormDoc);

MILLSTREAM_OP("FusedBatchNormV2")
    .Input("x: T")
    .Input("scale: U")
    .Input("offset: U")
    .Input("mean: U")
    .Input("variance: U")
    .Output("y: T")
    .Output("batch_mean: U")
    .Output("batch_variance: U")
    .Output("reserve_space_1: U")
    .Output("reserve_space_2: U")
    .With(TypesOfVersion2)
    .With(BatchNormAttrs)
    .Shape(BatchNormShape)
    .Doc(kBatchNormDoc);

MILLSTREAM_OP("FusedBatchNormV3")
    .Input("x: T")
    .Input("scale: U")
    .Input("offset: U")
    .Input("mean: U")
    .Input("variance: U")
    .Output("y: T")
    .Output("batch_mean: U")
    .Output("batch_variance: U")
    .Output("reserve_space_1: U")
    .Output("reserve_space_2: U")
    .Output("reserve_space_3: U")
    .With(TypesOfVersion2)
    .With(BatchNormAttrs)
    .Shape(BatchNormShape)
    .Doc(kBatchNormDoc);

MILLSTREAM_OP("FusedBatchNormGrad")
    .Input("y_backprop: T")
    .Input("x: T")
    .Input("scale: T")
    .Input("reserve_space_1: T")
    .Input("reserve_space_2: T")
    .Output("x_backprop: T")
    .Output("scale_backprop: T")
    .Output("offset_backprop: T")
    .Output("reserve_space_3: T")
    .Output("reserve_space_4: T")
    .Attr("T: {float}")
    .With(BatchNormAttrs)
    .Shape(BatchNormGradShape)
    .Doc(kBatchNormGradDoc);

MILLSTREAM_OP("FusedBatchNormGradV2")
    .Input("y_backprop: T")
    .Input("x: T")
    .Input("scale: float")
    .Input("reserve_space_1: U")
    .Input("reserve_space_2: U")
    .Output("x_backprop: T")
    .Output("scale_backprop: U")
    .Output("offset_backprop: U")
    .Output("reserve_space_3: U")
    .Output("reserve_space_4: U")
    .With(TypesOfVersion2)
    .With(BatchNormAttrs)
    .Shape(BatchNormGradShape)
    .Doc(kBatchNormGradDoc);

MILLSTREAM_OP("FusedBatchNormGradV3")
    .Input("y_backprop: T")
    .Input("x: T")
    .Input("scale: float")
    .Input("reserve_space_1: U")
    .Input("reserve_space_2: U")
    .Input("reserve_space_3: U")
    .Output("x_backprop: T")
    .Output("scale_backprop: U")
    .Output("offset_backprop: U")
    .Output("reserve_space_4: U")
    .Output("reserve_space_5: U")
    .With(TypesOfVersion2)
    .With(BatchNormAttrs)
    .Shape(BatchNormGradShape)
    .Doc(kBatchNormGradDoc);

MILLSTREAM_OP("_FusedBatchNormRelu")
    .Input("x: T")
    .Input("scale: T")
    .Input("offset: T")
    .Input("mean: T")
    .Input("variance: T")
    .Output("activations: T")
    .Output("batch_mean: T")
    .Output("batch_variance: T")
    .Output("reserve_space_1: T")
    .Output("reserve_space_2: T")
    .Output("reserve_space_3: T")
    .Attr("T: {float}")
    .With(BatchNormAttrs)
    .Shape(BatchNormShape)
    .Doc(R"(Gives what FusedBatchNormV3 gives, with Relu of y in the place of y.

Made by the runtime.)");

MILLSTREAM_OP("_FusedBatchNormReluGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Input("scale: T")
    .Input("offset: T")
    .Input("reserve_space_1: T")
    .Input("reserve_space_2: T")
    .Output("x_backprop: T")
    .Output("scale_backprop: T")
    .Output("offset_backprop: T")
    .Output("reserve_space_4: T")
    .Output("reserve_space_5: T")
    .Attr("T: {float}")
    .With(BatchNormAttrs)
    .Shape(BatchNormReluGradShape)
    .Doc(R"(Gives what FusedBatchNormGradV3 gives for what ReluGrad gives for gradients and y.

y is the result of the normalization, which the other inputs tell. is_training is true. Made by
the runtime.)");

MILLSTREAM_OP("BatchNormWithGlobalNormalization")
    .Input("t: T")
    .Input("m: T")
    .Input("v: T")
    .Input("beta: T")
    .Input("gamma: T")
    .Output("result: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("variance_epsilon: float")
    .Attr("scale_after_normalization: bool")
    .Shape(GlobalBatchNormShape)
    .Doc(R"(Gives (t - m) / sqrt(v + variance_epsilon), times gamma, plus beta.

t is a batch of images with the channels last. The other inputs have an element a channel.
gamma is not used unless scale_after_normalization is true. Programs should use
tf.nn.batch_normalization.)");

MILLSTREAM_OP("BatchNormWithGlobalNormalizationGrad")
    .Input("t: T")
    .Input("m: T")
    .Input("v: T")
    .Input("gamma: T")
    .Input("backprop: T")
    .Output("dx: T")
    .Output("dm: T")
    .Output("dv: T")
    .Output("db: T")
    .Output("dg: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("variance_epsilon: float")
    .Attr("scale_after_normalization: bool")
    .Shape(GlobalBatchNormGradShape)
    .Doc(R"(Gives the gradients of BatchNormWithGlobalNormalization for each of its inputs.

backprop is the gradient for its result. The other inputs and the attributes are as they were
given to it.)");

void ResponseAttrs(OpSpec* spec) {
  (*spec)
      .Attr("depth_radius: int = 5")
      .Attr("bias: float = 1")
      .Attr("alpha: float = 1")
      .Attr("beta: float = 0.5")
      .Attr(TypeAttr("T", kStatisticsTypes, " = float"));
}

MILLSTREAM_OP("LRN")
    .Input("input: T")
    .Output("output: T")
    .With(ResponseAttrs)
    .Shape(ResponseShape)
    .Doc(R"(Divides each element by a norm of the channels near its own.

The norm is (bias + alpha * sum)^beta, where sum is that of the squares of the channels at most
depth_radius away, of the same pixel (Krizhevsky et al., 2012). input is a batch of images with
the channels last.)")
    .Example(R"(
>>> tf.nn.lrn([[[[1.0, 2.0]]]], depth_radius=0, bias=0.0).eval()
array([[[[1., 1.]]]], dtype=float32))");

MILLSTREAM_OP("LRNGrad")
    .Input("input_grads: T")
    .Input("input_image: T")
    .Input("output_image: T")
    .Output("output: T")
    .With(ResponseAttrs)
    .Shape(ResponseShape)
    .Doc(R"(Gives the gradient of LRN.

input_grads is the gradient for what LRN gave. input_image and output_image are what it was
given and gave. The attributes are LRN's.)");

}  // namespace
}  // namespace millstream
