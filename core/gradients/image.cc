// Gradients of images that are resized, cropped or changed in contrast. A resized image is a sum of
// pixels, so the gradient of a gradient resizes again. crop_boxes.cc has that of the slopes of
// crops.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// Height and width of images.
Output SizeOf(GraphBuilder* builder, Output images) {
  const Output shape = ShapeVector(builder, images);
  return builder->Op("Slice", {shape, builder->Int32Vector({1}), builder->Int32Vector({2})});
}

Output WithPlaces(GradientContext* context, const char* op, const std::vector<Output>& inputs) {
  return context->builder()->OpWithAttrs(
      op, inputs, context->attrs(),
      {"align_corners", "half_pixel_centers", "kernel_type", "antialias"});
}

constexpr const char* kBilinear = "ResizeBilinear";
constexpr const char* kBilinearGrad = "ResizeBilinearGrad";
constexpr const char* kBicubic = "ResizeBicubic";
constexpr const char* kBicubicGrad = "ResizeBicubicGrad";

// Images of integers have none.
template <const char* const* kGrad>
Status ResizeGradient(GradientContext* context) {
  const Output images = context->input(0);
  if (!IsFloating(images.dtype())) return absl::OkStatus();
  // ResizeBicubicGrad has no 16-bit types.
  if (*kGrad == kBicubicGrad && images.dtype() == DataType::kHalf) {
    GraphBuilder* builder = context->builder();
    const Output wide = builder->Op("Cast", {images}, {{"DstT", DataType::kFloat}});
    const Output dx = WithPlaces(context, *kGrad, {context->dy(0), wide});
    context->SetDx(0, builder->Op("Cast", {dx}, {{"DstT", DataType::kHalf}}));
    return absl::OkStatus();
  }
  context->SetDx(0, WithPlaces(context, *kGrad, {context->dy(0), images}));
  return absl::OkStatus();
}

template <const char* const* kOp>
Status GradientOfResizeGrad(GradientContext* context) {
  const Output size = SizeOf(context->builder(), context->input(0));
  context->SetDx(0, WithPlaces(context, *kOp, {context->dy(0), size}));
  return absl::OkStatus();
}

Status NearestGradient(GradientContext* context) {
  const Output images = context->input(0);
  if (!IsFloating(images.dtype())) return absl::OkStatus();
  const Output size = SizeOf(context->builder(), images);
  context->SetDx(0, WithPlaces(context, "ResizeNearestNeighborGrad", {context->dy(0), size}));
  return absl::OkStatus();
}

Status GradientOfNearestGrad(GradientContext* context) {
  const Output size = SizeOf(context->builder(), context->input(0));
  context->SetDx(0, WithPlaces(context, "ResizeNearestNeighbor", {context->dy(0), size}));
  return absl::OkStatus();
}

// Identity images, resized, are the matrices by which rows and columns of any image are multiplied.
Output AreaMatrix(GradientContext* context, Output count, Output size) {
  GraphBuilder* builder = context->builder();
  const Output one = builder->Int32Vector({1});
  const Output ones = builder->Op("Fill", {count, builder->ScalarOf(DataType::kFloat, 1)});
  const Output matrix = builder->Op("MatrixDiag", {ones});
  const Output image =
      builder->Op("Reshape", {matrix, ConcatVectors(builder, {one, count, count, one})});
  const Output resized =
      WithPlaces(context, "ResizeArea", {image, ConcatVectors(builder, {size, count})});
  return builder->Op("Reshape", {resized, ConcatVectors(builder, {size, count})});
}

Output Multiplied(GraphBuilder* builder, Output a, Output b, const char* equation) {
  const std::vector<Output> factors = {a, b};
  const Node* product =
      builder->Variadic("Einsum", {factors}, {{"equation", std::string(equation)}});
  return product == nullptr ? Output() : product->output(0);
}

Status AreaGradient(GradientContext* context) {
  const Output images = context->input(0);
  if (!IsFloating(images.dtype())) return absl::OkStatus();
  GraphBuilder* builder = context->builder();
  const Output from = ShapeVector(builder, images);
  const Output to = ShapeVector(builder, context->output(0));
  const Output rows = AreaMatrix(context, ElementOf(builder, from, 1), ElementOf(builder, to, 1));
  const Output columns =
      AreaMatrix(context, ElementOf(builder, from, 2), ElementOf(builder, to, 2));
  const Output of_rows = Multiplied(builder, context->dy(0), rows, "bhwc,hy->bywc");
  const Output dx = Multiplied(builder, of_rows, columns, "bywc,wx->byxc");
  context->SetDx(0, images.dtype() == DataType::kFloat
                        ? dx
                        : builder->Op("Cast", {dx}, {{"DstT", images.dtype()}}));
  return absl::OkStatus();
}

