// Pooling: the largest element, or the average, of each window of an image or a volume.
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/pool_windows.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Only MaxPool takes windows along the channels.
Status CheckWindowOverSpace(const ShapeContext& context, const PoolWindows& windows) {
  if (!windows.OverChannels()) return absl::OkStatus();
  return errors::Unimplemented("attribute 'ksize' of ", context.op().name,
                               ": pooling over channels is not implemented");
}

// Outputs 0 and, where the op has it, 1 have the shape of what the pooling gives for input 0.
Status SetPooledShapes(ShapeContext* context, const PoolWindows& windows) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRank(0, windows.rank));
  const StatusOr<PartialShape> output = PooledShape(windows, input);
  if (!output.ok()) return InputError(*context, 0, output.status());
  for (int i = 0; i < context->num_outputs(); ++i) context->SetOutput(i, *output);
  return absl::OkStatus();
}

// Input i must have the shape of what the pooling gives for `image`.
Status CheckPooledInput(const ShapeContext& context, int i, const PoolWindows& windows,
                        const PartialShape& image) {
  MS_ASSIGN_OR_RETURN(PartialShape given, context.WithRank(i, windows.rank));
  const StatusOr<PartialShape> pooled = PooledShape(windows, image);
  if (!pooled.ok()) return InputError(context, 0, pooled.status());
  if (pooled->IsCompatibleWith(given)) return absl::OkStatus();
  return InvalidInput(context, i, "expected the shape of the pooled image, ", pooled->ToString(),
                      ", got ", given.ToString());
}

// Input i must have the shape of `image`.
Status CheckImageInput(const ShapeContext& context, int i, const PartialShape& image) {
  MS_ASSIGN_OR_RETURN(PartialShape given, context.WithRank(i, image.rank()));
  if (given.IsCompatibleWith(image)) return absl::OkStatus();
  return InvalidInput(context, i, "expected the shape of the image, ", image.ToString(), ", got ",
                      given.ToString());
}

Status MaxPoolShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PoolWindows windows, PoolWindowsOf(*context));
  return SetPooledShapes(context, windows);
}

Status SpatialPoolShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PoolWindows windows, PoolWindowsOf(*context));
  MS_RETURN_IF_ERROR(CheckWindowOverSpace(*context, windows));
  return SetPooledShapes(context, windows);
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
  MS_ASSIGN_OR_RETURN(const PoolWindows windows, PoolWindowsOf(*context));
  MS_ASSIGN_OR_RETURN(PartialShape image, context->WithRank(0, windows.rank));
  MS_RETURN_IF_ERROR(CheckPooledInput(*context, 1, windows, image));
  MS_RETURN_IF_ERROR(CheckPooledInput(*context, 2, windows, image));
  context->SetOutput(0, std::move(image));
  return absl::OkStatus();
}

Status MaxPoolGradGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PoolWindows windows, PoolWindowsOf(*context));
  MS_ASSIGN_OR_RETURN(const PartialShape image, context->WithRank(0, windows.rank));
  MS_RETURN_IF_ERROR(CheckPooledInput(*context, 1, windows, image));
  MS_RETURN_IF_ERROR(CheckImageInput(*context, 2, image));
  return SetPooledShapes(context, windows);
}

Status MaxPoolGradWithArgmaxShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(MaxPoolGradShape(context));
  MS_ASSIGN_OR_RETURN(const PoolWindows windows, PoolWindowsOf(*context));
  return CheckWindowOverSpace(*context, windows);
}

Status MaxPoolGradGradWithArgmaxShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PoolWindows windows, PoolWindowsOf(*context));
  MS_RETURN_IF_ERROR(CheckWindowOverSpace(*context, windows));
  MS_ASSIGN_OR_RETURN(const PartialShape image, context->WithRank(0, windows.rank));
  MS_RETURN_IF_ERROR(CheckImageInput(*context, 1, image));
  MS_RETURN_IF_ERROR(CheckPooledInput(*context, 2, windows, image));
  return SetPooledShapes(context, windows);
}

Status AvgPoolGradShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PoolWindows windows, PoolWindowsOf(*context));
  MS_RETURN_IF_ERROR(CheckWindowOverSpace(*context, windows));
  MS_ASSIGN_OR_RETURN(PartialShape image, ShapeFromSizesOfRank(*context, 0, windows.rank));
  MS_RETURN_IF_ERROR(CheckPooledInput(*context, 1, windows, image));
  context->SetOutput(0, std::move(image));
  return absl::OkStatus();
}

void WindowAttrs(OpSpec* spec) {
  (*spec).Attr("ksize: list(int) >= 4").Attr("strides: list(int) >= 4");
}

