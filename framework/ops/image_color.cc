// Colors of images: other spaces, contrast, hue and saturation.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Input 0 has at least `rank` dimensions, the last one of three channels.
Status ColorShape(ShapeContext* context, int rank) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, rank));
  if (shape.known_rank()) {
    if (!context->MergeDim(shape.dim(-1), 3).ok()) {
      return InvalidInput(*context, 0, "input must have 3 channels but instead has ", shape.dim(-1),
                          " channels.");
    }
    shape.set_dim(-1, 3);
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// Inputs from 1 on are scalars.
Status CheckScalars(const ShapeContext& context) {
  for (int i = 1; i < context.num_inputs(); ++i) {
    MS_RETURN_IF_ERROR(context.WithRank(i, 0).status());
  }
  return absl::OkStatus();
}

Status SpaceShape(ShapeContext* context) { return ColorShape(context, 1); }

Status AdjustedShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalars(*context));
  return ColorShape(context, 3);
}

Status ContrastShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalars(*context));
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, 3));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

void Space(OpSpec* spec) {
  (*spec)
      .Input("images: T")
      .Output("output: T")
      .Attr("T: {half, bfloat16, float, double} = float")
      .Shape(SpaceShape);
}

MILLSTREAM_OP("RGBToHSV")
    .With(Space)
    .Doc(R"(Converts colors from red, green and blue to hue, saturation and value.

The last dimension is that of the three numbers. Red, green and blue are from 0 to 1, and so are the results;
the hue of red is 0, of green 1/3, of blue 2/3.)")
    .Example(R"(
>>> tf.image.rgb_to_hsv([[0.0, 0.0, 1.0]]).eval().round(3).tolist()
[[0.6669999957084656, 1.0, 1.0]])");

MILLSTREAM_OP("HSVToRGB")
    .With(Space)
    .Doc(R"(Converts colors from hue, saturation and value to red, green and blue.

See RGBToHSV.)")
    .Example(R"(
>>> tf.image.hsv_to_rgb([[0.5, 1.0, 1.0]]).eval().tolist()
[[0.0, 1.0, 1.0]])");

void Adjusted(OpSpec* spec) { (*spec).Output("output: T").Attr("T: {half, float} = float"); }

MILLSTREAM_OP("AdjustContrastv2")
    .Input("images: T")
    .Input("contrast_factor: float")
    .With(Adjusted)
    .Shape(ContrastShape)
    .Doc(R"(Changes the contrast of images.

images is [..., height, width, channels]. Each number keeps its distance from the mean of its channel in its
image, times contrast_factor.)");

MILLSTREAM_OP("AdjustContrast")
    .Input("images: T")
    .Input("contrast_factor: float")
    .Input("min_value: float")
    .Input("max_value: float")
    .Output("output: float")
    .Attr("T: {uint8, int8, int16, int32, int64, float, double}")
    .Shape(ContrastShape)
    .Doc(R"(Changes the contrast of images, as AdjustContrastv2, within limits.)");

MILLSTREAM_OP("AdjustHue")
    .Input("images: T")
    .Input("delta: float")
    .With(Adjusted)
    .Shape(AdjustedShape)
    .Doc(R"(Adds to the hue of colors.

images has red, green and blue in its last dimension. A delta of 1 is the whole circle.)");

MILLSTREAM_OP("AdjustSaturation")
    .Input("images: T")
    .Input("scale: float")
    .With(Adjusted)
    .Shape(AdjustedShape)
    .Doc(R"(Multiplies the saturation of colors.

images has red, green and blue in its last dimension. Saturations are kept from 0 to 1.)");

}  // namespace
}  // namespace millstream
