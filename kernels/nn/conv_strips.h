// Convolutions of images by our own products with the filter arranged in strips.
#ifndef MILLSTREAM_KERNELS_NN_CONV_STRIPS_H_
#define MILLSTREAM_KERNELS_NN_CONV_STRIPS_H_

#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/kept_strips.h"
#include "kernels/matmul/window_product.h"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {

// A pixel of the output is a row of the input times the filter as a matrix: with channels last, a
// row of the window lies in one piece in the image. Images that need padding are copied with it, so
// that nothing else has to know of borders, and so are images whose pixels would push each other
// out of the first cache. Threads share out blocks of pixels and columns of the
// filter and cut no sum, so the bits do not depend on how many there are.
//
// Immutable except for KeepFilter. Several threads may call Run at the same time, each with its own
// scratch.
class ConvStrips {
 public:
  // True for the problems that are computed this way: images with channels last and without groups
  // for which the library has nothing faster. It depends on the shape and the instruction set, not
  // on what follows the convolution or on whether the filter is a constant.
  static bool Suits(const ConvShape& shape);

  // REQUIRES: Suits(shape).
  explicit ConvStrips(const ConvShape& shape);
  ConvStrips(const ConvStrips&) = delete;
  ConvStrips& operator=(const ConvStrips&) = delete;

  // Tells that the filter has this value in every Run, and keeps an arranged copy, which is shared
  // with others that keep the same. No bit changes.
  void KeepFilter(const float* filter);

  uint64_t scratch_bytes() const;
  // `scratch` has scratch_bytes() and is 64-byte aligned; null when that is 0. Gives the error of a
  // step that is to end early. REQUIRES: the pixels of what the epilogue adds are as far apart as
  // those of the output.
  ms::Status Run(ms::Frame& frame, const float* input, const float* filter,
                 const ProductEpilogue& epilogue, const ConvOutput& output, void* scratch) const;

 private:
  bool NeedsCopy() const;
  int64_t padded_height() const { return shape_.input[0] + shape_.before[0] + shape_.after[0]; }
  int64_t padded_width() const { return shape_.input[1] + shape_.before[1] + shape_.after[1]; }
  int64_t padded_size() const { return padded_height() * padded_width() * pixel_step_; }
  int64_t pixels() const { return shape_.output[0] * shape_.output[1]; }
  uint64_t padded_bytes() const;  // of a group of images, aligned

  // Copies images with zeros around them, and the pixels pixel_step_ apart.
  ms::Status Pad(ms::Frame& frame, const float* images, int64_t count, float* padded) const;
  // The product for `count` images, which need no copy any more. Their first pixel goes to
  // `output`.
  ms::Status Multiply(ms::Frame& frame, const WindowProduct& product, const float* images,
                      int64_t count, float* output) const;
  // Where the windows of `count` output pixels of a group of images begin, from one on.
  void FindStarts(const float* images, int64_t pixel, int64_t count, const float** starts) const;

  ConvShape shape_;
  int64_t pixel_step_;            // from pixel to pixel of the images that are multiplied
  int64_t depth_;                 // products of an element
  int64_t images_;                // of a group; the last may have fewer
  int64_t block_;                 // rows that are computed together
  std::vector<int64_t> offsets_;  // of the window's pieces
  int64_t length_;                // of a piece
  KeptStrips kept_;               // of the filter as a matrix; null when it may change
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_STRIPS_H_
