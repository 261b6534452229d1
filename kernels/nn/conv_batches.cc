#include "kernels/nn/conv_batches.h"

#include <algorithm>
#include <memory>

#include "kernels/matmul/library_threads.h"

namespace millstream::kernels {
namespace {

int64_t CeilOfRatio(int64_t a, int64_t b) { return (a + b - 1) / b; }

// It depends on the shape alone: some tens of milliseconds of a core, in calls as even as can be.
int64_t ImagesOfCall(const ConvShape& shape) {
  constexpr double kMostProducts = 1LL << 31;
  const double products =
      static_cast<double>(Product(shape.output)) * shape.FilterShape().num_elements();
  const double most = std::clamp(kMostProducts / products, 1.0, static_cast<double>(shape.batch));
  return CeilOfRatio(shape.batch, CeilOfRatio(shape.batch, static_cast<int64_t>(most)));
}

}  // namespace

ConvBatches::ConvBatches(const ConvShape& shape, ConvDirection direction, int threads,
                         FilterChannels channels)
    : batch_(shape.batch),
      images_(ImagesOfCall(shape)),
      input_image_(shape.InputShape().num_elements() / shape.batch),
      output_image_(shape.OutputShape().num_elements() / shape.batch) {
  const auto make = [&](int64_t images) {
    return WideAndSingle<LibraryConvolution>(threads, [&](int count) {
      ConvShape part = shape;
      part.batch = images;
      return std::make_unique<LibraryConvolution>(part, direction, count, channels);
    });
  };
  even_ = make(images_);
  if (batch_ % images_ != 0) last_ = make(batch_ % images_);
}

uint64_t ConvBatches::scratch_bytes() const {
  return std::max(even_.scratch_bytes(), last_.scratch_bytes());
}

void ConvBatches::KeepWeights(const float* filter) {
  even_.KeepWeights(filter);
  last_.KeepWeights(filter);
}

ms::Status ConvBatches::Run(ms::Frame& frame, const float* input, const float* filter,
                            const float* output, void* scratch) const {
  const int threads = LibraryThreadCount(frame);
  for (int64_t image = 0; image < batch_; image += images_) {
    if (image > 0) MS_TRY(frame.CheckCancelled());
    const bool is_whole = image + images_ <= batch_;
    (is_whole ? even_ : last_)
        .For(threads)
        .Run(input + image * input_image_, filter, output + image * output_image_, scratch);
  }
  return ms::Status();
}

}  // namespace millstream::kernels
