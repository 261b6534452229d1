// Three-dimensional convolution and its gradients.
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_cost.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/window_arithmetic.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

constexpr int kVolumeRank = 5;
constexpr int kSpatialDims = 3;
constexpr std::array<const char*, kSpatialDims> kDimNames = {"depth", "height", "width"};

// How windows slide over volumes; their sizes are the filter's.
struct VolumeWindow {
  int first = 1;  // spatial dimension of a volume
  int channels = 4;
  Padding padding = Padding::kValid;
  std::array<Window, kSpatialDims> windows;
};

// The attribute `name`: one value, at least 1, for each dimension, 1 for batch
// and channels.
StatusOr<std::vector<int64_t>> StepsAttr(const ShapeContext& context, absl::string_view name,
                                         const VolumeWindow& window) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> steps, context.Attr<std::vector<int64_t>>(name));
  if (steps.size() != kVolumeRank) {
    return InvalidAttr(context, name, "expected ", kVolumeRank, " values, got ", steps.size());
  }
  for (const int64_t step : steps) {
    if (step < 1) return InvalidAttr(context, name, "expected values above 0, got ", step);
  }
  if (steps[0] != 1 || steps[window.channels] != 1) {
    return InvalidAttr(context, name, "expected 1 for batch and channels, got ", steps[0], " and ",
                       steps[window.channels]);
  }
  return steps;
}

StatusOr<VolumeWindow> ReadWindow(const ShapeContext& context) {
  VolumeWindow window;
  // The first versions of the gradients have the channels last.
  if (FindAttr(context.attrs(), "data_format") != nullptr) {
    MS_ASSIGN_OR_RETURN(const std::string format, context.Attr<std::string>("data_format"));
    if (format == "NCDHW") {
      window.first = 2;
      window.channels = 1;
    }
  }
  MS_ASSIGN_OR_RETURN(const std::string padding, context.Attr<std::string>("padding"));
  window.padding = padding == "SAME" ? Padding::kSame : Padding::kValid;
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, StepsAttr(context, "strides", window));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations,
                      StepsAttr(context, "dilations", window));
  for (int i = 0; i < kSpatialDims; ++i) {
    window.windows[i].stride = strides[window.first + i];
    window.windows[i].dilation = dilations[window.first + i];
  }
  return window;
}

StatusOr<PartialShape> OutputShape(const VolumeWindow& window, const PartialShape& input,
                                   const PartialShape& filter) {
  MS_RETURN_IF_ERROR(CheckGroups(input, input.dim(window.channels), filter));
  PartialShape output = input;
  for (int i = 0; i < kSpatialDims; ++i) {
    Window one = window.windows[i];
    one.size = filter.dim(i);
    const StatusOr<int64_t> size = WindowedSize(input.dim(window.first + i), one, window.padding);
    if (!size.ok()) return WithContext(size.status(), kDimNames[i]);
    output.set_dim(window.first + i, *size);
  }
  output.set_dim(window.channels, filter.dim(kSpatialDims + 1));
  return output;
}

Status Conv3DShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRank(0, kVolumeRank));
  MS_ASSIGN_OR_RETURN(const PartialShape filter, context->WithRank(1, kVolumeRank));
  MS_ASSIGN_OR_RETURN(const VolumeWindow window, ReadWindow(*context));
  StatusOr<PartialShape> output = OutputShape(window, input, filter);
  if (!output.ok()) return InputError(*context, 1, output.status());
  context->SetOutput(0, *std::move(output));
  return absl::OkStatus();
}

// Where the shape of a gradient comes from: the value of an input, or the shape
// of one.
enum class Sizes { kOfValue, kOfTensor };

template <Sizes kSizes>
StatusOr<PartialShape> SizesOf(const ShapeContext& context, int i) {
  if (kSizes == Sizes::kOfTensor) return context.WithRank(i, kVolumeRank);
  return ShapeFromSizesOfRank(context, i, kVolumeRank);
}

template <Sizes kSizes>
Status BackpropInputShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const VolumeWindow window, ReadWindow(*context));
  MS_ASSIGN_OR_RETURN(PartialShape input, SizesOf<kSizes>(*context, 0));
  MS_ASSIGN_OR_RETURN(const PartialShape filter, context->WithRank(1, kVolumeRank));
  MS_ASSIGN_OR_RETURN(const PartialShape gradient,
                      MergeOutputGradient(*context, 0, OutputShape(window, input, filter)));
  if (input.dim(0) == kUnknownDim) input.set_dim(0, gradient.dim(0));
  context->SetOutput(0, std::move(input));
  return absl::OkStatus();
}

