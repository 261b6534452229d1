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

// Writes the transpose of a row-major matrix, a block after the other, for which a cache has room.
void Transpose(const float* from, int64_t rows, int64_t columns, float* to) {
  constexpr int64_t kBlock = 16;
  for (int64_t row = 0; row < rows; row += kBlock) {
    const int64_t last_row = std::min(row + kBlock, rows);
    for (int64_t column = 0; column < columns; column += kBlock) {
      const int64_t last_column = std::min(column + kBlock, columns);
      for (int64_t j = column; j < last_column; ++j) {
        for (int64_t i = row; i < last_row; ++i) to[j * rows + i] = from[i * columns + j];
      }
    }
  }
}

}  // namespace

std::unique_ptr<ConvInputGradient> ConvInputGradient::Make(const ConvShape& shape, int threads) {
  const std::optional<ConvShape> turned = Turned(shape);
  if (!turned.has_value()) return nullptr;
  if (!WinogradBlocks::Suits(*turned) && !HasFastForwardConvolution(*turned, threads)) {
    return nullptr;
  }
  // The constructor is private, so std::make_unique cannot call it.
  return std::unique_ptr<ConvInputGradient>(new ConvInputGradient(shape, *turned, threads));
}

ConvInputGradient::ConvInputGradient(const ConvShape& shape, const ConvShape& turned, int threads)
    : taps_(Product(shape.filter)),
      in_channels_(shape.in_channels / shape.groups),
      out_channels_(shape.out_channels) {
  if (WinogradBlocks::Suits(turned)) {
    winograd_ = std::make_unique<ConvWinograd>(turned, threads);
  } else {
    library_ = ConvBatches(turned, ConvDirection::kForward, threads, FilterChannels::kExchanged);
  }
}

uint64_t ConvInputGradient::forward_bytes() const {
  return AlignUp(winograd_ != nullptr ? winograd_->scratch_bytes() : library_.scratch_bytes());
}

uint64_t ConvInputGradient::scratch_bytes() const {
  const int64_t turned = is_kept_ ? 0 : taps_ * in_channels_ * out_channels_;
  return forward_bytes() + static_cast<uint64_t>(turned) * sizeof(float);
}

void ConvInputGradient::TurnTaps(int64_t begin, int64_t end, const float* filter,
                                 float* turned) const {
  const int64_t tap_size = in_channels_ * out_channels_;
  for (int64_t tap = begin; tap < end; ++tap) {
    const float* const from = filter + (taps_ - 1 - tap) * tap_size;
    float* const to = turned + tap * tap_size;
    if (winograd_ != nullptr) {
      Transpose(from, in_channels_, out_channels_, to);
    } else {
      std::copy_n(from, tap_size, to);
    }
  }
}

void ConvInputGradient::KeepFilter(const float* filter) {
  is_kept_ = true;
  kept_.resize(static_cast<size_t>(taps_ * in_channels_ * out_channels_));
  TurnTaps(0, taps_, filter, kept_.data());
  if (winograd_ == nullptr) {
    library_.KeepWeights(kept_.data());
    return;
  }
  winograd_->KeepFilter(kept_.data());
  kept_ = {};
}

ms::Status ConvInputGradient::Run(ms::Frame& frame, const float* output_gradient,
                                  const float* filter, float* input_gradient, void* scratch) const {
  if (is_kept_) return RunForward(frame, output_gradient, kept_.data(), input_gradient, scratch);
  auto* const turned = reinterpret_cast<float*>(static_cast<char*>(scratch) + forward_bytes());
  constexpr int64_t kPicosecondsPerElement = 200;
  MS_TRY(ParallelRows(frame, taps_, in_channels_ * out_channels_, kPicosecondsPerElement,
                      [&](int64_t begin, int64_t end) { TurnTaps(begin, end, filter, turned); }));
  return RunForward(frame, output_gradient, turned, input_gradient, scratch);
}

ms::Status ConvInputGradient::RunForward(ms::Frame& frame, const float* output_gradient,
                                         const float* turned, float* input_gradient,
                                         void* scratch) const {
  if (winograd_ == nullptr) {
    return library_.Run(frame, output_gradient, turned, input_gradient, scratch);
  }
  return winograd_->Run(frame, output_gradient, turned, ProductEpilogue(),
                        {input_gradient, in_channels_}, scratch);
}

}  // namespace millstream::kernels
