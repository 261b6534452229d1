// Activations, biases and the norm that weight decay uses.
#include <cmath>
#include <string>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status SoftmaxShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape logits, context->WithRankAtLeast(0, 1));
  context->SetOutput(0, std::move(logits));
  return absl::OkStatus();
}

// Whether LeakyRelu multiplies by nothing larger than 1.
bool SlopeIsNotSteep(const AttrMap& attrs) {
  const AttrValue* const attr = FindAttr(attrs, "alpha");
  const float* const alpha = attr == nullptr ? nullptr : attr->get<float>();
  return alpha != nullptr && std::fabs(*alpha) <= 1;
}

// ---- BiasAdd ----

// Input 0, checked to have channels.
StatusOr<PartialShape> WithChannels(const ShapeContext& context, bool channels_last) {
  return context.WithRankAtLeast(0, channels_last ? 2 : 3);
}

// Where the channels are: last, or after the batch. REQUIRES: the rank is known.
int ChannelDimension(const PartialShape& shape, bool channels_last) {
  return channels_last ? shape.rank() - 1 : 1;
}

// An op without data_format has them last.
StatusOr<bool> ChannelsLast(const ShapeContext& context) {
  if (FindAttr(context.attrs(), "data_format") == nullptr) return true;
  MS_ASSIGN_OR_RETURN(std::string data_format, context.Attr<std::string>("data_format"));
  return data_format == "NHWC";
}

Status BiasAddShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(bool channels_last, ChannelsLast(*context));
  MS_ASSIGN_OR_RETURN(PartialShape value, WithChannels(*context, channels_last));
  MS_ASSIGN_OR_RETURN(PartialShape bias, context->WithRank(1, 1));
  if (value.known_rank()) {
    const int dimension = ChannelDimension(value, channels_last);
    const StatusOr<int64_t> channels = context->MergeDim(value.dim(dimension), bias.dim(0));
    if (!channels.ok()) return InputError(*context, 1, channels.status());
    value.set_dim(dimension, *channels);
  }
  context->SetOutput(0, std::move(value));
  return absl::OkStatus();
}

Status BiasAddGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(bool channels_last, ChannelsLast(*context));
  MS_ASSIGN_OR_RETURN(PartialShape gradient, WithChannels(*context, channels_last));
  const int64_t channels =
      gradient.known_rank() ? gradient.dim(ChannelDimension(gradient, channels_last)) : kUnknownDim;
  context->SetOutput(0, PartialShape::Vector(channels));
  return absl::OkStatus();
}

Status ReluGradBiasAddGradShape(ShapeContext* context) {
  for (int i = 0; i < 2; ++i) MS_RETURN_IF_ERROR(context->WithRankAtLeast(i, 2).status());
  MS_RETURN_IF_ERROR(MergeAllInputsShape(context));
  const PartialShape& gradient = context->output(0);
  const int64_t channels = gradient.known_rank() ? gradient.dim(-1) : kUnknownDim;
  context->SetOutput(1, PartialShape::Vector(channels));
  return absl::OkStatus();
}

Status SoftmaxGradShape(ShapeContext* context) {
  for (int i = 0; i < 2; ++i) MS_RETURN_IF_ERROR(context->WithRankAtLeast(i, 1).status());
  return MergeAllInputsShape(context);
}

// ---- Definitions ----

MILLSTREAM_OP("Relu")
    .Input("features: T")
    .Output("activations: T")
    .Attr(
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64, qint8}")
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives each element, or 0 for negative ones.)")
    .Example(R"(
>>> tf.nn.relu([-1.0, 2.0]).eval()
array([0., 2.], dtype=float32))");

MILLSTREAM_OP("ReluGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr(TypeAttr("T", kRealTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Relu: gradients where features is above 0, and 0 elsewhere.

features is what Relu was given or, just as well, what it gave; both inputs have one shape.)");

