#include "kernels/nn/pool_shape.h"

namespace millstream::kernels {

ms::Status PoolAttributes::Init(const ms::KernelInfo& info, bool over_depth) {
  int64_t depth_stride = 1;
  MS_TRY(InitWindow(info, &window, over_depth ? &depth_stride : nullptr));
  if (window.padding == Padding::kExplicit) {
    return ms::Unimplemented("padding must be SAME or VALID for pooling, not EXPLICIT");
  }
  MS_TRY(InitPlane(info, "ksize", window.channels_first, &ksize, over_depth ? &depth : nullptr));
  if (depth == 1 && depth_stride == 1) return ms::Status();
  if (window.channels_first || ksize != Plane{1, 1}) {
    return ms::Unimplemented(
        "ksize: pooling is over height and width or over the channels of NHWC, not both");
  }
  if (depth != depth_stride) {
    return ms::Unimplemented("ksize and strides must be equal for the channels, but are ", depth,
                             " and ", depth_stride);
  }
  return ms::Status();
}

bool PoolShape::IsTiling() const {
  for (uint32_t i = 0; i < 2; ++i) {
    const int64_t covered = output[i] * stride[i] - before[i];
    if (stride[i] != ksize[i] || covered < input[i]) return false;
  }
  return true;
}

ms::Status ResolvePool(const PoolAttributes& attributes, const ms::Shape& input,
                       const char* input_name, PoolShape* shape) {
  if (input.rank() != 4) {
    return ms::InvalidArgument(input_name, " must have 4 dimensions, but is ", input.ToString());
  }
  for (int64_t dim : input) {
    if (dim < 0) return ms::InvalidArgument(input_name, " has a negative size: ", input.ToString());
  }
  const WindowAttributes& window = attributes.window;
  shape->output_shape = input;
  if (attributes.depth > 1) {
    if (input[3] % attributes.depth != 0) {
      return ms::Unimplemented("the channels of ", input_name, " ", input.ToString(),
                               " must be a multiple of ksize there, ", attributes.depth);
    }
    shape->output_shape[3] = input[3] / attributes.depth;
    shape->batch = 1;
    shape->channels = 1;
    shape->input = {1, input.num_elements()};
    shape->output = {1, shape->output_shape.num_elements()};
    shape->ksize = {1, attributes.depth};
    shape->stride = shape->ksize;
    return ms::Status();
  }
  shape->batch = window.channels_first ? input[0] * input[1] : input[0];
  shape->channels = window.channels_first ? 1 : input[3];
  shape->ksize = attributes.ksize;
  shape->stride = window.strides;
  for (uint32_t i = 0; i < 2; ++i) {
    shape->input[i] = input[window.SpatialDim(i)];
    WindowFit fit;
    MS_TRY(FitWindow(window, i, shape->input[i], shape->ksize[i], &fit));
    shape->output[i] = fit.output;
    shape->before[i] = fit.before;
    shape->output_shape[window.SpatialDim(i)] = fit.output;
  }
  return ms::Status();
}

ms::Status CheckPoolOutput(const PoolShape& shape, const ms::Shape& tensor, const char* name) {
  if (tensor == shape.output_shape) return ms::Status();
  return ms::InvalidArgument(name, " must be ", shape.output_shape.ToString(),
                             ", the shape of the pooling's output, but is ", tensor.ToString());
}

}  // namespace millstream::kernels
