// Files of images and packed bytes, by the functions that read them. The first byte says the
// format: 'p' PNG, 'j' JPEG, 'g' GIF, 's' the size of JPEG, 'z' zlib's, 'Z' gzip's. The second has
// options.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/codecs/formats.h"
#include "testing/fuzz/input.h"
#include "testing/fuzz/target.h"

namespace {

constexpr int64_t kMaxPixels = 1 << 19;
constexpr size_t kMaxBytes = 1 << 20;

using Memory = std::vector<uint16_t>;

void* Make(void* user, const millstream_image_size* size) {
  const int64_t numbers = size->frames * size->height * size->width * size->channels;
  if (numbers < 1 || numbers > 4 * kMaxPixels) {
    std::fprintf(stderr, "an image of %lld numbers\n", static_cast<long long>(numbers));
    std::abort();
  }
  auto* const memory = static_cast<Memory*>(user);
  memory->resize(static_cast<size_t>(numbers));
  return memory->data();
}

// A failure has a message.
void Check(int32_t done, const millstream_codec_error& error) {
  if (done != 0 || error.text[0] != '\0') return;
  std::fputs("a failure without a message\n", stderr);
  std::abort();
}

millstream_jpeg_reading Reading(uint8_t options) {
  millstream_jpeg_reading reading = {};
  reading.ratio = 1 << (options >> 2 & 3);
  reading.fancy_upscaling = options >> 4 & 1;
  reading.recovers = options >> 5 & 1;
  reading.acceptable_fraction = (options >> 6 & 1) != 0 ? 0.25F : 1.0F;
  reading.is_accurate = options & 1;
  reading.crops = options >> 7;
  if (reading.crops != 0) {
    const int64_t window[] = {1, 2, 3, 2};
    for (int i = 0; i < 4; ++i) reading.window[i] = window[i];
  }
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int32_t kChannels[] = {0, 1, 3, 4};
  millstream::fuzz::Input input(data, size);
  const char format = input.Take<char>();
  const auto options = input.Take<uint8_t>();
  const auto* const bytes = reinterpret_cast<const uint8_t*>(input.rest().data());
  Memory memory;
  const millstream_image_file file = {
      bytes, input.rest().size(), kChannels[options & 3], kMaxPixels, &Make, &memory};
  const millstream_jpeg_reading reading = Reading(options);
  millstream_codec_error error = {};
  millstream_codec_bytes unpacked = {};
  millstream_image_size image = {};
  namespace codecs = millstream::codecs;
  switch (format) {
    case 'p': Check(codecs::ReadPng(&file, (options & 4) != 0 ? 16 : 8, &error), error); break;
    case 'j': Check(codecs::ReadJpeg(&file, &reading, &error), error); break;
    case 'g': Check(codecs::ReadGif(&file, &error), error); break;
    case 's': Check(codecs::JpegSize(bytes, file.size, &image, &error), error); break;
    default:
      Check(codecs::Unpack(bytes, file.size, format == 'Z' ? 1 : 0, kMaxBytes, &unpacked, &error),
            error);
  }
  codecs::Release(&unpacked);
  return 0;
}
