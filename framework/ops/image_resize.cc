// Images in other sizes, and crops of them.
#include <string>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The types of pixels.
constexpr absl::string_view kPixelTypes =
    "{int8, uint8, int16, uint16, int32, int64, half, float, double}";
constexpr absl::string_view kPixelTypesAndBFloat16 =
    "{int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}";

// Height and width, which input i says: a vector of two sizes above zero.
StatusOr<PartialShape> SizesOf(const ShapeContext& context, int i) {
  MS_ASSIGN_OR_RETURN(const PartialShape vector, context.WithRank(i, 1));
  if (vector.known_rank() && !context.MergeDim(vector.dim(0), 2).ok()) {
    return InvalidInput(context, i, "expected height and width, got a vector of ", vector.dim(0),
                        " sizes");
  }
  PartialShape sizes({kUnknownDim, kUnknownDim});
  const auto known = context.InputValue(i);
  for (int d = 0; known && d < 2; ++d) {
    const auto& size = (*known)[d];
    if (!size) continue;
    if (*size <= 0) {
      return InvalidInput(context, i, "output dimensions must be positive, got ", *size);
    }
    sizes.set_dim(d, *size);
  }
  return sizes;
}

// Input `images` with the sizes that input `size` says.
Status ResizedShape(ShapeContext* context, int images, int size) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRank(images, 4));
  MS_ASSIGN_OR_RETURN(const PartialShape sizes, SizesOf(*context, size));
  for (int d = 1; d < 4; ++d) {
    if (shape.dim(d) != 0) continue;
    return InvalidInput(*context, images, "expected images of one pixel and one channel at least, ",
                        "got ", shape.ToString());
  }
  shape.set_dim(1, sizes.dim(0));
  shape.set_dim(2, sizes.dim(1));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// Corners of pixels cannot be aligned where centres are.
Status CheckPlaces(const ShapeContext& context) {
  const StatusOr<bool> centers = context.Attr<bool>("half_pixel_centers");
  if (!centers.ok() || !*centers) return absl::OkStatus();  // some ops do not have it
  MS_ASSIGN_OR_RETURN(const bool corners, context.Attr<bool>("align_corners"));
  if (!corners) return absl::OkStatus();
  return InvalidAttr(context, "align_corners",
                     "If half_pixel_centers is True, align_corners must be False.");
}

Status ResizeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckPlaces(*context));
  return ResizedShape(context, 0, 1);
}

// The gradient of images of the shape of `original_image`, input 1, from that of the results.
Status ResizeGradShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckPlaces(*context));
  MS_ASSIGN_OR_RETURN(const PartialShape grads, context->WithRank(0, 4));
  MS_ASSIGN_OR_RETURN(PartialShape image, context->WithRank(1, 4));
  for (int d = 1; d < 4; ++d) {
    const int i = grads.dim(d) == 0 ? 0 : 1;
    if (grads.dim(d) != 0 && image.dim(d) != 0) continue;
    return InvalidInput(*context, i, "expected images of one pixel and one channel at least, got ",
                        (i == 0 ? grads : image).ToString());
  }
  for (const int d : {0, 3}) {
    const StatusOr<int64_t> size = context->MergeDim(grads.dim(d), image.dim(d));
    if (!size.ok()) {
      return InvalidInput(*context, 1, UnequalDims(grads.dim(d), image.dim(d)),
                          "expected batch and channels of 'grads', ", grads.ToString(), ", got ",
                          image.ToString());
    }
    image.set_dim(d, *size);
  }
  context->SetOutput(0, std::move(image));
  return absl::OkStatus();
}

// Inputs `first` and the next are vectors of two numbers.
Status CheckPairs(const ShapeContext& context, int first) {
  for (int i = first; i < first + 2; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape pair, context.WithRank(i, 1));
    if (context.MergeDim(pair.dim(0), 2).ok()) continue;
    return InvalidInput(context, i, "expected a number for height and one for width, got ",
                        pair.dim(0), " numbers");
  }
  return absl::OkStatus();
}

Status ScaleAndTranslateShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckPairs(*context, 2));
  return ResizedShape(context, 0, 1);
}

Status ScaleAndTranslateGradShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckPairs(*context, 2));
  return ResizeGradShape(context);
}

// ---- Crops ----

// Boxes are rows of four numbers, and each has the index of an image. Returns their number.
StatusOr<int64_t> NumBoxes(const ShapeContext& context, int boxes) {
  MS_ASSIGN_OR_RETURN(const PartialShape rows, context.WithRank(boxes, 2));
  if (!context.MergeDim(rows.dim(1), 4).ok()) {
    return InvalidInput(context, boxes, "expected rows of 4 coordinates, got ", rows.ToString());
  }
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context.WithRank(boxes + 1, 1));
  const StatusOr<int64_t> count = context.MergeDim(rows.dim(0), indices.dim(0));
  if (count.ok()) return *count;
  return InvalidInput(context, boxes + 1, UnequalDims(rows.dim(0), indices.dim(0)), "expected ",
                      rows.dim(0), " indices, one a box, got ", indices.dim(0));
}

