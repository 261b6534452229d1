// Convolutions of images by Winograd's minimal filtering: 16 multiplications where the direct
// method has 36.
#ifndef MILLSTREAM_KERNELS_NN_CONV_WINOGRAD_H_
#define MILLSTREAM_KERNELS_NN_CONV_WINOGRAD_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/kept_strips.h"
#include "kernels/nn/conv_shape.h"
#include "kernels/nn/winograd_blocks.h"

namespace millstream::kernels {

// Which problems are computed so, how, and how exactly: kernels/nn/winograd_blocks.h. Threads take
// pieces as they get free; the bits depend on the shape and the instruction set alone.
//
// Immutable except for KeepFilter. Several threads may call Run at the same time, each with its own
// scratch.
class ConvWinograd {
 public:
  // REQUIRES: WinogradBlocks::Suits(shape). `threads`: how many Run will usually be given; more
  // are not used.
  ConvWinograd(const ConvShape& shape, int threads);
  ConvWinograd(const ConvWinograd&) = delete;
  ConvWinograd& operator=(const ConvWinograd&) = delete;

  // Tells that the filter has this value in every Run, and keeps the transformed one, which is
  // shared with others that keep the same. No bit changes.
  void KeepFilter(const float* filter);
  // The transformed filter; null when the filter may change.
  const KeptStrips& kept() const { return kept_; }

  uint64_t scratch_bytes() const;
  // `scratch` has scratch_bytes() and is 64-byte aligned. Gives the error of a step that is to end
  // early. REQUIRES: the pixels of what the epilogue adds are as far apart as those of the output.
  ms::Status Run(ms::Frame& frame, const float* input, const float* filter,
                 const ProductEpilogue& epilogue, const ConvOutput& output, void* scratch) const;

 private:
  int64_t workspace_step() const;  // elements, so that each workspace is aligned
  ms::Status TransformFilter(ms::Frame& frame, const float* filter, float* transformed) const;
  ms::Status RunPieces(ms::Frame& frame, const WinogradBlocks::Operands& operands,
                       float* workspaces) const;

  WinogradBlocks blocks_;
  int64_t lanes_;  // workspaces, each for a thread
  KeptStrips kept_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_WINOGRAD_H_