template <Sizes kSizes>
Status BackpropFilterShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const VolumeWindow window, ReadWindow(*context));
  MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRank(0, kVolumeRank));
  MS_ASSIGN_OR_RETURN(PartialShape filter, SizesOf<kSizes>(*context, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape gradient,
                      MergeOutputGradient(*context, 1, OutputShape(window, input, filter)));
  const int last = kSpatialDims + 1;
  if (filter.dim(last) == kUnknownDim) filter.set_dim(last, gradient.dim(window.channels));
  context->SetOutput(0, std::move(filter));
  return absl::OkStatus();
}

void FirstAttrs(OpSpec* spec, absl::string_view types) {
  (*spec)
      .Attr(TypeAttr("T", types))
      .Attr("strides: list(int) >= 5")
      .Attr("padding: {\"SAME\", \"VALID\"}");
}

void VolumeAttrs(OpSpec* spec) {
  FirstAttrs(spec, kNnTypes);
  (*spec)
      .Attr("data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\"")
      .Attr("dilations: list(int) = [1, 1, 1, 1, 1]");
}

// Of the first versions.
void VolumeAttrsOfTensor(OpSpec* spec) {
  FirstAttrs(spec, "{half, float, double}");
  (*spec).Attr("dilations: list(int) = [1, 1, 1, 1, 1]");
}

MILLSTREAM_OP("Conv3D")
    .Input("input: T")
    .Input("filter: T")
    .Output("output: T")
    .With(VolumeAttrs)
    .Cost(ConvolutionOutputOperations)
    .Shape(Conv3DShape)
    .Doc(R"(Slides a filter over volumes and sums the products.

input is a batch of volumes in the order of data_format; filter is [depth, height, width, input
channels, output channels]. strides and dilations have one value a dimension of input, 1 for
batch and channels. Padding and groups of channels are as for Conv2D.)");

MILLSTREAM_OP("Conv3DBackpropInputV2")
    .Input("input_sizes: Tshape")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(VolumeAttrs)
    .Attr(TypeAttr("Tshape", kIndexTypes, " = int32"))
    .Cost(ConvolutionInputGradientOperations)
    .Shape(BackpropInputShape<Sizes::kOfValue>)
    .Doc(
        R"(Gives the gradient of Conv3D for its input; also the transposed convolution.

input_sizes is the shape of that input, and of the output here; out_backprop is the gradient
for what Conv3D gave, and has its shape. The attributes are Conv3D's.)");

MILLSTREAM_OP("Conv3DBackpropFilterV2")
    .Input("input: T")
    .Input("filter_sizes: int32")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(VolumeAttrs)
    .Cost(ConvolutionFilterGradientOperations)
    .Shape(BackpropFilterShape<Sizes::kOfValue>)
    .Doc(R"(Gives the gradient of Conv3D for its filter.

filter_sizes is the shape of that filter, and of the output here; out_backprop is the
gradient for what Conv3D gave, and has its shape. The attributes are Conv3D's.)")
    .Example(R"(
>>> volumes, gradient = tf.ones([1, 4, 5, 5, 3]), tf.ones([1, 3, 3, 3, 8])
>>> tf.nn.conv3d_backprop_filter(
...     volumes, [2, 3, 3, 3, 8], gradient, [1, 1, 1, 1, 1], "VALID").shape.as_list()
[2, 3, 3, 3, 8])");

MILLSTREAM_OP("Conv3DBackpropInput")
    .Input("input: T")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(VolumeAttrsOfTensor)
    .Cost(ConvolutionInputGradientOperations)
    .Shape(BackpropInputShape<Sizes::kOfTensor>)
    .Doc(
        "As Conv3DBackpropInputV2 with the input itself in the place of its "
        "sizes.");

MILLSTREAM_OP("Conv3DBackpropFilter")
    .Input("input: T")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(VolumeAttrsOfTensor)
    .Cost(ConvolutionFilterGradientOperations)
    .Shape(BackpropFilterShape<Sizes::kOfTensor>)
    .Doc(
        "As Conv3DBackpropFilterV2 with the filter itself in the place of its "
        "sizes.");

}  // namespace
}  // namespace millstream