Status ScaleAndTranslateGradient(GradientContext* context) {
  const Output images = context->input(0);
  if (!IsFloating(images.dtype())) return absl::OkStatus();
  GraphBuilder* builder = context->builder();
  const bool is_float = images.dtype() == DataType::kFloat;
  const Output wide =
      is_float ? images : builder->Op("Cast", {images}, {{"DstT", DataType::kFloat}});
  const Output dx = WithPlaces(context, "ScaleAndTranslateGrad",
                               {context->dy(0), wide, context->input(2), context->input(3)});
  context->SetDx(0, is_float ? dx : builder->Op("Cast", {dx}, {{"DstT", images.dtype()}}));
  return absl::OkStatus();
}

Status GradientOfScaleAndTranslateGrad(GradientContext* context) {
  const Output size = SizeOf(context->builder(), context->input(0));
  context->SetDx(0, WithPlaces(context, "ScaleAndTranslate",
                               {context->dy(0), size, context->input(2), context->input(3)}));
  return absl::OkStatus();
}

// With the nearest pixel there is no slope by the box; that of linear interpolation stands for it.
Status CropAndResizeGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output image = context->input(0);
  const DataType dtype = image.dtype();
  const Output boxes = context->input(1);
  const Output indices = context->input(2);
  if (IsFloating(dtype)) {
    MS_ASSIGN_OR_RETURN(const std::string method, context->Attr<std::string>("method"));
    context->SetDx(0, builder->Op("CropAndResizeGradImage",
                                  {context->dy(0), boxes, indices, ShapeVector(builder, image)},
                                  {{"T", dtype}, {"method", method}}));
  }
  context->SetDx(1, builder->Op("CropAndResizeGradBoxes", {context->dy(0), image, boxes, indices}));
  return absl::OkStatus();
}

// The sum of dy times the op's result is that of `grads` times the crops of dy: so the boxes have
// the gradient that they have for these crops. With the nearest pixel there is no slope.
Status GradientOfCropGradImage(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const std::string method, context->Attr<std::string>("method"));
  const Output grads = context->input(0);
  const Output boxes = context->input(1);
  const Output indices = context->input(2);
  const Output size = SizeOf(builder, grads);
  context->SetDx(0, builder->Op("CropAndResize", {context->dy(0), boxes, indices, size},
                                {{"method", method}}));
  if (method != "bilinear") return absl::OkStatus();
  context->SetDx(1, builder->Op("CropAndResizeGradBoxes", {grads, context->dy(0), boxes, indices}));
  return absl::OkStatus();
}

// Where windows of a glimpse lie along one dimension of images: matrices [batch, window, image]
// with a one where an element of the window is one of the image. Places are computed in float32 as
// by the kernel, so that they are cut to the same whole numbers.
StatusOr<Output> GlimpseMatrices(GradientContext* context, int dim) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool is_centered, context->Attr<bool>("centered"));
  MS_ASSIGN_OR_RETURN(const bool is_normalized, context->Attr<bool>("normalized"));
  const auto scalar = [&](Output vector, int element) {
    return builder->Op("Reshape", {ElementOf(builder, vector, element), builder->Int32Vector({})});
  };
  const auto to_float = [&](Output x) {
    return builder->Op("Cast", {x}, {{"DstT", DataType::kFloat}});
  };
  const auto half = [&](Output x) {
    return builder->Op("Mul", {x, builder->ScalarOf(DataType::kFloat, 0.5)});
  };
  const Output image = scalar(builder->Op("Shape", {context->input(0)}), 1 + dim);
  const Output window = scalar(context->input(1), dim);
  const Output length = to_float(image);
  Output place = builder->Op(
      "Slice", {context->input(2), builder->Int32Vector({0, dim}), builder->Int32Vector({-1, 1})});
  if (is_normalized) place = builder->Op("Mul", {place, length});
  if (is_centered) place = builder->Op("AddV2", {half(place), half(length)});
  const Output size = to_float(window);
  place = builder->Op("Sub", {place, half(size)});
  // Far outside is as good as beside the image.
  place = builder->Op("Maximum", {place, builder->Op("Neg", {size})});
  place = builder->Op("Minimum", {place, length});
  const Output first = builder->Op("Cast", {place}, {{"DstT", DataType::kInt32}});
  const Output steps = builder->Op("Range", {builder->Int32(0), window, builder->Int32(1)});
  const Output elements = builder->Op("AddV2", {first, steps});
  return builder->Op("OneHot", {elements, image, builder->ScalarOf(DataType::kFloat, 1),
                                builder->ScalarOf(DataType::kFloat, 0)});
}

