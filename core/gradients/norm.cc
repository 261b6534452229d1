// Gradients of normalization.
#include <cstdint>
#include <string>
#include <vector>

#include "core/gradients/gradient_registry.h"

namespace millstream {
namespace {

// Output i of the node that `first` is output 0 of; none after an error.
Output Sibling(Output first, int i) { return first ? first.node->output(i) : Output(); }

const std::vector<const char*>& BatchNormAttrs() {
  static const auto* const names =
      new std::vector<const char*>{"epsilon", "data_format", "is_training"};
  return *names;
}

constexpr const char* kGrad = "FusedBatchNormGrad";
constexpr const char* kGradV2 = "FusedBatchNormGradV2";
constexpr const char* kGradV3 = "FusedBatchNormGradV3";

// The gradient for y alone: as in the reference, the statistics have none.
template <const char* const* kOp>
Status BatchNormGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const bool is_training, context->Attr<bool>("is_training"));
  std::vector<Output> inputs = {context->dy(0), context->input(0), context->input(1)};
  for (int i = 3; i < 5; ++i) {
    inputs.push_back(is_training ? context->output(i) : context->input(i));
  }
  if (context->num_outputs() > 5) inputs.push_back(context->output(5));
  const Output dx =
      context->builder()->OpWithAttrs(*kOp, inputs, context->attrs(), BatchNormAttrs());
  for (int i = 0; i < 3; ++i) context->SetDx(i, Sibling(dx, i));
  return absl::OkStatus();
}

// ---- The gradient of the gradient ----

// What FusedBatchNormGrad was given, and expressions of it, computed in float.
class BackwardPass {
 public:
  BackwardPass(GradientContext* context, const char* op, double epsilon, bool channels_first)
      : context_(context),
        builder_(context->builder()),
        op_(op),
        channels_first_(channels_first),
        inverse_(
            builder_->Op("Rsqrt", {builder_->Op("Add", {context->input(4), Number(epsilon)})})),
        normal_(Times(Minus(InFloat(context->input(1)), Spread(context->input(3))),
                      Spread(inverse_))) {}

  // 1 / sqrt(variance + epsilon), a vector.
  Output inverse() const { return inverse_; }
  // x shifted and scaled to mean 0 and variance 1.
  Output normal() const { return normal_; }

  Output Plus(Output a, Output b) const { return builder_->Op("Add", {a, b}); }
  Output Minus(Output a, Output b) const { return builder_->Op("Sub", {a, b}); }
  Output Times(Output a, Output b) const { return builder_->Op("Mul", {a, b}); }

  // A vector of the channels, in a shape that broadcasts to images.
  Output Spread(Output vector) const {
    if (!channels_first_) return vector;
    return builder_->Op("Reshape", {vector, builder_->Int32Vector({-1, 1, 1})});
  }
  Output Mean(Output images) const { return builder_->Op("Mean", {images, Axes()}); }
  Output Sum(Output images) const { return builder_->Op("Sum", {images, Axes()}); }

  Output InFloat(Output images) const {
    if (images.dtype() == DataType::kFloat) return images;
    return builder_->Op("Cast", {images}, {{"DstT", DataType::kFloat}});
  }
  Output InTypeOfImages(Output images) const {
    const DataType dtype = context_->input(1).dtype();
    if (dtype == DataType::kFloat) return images;
    return builder_->Op("Cast", {images}, {{"DstT", dtype}});
  }

  // The gradient for x, of `dy` and of a `scale` other than the op's own.
  Output GradientOf(Output dy, Output scale) const {
    std::vector<Output> inputs = {InTypeOfImages(dy), context_->input(1), scale};
    for (int i = 3; i < context_->num_inputs(); ++i) inputs.push_back(context_->input(i));
    return InFloat(builder_->OpWithAttrs(op_, inputs, context_->attrs(), BatchNormAttrs()));
  }

 private:
  Output Number(double value) const { return builder_->ScalarOf(DataType::kFloat, value); }
  Output Axes() const {
    return channels_first_ ? builder_->Int32Vector({0, 2, 3}) : builder_->Int32Vector({0, 1, 2});
  }

  GradientContext* const context_;
  GraphBuilder* const builder_;
  const char* const op_;
  const bool channels_first_;
  const Output inverse_;
  const Output normal_;
};

