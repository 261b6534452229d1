// Reads PNG files (ISO/IEC 15948) by libpng.
#include <png.h>

#include <cstring>

#include "kernels/codecs/formats.h"

namespace millstream::codecs {
namespace {

// libpng's own limits, which other builds of it may not have.
constexpr png_uint_32 kMaxSide = 1'000'000;
// A byte of a file unpacks to 1,032 bytes at most (zlib, "Technical Details").
constexpr uint64_t kMostUnpacked = 1032;

struct Reader : Guard<Reader> {
  const millstream_image_file* file;
  int32_t bits;
  size_t position;
  png_structp png;
  png_infop info;
  millstream_image_size size;
  bool widens;  // the image has 16 bits a number, and the file fewer
  int passes;
  uint8_t* image;
};

[[noreturn]] void GiveUp(png_structp png, png_const_charp message) {
  auto* const reader = static_cast<Reader*>(png_get_error_ptr(png));
  Refuse(reader->error, "%s, after %zu of %zu bytes", message, reader->position,
         reader->file->size);
  std::longjmp(reader->out, 1);
}

void Ignore(png_structp, png_const_charp) {}

void Read(png_structp png, png_bytep to, png_size_t size) {
  auto* const reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (size > reader->file->size - reader->position) png_error(png, "the file ends too early");
  std::memcpy(to, reader->file->data + reader->position, size);
  reader->position += size;
}

bool ReadHeader(Reader* reader) {
  reader->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reader, &GiveUp, &Ignore);
  if (reader->png == nullptr) return Refuse(reader->error, "libpng does not start");
  reader->info = png_create_info_struct(reader->png);
  if (reader->info == nullptr) return Refuse(reader->error, "there is no memory");
  png_set_user_limits(reader->png, kMaxSide, kMaxSide);
  png_set_read_fn(reader->png, reader, &Read);
  png_read_info(reader->png, reader->info);
  return true;
}

int64_t ChannelsOfFile(Reader* reader, int color, bool is_transparent) {
  if (color != PNG_COLOR_TYPE_PALETTE) return png_get_channels(reader->png, reader->info);
  return is_transparent ? 4 : 3;
}

void AskForAlpha(Reader* reader, int color, bool is_transparent) {
  const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
  if (reader->size.channels % 2 != 0) {
    png_set_strip_alpha(reader->png);
  } else if (!has_alpha && is_transparent) {
    png_set_tRNS_to_alpha(reader->png);
  } else if (!has_alpha) {
    // The largest number of the file's bits, as programs know it; colors of less than 8 bits are
    // widened before it is added, so it is opaque from 8 bits on alone.
    const int bits = png_get_bit_depth(reader->png, reader->info);
    png_set_add_alpha(reader->png, (1u << bits) - 1, PNG_FILLER_AFTER);
  }
}

// Asks for the channels and bits of the image.
bool ChooseForm(Reader* reader) {
  png_structp const png = reader->png;
  const int color = png_get_color_type(png, reader->info);
  const int bits_of_file = png_get_bit_depth(png, reader->info);
  const uint64_t packed_row = png_get_rowbytes(png, reader->info);
  const bool is_transparent = png_get_valid(png, reader->info, PNG_INFO_tRNS) != 0;
  millstream_image_size& size = reader->size;
  size.frames = 1;
  size.height = png_get_image_height(png, reader->info);
  size.width = png_get_image_width(png, reader->info);
  size.channels = reader->file->channels != 0 ? reader->file->channels
                                              : ChannelsOfFile(reader, color, is_transparent);
  if (size.height * size.width > reader->file->max_pixels) {
    return Refuse(reader->error, "PNG size too large: %lld by %lld pixels, the limit is %lld",
                  static_cast<long long>(size.width), static_cast<long long>(size.height),
                  static_cast<long long>(reader->file->max_pixels));
  }
  if (packed_row * static_cast<uint64_t>(size.height) / kMostUnpacked > reader->file->size) {
    return Refuse(reader->error, "%zu bytes cannot have the %lld by %lld pixels that they say",
                  reader->file->size, static_cast<long long>(size.width),
                  static_cast<long long>(size.height));
  }
  AskForAlpha(reader, color, is_transparent);
  if (bits_of_file > 8 && reader->bits == 8) png_set_strip_16(png);
  reader->widens = bits_of_file <= 8 && reader->bits == 16;
  png_set_packing(png);
  reader->passes = png_set_interlace_handling(png);
  if (reader->bits == 16) png_set_swap(png);  // to the order of x86 and ARM
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  const bool is_gray = (color & PNG_COLOR_MASK_COLOR) == 0;
  if (is_gray && bits_of_file < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (size.channels < 3 && !is_gray) {
    png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);  // ITU-R BT.601
  } else if (size.channels >= 3 && is_gray) {
    png_set_gray_to_rgb(png);
  }
  png_read_update_info(png, reader->info);
  const int64_t bytes = reader->bits == 16 && !reader->widens ? 2 : 1;
  if (static_cast<int64_t>(png_get_rowbytes(png, reader->info)) ==
      size.width * size.channels * bytes) {
    return true;
  }
  return Refuse(reader->error, "%d bits of color type %d do not become %lld channels", bits_of_file,
                color, static_cast<long long>(size.channels));
}

bool ReadRows(Reader* reader) {
  const int64_t row_bytes = reader->size.width * reader->size.channels * (reader->bits / 8);
  for (int pass = 0; pass < reader->passes; ++pass) {
    for (int64_t y = 0; y < reader->size.height; ++y) {
      png_read_row(reader->png, reader->image + y * row_bytes, nullptr);
    }
  }
  png_read_end(reader->png, nullptr);
  return true;
}

// 8 bits become 16 at the same place, from the row's end on: 255 becomes 65,535.
void Widen(const Reader& reader) {
  const int64_t length = reader.size.width * reader.size.channels;
  for (int64_t y = 0; y < reader.size.height; ++y) {
    uint8_t* const row = reader.image + y * length * 2;
    for (int64_t i = length; i-- > 0;) {
      const uint8_t number = row[i];
      row[2 * i] = number;
      row[2 * i + 1] = number;
    }
  }
}

bool ReadImage(Reader* reader) {
  if (!Guarded(reader, &ReadHeader) || !Guarded(reader, &ChooseForm)) return false;
  reader->image = static_cast<uint8_t*>(reader->file->make(reader->file->user, &reader->size));
  if (reader->image == nullptr || !Guarded(reader, &ReadRows)) return false;
  if (reader->widens) Widen(*reader);
  return true;
}

}  // namespace

int32_t ReadPng(const millstream_image_file* file, int32_t bits, millstream_codec_error* error) {
  Reader reader = {};
  reader.error = error;
  reader.file = file;
  reader.bits = bits;
  const bool done = ReadImage(&reader);
  if (reader.png != nullptr) png_destroy_read_struct(&reader.png, &reader.info, nullptr);
  return done ? 1 : 0;
}

}  // namespace millstream::codecs
