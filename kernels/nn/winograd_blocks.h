// How a convolution by Winograd's filtering is cut into work for threads, and how a piece of it is
// computed.
#ifndef MILLSTREAM_KERNELS_NN_WINOGRAD_BLOCKS_H_
#define MILLSTREAM_KERNELS_NN_WINOGRAD_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "kernels/matmul/window_product.h"
#include "kernels/nn/conv_shape.h"
#include "kernels/nn/winograd.h"

namespace millstream::kernels {

// How exact it is. With u = 2^-24, a transformed pixel is off by 2u of the absolute values that it
// is a sum of, a transformed weight by 4u, a sum over the channels by one u for each, and an output
// by 4u of the sums. No pixel above 1 and no weight above 1 makes these absolute values at most 64
// for each channel, 8 in each dimension; those of the direct method are at most 9. So an output is
// off by at most 64 c (c + 10) u for c channels, and by 81 c^2 u with the direct method. Small
// integers give exact results, because the factors are powers of two. What an output is off by is
// relative to the largest pixels of its tile and not of its window: a filter of one tap copies a
// pixel but for rounding. The larger tiles of F(4 x 4, 3 x 3) save more multiplications, but have
// 2,304 in the place of 64 and factors of 1/6 and 1/24.
//
// A pixel that is not finite makes NaNs of the outputs of all tiles whose input has it, which reach
// one pixel further than the windows that have it. Numbers overflow that the direct method brings
// within a factor of eight of the largest.
//
// The tiles of all images are cut into blocks, and the output channels into pairs of strips, of
// which up to two are a group. A block's transformed input and a group's sums stay in a core's
// second cache: the sixteen products of a block and a pair are made one after the other, and then
// the pixels of the group. A piece is a block and some pairs, as many as divide the work evenly
// among the threads. No sum is cut, and an output's bits depend on its tile and its channel alone,
// not on the pieces; nor does the transformed filter depend on them.
//
// Immutable; all functions may be called from several threads at once.
class WinogradBlocks {
 public:
  // True for the problems that are computed this way. It depends on the shape alone, not on whether
  // the filter is a constant: 3 x 3 filters that move by single steps over images with channels
  // last, with enough channels and tiles, where the multiplications that are saved are worth the
  // transforms and the larger filter.
  static bool Suits(const ConvShape& shape);

  // REQUIRES: Suits(shape). `threads` shall all have something to do.
  WinogradBlocks(const ConvShape& shape, int64_t threads);

  // The elements of a transformed filter, and its transformation, which is cut into parts as well.
  int64_t filter_size() const;
  int64_t filter_parts() const { return pairs_ * channel_blocks(); }
  void TransformFilter(const float* filter, int64_t part, float* transformed) const;

  int64_t pieces() const { return blocks_ * parts_; }
  // Multiplications of a piece, of the larger ones.
  int64_t piece_products() const;
  // The elements that a piece needs, 64-byte aligned, while it is computed.
  int64_t workspace_size() const { return kWinogradPositions * (input_step_ + sums_step_); }

  struct Operands {
    const float* input;
    const float* filter;  // transformed, 64-byte aligned
    ProductEpilogue epilogue;
    ConvOutput output;
  };
  void RunPiece(const Operands& operands, int64_t piece, float* workspace) const;

 private:
  struct Tile {
    int64_t image;
    int64_t row;  // of the output's tiles
    int64_t column;
  };
  struct Rows {  // of the transformed input
    int64_t first_tile;
    int64_t count;
  };

  struct Pairs {  // of strips
    int64_t first;
    int64_t count;
  };

  int64_t MostRows() const;
  void Cut(int64_t threads);
  double PieceCost(int64_t tiles, int64_t pairs) const;
  int64_t channel_blocks() const;
  int64_t FirstStrip(int64_t pair) const;
  Pairs PairsOfPart(int64_t part) const;
  Tile TileAt(int64_t index) const;
  void TransformInput(const float* input, const Rows& rows, float* transformed) const;
  void RunGroup(const Operands& operands, const Rows& rows, const Pairs& group,
                float* workspace) const;

  ConvShape shape_;
  int64_t tiles_down_;
  int64_t tiles_across_;
  int64_t tiles_;  // of all images
  int64_t strips_;
  int64_t pairs_;  // of strips; the last may have one
  int64_t block_;  // tiles of a block; the last may have fewer
  int64_t blocks_;
  int64_t parts_;             // of the pairs
  int64_t row_step_;          // of the transformed input, from tile to tile
  int64_t input_step_;        // of the same, from position to position
  int64_t sums_step_;         // of the sums, likewise
  std::vector<float> zeros_;  // a pixel outside of the image
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_WINOGRAD_BLOCKS_H_