// With n = (x - mean) * r, r = 1 / sqrt(variance + epsilon), m() the mean over a channel, and
// P(z) = z - m(z) - n * m(n * z), the op gives
//   dx = scale * r * P(dy)    dscale = sum(dy * n)    doffset = sum(dy)
// Of the gradients u, s and t for these three:
//   for dy       scale * r * P(u) + s * n + t
//   for scale    r * sum(u * P(dy))
//   for x        r * P(q) - n * r^2 * scale * m(u * P(dy)),
//                q = s * dy - scale * r * (m(dy * n) * u + m(u * n) * dy)
// r * P() is the op's own gradient for x, with a scale of 1.
void SetGradientsInTraining(GradientContext* context, const BackwardPass& pass) {
  const Output dy = pass.InFloat(context->input(0));
  const Output scale = context->input(2);
  const Output u = pass.InFloat(context->dy(0));
  const Output s = context->dy(1);
  const Output t = context->dy(2);
  const Output along_n = pass.Mean(pass.Times(dy, pass.normal()));
  const Output projected = pass.Minus(pass.Minus(dy, pass.Spread(pass.Mean(dy))),
                                      pass.Times(pass.normal(), pass.Spread(along_n)));
  const Output product = pass.Times(u, projected);
  const Output factor = pass.Times(scale, pass.inverse());

  const Output of_dy =
      pass.Plus(pass.GradientOf(u, scale),
                pass.Plus(pass.Times(pass.Spread(s), pass.normal()), pass.Spread(t)));
  context->SetDx(0, pass.InTypeOfImages(of_dy));
  context->SetDx(2, pass.Times(pass.inverse(), pass.Sum(product)));

  const Output mixed =
      pass.Plus(pass.Times(pass.Spread(along_n), u),
                pass.Times(pass.Spread(pass.Mean(pass.Times(u, pass.normal()))), dy));
  const Output q =
      pass.Minus(pass.Times(pass.Spread(s), dy), pass.Times(pass.Spread(factor), mixed));
  const Output ones = context->builder()->Op("OnesLike", {scale});
  const Output slope = pass.Times(pass.Times(factor, pass.inverse()), pass.Mean(product));
  const Output of_x =
      pass.Minus(pass.GradientOf(q, ones), pass.Times(pass.normal(), pass.Spread(slope)));
  context->SetDx(1, pass.InTypeOfImages(of_x));
}

// With given statistics the op gives dx = scale * r * dy, dscale = sum(dy * n), doffset = sum(dy).
void SetGradientsInInference(GradientContext* context, const BackwardPass& pass) {
  const Output dy = pass.InFloat(context->input(0));
  const Output u = pass.InFloat(context->dy(0));
  const Output s = context->dy(1);
  const Output factor = pass.Times(context->input(2), pass.inverse());
  const Output of_dy =
      pass.Plus(pass.Times(pass.Spread(factor), u),
                pass.Plus(pass.Times(pass.Spread(s), pass.normal()), pass.Spread(context->dy(2))));
  context->SetDx(0, pass.InTypeOfImages(of_dy));
  const Output of_x = pass.Times(pass.Spread(pass.Times(s, pass.inverse())), dy);
  context->SetDx(1, pass.InTypeOfImages(of_x));
  context->SetDx(2, pass.Times(pass.inverse(), pass.Sum(pass.Times(u, dy))));
}

// For dy, x and scale: as in the reference, the statistics have no gradient.
template <const char* const* kOp>
Status BatchNormGradGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const bool is_training, context->Attr<bool>("is_training"));
  MS_ASSIGN_OR_RETURN(const float epsilon, context->Attr<float>("epsilon"));
  MS_ASSIGN_OR_RETURN(const std::string format, context->Attr<std::string>("data_format"));
  const BackwardPass pass(context, *kOp, epsilon, format == "NCHW");
  if (is_training) {
    SetGradientsInTraining(context, pass);
  } else {
    SetGradientsInInference(context, pass);
  }
  return absl::OkStatus();
}

// ---- Other ops ----

