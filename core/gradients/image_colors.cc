// Gradients of functions of one pixel's color (A. Smith: Color Gamut Transform Pairs, 1978). Colors
// are the last dimension of tensors. A hue has no slope where two parts of a color are equal and
// the greatest or the least: it gets that of one side.
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// What the functions below are made of, in the type of the images.
class Colors {
 public:
  Colors(GraphBuilder* builder, DataType dtype) : builder_(builder), dtype_(dtype) {}

  Output Number(double value) const { return builder_->ScalarOf(dtype_, value); }
  Output Add(Output x, Output y) const { return builder_->Op("AddV2", {x, y}); }
  Output Subtract(Output x, Output y) const { return builder_->Op("Sub", {x, y}); }
  Output Times(Output x, Output y) const { return builder_->Op("Mul", {x, y}); }
  Output Divide(Output x, Output y) const { return builder_->Op("RealDiv", {x, y}); }
  // 1 where a comparison holds, else 0.
  Output Where(const char* comparison, Output x, Output y) const {
    return Cast(builder_->Op(comparison, {x, y}), dtype_);
  }
  Output Cast(Output x, DataType dtype) const {
    return x.dtype() == dtype ? x : builder_->Op("Cast", {x}, {{"DstT", dtype}});
  }

  // The result for the parts of each color: "Sum", "Max" or "Min".
  Output Reduced(const char* reduction, Output colors) const {
    return builder_->Op(reduction, {colors, builder_->Int32Vector({-1})}, {{"keep_dims", true}});
  }
  Output Dot(Output x, Output y) const { return Reduced("Sum", Times(x, y)); }
  // 1 for the first part of each color that is the greatest ("ArgMax") or least ("ArgMin"), else 0.
  Output Marked(const char* choice, Output colors) const {
    const Output part = builder_->Op(choice, {colors, builder_->Int32(-1)});
    return builder_->Op("OneHot", {part, builder_->Int32(3), Number(1), Number(0)});
  }
  // Parts move on by `shift`, the last one to the first.
  Output Turned(Output colors, int32_t shift) const {
    return builder_->Op("Roll", {colors, builder_->Int32(shift), builder_->Int32(-1)});
  }

  // Three parts, each with a last dimension of 1; empty after an error.
  std::vector<Output> Split(Output colors) const {
    const Node* node =
        builder_->NodeOf("Split", {builder_->Int32(-1), colors}, {{"num_split", int64_t{3}}});
    if (node == nullptr) return {Output(), Output(), Output()};
    return {node->output(0), node->output(1), node->output(2)};
  }
  Output Join(const std::vector<Output>& parts) const {
    const Node* node = builder_->Variadic("ConcatV2", {parts, {builder_->Int32(-1)}});
    return node == nullptr ? Output() : node->output(0);
  }

  // The gradient of `rgb` from `gradients`, those of hue, saturation and value. With range d =
  // value - least, hue = (next - previous) / 6 d + a constant, the parts after and before the
  // greatest one, and saturation = d / value.
  Output OfRgb(Output rgb, const std::vector<Output>& gradients) const {
    const Output greatest = Marked("ArgMax", rgb);
    const Output of_range = Subtract(greatest, Marked("ArgMin", rgb));
    const Output of_hue = Subtract(Turned(greatest, 1), Turned(greatest, -1));
    const Output value = Reduced("Max", rgb);
    const Output range = Subtract(value, Reduced("Min", rgb));
    const Output has_hue = Where("Greater", range, Number(0));
    const Output safe_range = Add(range, Subtract(Number(1), has_hue));
    const Output turn = Divide(Dot(rgb, of_hue), safe_range);
    const Output hue =
        Divide(Subtract(of_hue, Times(turn, of_range)), Times(safe_range, Number(6)));
    const Output has_value = Where("Greater", value, Number(0));
    const Output safe_value = Add(Times(value, has_value), Subtract(Number(1), has_value));
    const Output saturation =
        Divide(Subtract(of_range, Times(Divide(range, safe_value), greatest)), safe_value);
    const Output from_hue = Times(Times(gradients[0], has_hue), hue);
    const Output from_saturation = Times(Times(gradients[1], has_value), saturation);
    return Add(Add(from_hue, from_saturation), Times(gradients[2], greatest));
  }

