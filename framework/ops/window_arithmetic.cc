#include "framework/ops/window_arithmetic.h"

#include <string>
#include <utility>
#include <vector>

#include "framework/ops/op_errors.h"

namespace millstream {
namespace {

// The attribute `name`: one value, at least 1, for each dimension of an image.
StatusOr<std::vector<int64_t>> ImageListAttr(const ShapeContext& context, absl::string_view name) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> values, context.Attr<std::vector<int64_t>>(name));
  if (values.size() != kImageRank) {
    return InvalidAttr(context, name, "expected ", kImageRank, " values, got ", values.size());
  }
  for (const int64_t value : values) {
    if (value < 1) return InvalidAttr(context, name, "expected values above 0, got ", value);
  }
  return values;
}

StatusOr<ImageLayout> LayoutAttr(const ShapeContext& context) {
  if (FindAttr(context.attrs(), "data_format") == nullptr) return ImageLayout();
  MS_ASSIGN_OR_RETURN(std::string data_format, context.Attr<std::string>("data_format"));
  const StatusOr<ImageLayout> layout = ParseImageLayout(data_format);
  if (!layout.ok()) return AttrError(context, "data_format", layout.status());
  return *layout;
}

// Copies the pairs of explicit_paddings, (before, after) for each dimension, into the window.
Status ReadExplicitPaddings(const ShapeContext& context, ImageWindow* window) {
  constexpr absl::string_view kName = "explicit_paddings";
  // Not every convolution has it.
  if (FindAttr(context.attrs(), kName) == nullptr) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> pads, context.Attr<std::vector<int64_t>>(kName));
  if (window->padding != Padding::kExplicit) {
    if (pads.empty()) return absl::OkStatus();
    return InvalidAttr(context, kName, "must be empty unless padding is EXPLICIT, got ",
                       pads.size(), " values");
  }
  if (pads.size() != 2 * kImageRank) {
    return InvalidAttr(context, kName, "expected ", 2 * kImageRank, " values, got ", pads.size());
  }
  for (const int64_t pad : pads) {
    if (pad < 0) return InvalidAttr(context, kName, "must not be negative, got ", pad);
  }
  for (const int dimension : {window->layout.batch, window->layout.channels}) {
    if (pads[2 * dimension] != 0 || pads[2 * dimension + 1] != 0) {
      return InvalidAttr(context, kName, "batch and channels cannot be padded, got ",
                         pads[2 * dimension], " and ", pads[2 * dimension + 1], " for dimension ",
                         dimension);
    }
  }
  window->height.pad_before = pads[2 * window->layout.height];
  window->height.pad_after = pads[2 * window->layout.height + 1];
  window->width.pad_before = pads[2 * window->layout.width];
  window->width.pad_after = pads[2 * window->layout.width + 1];
  return absl::OkStatus();
}

Status UnimplementedAttr(const ShapeContext& context, absl::string_view name,
                         absl::string_view what) {
  return errors::Unimplemented("attribute '", name, "' of ", context.op().name, ": ", what);
}

// The height and width of what the window gives, written over those of `shape`.
Status SetWindowedSizes(const ImageWindow& window, PartialShape* shape) {
  const ImageLayout& layout = window.layout;
  const StatusOr<int64_t> height =
      WindowedSize(shape->dim(layout.height), window.height, window.padding);
  if (!height.ok()) return WithContext(height.status(), "height");
  const StatusOr<int64_t> width =
      WindowedSize(shape->dim(layout.width), window.width, window.padding);
  if (!width.ok()) return WithContext(width.status(), "width");
  shape->set_dim(layout.height, *height);
  shape->set_dim(layout.width, *width);
  return absl::OkStatus();
}

}  // namespace

StatusOr<ImageLayout> ParseImageLayout(absl::string_view data_format) {
  if (data_format == "NHWC") return ImageLayout{0, 1, 2, 3};
  if (data_format == "NCHW") return ImageLayout{0, 2, 3, 1};
  if (data_format == "NCHW_VECT_C") {
    return errors::Unimplemented("images in the order NCHW_VECT_C are not implemented");
  }
  return errors::InvalidArgument("expected NHWC or NCHW, got ", data_format);
}

StatusOr<Padding> PaddingAttr(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(std::string padding, context.Attr<std::string>("padding"));
  if (padding == "SAME") return Padding::kSame;
  if (padding == "VALID") return Padding::kValid;
  if (padding == "EXPLICIT") return Padding::kExplicit;
  return InvalidAttr(context, "padding", "expected SAME, VALID or EXPLICIT, got ", padding);
}

StatusOr<int64_t> WindowedSize(int64_t input, const Window& window, Padding padding) {
  if (window.size == 0) return errors::InvalidArgument("the window must not be empty");
  if (padding == Padding::kSame) {
    if (input == kUnknownDim) return kUnknownDim;
    return input / window.stride + (input % window.stride != 0 ? 1 : 0);
  }
  if (input == kUnknownDim || window.size == kUnknownDim) return kUnknownDim;
  int64_t length = 0;  // of the dilated window
  int64_t padded = input;
  bool overflow = __builtin_mul_overflow(window.size - 1, window.dilation, &length) ||
                  __builtin_add_overflow(length, int64_t{1}, &length);
  if (padding == Padding::kExplicit) {
    overflow = overflow || __builtin_add_overflow(padded, window.pad_before, &padded) ||
               __builtin_add_overflow(padded, window.pad_after, &padded);
  }
  if (overflow) return errors::InvalidArgument("the window or its padding is too large");
  if (length - padded > window.stride) {
    return errors::InvalidArgument("a window of ", length, " does not fit into ", padded,
                                   " elements");
  }
  // Not by adding the stride first: that may overflow.
  const int64_t room = padded - length;
  return room < 0 ? (room + window.stride) / window.stride : room / window.stride + 1;
}

