// Spectra of sound.
#include <cstdint>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status SpectrogramShape(ShapeContext* context) {
  constexpr int64_t kMostSamples = int64_t{1} << 30;
  MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(const int64_t window, context->Attr<int64_t>("window_size"));
  MS_ASSIGN_OR_RETURN(const int64_t stride, context->Attr<int64_t>("stride"));
  if (window < 2 || window > kMostSamples) {
    return InvalidAttr(*context, "window_size", "expected 2 to ", kMostSamples, ", got ", window);
  }
  if (stride < 1) return InvalidAttr(*context, "stride", "expected 1 or more, got ", stride);
  int64_t length = 1;
  while (length < window) length *= 2;
  const int64_t samples = input.dim(0);
  int64_t windows = kUnknownDim;
  if (samples != kUnknownDim) windows = samples < window ? 0 : 1 + (samples - window) / stride;
  context->SetOutput(0, PartialShape({input.dim(1), windows, length / 2 + 1}));
  return absl::OkStatus();
}

Status MfccShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRank(0, 3));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  MS_ASSIGN_OR_RETURN(const int64_t bands, context->Attr<int64_t>("filterbank_channel_count"));
  MS_ASSIGN_OR_RETURN(const int64_t count, context->Attr<int64_t>("dct_coefficient_count"));
  MS_ASSIGN_OR_RETURN(const float lower, context->Attr<float>("lower_frequency_limit"));
  MS_ASSIGN_OR_RETURN(const float upper, context->Attr<float>("upper_frequency_limit"));
  if (!(lower >= 0)) {
    return InvalidAttr(*context, "lower_frequency_limit", "expected 0 or more, got ", lower);
  }
  if (!(upper > lower) || upper > 1e30F) {
    return InvalidAttr(*context, "upper_frequency_limit", "expected more than ", lower, ", got ",
                       upper);
  }
  if (bands < 1 || bands > (1 << 20)) {
    return InvalidAttr(*context, "filterbank_channel_count", "expected 1 to ", 1 << 20, ", got ",
                       bands);
  }
  if (count < 1 || count > bands) {
    return InvalidAttr(*context, "dct_coefficient_count", "expected 1 to ", bands,
                       ", the filterbank_channel_count, got ", count);
  }
  shape.set_dim(2, count);
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

MILLSTREAM_OP("AudioSpectrogram")
    .Input("input: float")
    .Output("spectrogram: float")
    .Attr("window_size: int")
    .Attr("stride: int")
    .Attr("magnitude_squared: bool = false")
    .Shape(SpectrogramShape)
    .Doc(R"(Computes the spectra of a sound.

The input has shape [samples, channels]. Windows of window_size samples begin every stride samples; each is
multiplied by a Hann window, filled with zeros up to a power of two and transformed. The output has the
magnitudes, shape [channels, windows, frequencies].)");

MILLSTREAM_OP("Mfcc")
    .Input("spectrogram: float")
    .Input("sample_rate: int32")
    .Output("output: float")
    .Attr("upper_frequency_limit: float = 4000")
    .Attr("lower_frequency_limit: float = 20")
    .Attr("filterbank_channel_count: int = 40")
    .Attr("dct_coefficient_count: int = 13")
    .Shape(MfccShape)
    .Doc(R"(Computes the mel-frequency cepstral coefficients of spectra.

The spectrogram is that of AudioSpectrogram with magnitude_squared. The output has shape [channels, windows,
coefficients].)");

}  // namespace
}  // namespace millstream
