#include "core/structural/wav.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millstream {
namespace {

constexpr int64_t kBytesOfSample = 2;
constexpr int64_t kBitsOfSample = 16;
constexpr int64_t kPcm = 1;
constexpr int64_t kFormatBytes = 16;
// With a number of extra bytes, which PCM does not need.
constexpr int64_t kLongFormatBytes = 18;
// What the file's size, at its begin, does not count, and the header after that.
constexpr int64_t kPrefixBytes = 8;
constexpr int64_t kHeaderBytes = 44;
constexpr float kScale = 32768;

void Append(int64_t value, int bytes, std::string* file) {
  for (int i = 0; i < bytes; ++i) file->push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

int16_t Rounded(float sample) {
  if (std::isnan(sample)) return 0;
  const float scaled = std::round(sample * kScale);
  return static_cast<int16_t>(std::clamp<float>(scaled, std::numeric_limits<int16_t>::min(),
                                                std::numeric_limits<int16_t>::max()));
}

Status CheckFormat(const WavFormat& format) {
  constexpr int64_t kMostRate = std::numeric_limits<uint32_t>::max();
  constexpr int64_t kMostChannels = std::numeric_limits<uint16_t>::max();
  if (format.sample_rate <= 0 || format.sample_rate > kMostRate) {
    return errors::InvalidArgument("sample_rate must be in (0, 2^32), got: ", format.sample_rate);
  }
  if (format.channels <= 0 || format.channels > kMostChannels) {
    return errors::InvalidArgument("num_channels must be in (0, 2^16), got: ", format.channels);
  }
  if (format.frames <= 0) return errors::InvalidArgument("num_frames must be positive.");
  const int64_t most = std::numeric_limits<uint32_t>::max() - kHeaderBytes;
  if (format.frames > most / kBytesOfSample / format.channels ||
      format.sample_rate > kMostRate / kBytesOfSample / format.channels) {
    return errors::InvalidArgument("the file would be too large for its format: ", format.frames,
                                   " frames of ", format.channels, " channels");
  }
  return absl::OkStatus();
}

// Reads a file from its begin to its end.
class Reader {
 public:
  explicit Reader(absl::string_view file) : rest_(file) {}

  bool is_at_end() const { return rest_.empty(); }

  StatusOr<absl::string_view> Bytes(int64_t count, absl::string_view what) {
    if (count > static_cast<int64_t>(rest_.size())) {
      return errors::InvalidArgument("Data too short when trying to read ", what, ": ", count,
                                     " bytes are needed, and ", rest_.size(), " are left");
    }
    const absl::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  // An integer, its low bytes first.
  StatusOr<int64_t> Integer(int bytes, absl::string_view what) {
    MS_ASSIGN_OR_RETURN(const absl::string_view text, Bytes(bytes, what));
    int64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      value |= static_cast<int64_t>(static_cast<uint8_t>(text[i])) << (8 * i);
    }
    return value;
  }

  Status Expect(absl::string_view text) {
    MS_ASSIGN_OR_RETURN(const absl::string_view found,
                        Bytes(static_cast<int64_t>(text.size()), text));
    if (found == text) return absl::OkStatus();
    return errors::InvalidArgument("Header mismatch: Expected ", text);
  }

  Status ExpectInteger(int64_t expected, int bytes, absl::string_view what) {
    MS_ASSIGN_OR_RETURN(const int64_t found, Integer(bytes, what));
    if (found == expected) return absl::OkStatus();
    return errors::InvalidArgument("Bad ", what, " for WAV: Expected ", expected, ", but got ",
                                   found);
  }

 private:
  absl::string_view rest_;
};

StatusOr<WavFormat> ReadFormat(Reader* reader) {
  MS_RETURN_IF_ERROR(reader->Expect("fmt "));
  MS_ASSIGN_OR_RETURN(const int64_t size, reader->Integer(4, "format chunk size"));
  if (size != kFormatBytes && size != kLongFormatBytes) {
    return errors::InvalidArgument("Bad format chunk size for WAV: Expected 16 or 18, but got ",
                                   size);
  }
  MS_RETURN_IF_ERROR(reader->ExpectInteger(kPcm, 2, "audio format"));
  WavFormat format = {};
  MS_ASSIGN_OR_RETURN(format.channels, reader->Integer(2, "channel count"));
  MS_ASSIGN_OR_RETURN(format.sample_rate, reader->Integer(4, "sample rate"));
  if (format.channels == 0 || format.sample_rate == 0) {
    return errors::InvalidArgument("Bad format for WAV: ", format.channels, " channels, ",
                                   format.sample_rate, " samples a second");
  }
  const int64_t bytes_of_frame = format.channels * kBytesOfSample;
  MS_RETURN_IF_ERROR(
      reader->ExpectInteger(format.sample_rate * bytes_of_frame, 4, "bytes per second"));
  MS_RETURN_IF_ERROR(reader->ExpectInteger(bytes_of_frame, 2, "bytes per frame"));
  MS_ASSIGN_OR_RETURN(const int64_t bits, reader->Integer(2, "bits per sample"));
  if (bits != kBitsOfSample) {
    return errors::InvalidArgument("Can only read 16-bit WAV files, but received ", bits);
  }
  if (size == kLongFormatBytes) {
    MS_RETURN_IF_ERROR(reader->ExpectInteger(0, 2, "number of extra bytes"));
  }
  return format;
}

}  // namespace

StatusOr<std::string> EncodeWav(const WavFormat& format, const float* samples) {
  MS_RETURN_IF_ERROR(CheckFormat(format));
  const int64_t count = format.frames * format.channels;
  std::string file;
  file.reserve(kHeaderBytes + count * kBytesOfSample);
  file += "RIFF";
  Append(kHeaderBytes - kPrefixBytes + count * kBytesOfSample, 4, &file);
  file += "WAVEfmt ";
  Append(kFormatBytes, 4, &file);
  Append(kPcm, 2, &file);
  Append(format.channels, 2, &file);
  Append(format.sample_rate, 4, &file);
  Append(format.sample_rate * format.channels * kBytesOfSample, 4, &file);
  Append(format.channels * kBytesOfSample, 2, &file);
  Append(kBitsOfSample, 2, &file);
  file += "data";
  Append(count * kBytesOfSample, 4, &file);
  for (int64_t i = 0; i < count; ++i) Append(Rounded(samples[i]), kBytesOfSample, &file);
  return file;
}

float WavSamples::At(int64_t frame, int64_t channel) const {
  const int64_t i = (frame * format.channels + channel) * kBytesOfSample;
  const auto bits = static_cast<uint16_t>(static_cast<uint8_t>(bytes[i]) |
                                          static_cast<uint8_t>(bytes[i + 1]) << 8);
  return static_cast<float>(static_cast<int16_t>(bits)) / kScale;
}

StatusOr<WavSamples> DecodeWav(absl::string_view file) {
  Reader reader(file);
  MS_RETURN_IF_ERROR(reader.Expect("RIFF"));
  // The size is not read: streams do not know it when they begin.
  MS_RETURN_IF_ERROR(reader.Bytes(4, "the size of the file").status());
  MS_RETURN_IF_ERROR(reader.Expect("WAVE"));
  WavSamples samples = {};
  MS_ASSIGN_OR_RETURN(samples.format, ReadFormat(&reader));
  while (!reader.is_at_end()) {
    MS_ASSIGN_OR_RETURN(const absl::string_view name, reader.Bytes(4, "the name of a chunk"));
    MS_ASSIGN_OR_RETURN(const int64_t size, reader.Integer(4, "the size of a chunk"));
    if (name != "data") {
      MS_RETURN_IF_ERROR(reader.Bytes(size, name).status());
      continue;
    }
    samples.format.frames = size / (samples.format.channels * kBytesOfSample);
    MS_ASSIGN_OR_RETURN(
        samples.bytes,
        reader.Bytes(samples.format.frames * samples.format.channels * kBytesOfSample, "data"));
    return samples;
  }
  return errors::InvalidArgument("No data chunk found in the file");
}

}  // namespace millstream
