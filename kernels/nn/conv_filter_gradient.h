// The gradient of a convolution's filter, a sum over the images of the batch, with the same bits
// for any number of threads.
#ifndef MILLSTREAM_KERNELS_NN_CONV_FILTER_GRADIENT_H_
#define MILLSTREAM_KERNELS_NN_CONV_FILTER_GRADIENT_H_

#include <cstdint>
#include <memory>

#include "framework/plugin/plugin.hpp"
#include "kernels/nn/conv_library.h"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {

// The library cuts this sum by its number of threads. So each call of it gets one thread and a
// piece of the batch that depends on the problem alone; the pieces run side by side, at most
// kMostTogether of them, and their gradients are added in their order. Immutable; Run may be called
// from several threads at once.
class ConvFilterGradient {
 public:
  // `shape` must have products.
  explicit ConvFilterGradient(const ConvShape& shape);

  uint64_t scratch_bytes() const;
  // `scratch` has scratch_bytes() and is 64-byte aligned. Throws what the library throws.
  // Gives the error of a step that is to end early.
  ms::Status Run(ms::Frame& frame, const float* input, const float* output_gradient,
                 float* filter_gradient, void* scratch) const;

 private:
  static constexpr int64_t kMostTogether = 8;

  void RunPiece(int64_t piece, const float* input, const float* output_gradient,
                float* filter_gradient, char* scratch) const;
  void RunTogether(ms::Frame& frame, int64_t first, int64_t count, const float* input,
                   const float* output_gradient, float* filter_gradient, char* scratch) const;
  void AddPieces(ms::Frame& frame, int64_t count, const char* scratch,
                 float* filter_gradient) const;
  int64_t partial_gradients() const;  // that scratch has room for
  uint64_t filter_bytes() const;      // of one piece's gradient, aligned
  uint64_t library_bytes() const;     // of one piece's scratch, aligned

  ConvShape shape_;
  int64_t images_;  // of a piece; the last may have fewer
  int64_t pieces_;
  std::unique_ptr<LibraryConvolution> even_;
  std::unique_ptr<LibraryConvolution> last_;  // null when it is like the others
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_FILTER_GRADIENT_H_
