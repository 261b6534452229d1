// AudioSpectrogram and Mfcc: spectra of windows of sound, and their mel-frequency cepstral
// coefficients (S. Davis, P. Mermelstein: Comparison of Parametric Representations for Monosyllabic
// Word Recognition in Continuously Spoken Sentences, 1980).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/signal/fft.h"

namespace millstream::kernels {
namespace {

constexpr double kPi = 3.14159265358979323846;

// ---- AudioSpectrogram ----

// Input: samples [samples, channels]. Output: [channels, windows, frequencies].
class AudioSpectrogram {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("window_size", &window_size_));
    MS_TRY(info.Attr("stride", &stride_));
    MS_TRY(info.Attr("magnitude_squared", &squared_));
    constexpr int64_t kMostSamples = int64_t{1} << 30;
    if (window_size_ < 2 || window_size_ > kMostSamples || stride_ < 1) {
      return ms::InvalidArgument("Spectrogram initialization failed for window size ", window_size_,
                                 " and stride ", stride_,
                                 ": window_size must be 2 or more, stride 1 or more");
    }
    while (length_ < window_size_) length_ *= 2;
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    if (input.rank() != 2) {
      return ms::InvalidArgument("input must be 2-dimensional but got shape ",
                                 input.shape().ToString());
    }
    const int64_t samples = input.dim(0);
    const int64_t channels = input.dim(1);
    const int64_t windows = samples < window_size_ ? 0 : 1 + (samples - window_size_) / stride_;
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{channels, windows, length_ / 2 + 1}, &output));
    if (output.size() == 0) return ms::Status();
    std::vector<double> weights;  // of a Hann window
    for (int64_t i = 0; i < window_size_; ++i) {
      weights.push_back(0.5 - 0.5 * std::cos(2 * kPi * static_cast<double>(i) /
                                             static_cast<double>(window_size_)));
    }
    const std::shared_ptr<const Fft<double>> fft = FftOfLength<double>(length_);
    const auto run = [&](int64_t begin, int64_t end) {
      std::vector<double> memory(static_cast<size_t>(fft->MemorySize(1)));
      for (int64_t i = begin; i < end; ++i) {
        const float* from = input.data<float>() + i % windows * stride_ * channels + i / windows;
        const Parts<double> x = fft->Input(1, memory.data());
        std::fill_n(x.re, length_, 0.0);
        std::fill_n(x.im, length_, 0.0);
        for (int64_t k = 0; k < window_size_; ++k) x.re[k] = weights[k] * from[k * channels];
        const Parts<double> y = fft->Run(1, memory.data());
        float* to = output.data<float>() + i * (length_ / 2 + 1);
        for (int64_t k = 0; k <= length_ / 2; ++k) {
          const float power = static_cast<float>(y.re[k] * y.re[k] + y.im[k] * y.im[k]);
          to[k] = squared_ ? power : std::sqrt(power);
        }
      }
    };
    return ParallelRows(frame, channels * windows, length_, 20000, run);
  }

 private:
  int64_t window_size_ = 0;
  int64_t stride_ = 0;
  int64_t length_ = 1;
  bool squared_ = false;
};

// ---- Mfcc ----

double MelOf(double hertz) { return 1127.0 * std::log1p(hertz / 700.0); }

// Bands that overlap by half, evenly spaced over mel frequencies. A frequency is in the band whose
// middle is above it with `weight`, and in the next one with the rest.
struct MelBands {
  int64_t first = 0;  // frequencies
  int64_t last = -1;
  std::vector<int64_t> band;  // of each frequency; -1 below the middle of the first one
  std::vector<double> weight;
};

