// Boxes of images: drawn, chosen among overlapping ones, made at random; glimpses.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Input i is a vector of `size` numbers.
Status CheckVector(const ShapeContext& context, int i, int64_t size) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context.WithRank(i, 1));
  if (context.MergeDim(shape.dim(0), size).ok()) return absl::OkStatus();
  return InvalidInput(context, i, "expected a vector of ", size, " numbers, got ",
                      shape.ToString());
}

// The size that element d of input i, a vector of two, is; negative ones are refused.
StatusOr<int64_t> SizeElement(const ShapeContext& context, int i, int d) {
  const auto known = context.InputValue(i);
  if (!known || !(*known)[d]) return kUnknownDim;
  const int64_t size = *(*known)[d];
  if (size >= 0) return size;
  return InvalidInput(context, i, "expected sizes of 0 or more, got ", size);
}

// ---- Crops ----

Status RandomCropShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape image, context->WithRank(0, 3));
  MS_RETURN_IF_ERROR(CheckVector(*context, 1, 2));
  for (int d = 0; d < 2; ++d) {
    MS_ASSIGN_OR_RETURN(const int64_t size, SizeElement(*context, 1, d));
    if (size != kUnknownDim && image.dim(d) != kUnknownDim && size > image.dim(d)) {
      return InvalidInput(*context, 1, "expected a crop that the image ", image.ToString(),
                          " contains, got ", size, " in dimension ", d);
    }
    image.set_dim(d, size);
  }
  context->SetOutput(0, std::move(image));
  return absl::OkStatus();
}

Status GlimpseShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRank(0, 4));
  MS_RETURN_IF_ERROR(CheckVector(*context, 1, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape offsets, context->WithRank(2, 2));
  if (!context->MergeDim(offsets.dim(1), 2).ok()) {
    return InvalidInput(*context, 2, "expected pairs of offsets, got ", offsets.ToString());
  }
  const StatusOr<int64_t> batch = context->MergeDim(shape.dim(0), offsets.dim(0));
  if (!batch.ok()) {
    return InvalidInput(*context, 2, UnequalDims(shape.dim(0), offsets.dim(0)), "expected ",
                        shape.dim(0), " pairs, one an image, got ", offsets.dim(0));
  }
  shape.set_dim(0, *batch);
  for (int d = 0; d < 2; ++d) {
    MS_ASSIGN_OR_RETURN(const int64_t size, SizeElement(*context, 1, d));
    shape.set_dim(d + 1, size);
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// ---- Boxes ----

Status DrawShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape images, context->WithRank(0, 4));
  const int64_t channels = images.dim(3);
  if (channels != kUnknownDim && channels != 1 && channels != 3 && channels != 4) {
    return InvalidInput(*context, 0, "Channel depth should be either 1 (GRY), 3 (RGB), or 4 ",
                        "(RGBA), got ", channels);
  }
  MS_ASSIGN_OR_RETURN(const PartialShape boxes, context->WithRank(1, 3));
  if (!context->MergeDim(boxes.dim(2), 4).ok()) {
    return InvalidInput(*context, 1, "expected boxes of 4 coordinates, got ", boxes.ToString());
  }
  const StatusOr<int64_t> batch = context->MergeDim(images.dim(0), boxes.dim(0));
  if (!batch.ok()) {
    return InvalidInput(*context, 1, UnequalDims(images.dim(0), boxes.dim(0)), "expected boxes of ",
                        images.dim(0), " images, got ", boxes.dim(0));
  }
  images.set_dim(0, *batch);
  if (context->num_inputs() > 2) {
    MS_RETURN_IF_ERROR(context->WithRank(2, 2).status());
  }
  context->SetOutput(0, std::move(images));
  return absl::OkStatus();
}

Status SampleShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckVector(*context, 0, 3));
  MS_ASSIGN_OR_RETURN(const PartialShape boxes, context->WithRank(1, 3));
  if (!context->MergeDim(boxes.dim(2), 4).ok()) {
    return InvalidInput(*context, 1, "expected boxes of 4 coordinates, got ", boxes.ToString());
  }
  if (context->num_inputs() > 2) {
    MS_RETURN_IF_ERROR(context->WithRank(2, 0).status());
  }
  context->SetOutput(0, PartialShape::Vector(3));
  context->SetOutput(1, PartialShape::Vector(3));
  context->SetOutput(2, PartialShape({1, 1, 4}));
  return absl::OkStatus();
}

// ---- Boxes that overlap ----

