// Dilation of grayscale images, and a convolution that pads them by mirrors.
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

// ---- Dilation2D ----

// The attribute `name`: one value, at least 1, for each dimension of images; UNIMPLEMENTED for
// others than 1 for batch and channels.
StatusOr<std::vector<int64_t>> StepsAttr(const ShapeContext& context, absl::string_view name) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> steps, context.Attr<std::vector<int64_t>>(name));
  if (steps.size() != kImageRank) {
    return InvalidAttr(context, name, "expected ", kImageRank, " values, got ", steps.size());
  }
  for (const int64_t step : steps) {
    if (step < 1) return InvalidAttr(context, name, "expected values above 0, got ", step);
  }
  if (steps[0] == 1 && steps[3] == 1) return steps;
  return errors::Unimplemented("attribute '", name, "' of ", context.op().name,
                               ": only 1 is implemented for batch and channels");
}

StatusOr<PartialShape> DilatedShape(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(PartialShape output, context.WithRank(0, kImageRank));
  MS_ASSIGN_OR_RETURN(const PartialShape filter, context.WithRank(1, 3));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, StepsAttr(context, "strides"));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> rates, StepsAttr(context, "rates"));
  MS_ASSIGN_OR_RETURN(const std::string padding, context.Attr<std::string>("padding"));
  const int64_t channels = output.dim(3);
  const int64_t depth = filter.dim(2);
  if (channels == 0 || depth == 0) {
    return InvalidInput(context, 1, "input ", output.ToString(), " and filter ", filter.ToString(),
                        " must have channels");
  }
  if (channels == kUnknownDim) {
    output.set_dim(3, depth);
  } else if (depth != kUnknownDim && depth != channels) {
    return InvalidInput(context, 1, UnequalDims(channels, depth), "input ", output.ToString(),
                        " and filter ", filter.ToString(),
                        " must have the same number of channels");
  }
  for (int i = 0; i < 2; ++i) {
    const Window window = {filter.dim(i), strides[i + 1], rates[i + 1]};
    const StatusOr<int64_t> size = WindowedSize(
        output.dim(i + 1), window, padding == "SAME" ? Padding::kSame : Padding::kValid);
    if (!size.ok()) {
      return InputError(context, 1, WithContext(size.status(), i == 0 ? "height" : "width"));
    }
    output.set_dim(i + 1, *size);
  }
  return output;
}

Status Dilation2DShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape output, DilatedShape(*context));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// The result has the shape of input kLike; input 2 has the shape of the dilated images.
template <int kLike>
Status DilationGradientShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape output, DilatedShape(*context));
  MS_ASSIGN_OR_RETURN(const PartialShape gradient, context->WithRank(2, kImageRank));
  if (!output.IsCompatibleWith(gradient)) {
    return InvalidInput(*context, 2, "expected the shape of the output, ", output.ToString(),
                        ", got ", gradient.ToString());
  }
  MS_ASSIGN_OR_RETURN(PartialShape like, context->WithRank(kLike, kLike == 0 ? kImageRank : 3));
  context->SetOutput(0, std::move(like));
  return absl::OkStatus();
}

void DilationAttrs(OpSpec* spec) {
  (*spec)
      .Attr(TypeAttr("T", kRealTypes))
      .Attr("strides: list(int) >= 4")
      .Attr("rates: list(int) >= 4")
      .Attr("padding: {\"SAME\", \"VALID\"}");
}

// ---- FusedPadConv2D ----

// The images with the margins that input `paddings` says.
StatusOr<PartialShape> MirroredShape(const ShapeContext& context, PartialShape images,
                                     int paddings) {
  MS_ASSIGN_OR_RETURN(const PartialShape entries, context.WithRank(paddings, 2));
  if (!entries.IsCompatibleWith(PartialShape({kImageRank, 2}))) {
    return InvalidInput(context, paddings,
                        "expected pairs, before and after each dimension, got shape ",
                        entries.ToString());
  }
  if (context.constant(paddings) == nullptr) {
    images.set_dim(1, kUnknownDim);
    images.set_dim(2, kUnknownDim);
    return images;
  }
  MS_ASSIGN_OR_RETURN(const std::string mode, context.Attr<std::string>("mode"));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, IntegerValues(*context.constant(paddings)));
  for (int i = 0; i < kImageRank; ++i) {
    const int64_t size = images.dim(i);
    for (const int64_t pad : {pads[2 * i], pads[2 * i + 1]}) {
      const bool is_spatial = i == 1 || i == 2;
      const int64_t most = is_spatial ? size - (mode == "REFLECT" ? 1 : 0) : 0;
      const bool is_open = is_spatial && size == kUnknownDim;
      if (pad < 0 || (pad > 0 && pad > most && !is_open)) {
        return InvalidInput(context, paddings, "expected at most the size to mirror, got ", pad,
                            " for dimension ", i, " of ", images.ToString());
      }
    }
    if (size != kUnknownDim) images.set_dim(i, size + pads[2 * i] + pads[2 * i + 1]);
  }
  return images;
}