// Input: squared magnitudes [channels, windows, frequencies], and the samples of a second. Output:
// [channels, windows, coefficients].
class Mfcc {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("upper_frequency_limit", &upper_));
    MS_TRY(info.Attr("lower_frequency_limit", &lower_));
    MS_TRY(info.Attr("filterbank_channel_count", &band_count_));
    MS_TRY(info.Attr("dct_coefficient_count", &coefficients_));
    constexpr int64_t kMostBands = 1 << 20;
    if (!(lower_ >= 0 && upper_ > lower_) || std::isinf(upper_)) {
      return ms::InvalidArgument(
          "upper_frequency_limit must be above lower_frequency_limit, which ",
          "must not be negative, got ", upper_, " and ", lower_);
    }
    if (band_count_ < 1 || band_count_ > kMostBands || coefficients_ < 1 ||
        coefficients_ > band_count_) {
      return ms::InvalidArgument(
          "filterbank_channel_count must be at least dct_coefficient_count, ",
          "which must be 1 or more, got ", band_count_, " and ", coefficients_);
    }
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View rate = frame.input(1);
    if (input.rank() != 3) {
      return ms::InvalidArgument("spectrogram must be 3-dimensional but got shape ",
                                 input.shape().ToString());
    }
    if (rate.rank() != 0) {
      return ms::InvalidArgument("sample_rate must be a scalar, got the shape ",
                                 rate.shape().ToString());
    }
    const int64_t frequencies = input.dim(2);
    if (*rate.data<int32_t>() <= 0 || frequencies < 2) {
      return ms::InvalidArgument("Mfcc initialization failed for channel count ", frequencies,
                                 " of spectrogram and sample_rate ", *rate.data<int32_t>());
    }
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{input.dim(0), input.dim(1), coefficients_}, &output));
    const MelBands bands = BandsOf(frequencies, *rate.data<int32_t>());
    const int64_t windows = input.dim(0) * input.dim(1);
    const auto run = [&](int64_t begin, int64_t end) {
      std::vector<double> energies(static_cast<size_t>(band_count_));
      for (int64_t i = begin; i < end; ++i) {
        float* const to = output.data<float>() + i * coefficients_;
        std::fill_n(to, coefficients_, 0.0F);
        // A spectrum that ends below the limit gives nothing.
        if (bands.last >= frequencies) continue;
        SumBands(bands, input.data<float>() + i * frequencies, energies.data());
        Transform(energies.data(), to);
      }
    };
    return ParallelRows(frame, windows, band_count_ * coefficients_ + frequencies, 20000, run);
  }

 private:
  MelBands BandsOf(int64_t frequencies, int32_t rate) const {
    const double lowest = MelOf(lower_);
    const double spacing = (MelOf(upper_) - lowest) / static_cast<double>(band_count_ + 1);
    const auto middle = [&](int64_t band) {
      return lowest + spacing * static_cast<double>(band + 1);
    };
    const double hertz = 0.5 * rate / static_cast<double>(frequencies - 1);
    MelBands bands;
    const auto index = [&](double x) {
      return static_cast<int64_t>(std::min(x, static_cast<double>(frequencies)));
    };
    bands.first = index(1.5 + lower_ / hertz);
    bands.last = index(upper_ / hertz);
    int64_t next = 0;
    for (int64_t i = 0; i < frequencies; ++i) {
      const double mel = MelOf(static_cast<double>(i) * hertz);
      if (i < bands.first || i > bands.last) {
        bands.band.push_back(-1);
        bands.weight.push_back(0);
        continue;
      }
      while (next < band_count_ && middle(next) < mel) ++next;
      bands.band.push_back(next - 1);
      bands.weight.push_back((middle(next) - mel) / spacing);
    }
    return bands;
  }

  void SumBands(const MelBands& bands, const float* power, double* energies) const {
    std::fill_n(energies, band_count_, 0.0);
    for (int64_t i = bands.first; i <= bands.last; ++i) {
      const double size = std::sqrt(static_cast<double>(power[i]));
      const double weighted = size * bands.weight[i];
      const int64_t band = bands.band[i];
      if (band >= 0) energies[band] += weighted;
      if (band + 1 < band_count_) energies[band + 1] += size - weighted;
    }
  }

  // The cosine transform of the logarithms.
  void Transform(const double* energies, float* to) const {
    constexpr double kLeastEnergy = 1e-12;
    const double turn = kPi / static_cast<double>(band_count_);
    const double scale = std::sqrt(2.0 / static_cast<double>(band_count_));
    for (int64_t i = 0; i < coefficients_; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < band_count_; ++j) {
        const double energy = energies[j] < kLeastEnergy ? kLeastEnergy : energies[j];
        sum += scale * std::cos(static_cast<double>(i) * turn * (static_cast<double>(j) + 0.5)) *
               std::log(energy);
      }
      to[i] = static_cast<float>(sum);
    }
  }

  float upper_ = 0;
  float lower_ = 0;
  int64_t band_count_ = 0;
  int64_t coefficients_ = 0;
};

const ms::Registered spectrogram = ms::Register<AudioSpectrogram>("AudioSpectrogram");
const ms::Registered mfcc = ms::Register<Mfcc>("Mfcc", ms::KernelOptions().HostArg("sample_rate"));

}  // namespace
}  // namespace millstream::kernels
