#include "kernels/nn/conv_shape.h"

#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace millstream::kernels {
namespace {

constexpr Extents kOnes = {1, 1, 1};
constexpr Extents kZeros = {0, 0, 0};

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

ms::Status CheckSizes(const ms::Shape& shape, uint32_t rank, const char* name) {
  if (shape.rank() != rank) {
    return ms::InvalidArgument(name, " must have ", rank, " dimensions, but is ", shape.ToString());
  }
  for (int64_t dim : shape) {
    if (dim < 0) return ms::InvalidArgument(name, " has a negative size: ", shape.ToString());
  }
  return ms::Status();
}

}  // namespace

ms::Status ConvAttributes::InitSteps(const ms::KernelInfo& info, const char* name,
                                     Extents* steps) const {
  std::vector<int64_t> entries;
  MS_TRY(info.Attr(name, &entries));
  if (entries.size() != rank()) {
    return ms::InvalidArgument(name, " must have ", rank(), " entries, not ", entries.size());
  }
  for (int64_t entry : entries) {
    if (entry <= 0 || entry > std::numeric_limits<int32_t>::max()) {
      return ms::InvalidArgument(name, " has the entry ", entry,
                                 ", expected a positive 32-bit integer");
    }
  }
  if (entries[0] != 1) {
    return ms::Unimplemented(name, " must be 1 for the batch, not ", entries[0]);
  }
  if (entries[ChannelDim()] != 1) {
    return ms::Unimplemented(name, " must be 1 for the channels, not ", entries[ChannelDim()]);
  }
  for (uint32_t i = 0; i < dims; ++i) (*steps)[i] = entries[SpatialDim(i)];
  return ms::Status();
}

ms::Status ConvAttributes::InitExplicitPadding(const ms::KernelInfo& info) {
  std::vector<int64_t> pads;
  MS_TRY(info.Attr("explicit_paddings", &pads));
  if (pads.size() != 2 * rank()) {
    return ms::InvalidArgument("explicit_paddings must have ", 2 * rank(),
                               " entries with padding EXPLICIT, not ", pads.size());
  }
  for (int64_t pad : pads) {
    if (pad < 0 || pad > std::numeric_limits<int32_t>::max()) {
      return ms::InvalidArgument("explicit_paddings has the entry ", pad,
                                 ", which is negative or too large");
    }
  }
  const uint32_t channel = ChannelDim();
  if (pads[0] != 0 || pads[1] != 0 || pads[2 * channel] != 0 || pads[2 * channel + 1] != 0) {
    return ms::InvalidArgument("explicit_paddings must be 0 for batch and channels");
  }
  for (uint32_t i = 0; i < dims; ++i) {
    explicit_before[i] = pads[2 * SpatialDim(i)];
    explicit_after[i] = pads[2 * SpatialDim(i) + 1];
  }
  return ms::Status();
}

ms::Status ConvAttributes::Init(const ms::KernelInfo& info) {
  std::vector<int64_t> steps;
  MS_TRY(info.Attr("strides", &steps));
  dims = steps.size() == 5 ? 3 : 2;
  const std::string last = dims == 3 ? "NDHWC" : "NHWC";
  const std::string first = dims == 3 ? "NCDHW" : "NCHW";
  std::string format = last;
  if (info.HasAttr("data_format")) MS_TRY(info.Attr("data_format", &format));
  if (format != last && format != first) {
    return ms::Unimplemented("data_format must be ", last, " or ", first, " here, not ", format);
  }
  channels_first = format == first;
  MS_TRY(InitSteps(info, "strides", &strides));
  if (info.HasAttr("dilations")) MS_TRY(InitSteps(info, "dilations", &dilations));
  MS_TRY(InitPadding(info, &padding));
  return padding == Padding::kExplicit ? InitExplicitPadding(info) : ms::Status();
}

const char* ConvAttributes::DimName(uint32_t i) const {
  static constexpr std::array<const char*, 3> kNames = {"depth", "height", "width"};
  return kNames[i + 3 - dims];
}

ms::Shape ConvShape::ActivationShape(const Extents& extents, int64_t channels) const {
  ms::Shape shape = {batch};
  if (channels_first) shape.Append(channels);
  for (uint32_t i = 0; i < dims; ++i) shape.Append(extents[i]);
  if (!channels_first) shape.Append(channels);
  return shape;
}

ms::Shape ConvShape::FilterShape() const {
  ms::Shape shape;
  for (uint32_t i = 0; i < dims; ++i) shape.Append(filter[i]);
  shape.Append(in_channels / groups);
  shape.Append(out_channels);
  return shape;
}

ms::Shape ConvShape::ResultShape(ConvDirection direction) const {
  switch (direction) {
    case ConvDirection::kForward: return OutputShape();
    case ConvDirection::kBackwardInput: return InputShape();
    case ConvDirection::kBackwardFilter: break;
  }
  return FilterShape();
}

bool ConvShape::HasNoProducts() const {
  return InputShape().num_elements() == 0 || FilterShape().num_elements() == 0 ||
         OutputShape().num_elements() == 0;
}

bool ConvShape::operator==(const ConvShape& other) const {
  const auto key = [](const ConvShape& s) {
    return std::tie(s.dims, s.channels_first, s.batch, s.groups, s.in_channels, s.out_channels,
                    s.input, s.filter, s.output, s.stride, s.dilation, s.before, s.after);
  };
  return key(*this) == key(other);
}

bool ConvShape::IsMatrixProduct() const {
  if (channels_first || groups != 1 || before != kZeros || after != kZeros) return false;
  return (filter == kOnes && stride == kOnes) || (filter == input && output == kOnes);
}

GemmShape ConvShape::MatrixProduct(ConvDirection direction) const {
  const int64_t rows = batch * Product(output);
  const int64_t depth = Product(filter) * in_channels;
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
  const uint32_t rank = attributes.rank();
  MS_TRY(CheckSizes(input, rank, input_name));
  MS_TRY(CheckSizes(filter, rank, filter_name));
  MS_TRY(CheckFilterSize(filter, filter_name));
  shape->dims = attributes.dims;
  shape->channels_first = attributes.channels_first;
  shape->batch = input[0];
  shape->in_channels = input[attributes.ChannelDim()];
  shape->out_channels = filter[rank - 1];
  shape->stride = attributes.strides;
  shape->dilation = attributes.dilations;

  const int64_t depth = filter[rank - 2];
  if (depth == 0 || shape->in_channels == 0 || shape->in_channels % depth != 0) {
    return ms::InvalidArgument(
        "input depth must be evenly divisible by filter depth: ", shape->in_channels, " vs ", depth,
        " (", input_name, " ", input.ToString(), ", ", filter_name, " ", filter.ToString(), ")");
  }
  shape->groups = shape->in_channels / depth;
  if (shape->out_channels % shape->groups != 0) {
    return ms::InvalidArgument(filter_name, " ", filter.ToString(), " must have a multiple of ",
                               shape->groups, " output channels, one part for each group");
  }
  for (uint32_t i = 0; i < shape->dims; ++i) {
    const char* const name = attributes.DimName(i);
    shape->input[i] = input[attributes.SpatialDim(i)];
    shape->filter[i] = filter[i];
    if (filter[i] == 0) {
      return ms::InvalidArgument(filter_name, " must not be empty in ", name, ", but is ",
                                 filter.ToString());
    }
    WindowFit fit;
    fit.before = attributes.explicit_before[i];
    fit.after = attributes.explicit_after[i];
    MS_TRY(FitWindow(attributes.padding, shape->stride[i], shape->input[i],
                     (filter[i] - 1) * shape->dilation[i] + 1, name, &fit));
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
