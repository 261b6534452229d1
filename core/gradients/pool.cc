// Gradients of pooling.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// An op with the attributes of the forward node's windows, as far as both have them.
Output PoolOp(GradientContext* context, const char* op, const std::vector<Output>& inputs) {
  return context->builder()->OpWithAttrs(
      op, inputs, context->attrs(),
      {"ksize", "strides", "padding", "data_format", "include_batch_in_index"});
}

constexpr const char* kMaxPoolGrad = "MaxPoolGrad";
constexpr const char* kMaxPoolGradGrad = "MaxPoolGradGrad";
constexpr const char* kMaxPoolGradV2 = "MaxPoolGradV2";
constexpr const char* kMaxPoolGradGradV2 = "MaxPoolGradGradV2";
constexpr const char* kMaxPool3DGrad = "MaxPool3DGrad";
constexpr const char* kMaxPool3DGradGrad = "MaxPool3DGradGrad";
constexpr const char* kArgmaxGrad = "MaxPoolGradWithArgmax";
constexpr const char* kArgmaxGradGrad = "MaxPoolGradGradWithArgmax";
constexpr const char* kAvgPool = "AvgPool";
constexpr const char* kAvgPoolGrad = "AvgPoolGrad";
constexpr const char* kAvgPool3D = "AvgPool3D";
constexpr const char* kAvgPool3DGrad = "AvgPool3DGrad";

// Windows that are inputs are those of the gradient, too.
template <const char* const* kOp>
Status MaxPoolGradient(GradientContext* context) {
  std::vector<Output> inputs = {context->input(0), context->output(0), context->dy(0)};
  for (int i = 1; i < context->num_inputs(); ++i) inputs.push_back(context->input(i));
  context->SetDx(0, PoolOp(context, *kOp, inputs));
  return absl::OkStatus();
}

// MaxPoolGrad puts each window's gradient at the place of its largest element, MaxPoolGradGrad
// takes it from there; where that place is does not change. So the gradient of one is the other.
template <const char* const* kOp>
Status GradientOfMaxPoolGrad(GradientContext* context) {
  std::vector<Output> inputs = {context->input(0), context->input(1), context->dy(0)};
  for (int i = 3; i < context->num_inputs(); ++i) inputs.push_back(context->input(i));
  context->SetDx(2, PoolOp(context, *kOp, inputs));
  return absl::OkStatus();
}

Status MaxPoolWithArgmaxGradient(GradientContext* context) {
  context->SetDx(
      0, PoolOp(context, kArgmaxGrad, {context->input(0), context->dy(0), context->output(1)}));
  return absl::OkStatus();
}

template <const char* const* kOp>
Status GradientOfArgmaxGrad(GradientContext* context) {
  context->SetDx(1, PoolOp(context, *kOp, {context->input(0), context->dy(0), context->input(2)}));
  return absl::OkStatus();
}

template <const char* const* kOp>
Status AvgPoolGradient(GradientContext* context) {
  const Output shape = ShapeVector(context->builder(), context->input(0));
  context->SetDx(0, PoolOp(context, *kOp, {shape, context->dy(0)}));
  return absl::OkStatus();
}

template <const char* const* kOp>
Status GradientOfAvgPoolGrad(GradientContext* context) {
  context->SetDx(1, PoolOp(context, *kOp, {context->dy(0)}));
  return absl::OkStatus();
}

// The sequences say where the cells were.
Status FractionalMaxPoolGradient(GradientContext* context) {
  context->SetDx(
      0, context->builder()->OpWithAttrs("FractionalMaxPoolGrad",
                                         {context->input(0), context->output(0), context->dy(0),
                                          context->output(1), context->output(2)},
                                         context->attrs(), {"overlapping"}));
  return absl::OkStatus();
}

Status FractionalAvgPoolGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output shape = builder->Op("Shape", {context->input(0)}, {{"out_type", DataType::kInt64}});
  context->SetDx(
      0, builder->OpWithAttrs("FractionalAvgPoolGrad",
                              {shape, context->dy(0), context->output(1), context->output(2)},
                              context->attrs(), {"overlapping"}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("MaxPool", MaxPoolGradient<&kMaxPoolGrad>);
MILLSTREAM_GRADIENT("MaxPoolGrad", GradientOfMaxPoolGrad<&kMaxPoolGradGrad>);
MILLSTREAM_GRADIENT("MaxPoolGradGrad", GradientOfMaxPoolGrad<&kMaxPoolGrad>);
MILLSTREAM_GRADIENT("MaxPoolV2", MaxPoolGradient<&kMaxPoolGradV2>);
MILLSTREAM_GRADIENT("MaxPoolGradV2", GradientOfMaxPoolGrad<&kMaxPoolGradGradV2>);
MILLSTREAM_GRADIENT("MaxPoolGradGradV2", GradientOfMaxPoolGrad<&kMaxPoolGradV2>);
MILLSTREAM_GRADIENT("MaxPool3D", MaxPoolGradient<&kMaxPool3DGrad>);
MILLSTREAM_GRADIENT("MaxPool3DGrad", GradientOfMaxPoolGrad<&kMaxPool3DGradGrad>);
MILLSTREAM_GRADIENT("MaxPool3DGradGrad", GradientOfMaxPoolGrad<&kMaxPool3DGrad>);
MILLSTREAM_GRADIENT("MaxPoolWithArgmax", MaxPoolWithArgmaxGradient);
MILLSTREAM_GRADIENT("MaxPoolGradWithArgmax", GradientOfArgmaxGrad<&kArgmaxGradGrad>);
MILLSTREAM_GRADIENT("MaxPoolGradGradWithArgmax", GradientOfArgmaxGrad<&kArgmaxGrad>);
MILLSTREAM_GRADIENT("AvgPool", AvgPoolGradient<&kAvgPoolGrad>);
MILLSTREAM_GRADIENT("AvgPoolGrad", GradientOfAvgPoolGrad<&kAvgPool>);
MILLSTREAM_GRADIENT("AvgPool3D", AvgPoolGradient<&kAvgPool3DGrad>);
MILLSTREAM_GRADIENT("AvgPool3DGrad", GradientOfAvgPoolGrad<&kAvgPool3D>);
MILLSTREAM_GRADIENT("FractionalMaxPool", FractionalMaxPoolGradient);
MILLSTREAM_GRADIENT("FractionalAvgPool", FractionalAvgPoolGradient);

}  // namespace
}  // namespace millstream
