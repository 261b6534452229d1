// Writes PNG files (ISO/IEC 15948) by libpng.
#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/codecs/formats.h"

namespace millstream::codecs {
namespace {

struct Writer : Guard<Writer> {
  const millstream_pixels* image;
  int32_t bits;
  int32_t level;
  png_structp png;
  png_infop info;
  millstream_codec_bytes file;
  size_t capacity;
};

[[noreturn]] void GiveUp(png_structp png, png_const_charp message) {
  auto* const writer = static_cast<Writer*>(png_get_error_ptr(png));
  Refuse(writer->error, "%s", message);
  std::longjmp(writer->out, 1);
}

void Ignore(png_structp, png_const_charp) {}

void Append(png_structp png, png_bytep from, png_size_t size) {
  auto* const writer = static_cast<Writer*>(png_get_io_ptr(png));
  millstream_codec_bytes& file = writer->file;
  if (size > writer->capacity - file.size) {
    const size_t capacity = std::max(2 * writer->capacity, file.size + size);
    auto* const grown = static_cast<uint8_t*>(std::realloc(file.data, capacity));
    if (grown == nullptr) png_error(png, "there is no memory for the file");
    file.data = grown;
    writer->capacity = capacity;
  }
  std::memcpy(file.data + file.size, from, size);
  file.size += size;
}

void Flush(png_structp) {}

int ColorType(int64_t channels) {
  switch (channels) {
    case 1: return PNG_COLOR_TYPE_GRAY;
    case 2: return PNG_COLOR_TYPE_GRAY_ALPHA;
    case 3: return PNG_COLOR_TYPE_RGB;
    default: return PNG_COLOR_TYPE_RGB_ALPHA;
  }
}

bool WriteImage(Writer* writer) {
  writer->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, writer, &GiveUp, &Ignore);
  if (writer->png == nullptr) return Refuse(writer->error, "libpng does not start");
  writer->info = png_create_info_struct(writer->png);
  if (writer->info == nullptr) return Refuse(writer->error, "there is no memory");
  const millstream_pixels& image = *writer->image;
  png_set_write_fn(writer->png, writer, &Append, &Flush);
  png_set_compression_level(writer->png, writer->level);
  png_set_compression_mem_level(writer->png, MAX_MEM_LEVEL);
  png_set_IHDR(writer->png, writer->info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), writer->bits, ColorType(image.channels),
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer->png, writer->info);
  if (writer->bits == 16) png_set_swap(writer->png);  // from the order of x86 and ARM
  const int64_t row_bytes = image.width * image.channels * (writer->bits / 8);
  const auto* const rows = static_cast<const uint8_t*>(image.data);
  for (int64_t y = 0; y < image.height; ++y) png_write_row(writer->png, rows + y * row_bytes);
  png_write_end(writer->png, nullptr);
  return true;
}

}  // namespace

int32_t WritePng(const millstream_pixels* image, int32_t bits, int32_t level,
                 millstream_codec_bytes* file, millstream_codec_error* error) {
  *file = {nullptr, 0};
  constexpr int64_t kMaxSide = 1'000'000;  // libpng's limit
  if (image->height < 1 || image->width < 1 || image->height > kMaxSide ||
      image->width > kMaxSide) {
    Refuse(error, "a PNG file has 1 to 1000000 rows and columns, got %lld by %lld",
           static_cast<long long>(image->width), static_cast<long long>(image->height));
    return 0;
  }
  Writer writer = {};
  writer.error = error;
  writer.image = image;
  writer.bits = bits;
  writer.level = level;
  const bool done = Guarded(&writer, &WriteImage);
  if (writer.png != nullptr) png_destroy_write_struct(&writer.png, &writer.info);
  if (!done) std::free(writer.file.data);
  if (done) *file = writer.file;
  return done ? 1 : 0;
}

}  // namespace millstream::codecs