// Input 0 has boxes (or, if `overlaps`, one row and column a box), input 1 their scores, and the
// others are scalars.
Status CheckCandidates(const ShapeContext& context, bool overlaps) {
  MS_ASSIGN_OR_RETURN(const PartialShape boxes, context.WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape scores, context.WithRank(1, 1));
  for (int i = 2; i < context.num_inputs(); ++i) {
    MS_RETURN_IF_ERROR(context.WithRank(i, 0).status());
  }
  if (overlaps && !context.MergeDim(boxes.dim(0), boxes.dim(1)).ok()) {
    return InvalidInput(context, 0, UnequalDims(boxes.dim(0), boxes.dim(1)),
                        "expected a square matrix, got ", boxes.ToString());
  }
  if (!overlaps && !context.MergeDim(boxes.dim(1), 4).ok()) {
    return InvalidInput(context, 0, "expected boxes of 4 coordinates, got ", boxes.ToString());
  }
  if (context.MergeDim(boxes.dim(0), scores.dim(0)).ok()) return absl::OkStatus();
  return InvalidInput(context, 1, UnequalDims(boxes.dim(0), scores.dim(0)), "expected ",
                      boxes.dim(0), " scores, one a box, got ", scores.dim(0));
}

// Indices first, scores in the middle and their number last, where an op has these outputs.
Status SuppressionShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckCandidates(*context, false));
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> most, context->InputAsScalar(2));
  if (most && *most < 0) {
    return InvalidInput(*context, 2, "max_output_size must be non-negative, got ", *most);
  }
  int64_t count = kUnknownDim;
  const StatusOr<bool> pad = context->Attr<bool>("pad_to_max_output_size");
  if (pad.ok() && *pad && most) count = *most;
  const int vectors = context->num_outputs() == 1 ? 1 : context->num_outputs() - 1;
  for (int i = 0; i < vectors; ++i) context->SetOutput(i, PartialShape({count}));
  if (context->num_outputs() > 1) context->SetOutput(vectors, PartialShape::Scalar());
  return absl::OkStatus();
}

Status OverlapsShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckCandidates(*context, true));
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> most, context->InputAsScalar(2));
  if (most && *most < 0) {
    return InvalidInput(*context, 2, "max_output_size must be non-negative, got ", *most);
  }
  context->SetOutput(0, PartialShape({kUnknownDim}));
  return absl::OkStatus();
}

// The number of boxes of each image: max_total_size, or with pad_per_class as many as all classes
// may have, if that is less.
StatusOr<int64_t> NumCombined(const ShapeContext& context, int64_t classes) {
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> per_class, context.InputAsScalar(2));
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> total, context.InputAsScalar(3));
  MS_ASSIGN_OR_RETURN(const bool pad_per_class, context.Attr<bool>("pad_per_class"));
  if (per_class && *per_class <= 0) {
    return InvalidInput(context, 2, "max_size_per_class must be positive, got ", *per_class);
  }
  if (total && *total <= 0) {
    return InvalidInput(context, 3, "max_total_size must be > 0, got ", *total);
  }
  if (!total) return kUnknownDim;
  if (!pad_per_class) return *total;
  if (!per_class || classes == kUnknownDim) return kUnknownDim;
  int64_t all;
  if (__builtin_mul_overflow(*per_class, classes, &all)) return *total;
  return std::min(*total, all);
}

Status CombinedShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape boxes, context->WithRank(0, 4));
  MS_ASSIGN_OR_RETURN(const PartialShape scores, context->WithRank(1, 3));
  for (int i = 2; i < 6; ++i) MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  if (!context->MergeDim(boxes.dim(3), 4).ok()) {
    return InvalidInput(*context, 0, "expected boxes of 4 coordinates, got ", boxes.ToString());
  }
  const int64_t kinds = boxes.dim(2);
  if (kinds != kUnknownDim && kinds != 1 && !context->MergeDim(kinds, scores.dim(2)).ok()) {
    return InvalidInput(*context, 0, "third dimension of boxes must be either 1 or equal to the ",
                        "number of classes, ", scores.dim(2), ", got ", kinds);
  }
  for (int d = 0; d < 2; ++d) {
    if (context->MergeDim(boxes.dim(d), scores.dim(d)).ok()) continue;
    return InvalidInput(*context, 1, UnequalDims(boxes.dim(d), scores.dim(d)),
                        "expected scores of the boxes ", boxes.ToString(), ", got ",
                        scores.ToString());
  }
  MS_ASSIGN_OR_RETURN(const int64_t batch, context->MergeDim(boxes.dim(0), scores.dim(0)));
  MS_ASSIGN_OR_RETURN(const int64_t count, NumCombined(*context, scores.dim(2)));
  context->SetOutput(0, PartialShape({batch, count, 4}));
  context->SetOutput(1, PartialShape({batch, count}));
  context->SetOutput(2, PartialShape({batch, count}));
  context->SetOutput(3, PartialShape({batch}));
  return absl::OkStatus();
}

