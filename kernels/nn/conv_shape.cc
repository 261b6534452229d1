#include "kernels/nn/conv_shape.h"

#include <limits>
#include <tuple>

namespace millstream::kernels {
namespace {

constexpr Plane kOnes = {1, 1};
constexpr Plane kZeros = {0, 0};

// Window sizes are 32-bit integers in the library, and so are products of them.
constexpr int64_t kMostFilterElements = std::numeric_limits<int32_t>::max();

ms::Status CheckFilterSize(const ms::Shape& filter, const char* name) {
  int64_t elements = 1;
  for (const int64_t dim : filter) {
    if (dim == 0) return ms::Status();
    if (dim > kMostFilterElements / elements) {
      return ms::InvalidArgument(name, " ", filter.ToString(), " has more than ",
                                 kMostFilterElements, " elements");
    }
    elements *= dim;
  }
  return ms::Status();
}

ms::Status CheckSizes(const ms::Shape& shape, const char* name) {
  if (shape.rank() != 4) {
    return ms::InvalidArgument(name, " must have 4 dimensions, but is ", shape.ToString());
  }
  for (int64_t dim : shape) {
    if (dim < 0) return ms::InvalidArgument(name, " has a negative size: ", shape.ToString());
  }
  return ms::Status();
}

}  // namespace

ms::Status ConvAttributes::Init(const ms::KernelInfo& info) {
  MS_TRY(InitWindow(info, &window));
  return InitPlane(info, "dilations", window.channels_first, &dilations);
}

ms::Shape ConvShape::ActivationShape(const Plane& plane, int64_t channels) const {
  if (channels_first) return {batch, channels, plane[0], plane[1]};
  return {batch, plane[0], plane[1], channels};
}

bool ConvShape::HasNoProducts() const {
  return InputShape().num_elements() == 0 || FilterShape().num_elements() == 0 ||
         OutputShape().num_elements() == 0;
}

bool ConvShape::operator==(const ConvShape& other) const {
  const auto key = [](const ConvShape& s) {
    return std::tie(s.channels_first, s.batch, s.groups, s.in_channels, s.out_channels, s.input,
                    s.filter, s.output, s.stride, s.dilation, s.before, s.after);
  };
  return key(*this) == key(other);
}

bool ConvShape::IsMatrixProduct() const {
  if (channels_first || groups != 1 || before != kZeros || after != kZeros) return false;
  return (filter == kOnes && stride == kOnes) || (filter == input && output == kOnes);
}

GemmShape ConvShape::MatrixProduct(ConvDirection direction) const {
  const int64_t rows = batch * output[0] * output[1];
  const int64_t depth = filter[0] * filter[1] * in_channels;
  switch (direction) {
    case ConvDirection::kForward: return {rows, out_channels, depth, false, false};
    case ConvDirection::kBackwardInput: return {rows, depth, out_channels, false, true};
    case ConvDirection::kBackwardFilter: break;
  }
  return {depth, out_channels, rows, true, false};
}

ms::Status ResolveConv(const ConvAttributes& attributes, const ms::Shape& input,
                       const char* input_name, const ms::Shape& filter, const char* filter_name,
                       ConvShape* shape) {
  MS_TRY(CheckSizes(input, input_name));
  MS_TRY(CheckSizes(filter, filter_name));
  MS_TRY(CheckFilterSize(filter, filter_name));
  const WindowAttributes& window = attributes.window;
  shape->channels_first = window.channels_first;
  shape->batch = input[0];
  shape->in_channels = input[window.ChannelDim()];
  shape->out_channels = filter[3];
  shape->stride = window.strides;
  shape->dilation = attributes.dilations;

  if (filter[2] == 0 || shape->in_channels == 0 || shape->in_channels % filter[2] != 0) {
    return ms::InvalidArgument("input depth must be evenly divisible by filter depth: ",
                               shape->in_channels, " vs ", filter[2], " (", input_name, " ",
                               input.ToString(), ", ", filter_name, " ", filter.ToString(), ")");
  }
  shape->groups = shape->in_channels / filter[2];
  if (shape->out_channels % shape->groups != 0) {
    return ms::InvalidArgument(filter_name, " ", filter.ToString(), " must have a multiple of ",
                               shape->groups, " output channels, one part for each group");
  }
  for (uint32_t i = 0; i < 2; ++i) {
    shape->input[i] = input[window.SpatialDim(i)];
    shape->filter[i] = filter[i];
    if (filter[i] == 0) {
      return ms::InvalidArgument(filter_name, " must not be empty in ", kPlaneNames[i], ", but is ",
                                 filter.ToString());
    }
    WindowFit fit;
    MS_TRY(FitWindow(window, i, shape->input[i], (filter[i] - 1) * shape->dilation[i] + 1, &fit));
    shape->output[i] = fit.output;
    shape->before[i] = fit.before;
    shape->after[i] = fit.after;
  }
  return ms::Status();
}

ms::Status CheckOutputGradient(const ConvShape& shape, const ms::Shape& gradient) {
  if (gradient == shape.OutputShape()) return ms::Status();
  return ms::InvalidArgument("out_backprop must be ", shape.OutputShape().ToString(),
                             ", the shape of the convolution's output, but is ",
                             gradient.ToString());
}

}  // namespace millstream::kernels