Status CropAndResizeShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape image, context->WithRank(0, 4));
  MS_ASSIGN_OR_RETURN(const int64_t count, NumBoxes(*context, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape sizes, SizesOf(*context, 3));
  if (image.dim(1) == 0 || image.dim(2) == 0) {
    return InvalidInput(*context, 0, "image dimensions must be positive, got ", image.ToString());
  }
  context->SetOutput(0, PartialShape({count, sizes.dim(0), sizes.dim(1), image.dim(3)}));
  return absl::OkStatus();
}

// Gradients `grads`, input 0, of as many crops as there are boxes.
Status CheckCrops(const ShapeContext& context, const PartialShape& grads, int64_t count) {
  if (context.MergeDim(grads.dim(0), count).ok()) return absl::OkStatus();
  return InvalidInput(context, 0, UnequalDims(grads.dim(0), count), "expected ", count,
                      " crops, one a box, got ", grads.ToString());
}

Status CropGradImageShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape grads, context->WithRank(0, 4));
  MS_ASSIGN_OR_RETURN(const int64_t count, NumBoxes(*context, 1));
  MS_RETURN_IF_ERROR(CheckCrops(*context, grads, count));
  MS_ASSIGN_OR_RETURN(PartialShape image, context->InputAsShape(3));
  const StatusOr<PartialShape> merged =
      image.MergeWith(PartialShape({kUnknownDim, kUnknownDim, kUnknownDim, grads.dim(3)}));
  if (!merged.ok()) return InputError(*context, 3, merged.status());
  for (int d = 1; d < 3; ++d) {
    if (merged->dim(d) != 0) continue;
    return InvalidInput(*context, 3, "image dimensions must be positive, got ", image.ToString());
  }
  context->SetOutput(0, *merged);
  return absl::OkStatus();
}

Status CropGradBoxesShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape grads, context->WithRank(0, 4));
  MS_ASSIGN_OR_RETURN(const PartialShape image, context->WithRank(1, 4));
  MS_ASSIGN_OR_RETURN(const int64_t count, NumBoxes(*context, 2));
  MS_RETURN_IF_ERROR(CheckCrops(*context, grads, count));
  if (!context->MergeDim(grads.dim(3), image.dim(3)).ok()) {
    return InvalidInput(*context, 1, UnequalDims(grads.dim(3), image.dim(3)),
                        "expected the channels of 'grads', ", grads.ToString(), ", got ",
                        image.ToString());
  }
  if (image.dim(1) == 0 || image.dim(2) == 0) {
    return InvalidInput(*context, 1, "image dimensions must be positive, got ", image.ToString());
  }
  context->SetOutput(0, PartialShape({count, 4}));
  return absl::OkStatus();
}

// ---- Definitions ----

void Resize(OpSpec* spec) { (*spec).Input("images: T").Input("size: int32").Shape(ResizeShape); }
void ResizeGrad(OpSpec* spec) {
  (*spec)
      .Input("grads: float")
      .Input("original_image: T")
      .Output("output: T")
      .Shape(ResizeGradShape);
}
void Corners(OpSpec* spec) { (*spec).Attr("align_corners: bool = false"); }
void Places(OpSpec* spec) {
  (*spec).Attr("align_corners: bool = false").Attr("half_pixel_centers: bool = false");
}

MILLSTREAM_OP("ResizeBilinear")
    .With(Resize)
    .Output("resized_images: float")
    .Attr(TypeAttr("T", kPixelTypesAndBFloat16))
    .With(Places)
    .Doc(R"(Resizes images by linear interpolation in both directions.

images is [batch, height, width, channels], size the new height and width. With align_corners the centres
of the corners' pixels keep their places. With half_pixel_centers places are those of the pixels' centres.)")
    .Example(R"(
>>> tf.image.resize_bilinear([[[[0.0], [2.0]]]], [1, 4]).eval().ravel().tolist()
[0.0, 1.0, 2.0, 2.0])");

MILLSTREAM_OP("ResizeNearestNeighbor")
    .With(Resize)
    .Output("resized_images: T")
    .Attr(TypeAttr("T", kPixelTypes))
    .With(Places)
    .KeepsFinite()
    .Doc(R"(Resizes images by taking the nearest pixel.

The arguments are those of ResizeBilinear.)")
    .Example(R"(
>>> tf.image.resize_nearest_neighbor([[[[1], [2]]]], [1, 4]).eval().ravel().tolist()
[1, 1, 2, 2])");

