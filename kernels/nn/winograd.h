// The transforms of Winograd's minimal filtering F(2 x 2, 3 x 3) for convolutions of images (Lavin,
// Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, arXiv:1509.09308, section
// 4.1; the formulas with their signs are in winograd.cc).
//
// A tile is 2 x 2 pixels of the output and the 4 x 4 pixels of the input that they are computed
// from. The transforms of a tile and of a filter have 16 numbers each for a channel, called
// positions; their products take the place of 36 multiplications of the filter and the pixels.
#ifndef MILLSTREAM_KERNELS_NN_WINOGRAD_H_
#define MILLSTREAM_KERNELS_NN_WINOGRAD_H_

#include <array>
#include <cstdint>

#include "kernels/matmul/window_product.h"

namespace millstream::kernels {

inline constexpr int64_t kWinogradPositions = 16;

// Vectors go back over the one before them at the end of the channels, of which there are at least
// this many: the vectors of the widest instruction set.
inline constexpr int64_t kFewestWinogradChannels = 16;

// A part of a filter [3, 3, in_channels, out_channels]: some of its input channels and some strips
// of its output channels.
struct WinogradFilter {
  const float* filter;
  int64_t in_channels;
  int64_t out_channels;
  int64_t first_in;
  int64_t last_in;
  int64_t first_strip;
  int64_t last_strip;
};

// Arranges the strips of each position as ArrangeStrips does: `to` has those of the first position,
// for all input channels, then those of the next. Zeros fill the last strip.
void TransformWinogradFilter(const WinogradFilter& filter, float* to);

// The sixteen pixels of a tile's input, row by row. The number of a channel goes to the channel's
// place in `to`, that of the next position `position_step` behind it. REQUIRES: channels >=
// kFewestWinogradChannels.
using WinogradPixels = std::array<const float*, kWinogradPositions>;
void TransformWinogradInput(const WinogradPixels& pixels, int64_t channels, int64_t position_step,
                            float* to);

// A tile of the output. REQUIRES: channels >= kFewestWinogradChannels.
struct WinogradTile {
  const float* sums;  // of the first position and channel
  int64_t position_step;
  int64_t channels;
  // Where the four pixels' first channels are in the output and in epilogue.added, row by row; -1
  // where the image has ended.
  std::array<int64_t, 4> places;
  ProductEpilogue epilogue;  // the bias is that of the first channel
};

void TransformWinogradOutput(const WinogradTile& tile, float* output);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_WINOGRAD_H_
