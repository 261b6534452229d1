// Audio as files of the WAV format: PCM of 16 bits.
#ifndef MILLSTREAM_CORE_STRUCTURAL_WAV_H_
#define MILLSTREAM_CORE_STRUCTURAL_WAV_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// What the samples of a file are: frames one after the other, each with a sample a channel.
struct WavFormat {
  int64_t sample_rate;  // frames a second
  int64_t channels;
  int64_t frames;
};

// Encodes `samples`, of which -1 to 1 is the range of the file; others are cut, and NaN is 0.
// INVALID_ARGUMENT if a number of the format, or the size, is beyond what a file can say.
StatusOr<std::string> EncodeWav(const WavFormat& format, const float* samples);

// The samples of a file, which the view must outlive.
struct WavSamples {
  WavFormat format;
  absl::string_view bytes;  // 2 a sample
  // A sample between -1 and 1.
  float At(int64_t frame, int64_t channel) const;
};

// INVALID_ARGUMENT for other formats and for a file that is cut off or contradicts itself.
StatusOr<WavSamples> DecodeWav(absl::string_view file);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_WAV_H_
