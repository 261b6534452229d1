// Gradients of pooling.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/image_windows.h"
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
// takes it from there; where that place is does not change. So the gradient of one is the other,
// and the images have gradients of zero.
template <const char* const* kOp>
Status GradientOfMaxPoolGrad(GradientContext* context) {
  std::vector<Output> inputs = {context->input(0), context->input(1), context->dy(0)};
  for (int i = 3; i < context->num_inputs(); ++i) inputs.push_back(context->input(i));
  for (const int image : {0, 1}) {
    context->SetDx(image, context->builder()->Op("ZerosLike", {context->input(image)}));
  }
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

// The cells along one dimension begin where `sequence` says. They end at the next beginning, or
// behind it if they overlap.
WindowPlaces CellsAlong(GraphBuilder* builder, Output sequence, Output size, bool overlapping) {
  const auto part = [&](int32_t begin, int32_t end, int64_t end_mask) {
    return builder->Op("StridedSlice",
                       {sequence, builder->Int32Vector({begin}), builder->Int32Vector({end}),
                        builder->Int32Vector({1})},
                       {{"end_mask", end_mask}});
  };
  const Output begins = part(0, -1, 0);
  Output ends = part(1, 0, 1);
  if (overlapping) {
    const Output behind = builder->Op("AddV2", {ends, builder->ScalarOf(DataType::kInt64, 1)});
    ends = builder->Op("Minimum", {behind, size});
  }
  return PlacesBetween(builder, begins, ends, size);
}

// The cells of `images`; inputs `first` and first + 1 are the sequences.
StatusOr<ImageWindows> CellsOf(GradientContext* context, Output images, int first) {
  MS_ASSIGN_OR_RETURN(const bool overlapping, context->Attr<bool>("overlapping"));
  GraphBuilder* builder = context->builder();
  WindowPlaces along[2];
  for (int i = 0; i < 2; ++i) {
    const Output size = SizeAt(builder, images, 1 + i);
    along[i] = CellsAlong(builder, context->input(first + i), size, overlapping);
  }
  return ImageWindows(builder, along[0], along[1]);
}

// A cell's gradient goes to its first greatest element: so the gradient of that gradient is what
// this element of dy is.
Status GradientOfFractionalMaxPoolGrad(GradientContext* context) {
  const Output images = context->input(0);
  MS_ASSIGN_OR_RETURN(const ImageWindows cells, CellsOf(context, images, 3));
  const Output greatest = cells.FirstGreatest(cells.ElementsOf(images));
  const Output elements = cells.ElementsOf(context->dy(0));
  context->SetDx(2, cells.SumOverTaps(context->builder()->Op("Mul", {greatest, elements})));
  return absl::OkStatus();
}

// A mean over the cells, as FractionalAvgPool is.
Status GradientOfFractionalAvgPoolGrad(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  MS_ASSIGN_OR_RETURN(const ImageWindows cells, CellsOf(context, dy, 2));
  const Output is_there = cells.IsThere(dy.dtype());
  const Output count =
      builder->Op("Sum", {is_there, builder->Int32Vector({2})}, {{"keep_dims", true}});
  const Output share = builder->Op("DivNoNan", {is_there, count});
  context->SetDx(1, cells.SumOverTaps(builder->Op("Mul", {share, cells.ElementsOf(dy)})));
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
MILLSTREAM_GRADIENT("FractionalMaxPoolGrad", GradientOfFractionalMaxPoolGrad);
MILLSTREAM_GRADIENT("FractionalAvgPool", FractionalAvgPoolGradient);
MILLSTREAM_GRADIENT("FractionalAvgPoolGrad", GradientOfFractionalAvgPoolGrad);

}  // namespace
}  // namespace millstream