Status GlobalBatchNormGradient(GradientContext* context) {
  const Output dx = context->builder()->OpWithAttrs(
      "BatchNormWithGlobalNormalizationGrad",
      {context->input(0), context->input(1), context->input(2), context->input(4), context->dy(0)},
      context->attrs(), {"variance_epsilon", "scale_after_normalization"});
  for (int i = 0; i < 5; ++i) context->SetDx(i, Sibling(dx, i));
  return absl::OkStatus();
}

// With r = 1 / sqrt(v + epsilon), f = gamma r (or r) and d = t - m, the op gives, of the gradient
// g,
//   dt = g f    dm = -f sum(g)    dv = -f r^2 / 2 sum(g d)    dbeta = sum(g)    dgamma = r sum(g d)
// (or no dgamma). Of the gradients u, um, uv, ubeta and ugamma for these it is sum(g w) with
//   w = u f + (ubeta - um f) + d b,    b = ugamma r - uv f r^2 / 2
Status GlobalBatchNormGradGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  MS_ASSIGN_OR_RETURN(const float epsilon, context->Attr<float>("variance_epsilon"));
  MS_ASSIGN_OR_RETURN(const bool is_scaled, context->Attr<bool>("scale_after_normalization"));
  const auto plus = [&](Output a, Output b) { return builder->Op("Add", {a, b}); };
  const auto minus = [&](Output a, Output b) { return builder->Op("Sub", {a, b}); };
  const auto times = [&](Output a, Output b) { return builder->Op("Mul", {a, b}); };
  const auto sum = [&](Output images) {
    return builder->Op("Sum", {images, builder->Int32Vector({0, 1, 2})});
  };
  const Output gamma = context->input(3);
  const Output g = context->input(4);
  const Output u = context->dy(0);
  const Output um = context->dy(1);
  const Output uv = context->dy(2);
  const Output ugamma = context->dy(4);
  const DataType dtype = g.dtype();
  const Output variance = plus(context->input(2), builder->ScalarOf(dtype, epsilon));
  const Output r = builder->Op("Rsqrt", {variance});
  const Output f = is_scaled ? times(gamma, r) : r;
  const Output half = times(times(r, r), builder->ScalarOf(dtype, -0.5));  // -r^2 / 2
  const Output uv_half = times(uv, half);
  const Output d = minus(context->input(0), context->input(1));
  const Output sum_g = sum(g);
  const Output sum_gd = sum(times(g, d));

  Output b = times(uv_half, f);
  if (is_scaled) b = plus(times(ugamma, r), b);
  const Output a = minus(context->dy(3), times(um, f));
  context->SetDx(4, plus(plus(times(u, f), a), times(d, b)));
  context->SetDx(0, times(g, b));
  context->SetDx(1, builder->Op("Neg", {times(sum_g, b)}));
  // By f, and by r beside f. The derivative of r by v is -r^3 / 2.
  const Output by_f = plus(minus(sum(times(u, g)), times(um, sum_g)), times(uv_half, sum_gd));
  Output by_r = times(times(builder->Op("Neg", {uv}), times(f, r)), sum_gd);
  if (is_scaled) by_r = plus(by_r, times(ugamma, sum_gd));
  const Output all_by_r = plus(is_scaled ? times(by_f, gamma) : by_f, by_r);
  context->SetDx(2, times(times(all_by_r, half), r));
  if (is_scaled) context->SetDx(3, times(by_f, r));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("FusedBatchNorm", BatchNormGradient<&kGrad>);
MILLSTREAM_GRADIENT("FusedBatchNormV2", BatchNormGradient<&kGradV2>);
MILLSTREAM_GRADIENT("FusedBatchNormV3", BatchNormGradient<&kGradV3>);
MILLSTREAM_GRADIENT("FusedBatchNormGrad", BatchNormGradGradient<&kGrad>);
MILLSTREAM_GRADIENT("FusedBatchNormGradV2", BatchNormGradGradient<&kGradV2>);
MILLSTREAM_GRADIENT("FusedBatchNormGradV3", BatchNormGradGradient<&kGradV3>);
MILLSTREAM_GRADIENT("BatchNormWithGlobalNormalization", GlobalBatchNormGradient);
MILLSTREAM_GRADIENT("BatchNormWithGlobalNormalizationGrad", GlobalBatchNormGradGradient);

}  // namespace
}  // namespace millstream