StatusOr<ImageWindow> ConvolutionWindow(const ShapeContext& context) {
  ImageWindow window;
  MS_ASSIGN_OR_RETURN(window.layout, LayoutAttr(context));
  MS_ASSIGN_OR_RETURN(window.padding, PaddingAttr(context));
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> strides, ImageListAttr(context, "strides"));
  std::vector<int64_t> dilations(kImageRank, 1);
  if (FindAttr(context.attrs(), "dilations") != nullptr) {
    MS_ASSIGN_OR_RETURN(dilations, ImageListAttr(context, "dilations"));
  }
  MS_RETURN_IF_ERROR(ReadExplicitPaddings(context, &window));
  const ImageLayout& layout = window.layout;
  if (strides[layout.batch] != 1 || strides[layout.channels] != 1) {
    return UnimplementedAttr(context, "strides", "only 1 is implemented for batch and channels");
  }
  if (dilations[layout.batch] != 1 || dilations[layout.channels] != 1) {
    return UnimplementedAttr(context, "dilations", "only 1 is implemented for batch and channels");
  }
  window.height.size = window.width.size = kUnknownDim;
  window.height.stride = strides[layout.height];
  window.width.stride = strides[layout.width];
  window.height.dilation = dilations[layout.height];
  window.width.dilation = dilations[layout.width];
  return window;
}

Status CheckGroups(const PartialShape& input, int64_t channels, const PartialShape& filter) {
  const int64_t depth = filter.dim(filter.rank() - 2);
  const int64_t outputs = filter.dim(filter.rank() - 1);
  if (channels == 0 || depth == 0) {
    return errors::InvalidArgument("input ", input.ToString(), " and filter ", filter.ToString(),
                                   " must have channels");
  }
  if (channels == kUnknownDim || depth == kUnknownDim) return absl::OkStatus();
  if (channels % depth != 0) {
    return errors::InvalidArgument("input ", input.ToString(), " has ", channels,
                                   " channels, but filter ", filter.ToString(), " expects ", depth);
  }
  const int64_t groups = channels / depth;
  if (outputs == kUnknownDim || outputs % groups == 0) return absl::OkStatus();
  return errors::InvalidArgument("input ", input.ToString(), " has ", groups,
                                 " groups of channels for filter ", filter.ToString(), ", whose ",
                                 outputs, " output channels cannot be divided among them");
}

StatusOr<PartialShape> ConvolutionShape(const ImageWindow& window, const PartialShape& input,
                                        const PartialShape& filter) {
  MS_RETURN_IF_ERROR(CheckGroups(input, input.dim(window.layout.channels), filter));
  ImageWindow sized = window;
  sized.height.size = filter.dim(0);
  sized.width.size = filter.dim(1);
  PartialShape output = input;
  MS_RETURN_IF_ERROR(SetWindowedSizes(sized, &output));
  output.set_dim(window.layout.channels, filter.dim(3));
  return output;
}

StatusOr<PartialShape> DepthwiseShape(const ImageWindow& window, const PartialShape& input,
                                      const PartialShape& filter) {
  const int64_t channels = input.dim(window.layout.channels);
  const int64_t depth = filter.dim(2);
  if (channels != kUnknownDim && depth != kUnknownDim && channels != depth) {
    return errors::InvalidArgument(UnequalDims(channels, depth), "input ", input.ToString(),
                                   " and filter ", filter.ToString(),
                                   " must have the same number of channels");
  }
  if (window.height.stride != window.width.stride) {
    return errors::InvalidArgument("strides must be equal for height and width, but are ",
                                   window.height.stride, " and ", window.width.stride);
  }
  // The convolution with one group a channel.
  PartialShape grouped = filter;
  grouped.set_dim(2, 1);
  const int64_t known = channels != kUnknownDim ? channels : depth;
  int64_t outputs = kUnknownDim;
  if (known != kUnknownDim && filter.dim(3) != kUnknownDim &&
      __builtin_mul_overflow(known, filter.dim(3), &outputs)) {
    return errors::InvalidArgument("filter ", filter.ToString(), " has too many channels");
  }
  grouped.set_dim(3, outputs);
  return ConvolutionShape(window, input, grouped);
}

StatusOr<PartialShape> MergeOutputGradient(const ShapeContext& context, int sizes,
                                           const StatusOr<PartialShape>& output) {
  if (!output.ok()) return InputError(context, sizes, output.status());
  MS_ASSIGN_OR_RETURN(const PartialShape gradient, context.WithRank(2, output->rank()));
  StatusOr<PartialShape> merged = output->MergeWith(gradient);
  if (merged.ok()) return merged;
  return InvalidInput(context, 2, "expected the shape of the output, ", output->ToString(),
                      ", got ", gradient.ToString());
}

}  // namespace millstream