// ---- Definitions ----

MILLSTREAM_OP("RandomCrop")
    .Input("image: T")
    .Input("size: int64")
    .Output("output: T")
    .Attr("T: {uint8, int8, int16, int32, int64, float, double}")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Stateful()
    .KeepsFinite()
    .Shape(RandomCropShape)
    .Doc(R"(Takes a part of an image, from a place that is drawn at random.

image is [height, width, channels], size the height and width of the part. For the seeds see
RandomUniform.)");

MILLSTREAM_OP("ExtractGlimpse")
    .Input("input: float")
    .Input("size: int32")
    .Input("offsets: float")
    .Output("glimpse: float")
    .Attr("centered: bool = true")
    .Attr("normalized: bool = true")
    .Attr("uniform_noise: bool = true")
    .Attr("noise: string = \"uniform\"")
    .Shape(GlimpseShape)
    .Doc(R"(Takes a window of each image.

input is [batch, height, width, channels], size the height and width of windows, offsets the place of each
one's middle, down and to the right: from the middle of the image if centered, else from its corner. If
normalized, -1 and 1 are the edges of a centered image, and 1 the end of another. Where a window stands out
over the edge, all of it begins as noise: uniform between the smallest and the largest number of the image,
gaussian with its mean and deviation, or zero. The same arguments give the same noise.)");

void Draw(OpSpec* spec) { (*spec).Input("images: T").Input("boxes: float"); }
void Drawn(OpSpec* spec) {
  (*spec).Output("output: T").Attr("T: {float, half} = float").KeepsFinite().Shape(DrawShape);
}

MILLSTREAM_OP("DrawBoundingBoxes")
    .With(Draw)
    .With(Drawn)
    .Doc(R"(Draws the edges of boxes into images.

images is [batch, height, width, channels] with 1, 3 or 4 channels, boxes [batch, boxes, 4]. A box is y1, x1,
y2, x2, where 0 and 1 are the first and last pixels. Ten colors follow each other.)");

MILLSTREAM_OP("DrawBoundingBoxesV2")
    .With(Draw)
    .Input("colors: float")
    .With(Drawn)
    .Doc(R"(Draws the edges of boxes into images, as DrawBoundingBoxes, in colors of one's own.

Rows of colors are those that follow each other. Without a row there are the ten of DrawBoundingBoxes.)");

void Sample(OpSpec* spec) { (*spec).Input("image_size: T").Input("bounding_boxes: float"); }
void Sampled(OpSpec* spec) {
  (*spec)
      .Output("begin: T")
      .Output("size: T")
      .Output("bboxes: float")
      .Attr("T: {uint8, int8, int16, int32, int64}")
      .Attr("seed: int = 0")
      .Attr("seed2: int = 0");
}
void SampleRanges(OpSpec* spec) {
  (*spec)
      .Attr("aspect_ratio_range: list(float) = [0.75, 1.33]")
      .Attr("area_range: list(float) = [0.05, 1]")
      .Attr("max_attempts: int = 100")
      .Attr("use_image_if_no_bounding_boxes: bool = false")
      .Stateful()
      .Shape(SampleShape);
}

MILLSTREAM_OP("SampleDistortedBoundingBoxV2")
    .With(Sample)
    .Input("min_object_covered: float")
    .With(Sampled)
    .With(SampleRanges)
    .Doc(R"(Draws a crop of an image at random that has enough of one of the boxes.

image_size is height, width and channels. Boxes are y1, x1, y2, x2 from 0 to 1. A crop has an area (of the
image's) and a ratio of width to height in the given ranges, and covers a share of min_object_covered of a box
at least. If max_attempts draws give none, it is the whole image. begin and size are for Slice, bboxes is the
crop as a box. For the seeds see RandomUniform.)");

MILLSTREAM_OP("SampleDistortedBoundingBox")
    .With(Sample)
    .With(Sampled)
    .Attr("min_object_covered: float = 0.1")
    .With(SampleRanges)
    .Doc(R"(Draws a crop of an image at random, as SampleDistortedBoundingBoxV2.)");

MILLSTREAM_OP("NonMaxSuppression")
    .Input("boxes: float")
    .Input("scores: float")
    .Input("max_output_size: int32")
    .Output("selected_indices: int32")
    .Attr("iou_threshold: float = 0.5")
    .Shape(SuppressionShape)
    .Doc(R"(Chooses boxes by their scores, without those that overlap a better one.

boxes has rows of two opposite corners, y1, x1, y2, x2. The best are taken one after the other; a box is left
out if what it shares with one that was taken is more than iou_threshold of what both cover. Of equal scores
the first box counts.)")
    .Example(R"(
>>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0]]
>>> tf.image.non_max_suppression(boxes, [0.9, 0.8, 0.3], 3).eval().tolist()
[0, 2])");

