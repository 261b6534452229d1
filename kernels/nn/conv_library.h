// float32 convolutions through oneDNN.
#ifndef MILLSTREAM_KERNELS_NN_CONV_LIBRARY_H_
#define MILLSTREAM_KERNELS_NN_CONV_LIBRARY_H_

#include <cstdint>
#include <memory>

#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {

// In which order a filter's channels lie in memory, the inner ones last: [height, width, in, out],
// or exchanged, as in the filter of the problem whose gradient this one computes.
enum class FilterChannels { kInOut, kExchanged };

// Whether the library computes the problem forwards by products of blocks (brgemm), on the
// machine's cores its fastest way by far. `shape` must have products.
bool HasFastForwardConvolution(const ConvShape& shape, int threads);

// One convolution problem in one direction for one number of threads. Activations stay in their
// plain layout; the filter is reordered to and from the layout that the library likes, which costs
// microseconds. Immutable once made; Run may be called from several threads at once, each with
// scratch of its own. The library reports failure by exceptions, which the plugin's edge catches.
class LibraryConvolution {
 public:
  // `shape` must have products. `threads` is what Run will use.
  LibraryConvolution(const ConvShape& shape, ConvDirection direction, int threads,
                     FilterChannels channels = FilterChannels::kInOut);
  ~LibraryConvolution();
  LibraryConvolution(const LibraryConvolution&) = delete;
  LibraryConvolution& operator=(const LibraryConvolution&) = delete;

  // Generates the machine code; otherwise the first Run does.
  void Prepare() const;

  // Reorders a filter that never changes once and for all; Run then ignores its own. Shares the
  // copy of `other`, which may be null, where that will do.
  void KeepWeights(const float* filter, const LibraryConvolution* other);

  uint64_t scratch_bytes() const;

  // kForward: output is written; kBackwardInput: input; kBackwardFilter: filter. The other two are
  // read. `scratch` has scratch_bytes() and is 64-byte aligned.
  void Run(const float* input, const float* filter, const float* output, void* scratch) const;

 private:
  struct Parts;
  int threads_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_LIBRARY_H_