// What lies on the image goes back to it; noise has no gradient, nor have offsets, which are cut to
// whole numbers.
Status ExtractGlimpseGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const Output rows, GlimpseMatrices(context, 0));
  MS_ASSIGN_OR_RETURN(const Output columns, GlimpseMatrices(context, 1));
  const Output of_rows = Multiplied(builder, context->dy(0), rows, "nyxc,nyh->nhxc");
  context->SetDx(0, Multiplied(builder, of_rows, columns, "nhxc,nxw->nhwc"));
  return absl::OkStatus();
}

// The distance from the mean of a channel is multiplied.
Status AdjustContrastGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output images = context->input(0);
  const Output factor = context->input(1);
  const auto less_mean = [&](Output tensor) {
    const Output mean =
        builder->Op("Mean", {tensor, builder->Int32Vector({-3, -2})}, {{"keep_dims", true}});
    return builder->Op("Sub", {tensor, mean});
  };
  const auto cast = [&](Output tensor, DataType dtype) {
    return tensor.dtype() == dtype ? tensor : builder->Op("Cast", {tensor}, {{"DstT", dtype}});
  };
  const Output dy = context->dy(0);
  const Output distance = less_mean(dy);
  const Output mean = builder->Op("Sub", {dy, distance});
  const Output scaled = builder->Op("Mul", {distance, cast(factor, images.dtype())});
  context->SetDx(0, builder->Op("Add", {scaled, mean}));
  const Output change = builder->Op("Mul", {dy, less_mean(images)});
  context->SetDx(1, cast(SumOfAll(builder, change), DataType::kFloat));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("ResizeBilinear", ResizeGradient<&kBilinearGrad>);
MILLSTREAM_GRADIENT("ResizeBilinearGrad", GradientOfResizeGrad<&kBilinear>);
MILLSTREAM_GRADIENT("ResizeBicubic", ResizeGradient<&kBicubicGrad>);
MILLSTREAM_GRADIENT("ResizeBicubicGrad", GradientOfResizeGrad<&kBicubic>);
MILLSTREAM_GRADIENT("ResizeNearestNeighbor", NearestGradient);
MILLSTREAM_GRADIENT("ResizeNearestNeighborGrad", GradientOfNearestGrad);
MILLSTREAM_GRADIENT("ResizeArea", AreaGradient);
MILLSTREAM_GRADIENT("ScaleAndTranslate", ScaleAndTranslateGradient);
MILLSTREAM_GRADIENT("ScaleAndTranslateGrad", GradientOfScaleAndTranslateGrad);
MILLSTREAM_GRADIENT("CropAndResize", CropAndResizeGradient);
MILLSTREAM_GRADIENT("CropAndResizeGradImage", GradientOfCropGradImage);
MILLSTREAM_GRADIENT("AdjustContrastv2", AdjustContrastGradient);
MILLSTREAM_GRADIENT("ExtractGlimpse", ExtractGlimpseGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("DrawBoundingBoxes");
MILLSTREAM_NOT_DIFFERENTIABLE("DrawBoundingBoxesV2");
MILLSTREAM_NOT_DIFFERENTIABLE("NonMaxSuppression");
MILLSTREAM_NOT_DIFFERENTIABLE("NonMaxSuppressionV2");
MILLSTREAM_NOT_DIFFERENTIABLE("NonMaxSuppressionWithOverlaps");
MILLSTREAM_NOT_DIFFERENTIABLE("SampleDistortedBoundingBox");
MILLSTREAM_NOT_DIFFERENTIABLE("SampleDistortedBoundingBoxV2");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomCrop");

}  // namespace
}  // namespace millstream
