#include "kernels/nn/depthwise_windows.h"

#include <algorithm>
#include <numeric>

namespace millstream::kernels {
namespace {

int64_t CeilOfRatio(int64_t a, int64_t b) { return a <= 0 ? -(-a / b) : (a + b - 1) / b; }
int64_t FloorOfRatio(int64_t a, int64_t b) { return -CeilOfRatio(-a, b); }

}  // namespace

TapRun TapsOfOutput(const ConvShape& shape, uint32_t i, int64_t o) {
  const int64_t dilation = shape.dilation[i];
  const int64_t start = o * shape.stride[i] - shape.before[i];
  const int64_t first = std::max<int64_t>(0, CeilOfRatio(-start, dilation));
  const int64_t last =
      std::min(shape.filter[i] - 1, FloorOfRatio(shape.input[i] - 1 - start, dilation));
  if (last < first) return {};
  return {last - first + 1, first, 1, start + first * dilation, dilation};
}

// Tap k of output o sees input o * stride + k * dilation - before. So the taps that see p differ by
// multiples of stride / gcd(stride, dilation).
TapRun TapsOfInput(const ConvShape& shape, uint32_t i, int64_t p) {
  const int64_t stride = shape.stride[i];
  const int64_t dilation = shape.dilation[i];
  const int64_t divisor = std::gcd(stride, dilation);
  const int64_t tap_step = stride / divisor;
  const int64_t reach = p + shape.before[i];
  // Output positions grow where taps shrink; both must be within their tensors.
  const int64_t fewest =
      std::max<int64_t>(0, CeilOfRatio(reach - (shape.output[i] - 1) * stride, dilation));
  const int64_t most = std::min(shape.filter[i] - 1, FloorOfRatio(reach, dilation));
  int64_t tap = fewest;
  while (tap <= most && tap < fewest + tap_step && (reach - tap * dilation) % stride != 0) ++tap;
  if (tap > most || tap == fewest + tap_step) return {};
  return {(most - tap) / tap_step + 1, tap, tap_step, (reach - tap * dilation) / stride,
          -dilation / divisor};
}

PositionRange OutputsOfTap(const ConvShape& shape, uint32_t i, int64_t k) {
  const int64_t start = k * shape.dilation[i] - shape.before[i];
  const int64_t begin = std::max<int64_t>(0, CeilOfRatio(-start, shape.stride[i]));
  const int64_t last = FloorOfRatio(shape.input[i] - 1 - start, shape.stride[i]);
  return {begin, std::max(begin, std::min(shape.output[i], last + 1))};
}

TapPlan::TapPlan(const ConvShape& shape, ConvDirection direction)
    : channels(shape.out_channels), filter_columns(shape.filter[1]) {
  const bool forward = direction == ConvDirection::kForward;
  const auto taps = forward ? TapsOfOutput : TapsOfInput;
  const auto& source = forward ? shape.input : shape.output;
  const auto& result = forward ? shape.output : shape.input;
  source_rows = source[0];
  source_columns = source[1];
  rows.reserve(static_cast<size_t>(result[0]));
  columns.reserve(static_cast<size_t>(result[1]));
  for (int64_t row = 0; row < result[0]; ++row) rows.push_back(taps(shape, 0, row));
  for (int64_t column = 0; column < result[1]; ++column) columns.push_back(taps(shape, 1, column));
}

}  // namespace millstream::kernels