  // The gradients of hue, saturation and value from `gradient`, that of red, green and blue. Each
  // of these is value (1 - saturation + saturation p), with the part p of the pure color, which is
  // |6 hue - 3| - 1, 2 - |6 hue - 2| or 2 - |6 hue - 4| between 0 and 1.
  std::vector<Output> OfHsv(const std::vector<Output>& hsv, Output gradient) const {
    const Output one = Number(1);
    const Output direction = Vector(1, -1, -1);
    const Output distance = Subtract(Times(hsv[0], Number(6)), Vector(3, 2, 4));
    const Output line = Add(Vector(-1, 2, 2), Times(direction, builder_->Op("Abs", {distance})));
    const Output slopes = Times(Where("Greater", line, Number(0)), Where("Less", line, one));
    const Output pure = builder_->Op("Minimum", {builder_->Op("Maximum", {line, Number(0)}), one});
    const Output less_one = Subtract(pure, one);
    const Output turns = Times(Times(direction, builder_->Op("Sign", {distance})), slopes);
    const Output scale = Times(Times(hsv[1], hsv[2]), Number(6));
    return {Times(scale, Dot(gradient, turns)), Times(hsv[2], Dot(gradient, less_one)),
            Dot(gradient, Add(one, Times(hsv[1], less_one)))};
  }

 private:
  Output Vector(double r, double g, double b) const {
    const Node* node = builder_->Variadic("Pack", {{Number(r), Number(g), Number(b)}});
    return node == nullptr ? Output() : node->output(0);
  }

  GraphBuilder* const builder_;
  const DataType dtype_;
};

Status ToHsvGradient(GradientContext* context) {
  const Output rgb = context->input(0);
  const Colors colors(context->builder(), rgb.dtype());
  context->SetDx(0, colors.OfRgb(rgb, colors.Split(context->dy(0))));
  return absl::OkStatus();
}

Status ToRgbGradient(GradientContext* context) {
  const Output hsv = context->input(0);
  const Colors colors(context->builder(), hsv.dtype());
  context->SetDx(0, colors.Join(colors.OfHsv(colors.Split(hsv), context->dy(0))));
  return absl::OkStatus();
}

// The hue is turned, round and round.
Status AdjustHueGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output images = context->input(0);
  const Colors colors(builder, images.dtype());
  std::vector<Output> hsv = colors.Split(builder->Op("RGBToHSV", {images}));
  const Output turned = colors.Add(hsv[0], colors.Cast(context->input(1), images.dtype()));
  hsv[0] = builder->Op("FloorMod", {turned, colors.Number(1)});
  const std::vector<Output> gradients = colors.OfHsv(hsv, context->dy(0));
  context->SetDx(0, colors.OfRgb(images, gradients));
  context->SetDx(1, SumOfAll(builder, colors.Cast(gradients[0], DataType::kFloat)));
  return absl::OkStatus();
}

// The saturation is multiplied, and kept between 0 and 1.
Status AdjustSaturationGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output images = context->input(0);
  const Colors colors(builder, images.dtype());
  const Output scale = colors.Cast(context->input(1), images.dtype());
  std::vector<Output> hsv = colors.Split(builder->Op("RGBToHSV", {images}));
  const Output saturation = hsv[1];
  const Output zero = colors.Number(0);
  const Output one = colors.Number(1);
  const Output scaled = colors.Times(saturation, scale);
  hsv[1] = builder->Op("Minimum", {builder->Op("Maximum", {scaled, zero}), one});
  std::vector<Output> gradients = colors.OfHsv(hsv, context->dy(0));
  const Output is_free = colors.Times(colors.Where("GreaterEqual", scaled, zero),
                                      colors.Where("LessEqual", scaled, one));
  const Output of_scaled = colors.Times(gradients[1], is_free);
  gradients[1] = colors.Times(of_scaled, scale);
  context->SetDx(0, colors.OfRgb(images, gradients));
  const Output products = colors.Times(of_scaled, saturation);
  context->SetDx(1, SumOfAll(builder, colors.Cast(products, DataType::kFloat)));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("RGBToHSV", ToHsvGradient);
MILLSTREAM_GRADIENT("HSVToRGB", ToRgbGradient);
MILLSTREAM_GRADIENT("AdjustHue", AdjustHueGradient);
MILLSTREAM_GRADIENT("AdjustSaturation", AdjustSaturationGradient);

}  // namespace
}  // namespace millstream