void PaddingAndFormat(OpSpec* spec) {
  (*spec)
      .Attr("padding: {\"SAME\", \"VALID\"}")
      .Attr("data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"");
}

void PoolingAttrs(OpSpec* spec) { (*spec).With(WindowAttrs).With(PaddingAndFormat); }

void VolumePoolingAttrs(OpSpec* spec) {
  (*spec)
      .Attr("ksize: list(int) >= 5")
      .Attr("strides: list(int) >= 5")
      .Attr("padding: {\"SAME\", \"VALID\"}")
      .Attr("data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\"");
}

void ArgmaxAttrs(OpSpec* spec) {
  (*spec)
      .With(WindowAttrs)
      .Attr("padding: {\"SAME\", \"VALID\"}")
      .Attr("include_batch_in_index: bool = false")
      .Attr("Targmax: {int32, int64}")
      .Attr(TypeAttr("T", kRealTypes));
}

constexpr absl::string_view kMaxPoolTypes =
    "{half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8}";
constexpr absl::string_view kMaxPool3DTypes = "{half, bfloat16, float}";

MILLSTREAM_OP("MaxPool")
    .Input("input: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kMaxPoolTypes, " = float"))
    .With(WindowAttrs)
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
    .Shape(SpatialPoolShape)
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

// ---- Windows from inputs ----

MILLSTREAM_OP("MaxPoolV2")
    .Input("input: T")
    .Input("ksize: int32")
    .Input("strides: int32")
    .Output("output: T")
    .Attr(TypeAttr("T", kMaxPoolTypes, " = float"))
    .Attr("padding: {\"SAME\", \"VALID\"}")
    .Attr("data_format: {\"NHWC\", \"NCHW\", \"NCHW_VECT_C\"} = \"NHWC\"")
    .KeepsFinite()
    .Shape(MaxPoolShape)
    .Doc("MaxPool with ksize and strides as inputs.");

MILLSTREAM_OP("MaxPoolGradV2")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("grad: T")
    .Input("ksize: int32")
    .Input("strides: int32")
    .Output("output: T")
    .With(PaddingAndFormat)
    .Attr(TypeAttr("T", kRealTypes, " = float"))
    .Shape(MaxPoolGradShape)
    .Doc("MaxPoolGrad with ksize and strides as inputs.");

MILLSTREAM_OP("MaxPoolGradGradV2")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("grad: T")
    .Input("ksize: int32")
    .Input("strides: int32")
    .Output("output: T")
    .With(PaddingAndFormat)
    .Attr(TypeAttr("T", kRealTypes))
    .Shape(MaxPoolGradGradShape)
    .Doc("MaxPoolGradGrad with ksize and strides as inputs.");

// ---- Places of the largest elements ----

MILLSTREAM_OP("MaxPoolWithArgmax")
    .Input("input: T")
    .Output("output: T")
    .Output("argmax: Targmax")
    .With(WindowAttrs)
    .Attr("Targmax: {int32, int64} = int64")
    .Attr("padding: {\"SAME\", \"VALID\"}")
    .Attr("include_batch_in_index: bool = false")
    .Attr(TypeAttr("T", kRealTypes))
    .Shape(SpatialPoolShape)
    .Doc(R"(Gives the largest element of each window of an image, and where it is.

Channels are last. argmax counts elements of the image in row-major order: element (y, x, c)
of an image is (y * width + x) * channels + c. With include_batch_in_index it counts those of
all images. Of equal elements the first one counts. The other attributes are MaxPool's.)");

MILLSTREAM_OP("MaxPoolGradWithArgmax")
    .Input("input: T")
    .Input("grad: T")
    .Input("argmax: Targmax")
    .Output("output: T")
    .With(ArgmaxAttrs)
    .Shape(MaxPoolGradWithArgmaxShape)
    .Doc(R"(Gives the gradient of MaxPoolWithArgmax: each window's goes to the place in argmax.

input is what MaxPoolWithArgmax was given; only its shape matters. grad is the gradient for
output. A place outside of the window's image is an error.)");

MILLSTREAM_OP("MaxPoolGradGradWithArgmax")
    .Input("input: T")
    .Input("grad: T")
    .Input("argmax: Targmax")
    .Output("output: T")
    .With(ArgmaxAttrs)
    .Shape(MaxPoolGradGradWithArgmaxShape)
    .Doc(R"(Gives the gradient of MaxPoolGradWithArgmax for the gradient that it was given.

For each window it is the element of grad, which has the shape of input, at the place in
argmax.)");

// ---- Volumes ----

MILLSTREAM_OP("MaxPool3D")
    .Input("input: T")
    .Output("output: T")
    .With(VolumePoolingAttrs)
    .Attr(TypeAttr("T", kMaxPool3DTypes))
    .KeepsFinite()
    .Shape(SpatialPoolShape)
    .Doc(R"(Gives the largest element of each window of a volume.

input is a batch of volumes in the order of data_format; ksize is the window's size and
strides its step, one value a dimension, 1 for batch and channels.)");

MILLSTREAM_OP("MaxPool3DGrad")
    .Input("orig_input: TInput")
    .Input("orig_output: TInput")
    .Input("grad: T")
    .Output("output: T")
    .With(VolumePoolingAttrs)
    .Attr(TypeAttr("T", kMaxPool3DTypes, " = float"))
    .Attr(TypeAttr("TInput", kMaxPool3DTypes, " = float"))
    .KeepsFinite(WindowsStandApart)
    .Shape(MaxPoolGradShape)
    .Doc("Gives the gradient of MaxPool3D, as MaxPoolGrad does for images.");

MILLSTREAM_OP("MaxPool3DGradGrad")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("grad: T")
    .Output("output: T")
    .With(VolumePoolingAttrs)
    .Attr(TypeAttr("T", kRealTypes))
    .Shape(MaxPoolGradGradShape)
    .Doc("Gives the gradient of MaxPool3DGrad, as MaxPoolGradGrad does for images.");

MILLSTREAM_OP("AvgPool3D")
    .Input("input: T")
    .Output("output: T")
    .With(VolumePoolingAttrs)
    .Attr(TypeAttr("T", kNnTypes))
    .Shape(SpatialPoolShape)
    .Doc(R"(Gives the average of each window of a volume.

input is a batch of volumes in the order of data_format; ksize is the window's size and
strides its step, one value a dimension, 1 for batch and channels. Where a window stands out
over the edge (SAME), the average is over what lies inside.)");

MILLSTREAM_OP("AvgPool3DGrad")
    .Input("orig_input_shape: int32")
    .Input("grad: T")
    .Output("output: T")
    .With(VolumePoolingAttrs)
    .Attr(TypeAttr("T", kNnTypes))
    .Shape(AvgPoolGradShape)
    .Doc("Gives the gradient of AvgPool3D, as AvgPoolGrad does for images.");

}  // namespace
}  // namespace millstream
