// The arithmetic of windows that slide over images, for convolution and pooling.
//
// Images have rank 4, in the order that the attribute data_format names: "NHWC" (batch, height,
// width, channels) or "NCHW". Filters are always [height, width, input channels, output channels].
#ifndef MILLSTREAM_FRAMEWORK_OPS_WINDOW_ARITHMETIC_H_
#define MILLSTREAM_FRAMEWORK_OPS_WINDOW_ARITHMETIC_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "framework/shape.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

inline constexpr int kImageRank = 4;

// Positions of the dimensions in an image's shape.
struct ImageLayout {
  int batch = 0;
  int height = 1;
  int width = 2;
  int channels = 3;
};

// INVALID_ARGUMENT for an unknown word; UNIMPLEMENTED for "NCHW_VECT_C".
StatusOr<ImageLayout> ParseImageLayout(absl::string_view data_format);

enum class Padding {
  kSame,      // as much as makes the output ceil(input / stride) long
  kValid,     // none
  kExplicit,  // as much as the window says
};

// Attribute padding. INVALID_ARGUMENT for another word.
StatusOr<Padding> PaddingAttr(const ShapeContext& context);

// A window along one dimension. All sizes in elements.
struct Window {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t dilation = 1;    // distance of neighbours inside the window
  int64_t pad_before = 0;  // for Padding::kExplicit
  int64_t pad_after = 0;
};

// How often `window` fits into `input` elements; kUnknownDim when `input` or the window's size is.
// INVALID_ARGUMENT when the window is empty, or longer than the padded input by more than a stride
// (up to there it fits 0 times). REQUIRES: stride and dilation above 0.
StatusOr<int64_t> WindowedSize(int64_t input, const Window& window, Padding padding);

// A two-dimensional window, from attributes. For a convolution the size is not set: it is the
// filter's.
struct ImageWindow {
  ImageLayout layout;
  Padding padding = Padding::kValid;
  Window height;
  Window width;
};

// Reads strides, padding and, where the op has them, data_format, dilations and explicit_paddings.
// INVALID_ARGUMENT for lists of the wrong length and values out of range; UNIMPLEMENTED for windows
// that stride over batch or channels.
StatusOr<ImageWindow> ConvolutionWindow(const ShapeContext& context);

// The input's channels come in groups, as many in each as the filter takes; each group has its
// share of the filter's output channels. Both numbers are the last dimensions of `filter`.
Status CheckGroups(const PartialShape& input, int64_t channels, const PartialShape& filter);

// The shape of a convolution's output. `input` and `filter` have rank 4. INVALID_ARGUMENT when the
// input's channels are no multiple of the filter's, when the filter's output channels are none of
// the number of groups that this makes, or when the window does not fit.
StatusOr<PartialShape> ConvolutionShape(const ImageWindow& window, const PartialShape& input,
                                        const PartialShape& filter);
// The same where each channel is convolved alone, with filters [height, width, channels,
// multiplier]. INVALID_ARGUMENT when the channels differ, when the strides differ, or when the
// window does not fit.
StatusOr<PartialShape> DepthwiseShape(const ImageWindow& window, const PartialShape& input,
                                      const PartialShape& filter);
// Input 2, the gradient of a convolution's output, must have the output's shape, which follows from
// what input `sizes` gives. Returns what both know of it.
StatusOr<PartialShape> MergeOutputGradient(const ShapeContext& context, int sizes,
                                           const StatusOr<PartialShape>& output);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_WINDOW_ARITHMETIC_H_
