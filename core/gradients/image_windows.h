// The elements of the windows of images, as tensors of a graph: for gradients of ops that choose an
// element of each window, or add all of them up.
#ifndef MILLSTREAM_CORE_GRADIENTS_IMAGE_WINDOWS_H_
#define MILLSTREAM_CORE_GRADIENTS_IMAGE_WINDOWS_H_

#include <cstdint>

#include "core/graph/graph_builder.h"

namespace millstream {

// Where windows lie along the height or the width of images, for each window and each tap of it.
struct WindowPlaces {
  Output places;  // int64 [windows, taps], in the image also where a tap is not
  Output
      is_there;  // bool [windows, taps]: false for taps that are outside, or none of the window's
};

// Size `axis` of a tensor, an int64 scalar.
Output SizeAt(GraphBuilder* builder, Output tensor, int axis);

// Windows of any length: number i has the places from begins[i] to ends[i], exclusive, of `size`.
// `begins` and `ends` are vectors, `size` a scalar, all int64.
WindowPlaces PlacesBetween(GraphBuilder* builder, Output begins, Output ends, Output size);

// How windows slide.
struct WindowSteps {
  int64_t stride = 1;  // from one to the next
  int64_t rate = 1;    // from a tap to the next
  bool same = false;   // there is a margin (padding SAME), the half of it before the image
};
// As many windows of so many taps, in an image of `size`; all int64 scalars.
WindowPlaces SlidingPlaces(GraphBuilder* builder, Output windows, Output taps, Output size,
                           const WindowSteps& steps);

// A window has the taps of its rows and of its columns, row by row.
class ImageWindows {
 public:
  ImageWindows(GraphBuilder* builder, const WindowPlaces& rows, const WindowPlaces& columns);

  // The elements of images [batch, height, width, channels] as [batch, rows, columns, taps,
  // channels]. A tap that is not there gets an element of the image, too.
  Output ElementsOf(Output images) const;
  // Whether taps are there, in `dtype`: 1 or 0, as [rows, columns, taps, 1].
  Output IsThere(DataType dtype) const;
  // 1 for the first tap with the greatest score among those that are there, else 0. `scores`, of a
  // floating-point type, and the result have the shape of ElementsOf.
  Output FirstGreatest(Output scores) const;
  // The sums over the taps.
  Output SumOverTaps(Output tensor) const;

 private:
  GraphBuilder* const builder_;
  const Output rows_;
  const Output columns_;
  Output is_there_;  // bool
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_IMAGE_WINDOWS_H_