MILLSTREAM_OP("Relu6")
    .Input("features: T")
    .Output("activations: T")
    .Attr(TypeAttr("T", kRealTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives each element, or 0 for negative ones and 6 for larger ones.)")
    .Example(R"(
>>> tf.nn.relu6([-1.0, 3.0, 8.0]).eval()
array([0., 3., 6.], dtype=float32))");

MILLSTREAM_OP("Relu6Grad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr(TypeAttr("T", kRealTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(MergeAllInputsShape)
    .Doc(
        R"(Gives the gradient of Relu6: gradients where features is between 0 and 6, and 0 elsewhere.

features is what Relu6 was given or, just as well, what it gave; both inputs have one shape.)");

MILLSTREAM_OP("Softplus")
    .Input("features: T")
    .Output("activations: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives log(1 + exp(features)), element by element.)")
    .Example(R"(
>>> tf.nn.softplus([0.0]).eval().round(3).tolist()
[0.6930000185966492])");

MILLSTREAM_OP("SoftplusGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Softplus: gradients / (1 + exp(-features)).

features is what Softplus was given; both inputs have one shape.)");

MILLSTREAM_OP("Elu")
    .Input("features: T")
    .Output("activations: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives each element, or exp(features) - 1 for negative ones (Clevert et al., 2016).)")
    .Example(R"(
>>> tf.nn.elu([2.0, -100.0]).eval()
array([ 2., -1.], dtype=float32))");

MILLSTREAM_OP("EluGrad")
    .Input("gradients: T")
    .Input("outputs: T")
    .Output("backprops: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Elementwise()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Elu: gradients, times outputs + 1 where outputs is negative.

outputs is what Elu gave; both inputs have one shape.)");

MILLSTREAM_OP("Selu")
    .Input("features: T")
    .Output("activations: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Elementwise()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives scale * features, or scale * alpha * (exp(features) - 1) for negative ones.

scale = 1.0507009873554805 and alpha = 1.6732632423543772 (Klambauer et al., 2017).)")
    .Example(R"(
>>> tf.nn.selu([0.0, -100.0]).eval().round(2).tolist()
[0.0, -1.7599999904632568])");

MILLSTREAM_OP("SeluGrad")
    .Input("gradients: T")
    .Input("outputs: T")
    .Output("backprops: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Elementwise()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Selu: gradients times scale, or times outputs + scale * alpha.

The latter where outputs, what Selu gave, is negative; both inputs have one shape.)");

MILLSTREAM_OP("Softsign")
    .Input("features: T")
    .Output("activations: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Elementwise()
    .KeepsFinite()
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc(R"(Gives features / (1 + |features|), element by element.)")
    .Example(R"(
>>> tf.nn.softsign([-1.0, 3.0]).eval()
array([-0.5 ,  0.75], dtype=float32))");

MILLSTREAM_OP("SoftsignGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Elementwise()
    .KeepsFinite()
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of Softsign: gradients / (1 + |features|)^2.

features is what Softsign was given; both inputs have one shape.)");

MILLSTREAM_OP("LeakyRelu")
    .Input("features: T")
    .Output("activations: T")
    .Attr("alpha: float = 0.2")
    .Attr(TypeAttr("T", kNnTypes, " = float"))
    .KeepsFinite(SlopeIsNotSteep)
    .Shape(UnchangedShape)
    .Doc(R"(Gives each element, or alpha times it for negative ones (Maas et al., 2013).)");

MILLSTREAM_OP("LeakyReluGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr("alpha: float = 0.2")
    .Attr(TypeAttr("T", kNnTypes, " = float"))
    .KeepsFinite(SlopeIsNotSteep)
    .Shape(MergeAllInputsShape)
    .Doc(R"(Gives the gradient of LeakyRelu: gradients, times alpha where features is not above 0.

features is what LeakyRelu was given; both inputs have one shape.)");

MILLSTREAM_OP("Softmax")
    .Input("logits: T")
    .Output("softmax: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Speculatable()
    .Shape(SoftmaxShape)
    .Doc(R"(Gives exp(logits) over its sum along the last dimension.

logits has at least rank 1.)");

MILLSTREAM_OP("LogSoftmax")
    .Input("logits: T")
    .Output("logsoftmax: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Shape(SoftmaxShape)
    .Doc(R"(Gives logits less the logarithm of the sum of exp(logits) along the last dimension.

logits has at least rank 1.)");

MILLSTREAM_OP("BiasAdd")
    .Input("value: T")
    .Input("bias: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"")
    .Speculatable()
    .Shape(BiasAddShape)
    .Doc(R"(Adds a vector to the channels of a tensor.

bias has one element a channel. Channels are the last dimension of value, which has at least
rank 2, or with data_format NCHW the second, and value has at least rank 3.)");

MILLSTREAM_OP("BiasAddV1")
    .Input("value: T")
    .Input("bias: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Shape(BiasAddShape)
    .Doc("BiasAdd with the channels last.");

MILLSTREAM_OP("BiasAddGrad")
    .Input("out_backprop: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"")
    .Shape(BiasAddGradShape)
    .Doc(R"(Gives the gradient of BiasAdd for its bias: the sum over all but the channels.

out_backprop is the gradient with respect to what BiasAdd gave.)");

MILLSTREAM_OP("_ReluGradBiasAddGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Output("bias_backprop: T")
    .Attr("T: {float}")
    .Shape(ReluGradBiasAddGradShape)
    .Doc(R"(Gives what ReluGrad gives, and the sum of that over all but the last dimension.

gradients has at least rank 2. Made by the runtime.)");

MILLSTREAM_OP("_SoftmaxGrad")
    .Input("gradients: T")
    .Input("softmax: T")
    .Output("backprops: T")
    .Attr("T: {float}")
    .Attr("scale: float = 1.0")
    .Shape(SoftmaxGradShape)
    .Doc(R"(Gives (gradients - sum(gradients * softmax)) * softmax * scale.

The sum is that over the last dimension. Made by the runtime.)");

MILLSTREAM_OP("L2Loss")
    .Input("t: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kNnTypes))
    .Shape(ScalarShape)
    .Doc(R"(Gives half the sum of the squares of all elements.)")
    .Example(R"(
>>> float(tf.nn.l2_loss([3.0, 4.0]).eval())
12.5)");

}  // namespace
}  // namespace millstream
