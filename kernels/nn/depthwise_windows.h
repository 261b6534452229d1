// The geometry of depthwise convolutions: which taps of a window make up an element.
#ifndef MILLSTREAM_KERNELS_NN_DEPTHWISE_WINDOWS_H_
#define MILLSTREAM_KERNELS_NN_DEPTHWISE_WINDOWS_H_

#include <cstdint>
#include <vector>

#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {

// The products that an element takes part in along one dimension: that of tap `tap` with the
// element at `position` of the other tensor, and so on in steps.
struct TapRun {
  int64_t count = 0;
  int64_t tap = 0;
  int64_t tap_step = 1;
  int64_t position = 0;
  int64_t position_step = 1;
};

// Of output position o: the input positions that its window sees. i: 0 height, 1 width.
TapRun TapsOfOutput(const ConvShape& shape, uint32_t i, int64_t o);
// Of input position p: the output positions whose windows see it.
TapRun TapsOfInput(const ConvShape& shape, uint32_t i, int64_t p);

// The output positions [begin, end) whose window's tap k is no padding.
struct PositionRange {
  int64_t begin = 0;
  int64_t end = 0;
};
PositionRange OutputsOfTap(const ConvShape& shape, uint32_t i, int64_t k);

// One sum of products for each pixel and channel of a result: of pixels of the source with taps of
// the filter, which all have the same channels, the innermost dimension. The output is such a
// result of the input, and the input's gradient one of the output's.
struct TapPlan {
  TapPlan(const ConvShape& shape, ConvDirection direction);

  int64_t channels;
  int64_t source_rows;
  int64_t source_columns;
  int64_t filter_columns;
  std::vector<TapRun> rows;     // one for each row of the result
  std::vector<TapRun> columns;  // one for each column
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_DEPTHWISE_WINDOWS_H_