MILLSTREAM_OP("ResizeBicubic")
    .With(Resize)
    .Output("resized_images: float")
    .Attr(TypeAttr("T", kPixelTypes))
    .With(Places)
    .Doc(R"(Resizes images by cubic convolution in both directions.

The arguments are those of ResizeBilinear. R. Keys: Cubic convolution interpolation for digital image
processing (1981), with a parameter of -0.5 with half_pixel_centers, and -0.75 without.)");

MILLSTREAM_OP("ResizeArea")
    .With(Resize)
    .Output("resized_images: float")
    .Attr(TypeAttr("T", kPixelTypes))
    .With(Corners)
    .Doc(R"(Resizes images by the mean of the area that each new pixel covers.

The arguments are those of ResizeBilinear.)")
    .Example(R"(
>>> tf.image.resize_area([[[[1.0], [3.0]]]], [1, 1]).eval().tolist()
[[[[2.0]]]])");

MILLSTREAM_OP("ResizeBilinearGrad")
    .With(ResizeGrad)
    .Attr("T: {float, bfloat16, half, double}")
    .With(Places)
    .Doc(R"(Gives the gradient of ResizeBilinear's images from that of its results.)");

MILLSTREAM_OP("ResizeBicubicGrad")
    .With(ResizeGrad)
    .Attr("T: {float, double}")
    .With(Places)
    .Doc(R"(Gives the gradient of ResizeBicubic's images from that of its results.)");

MILLSTREAM_OP("ResizeNearestNeighborGrad")
    .Input("grads: T")
    .Input("size: int32")
    .Output("output: T")
    .Attr("T: {uint8, int8, int32, half, float, double}")
    .With(Places)
    .Shape(ResizeShape)
    .Doc(R"(Gives the gradient of ResizeNearestNeighbor's images from that of its results.

size is the height and width of the images.)");

MILLSTREAM_OP("ScaleAndTranslate")
    .Input("images: T")
    .Input("size: int32")
    .Input("scale: float")
    .Input("translation: float")
    .Output("resized_images: float")
    .Attr(TypeAttr("T", kPixelTypesAndBFloat16))
    .Attr("kernel_type: string = \"lanczos3\"")
    .Attr("antialias: bool = true")
    .Shape(ScaleAndTranslateShape)
    .Doc(R"(Resizes and moves images by a kernel in both directions.

scale and translation are pairs, for height and width: the new place of a pixel's centre is its place
times scale, plus translation. kernel_type is lanczos1, lanczos3, lanczos5, gaussian, box, triangle,
keyscubic or mitchellcubic. With antialias the kernel is as much wider as an image becomes smaller. Pixels
from outside of the image are 0.)");

MILLSTREAM_OP("ScaleAndTranslateGrad")
    .Input("grads: T")
    .Input("original_image: T")
    .Input("scale: float")
    .Input("translation: float")
    .Output("output: T")
    .Attr("T: {float}")
    .Attr("kernel_type: string = \"lanczos3\"")
    .Attr("antialias: bool = true")
    .Shape(ScaleAndTranslateGradShape)
    .Doc(R"(Gives the gradient of ScaleAndTranslate's images from that of its results.)");

constexpr absl::string_view kCropTypes =
    "{uint8, uint16, int8, int16, int32, int64, half, float, double}";

MILLSTREAM_OP("CropAndResize")
    .Input("image: T")
    .Input("boxes: float")
    .Input("box_ind: int32")
    .Input("crop_size: int32")
    .Output("crops: float")
    .Attr(TypeAttr("T", kCropTypes))
    .Attr("method: {\"bilinear\", \"nearest\"} = \"bilinear\"")
    .Attr("extrapolation_value: float = 0")
    .Shape(CropAndResizeShape)
    .Doc(R"(Takes boxes out of images and resizes them.

A box is y1, x1, y2, x2, where 0 and 1 are the centres of the first and last pixels; with y1 > y2 the crop
is turned upside down. box_ind has the image of each box, crop_size the height and width of the results.
Places outside of an image get extrapolation_value.)");

MILLSTREAM_OP("CropAndResizeGradImage")
    .Input("grads: float")
    .Input("boxes: float")
    .Input("box_ind: int32")
    .Input("image_size: int32")
    .Output("output: T")
    .Attr("T: {float, half, double}")
    .Attr("method: {\"bilinear\", \"nearest\"} = \"bilinear\"")
    .Shape(CropGradImageShape)
    .Doc(R"(Gives the gradient of CropAndResize's images from that of its crops.

image_size is the shape of the images.)");

MILLSTREAM_OP("CropAndResizeGradBoxes")
    .Input("grads: float")
    .Input("image: T")
    .Input("boxes: float")
    .Input("box_ind: int32")
    .Output("output: float")
    .Attr(TypeAttr("T", kCropTypes))
    .Attr("method: {\"bilinear\"} = \"bilinear\"")
    .Shape(CropGradBoxesShape)
    .Doc(R"(Gives the gradient of CropAndResize's boxes from that of its crops.)");

}  // namespace
}  // namespace millstream