void Candidates(OpSpec* spec) {
  (*spec)
      .Input("boxes: T")
      .Input("scores: T")
      .Input("max_output_size: int32")
      .Shape(SuppressionShape);
}
void Threshold(OpSpec* spec) { (*spec).Input("iou_threshold: T_threshold"); }
void Thresholds(OpSpec* spec) {
  (*spec).Input("iou_threshold: T_threshold").Input("score_threshold: T_threshold");
}
void SuppressionTypes(OpSpec* spec) {
  (*spec).Attr("T: {half, float} = float").Attr("T_threshold: {half, float} = float");
}

MILLSTREAM_OP("NonMaxSuppressionV2")
    .With(Candidates)
    .With(Threshold)
    .Output("selected_indices: int32")
    .With(SuppressionTypes)
    .Doc(R"(Chooses boxes, as NonMaxSuppression, with a threshold that is an input.)");

MILLSTREAM_OP("NonMaxSuppressionV3")
    .With(Candidates)
    .With(Thresholds)
    .Output("selected_indices: int32")
    .With(SuppressionTypes)
    .Doc(R"(Chooses boxes, as NonMaxSuppression, of scores above score_threshold alone.)");

MILLSTREAM_OP("NonMaxSuppressionV4")
    .With(Candidates)
    .With(Thresholds)
    .Output("selected_indices: int32")
    .Output("valid_outputs: int32")
    .With(SuppressionTypes)
    .Attr("pad_to_max_output_size: bool = false")
    .Doc(R"(Chooses boxes, as NonMaxSuppressionV3, and says how many.

With pad_to_max_output_size there are zeros after them, up to max_output_size.)");

MILLSTREAM_OP("NonMaxSuppressionV5")
    .With(Candidates)
    .Input("iou_threshold: T")
    .Input("score_threshold: T")
    .Input("soft_nms_sigma: T")
    .Output("selected_indices: int32")
    .Output("selected_scores: T")
    .Output("valid_outputs: int32")
    .Attr("T: {half, float} = float")
    .Attr("pad_to_max_output_size: bool = false")
    .Doc(R"(Chooses boxes, as NonMaxSuppressionV4, with their scores.

With a soft_nms_sigma above 0 boxes that overlap are not left out. Their scores become smaller, by a factor
of exp(-iou^2 / (2 sigma)) (N. Bodla and others: Soft-NMS, 2017).)");

MILLSTREAM_OP("NonMaxSuppressionWithOverlaps")
    .Input("overlaps: float")
    .Input("scores: float")
    .Input("max_output_size: int32")
    .Input("overlap_threshold: float")
    .Input("score_threshold: float")
    .Output("selected_indices: int32")
    .Shape(OverlapsShape)
    .Doc(R"(Chooses boxes, as NonMaxSuppressionV3, by a matrix of how much each two overlap.)");

MILLSTREAM_OP("CombinedNonMaxSuppression")
    .Input("boxes: float")
    .Input("scores: float")
    .Input("max_output_size_per_class: int32")
    .Input("max_total_size: int32")
    .Input("iou_threshold: float")
    .Input("score_threshold: float")
    .Output("nmsed_boxes: float")
    .Output("nmsed_scores: float")
    .Output("nmsed_classes: float")
    .Output("valid_detections: int32")
    .Attr("pad_per_class: bool = false")
    .Attr("clip_boxes: bool = true")
    .Shape(CombinedShape)
    .Doc(R"(Chooses boxes of each class, as NonMaxSuppressionV3, and the best of all classes.

boxes is [batch, boxes, classes, 4], or with 1 in place of classes if all have the same boxes, scores
[batch, boxes, classes]. The results of each image are padded with zeros to max_total_size, or with
pad_per_class to max_output_size_per_class for each class if that is less; valid_detections says how many
there are. With clip_boxes their coordinates are kept from 0 to 1.)");

}  // namespace
}  // namespace millstream
