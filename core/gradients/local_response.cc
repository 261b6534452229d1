// Gradients of local response normalization: y = x s^-beta with s = bias + alpha W x^2, where W
// adds up the channels at most depth_radius away.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Status LrnGradient(GradientContext* context) {
  context->SetDx(0, context->builder()->OpWithAttrs(
                        "LRNGrad", {context->dy(0), context->input(0), context->output(0)},
                        context->attrs(), {"depth_radius", "bias", "alpha", "beta"}));
  return absl::OkStatus();
}

// The gradient dx = g p - c x W(g x q), where g is that of y, p = s^-beta, q = p / s and
// c = 2 alpha beta. It is differentiated by g and by x, of which y, the third input, is taken to be
// the function that it is. Computes in float32, as the kernels do.
class SecondOrder {
 public:
  explicit SecondOrder(GradientContext* context)
      : context_(context), builder_(context->builder()), dtype_(context->input(0).dtype()) {}

  Status Run() {
    MS_ASSIGN_OR_RETURN(const float bias, context_->Attr<float>("bias"));
    MS_ASSIGN_OR_RETURN(const float alpha, context_->Attr<float>("alpha"));
    MS_ASSIGN_OR_RETURN(const float beta, context_->Attr<float>("beta"));
    MS_ASSIGN_OR_RETURN(const int64_t radius, context_->Attr<int64_t>("depth_radius"));
    const Output g = Cast(context_->input(0), DataType::kFloat);
    const Output x = Cast(context_->input(1), DataType::kFloat);
    const Output v = Cast(context_->dy(0), DataType::kFloat);
    MakeBand(x, radius);
    const Output s = Add(Number(bias), Times(Number(alpha), Window(Times(x, x))));
    const Output p = builder_->Op("Pow", {s, Number(-beta)});
    const Output q = Divide(p, s);
    const Output gx = Times(g, x);
    const Output of_v = Window(Times(x, v));
    const Output c = Number(2.0 * alpha * beta);
    SetDx(0, Subtract(Times(v, p), Times(c, Times(Times(x, q), of_v))));
    const Output of_p = Times(x, Window(Times(Times(g, v), q)));
    const Output of_products = Add(Times(Times(g, q), of_v), Times(v, Window(Times(gx, q))));
    const Output of_q = Times(x, Window(Times(Times(gx, of_v), Divide(q, s))));
    const Output slope = Number((beta + 1.0) * 2.0 * alpha);
    SetDx(1, Times(c, Subtract(Times(slope, of_q), Add(of_p, of_products))));
    return absl::OkStatus();
  }

 private:
  Output Number(double value) const { return builder_->ScalarOf(DataType::kFloat, value); }
  Output Add(Output a, Output b) const { return builder_->Op("AddV2", {a, b}); }
  Output Subtract(Output a, Output b) const { return builder_->Op("Sub", {a, b}); }
  Output Times(Output a, Output b) const { return builder_->Op("Mul", {a, b}); }
  Output Divide(Output a, Output b) const { return builder_->Op("RealDiv", {a, b}); }
  Output Cast(Output tensor, DataType dtype) const {
    return tensor.dtype() == dtype ? tensor : builder_->Op("Cast", {tensor}, {{"DstT", dtype}});
  }
  void SetDx(int i, Output wide) { context_->SetDx(i, Cast(wide, dtype_)); }

  // The matrix of W, which is its own transpose.
  void MakeBand(Output x, int64_t radius) {
    const Output channels = ElementOf(builder_, ShapeVector(builder_, x), 3);
    const Output ones =
        builder_->Op("Fill", {ConcatVectors(builder_, {channels, channels}), Number(1)});
    const Output count = builder_->Op("Reshape", {channels, builder_->Int32Vector({})});
    // As numbers that both ScalarOf and the matrix take; no image has as many channels.
    const int64_t nearest =
        std::clamp(radius, int64_t{0}, int64_t{std::numeric_limits<int32_t>::max()});
    const Output reach = builder_->Op(
        "Minimum", {builder_->Op("Cast", {count}, {{"DstT", DataType::kInt64}}),
                    builder_->ScalarOf(DataType::kInt64, static_cast<double>(nearest))});
    band_ = builder_->Op("MatrixBandPart", {ones, reach, reach});
  }
  Output Window(Output tensor) const {
    const std::vector<Output> factors = {tensor, band_};
    const Node* node =
        builder_->Variadic("Einsum", {factors}, {{"equation", std::string("bhwc,cd->bhwd")}});
    return node == nullptr ? Output() : node->output(0);
  }

  GradientContext* const context_;
  GraphBuilder* const builder_;
  const DataType dtype_;
  Output band_;
};

Status LrnGradGradient(GradientContext* context) { return SecondOrder(context).Run(); }

MILLSTREAM_GRADIENT("LRN", LrnGradient);
MILLSTREAM_GRADIENT("LRNGrad", LrnGradGradient);

}  // namespace
}  // namespace millstream
