#include "core/structural/wav.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

std::string Encoded(const WavFormat& format, const std::vector<float>& samples) {
  return EncodeWav(format, samples.data()).value();
}

std::string ErrorOf(const std::string& file) { return DecodeWav(file).status().ToString(); }

// 4 bytes, the low ones first, at a place of a file.
std::string With(std::string file, size_t place, const std::string& bytes) {
  return file.replace(place, bytes.size(), bytes);
}

TEST(WavTest, AHeaderSaysWhatFollows) {
  const std::string file = Encoded({8000, 2, 1}, {0.5f, -1});
  EXPECT_EQ(file, std::string("RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\1\0\2\0\x40\x1f\0\0\0\x7d\0\0\4\0"
                              "\x10\0data\4\0\0\0\0\x40\0\x80",
                              48));
}

TEST(WavTest, SamplesComeBackRounded) {
  const std::vector<float> samples = {0.25f, -0.25f, 1.0f / 32768, -1, 0, 0.75f};
  const std::string file = Encoded({44100, 3, 2}, samples);
  const WavSamples decoded = DecodeWav(file).value();
  EXPECT_EQ(decoded.format.sample_rate, 44100);
  EXPECT_EQ(decoded.format.channels, 3);
  ASSERT_EQ(decoded.format.frames, 2);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(decoded.At(i / 3, i % 3), samples[i]);
}

TEST(WavTest, WhatIsOutOfRangeIsCut) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::string file = Encoded({1, 1, 5}, {1, 7, -7, -infinity, nan});
  const WavSamples decoded = DecodeWav(file).value();
  const std::vector<float> expected = {32767.0f / 32768, 32767.0f / 32768, -1, -1, 0};
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(decoded.At(i, 0), expected[i]);
}

TEST(WavTest, FormatsBeyondTheFileAreRefused) {
  const auto error = [](const WavFormat& format) {
    const std::vector<float> samples(4);
    return EncodeWav(format, samples.data()).status().ToString();
  };
  EXPECT_THAT(error({0, 1, 1}), HasSubstr("sample_rate must be in (0, 2^32), got: 0"));
  EXPECT_THAT(error({int64_t{1} << 32, 1, 1}), HasSubstr("sample_rate must be in"));
  EXPECT_THAT(error({1, 0, 1}), HasSubstr("num_channels must be in (0, 2^16), got: 0"));
  EXPECT_THAT(error({1, 70000, 1}), HasSubstr("num_channels"));
  EXPECT_THAT(error({1, 1, 0}), HasSubstr("num_frames must be positive"));
  EXPECT_THAT(error({1, 1, int64_t{1} << 31}), HasSubstr("too large"));
}

TEST(WavTest, OtherChunksAreSkipped) {
  std::string file = Encoded({8000, 1, 1}, {0.5f});
  file.insert(36, std::string("LIST\2\0\0\0ab", 10));
  EXPECT_EQ(DecodeWav(file).value().At(0, 0), 0.5f);
}

TEST(WavTest, FilesThatAreCutOffAreRefused) {
  const std::string file = Encoded({8000, 1, 2}, {0.5f, 1});
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(DecodeWav(file.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(ErrorOf(file.substr(0, 46)), HasSubstr("Data too short when trying to read data"));
  EXPECT_THAT(ErrorOf(file.substr(0, 36)), HasSubstr("No data chunk found"));
}

TEST(WavTest, FilesOfOtherFormatsAreRefused) {
  const std::string file = Encoded({8000, 1, 2}, {0.5f, 1});
  EXPECT_THAT(ErrorOf(With(file, 0, "RIFX")), HasSubstr("Header mismatch: Expected RIFF"));
  EXPECT_THAT(ErrorOf(With(file, 8, "AVI ")), HasSubstr("Expected WAVE"));
  EXPECT_THAT(ErrorOf(With(file, 16, "\x11")), HasSubstr("Expected 16 or 18, but got 17"));
  EXPECT_THAT(ErrorOf(With(file, 20, "\x03")), HasSubstr("Expected 1, but got 3"));
  EXPECT_THAT(ErrorOf(With(file, 22, std::string(1, '\0'))), HasSubstr("0 channels"));
  EXPECT_THAT(ErrorOf(With(file, 28, "\x01")), HasSubstr("Bad bytes per second"));
  EXPECT_THAT(ErrorOf(With(file, 32, "\x01")), HasSubstr("Bad bytes per frame"));
  EXPECT_THAT(ErrorOf(With(file, 34, "\x18")), HasSubstr("16-bit WAV files, but received 24"));
}

}  // namespace
}  // namespace millstream
