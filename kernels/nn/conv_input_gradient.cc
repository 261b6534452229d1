#include "kernels/nn/conv_input_gradient.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

uint64_t AlignUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// The convolution that maps the output's gradient to the input's; nothing where windows jump, or
// where the padding exceeds the window, so that some outputs have no part in it.
std::optional<ConvShape> Turned(const ConvShape& shape) {
  ConvShape turned = shape;
  std::swap(turned.in_channels, turned.out_channels);
  std::swap(turned.input, turned.output);
  for (size_t i = 0; i < turned.input.size(); ++i) {
    const int64_t reach = (shape.filter[i] - 1) * shape.dilation[i];
    turned.before[i] = reach - shape.before[i];
    turned.after[i] = reach - shape.after[i];
    if (shape.stride[i] != 1 || turned.before[i] < 0 || turned.after[i] < 0) return std::nullopt;
  }
  return turned;
}

}  // namespace

std::unique_ptr<ConvInputGradient> ConvInputGradient::Make(const ConvShape& shape, int threads) {
  const std::optional<ConvShape> turned = Turned(shape);
  if (!turned.has_value() || !HasFastForwardConvolution(*turned, threads)) return nullptr;
  // The constructor is private, so std::make_unique cannot call it.
  return std::unique_ptr<ConvInputGradient>(new ConvInputGradient(shape, *turned, threads));
}

ConvInputGradient::ConvInputGradient(const ConvShape& shape, const ConvShape& turned, int threads)
    : taps_(Product(shape.filter)),
      tap_size_(shape.FilterShape().num_elements() / taps_),
      library_(turned, ConvDirection::kForward, threads, FilterChannels::kExchanged) {}

uint64_t ConvInputGradient::library_bytes() const { return AlignUp(library_.scratch_bytes()); }

uint64_t ConvInputGradient::scratch_bytes() const {
  return library_bytes() +
         (!kept_.empty() ? 0 : static_cast<uint64_t>(taps_ * tap_size_) * sizeof(float));
}

void ConvInputGradient::TurnTaps(int64_t begin, int64_t end, const float* filter,
                                 float* turned) const {
  for (int64_t tap = begin; tap < end; ++tap) {
    std::copy_n(filter + (taps_ - 1 - tap) * tap_size_, tap_size_, turned + tap * tap_size_);
  }
}

void ConvInputGradient::KeepFilter(const float* filter) {
  kept_.resize(taps_ * tap_size_);
  TurnTaps(0, taps_, filter, kept_.data());
  library_.KeepWeights(kept_.data());
}

ms::Status ConvInputGradient::Run(ms::Frame& frame, const float* output_gradient,
                                  const float* filter, float* input_gradient, void* scratch) const {
  const float* turned = kept_.data();
  if (kept_.empty()) {
    auto* const copy = reinterpret_cast<float*>(static_cast<char*>(scratch) + library_bytes());
    constexpr int64_t kPicosecondsPerElement = 200;
    MS_TRY(ParallelRows(frame, taps_, tap_size_, kPicosecondsPerElement,
                        [&](int64_t begin, int64_t end) { TurnTaps(begin, end, filter, copy); }));
    turned = copy;
  }
  return library_.Run(frame, output_gradient, turned, input_gradient, scratch);
}

}  // namespace millstream::kernels
