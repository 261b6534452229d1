// Pooling: the largest element, or the average, of each window of an image.
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/window_arithmetic.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Averages are taken over the image only.
Status CheckAverageWindow(const ShapeContext& context, const ImageWindow& window) {
  if (window.channels.size == 1) return absl::OkStatus();
  return errors::Unimplemented("attribute 'ksize' of ", context.op().name,
                               ": averaging over channels is not implemented");
}

Status SetPooledShape(ShapeContext* context, const ImageWindow& window) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRank(0, kImageRank));
  StatusOr<PartialShape> output = PooledShape(window, input);
  if (!output.ok()) return InputError(*context, 0, output.status());
  context->SetOutput(0, *std::move(output));
  return absl::OkStatus();
}

// Input i must have the shape of what the pooling gives for `image`.
Status CheckPooledInput(const ShapeContext& context, int i, const ImageWindow& window,
                        const PartialShape& image) {
  MS_ASSIGN_OR_RETURN(PartialShape given, context.WithRank(i, kImageRank));
  const StatusOr<PartialShape> pooled = PooledShape(window, image);
  if (!pooled.ok()) return InputError(context, 0, pooled.status());
  if (pooled->IsCompatibleWith(given)) return absl::OkStatus();
  return InvalidInput(context, i, "expected the shape of the pooled image, ", pooled->ToString(),
                      ", got ", given.ToString());
}

Status MaxPoolShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(ImageWindow window, PoolingWindow(*context));
  return SetPooledShape(context, window);
}

// Whether no two windows overlap. An element of the input then gets the gradient of one window, and
// otherwise a sum of several, which may overflow.
bool WindowsStandApart(const AttrMap& attrs) {
  const AttrValue* const sizes = FindAttr(attrs, "ksize");
  const AttrValue* const strides = FindAttr(attrs, "strides");
  if (sizes == nullptr || strides == nullptr) return false;
  const auto* const window = sizes->get<std::vector<int64_t>>();
  const auto* const step = strides->get<std::vector<int64_t>>();
  if (window == nullptr || step == nullptr || window->size() > step->size()) return false;
  for (size_t i = 0; i < window->size(); ++i) {
    if ((*window)[i] > (*step)[i]) return false;
  }
  return true;
}

Status MaxPoolGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(ImageWindow window, PoolingWindow(*context));
  MS_ASSIGN_OR_RETURN(PartialShape image, context->WithRank(0, kImageRank));
  MS_RETURN_IF_ERROR(CheckPooledInput(*context, 1, window, image));
  MS_RETURN_IF_ERROR(CheckPooledInput(*context, 2, window, image));
  context->SetOutput(0, std::move(image));
  return absl::OkStatus();
}

Status MaxPoolGradGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(ImageWindow window, PoolingWindow(*context));
  MS_ASSIGN_OR_RETURN(PartialShape image, context->WithRank(0, kImageRank));
  MS_RETURN_IF_ERROR(CheckPooledInput(*context, 1, window, image));
  MS_ASSIGN_OR_RETURN(PartialShape gradient, context->WithRank(2, kImageRank));
  if (!gradient.IsCompatibleWith(image)) {
    return InvalidInput(*context, 2, "expected the shape of the image, ", image.ToString(),
                        ", got ", gradient.ToString());
  }
  return SetPooledShape(context, window);
}

Status AvgPoolShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(ImageWindow window, PoolingWindow(*context));
  MS_RETURN_IF_ERROR(CheckAverageWindow(*context, window));
  return SetPooledShape(context, window);
}

Status AvgPoolGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(ImageWindow window, PoolingWindow(*context));
  MS_RETURN_IF_ERROR(CheckAverageWindow(*context, window));
  MS_ASSIGN_OR_RETURN(PartialShape image, ImageShapeFromSizes(*context, 0));
  MS_RETURN_IF_ERROR(CheckPooledInput(*context, 1, window, image));
  context->SetOutput(0, std::move(image));
  return absl::OkStatus();
}

void PoolingAttrs(OpSpec* spec) {
  (*spec)
      .Attr("ksize: list(int) >= 4")
      .Attr("strides: list(int) >= 4")
      .Attr("padding: {\"SAME\", \"VALID\"}")
      .Attr("data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"");
}

MILLSTREAM_OP("MaxPool")
    .Input("input: T")
    .Output("output: T")
    .Attr(
        "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = "
        "float")
    .Attr("ksize: list(int) >= 4")
    .Attr("strides: list(int) >= 4")
    .Attr("padding: {\"SAME\", \"VALID\"}")
    .Attr("data_format: {\"NHWC\", \"NCHW\", \"NCHW_VECT_C\"} = \"NHWC\"")
    .KeepsFinite()
    .Shape(MaxPoolShape)
    .Doc(R"(Gives the largest element of each window of an image.

input is a batch of images in the order of data_format; ksize is the window's size and
strides its step, one value a dimension. The window lies over height and width, or over
channels alone. SAME lets it stand out over the edge, where there is nothing; VALID does
not.)");

MILLSTREAM_OP("MaxPoolGrad")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("grad: T")
    .Output("output: T")
    .With(PoolingAttrs)
    .Attr(TypeAttr("T", kRealTypes, " = float"))
    .KeepsFinite(WindowsStandApart)
    .Shape(MaxPoolGradShape)
    .Doc(R"(Gives the gradient of MaxPool: each window's goes to its largest element.

Of equal elements the first one gets it. orig_input and orig_output are what MaxPool was
given and gave; grad is the gradient for the latter and has its shape. The attributes are
MaxPool's.)");

MILLSTREAM_OP("MaxPoolGradGrad")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("grad: T")
    .Output("output: T")
    .With(PoolingAttrs)
    .Attr(TypeAttr("T", kRealTypes))
    .Shape(MaxPoolGradGradShape)
    .Doc(R"(Gives the gradient of MaxPoolGrad for the gradient that it was given.

For each window it is the element of grad, which has the shape of orig_input, at the place of
the window's first largest element. The other arguments and attributes are MaxPoolGrad's.)");

MILLSTREAM_OP("AvgPool")
    .Input("value: T")
    .Output("output: T")
    .With(PoolingAttrs)
    .Attr(TypeAttr("T", kNnTypes))
    .Shape(AvgPoolShape)
    .Doc(R"(Gives the average of each window of an image.

value is a batch of images in the order of data_format; ksize is the window's size and
strides its step, one value a dimension, 1 for batch and channels. Where a window stands out
over the edge (SAME), the average is over what lies inside.)");

MILLSTREAM_OP("AvgPoolGrad")
    .Input("orig_input_shape: int32")
    .Input("grad: T")
    .Output("output: T")
    .With(PoolingAttrs)
    .Attr(TypeAttr("T", kNnTypes))
    .Shape(AvgPoolGradShape)
    .Doc(R"(Gives the gradient of AvgPool: each window's is shared equally by its elements.

orig_input_shape is the shape of what AvgPool was given, and of the output here; grad is the
gradient for what AvgPool gave, and has its shape. The attributes are AvgPool's.)");

}  // namespace
}  // namespace millstream