// Of images that were resized or not; the inputs after them are paddings and filter.
Status PaddedConvolutionShape(ShapeContext* context, PartialShape images, int paddings) {
  MS_ASSIGN_OR_RETURN(const PartialShape padded,
                      MirroredShape(*context, std::move(images), paddings));
  MS_ASSIGN_OR_RETURN(const PartialShape filter, context->WithRank(paddings + 1, kImageRank));
  MS_ASSIGN_OR_RETURN(const ImageWindow window, ConvolutionWindow(*context));
  StatusOr<PartialShape> output = ConvolutionShape(window, padded, filter);
  if (!output.ok()) return InputError(*context, paddings + 1, output.status());
  context->SetOutput(0, *std::move(output));
  return absl::OkStatus();
}

Status FusedPadConv2DShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape images, context->WithRank(0, kImageRank));
  return PaddedConvolutionShape(context, std::move(images), 1);
}

Status FusedResizeAndPadConv2DShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape images, context->WithRank(0, kImageRank));
  MS_ASSIGN_OR_RETURN(const PartialShape size, ShapeFromSizesOfRank(*context, 1, 2));
  for (int i = 0; i < 2; ++i) {
    if (images.dim(1 + i) == 0) return InvalidInput(*context, 0, "there is no pixel to resize");
    if (size.dim(i) == 0) {
      return InvalidInput(*context, 1, "output dimensions must be positive, got ", size.ToString());
    }
    images.set_dim(1 + i, size.dim(i));
  }
  return PaddedConvolutionShape(context, std::move(images), 2);
}

double PaddedOperations(absl::Span<const PartialShape> inputs,
                        absl::Span<const PartialShape> outputs) {
  return ConvolutionOperations(outputs[0], inputs.back());
}

MILLSTREAM_OP("Dilation2D")
    .Input("input: T")
    .Input("filter: T")
    .Output("output: T")
    .With(DilationAttrs)
    .Shape(Dilation2DShape)
    .Doc(R"(Gives the largest sum of pixel and filter in each window of images.

input is [batch, height, width, channels], filter [height, width, channels]. strides and rates have
one value a dimension of input, 1 for batch and channels; rates are the distances of the filter's
elements. Margins are as for Conv2D, but what is in them does not count. INVALID_ARGUMENT when the
channels of input and filter differ.)");

MILLSTREAM_OP("Dilation2DBackpropInput")
    .Input("input: T")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("in_backprop: T")
    .With(DilationAttrs)
    .Shape(DilationGradientShape<0>)
    .Doc(R"(Gives the gradient of Dilation2D for its input.

out_backprop is the gradient for what Dilation2D gave. Each of its elements goes to the first pixel
of its window with the largest sum. The attributes are those of Dilation2D.)");

MILLSTREAM_OP("Dilation2DBackpropFilter")
    .Input("input: T")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("filter_backprop: T")
    .With(DilationAttrs)
    .Shape(DilationGradientShape<1>)
    .Doc(R"(Gives the gradient of Dilation2D for its filter.

out_backprop is the gradient for what Dilation2D gave. Each of its elements goes to the first
element of the filter with the largest sum. The attributes are those of Dilation2D.)");

MILLSTREAM_OP("FusedPadConv2D")
    .Input("input: T")
    .Input("paddings: int32")
    .Input("filter: T")
    .Output("output: T")
    .Attr("T: {half, float, double}")
    .Attr("mode: {\"REFLECT\", \"SYMMETRIC\"}")
    .Attr("strides: list(int)")
    .Attr("padding: {\"SAME\", \"VALID\"}")
    .Cost(PaddedOperations)
    .Shape(FusedPadConv2DShape)
    .Doc(R"(Pads images by mirrors of them and convolves them.

paddings has the shape [4, 2]: how much comes before and after in each dimension, nothing for batch
and channels. REFLECT does not repeat the edge, SYMMETRIC does. The rest is as for Conv2D on images
[batch, height, width, channels].)");

MILLSTREAM_OP("FusedResizeAndPadConv2D")
    .Input("input: T")
    .Input("size: int32")
    .Input("paddings: int32")
    .Input("filter: T")
    .Output("output: T")
    .Attr("T: {half, float, double}")
    .Attr("resize_align_corners: bool = false")
    .Attr("mode: {\"REFLECT\", \"SYMMETRIC\"}")
    .Attr("strides: list(int)")
    .Attr("padding: {\"SAME\", \"VALID\"}")
    .Cost(PaddedOperations)
    .Shape(FusedResizeAndPadConv2DShape)
    .Doc(
        R"(Resizes images as ResizeBilinear does, then pads and convolves them as FusedPadConv2D does.)");

}  // namespace
}  // namespace millstream
