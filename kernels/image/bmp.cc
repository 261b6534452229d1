// DecodeBmp: files without compression (Microsoft: Bitmap Storage).
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {
namespace {

// Where the header has what, and its bytes as far as they are read.
constexpr size_t kPixelsAt = 10;
constexpr size_t kWidthAt = 18;
constexpr size_t kHeightAt = 22;
constexpr size_t kBitsAt = 28;
constexpr size_t kHeaderBytes = 32;

// A little-endian number. Those of four bytes have a sign.
int64_t NumberAt(std::string_view file, size_t at, int bytes) {
  uint32_t number = 0;
  for (int i = bytes; i-- > 0;) number = number << 8 | static_cast<uint8_t>(file[at + i]);
  return bytes == 4 ? int64_t{static_cast<int32_t>(number)} : int64_t{number};
}

struct Bitmap {
  int64_t width;
  int64_t height;
  int64_t channels;
  int64_t row_bytes;  // a multiple of four
  bool top_down;
  std::string_view pixels;
};

// All sizes are compared with what the file has, so a small file makes no large image.
ms::Status ReadHeader(std::string_view file, int64_t channels, Bitmap* bitmap) {
  if (file.size() < kHeaderBytes) {
    return ms::InvalidArgument("contents: Incomplete bmp content, requires at least ", kHeaderBytes,
                               " bytes to find the header size, width, height, and bpp, got ",
                               file.size(), " bytes");
  }
  if (file.substr(0, 2) != "BM") return ms::InvalidArgument("contents are no BMP file");
  const int64_t begin = NumberAt(file, kPixelsAt, 4);
  const int64_t height = NumberAt(file, kHeightAt, 4);
  const int64_t bits = NumberAt(file, kBitsAt, 2);
  bitmap->width = NumberAt(file, kWidthAt, 4);
  bitmap->top_down = height < 0;
  bitmap->height = height < 0 ? -height : height;
  bitmap->channels = bits / 8;
  if (bits != 8 && bits != 24 && bits != 32) {
    return ms::InvalidArgument("contents: expected 8, 24 or 32 bits a pixel, got ", bits);
  }
  if (channels != 0 && channels != bitmap->channels) {
    return ms::InvalidArgument("channels attribute ", channels,
                               " does not match bits per pixel from file ", bits);
  }
  if (bitmap->width <= 0 || bitmap->height == 0) {
    return ms::InvalidArgument("contents: expected an image of a pixel at least, got ",
                               bitmap->height, " rows of ", bitmap->width);
  }
  // Below 2^34 and 2^65: rows are counted, so that nothing overflows.
  bitmap->row_bytes = (bitmap->width * bitmap->channels + 3) / 4 * 4;
  const auto size = static_cast<int64_t>(file.size());
  const int64_t last_row = bitmap->width * bitmap->channels;
  if (begin < static_cast<int64_t>(kHeaderBytes) || begin > size - last_row ||
      bitmap->height - 1 > (size - last_row - begin) / bitmap->row_bytes) {
    return ms::InvalidArgument("contents: Incomplete bmp content, ", size, " bytes for ",
                               bitmap->height, " rows of ", bitmap->row_bytes, " bytes from ",
                               begin, " on");
  }
  bitmap->pixels = file.substr(static_cast<size_t>(begin));
  return ms::Status();
}

// Pixels are blue, green, red, and how opaque they are.
void CopyRow(const Bitmap& bitmap, const char* from, uint8_t* to) {
  const int64_t channels = bitmap.channels;
  std::memcpy(to, from, bitmap.width * channels);
  if (channels == 1) return;
  for (int64_t x = 0; x < bitmap.width; ++x, to += channels) std::swap(to[0], to[2]);
}

class DecodeBmp {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("channels", &channels_));
    if (channels_ == 0 || channels_ == 1 || channels_ == 3 || channels_ == 4) return ms::Status();
    return ms::InvalidArgument("channels must be 0, 1, 3 or 4, got ", channels_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View contents = frame.input(0);
    if (contents.rank() != 0) {
      return ms::InvalidArgument("contents must be a scalar, but has shape ",
                                 contents.shape().ToString());
    }
    std::string_view file;
    MS_TRY(contents.GetString(0, &file));
    Bitmap bitmap;
    MS_TRY(ReadHeader(file, channels_, &bitmap));
    ms::View image;
    MS_TRY(frame.Output(0, {bitmap.height, bitmap.width, bitmap.channels}, &image));
    for (int64_t y = 0; y < bitmap.height; ++y) {
      const int64_t row = bitmap.top_down ? y : bitmap.height - 1 - y;
      CopyRow(bitmap, bitmap.pixels.data() + row * bitmap.row_bytes,
              image.data<uint8_t>() + y * bitmap.width * bitmap.channels);
    }
    return ms::Status();
  }

 private:
  int64_t channels_ = 0;
};

const ms::Registered decode_bmp =
    ms::Register<DecodeBmp>("DecodeBmp", ms::KernelOptions().HostArg("contents"));

}  // namespace
}  // namespace millstream::kernels
