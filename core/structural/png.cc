#include "core/structural/png.h"

#include <png.h>

#include <cassert>
#include <limits>

namespace millstream {
namespace {

StatusOr<png_uint_32> FormatOf(int64_t channels) {
  switch (channels) {
    case 1: return PNG_FORMAT_GRAY;
    case 3: return PNG_FORMAT_RGB;
    case 4: return PNG_FORMAT_RGBA;
    default:
      return errors::InvalidArgument("a PNG file has 1, 3 or 4 channels here, got ", channels);
  }
}

}  // namespace

StatusOr<std::string> EncodePng(int64_t height, int64_t width, int64_t channels,
                                absl::Span<const uint8_t> pixels) {
  assert(static_cast<int64_t>(pixels.size()) == height * width * channels);
  MS_ASSIGN_OR_RETURN(const png_uint_32 format, FormatOf(channels));
  // The library counts in 32 bits with a sign.
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (height < 1 || width < 1 || height > kMost || width > kMost / channels ||
      height > kMost / (width * channels)) {
    return errors::InvalidArgument("a PNG file cannot hold ", height, " x ", width, " pixels of ",
                                   channels, " channels");
  }
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format;

  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  if (png_image_write_to_memory(&image, &file[0], &size, /*convert_to_8_bit=*/0, pixels.data(),
                                /*row_stride=*/0, /*colormap=*/nullptr) == 0) {
    return errors::Internal("libpng could not write an image of ", height, " x ", width, ": ",
                            image.message);
  }
  file.resize(size);
  return file;
}

}  // namespace millstream
