// Writes JPEG files (ITU-T T.81) by libjpeg-turbo.
#include <cstdio>  // jpeglib.h needs it
//
#include <jpeglib.h>

#include <cstdlib>
#include <cstring>

#include "kernels/codecs/formats.h"

namespace millstream::codecs {
namespace {

// Begins a packet of metadata, with the zero byte at its end (XMP specification, part 3).
constexpr char kXmpName[] = "http://ns.adobe.com/xap/1.0/";

struct Writer : Guard<Writer> {
  const millstream_pixels* image;
  const millstream_jpeg_writing* writing;
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  unsigned char* file;
  unsigned long file_size;
};

[[noreturn]] void GiveUp(j_common_ptr jpeg) {
  auto* const writer = static_cast<Writer*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, writer->error->text);
  std::longjmp(writer->out, 1);
}

void PrintNothing(j_common_ptr) {}

void Configure(Writer* writer) {
  jpeg_compress_struct& jpeg = writer->jpeg;
  const millstream_jpeg_writing& writing = *writer->writing;
  jpeg.image_width = static_cast<JDIMENSION>(writer->image->width);
  jpeg.image_height = static_cast<JDIMENSION>(writer->image->height);
  jpeg.input_components = static_cast<int>(writer->image->channels);
  jpeg.in_color_space = writer->image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  if (writing.optimizes_size != 0) jpeg.optimize_coding = TRUE;
  jpeg.density_unit = writing.per_centimeter != 0 ? 2 : 1;
  jpeg.X_density = static_cast<UINT16>(writing.x_density);
  jpeg.Y_density = static_cast<UINT16>(writing.y_density);
  jpeg_set_quality(&jpeg, writing.quality, TRUE);
  if (writing.progressive != 0) jpeg_simple_progression(&jpeg);
  for (int i = 0; i < jpeg.num_components && writing.chroma_downsampling == 0; ++i) {
    jpeg.comp_info[i].h_samp_factor = 1;
    jpeg.comp_info[i].v_samp_factor = 1;
  }
}

void WriteXmp(Writer* writer) {
  const millstream_jpeg_writing& writing = *writer->writing;
  if (writing.xmp_size == 0) return;
  const size_t size = sizeof(kXmpName) + writing.xmp_size;
  auto* const packet = static_cast<JOCTET*>(writer->jpeg.mem->alloc_large(
      reinterpret_cast<j_common_ptr>(&writer->jpeg), JPOOL_IMAGE, size));
  std::memcpy(packet, kXmpName, sizeof(kXmpName));
  std::memcpy(packet + sizeof(kXmpName), writing.xmp, writing.xmp_size);
  jpeg_write_marker(&writer->jpeg, JPEG_APP0 + 1, packet, static_cast<unsigned>(size));
}

bool WriteImage(Writer* writer) {
  jpeg_compress_struct& jpeg = writer->jpeg;
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &writer->file, &writer->file_size);
  Configure(writer);
  jpeg_start_compress(&jpeg, TRUE);
  WriteXmp(writer);
  // The library reads rows, though its type does not say so.
  auto* const pixels = static_cast<JSAMPLE*>(const_cast<void*>(writer->image->data));
  const int64_t row_bytes = writer->image->width * writer->image->channels;
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = pixels + jpeg.next_scanline * row_bytes;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

// What a marker can hold.
constexpr size_t kMaxXmp = 65533 - sizeof(kXmpName);

bool CheckImage(const millstream_pixels& image, const millstream_jpeg_writing& writing,
                millstream_codec_error* error) {
  if (image.height < 1 || image.width < 1 || image.height > JPEG_MAX_DIMENSION ||
      image.width > JPEG_MAX_DIMENSION) {
    return Refuse(error, "a JPEG file has 1 to %ld rows and columns, got %lld by %lld",
                  JPEG_MAX_DIMENSION, static_cast<long long>(image.width),
                  static_cast<long long>(image.height));
  }
  if (writing.xmp_size <= kMaxXmp) return true;
  return Refuse(error, "xmp_metadata: a JPEG file has at most %zu bytes of it, got %zu", kMaxXmp,
                writing.xmp_size);
}

}  // namespace

int32_t WriteJpeg(const millstream_pixels* image, const millstream_jpeg_writing* writing,
                  millstream_codec_bytes* file, millstream_codec_error* error) {
  *file = {nullptr, 0};
  if (!CheckImage(*image, *writing, error)) return 0;
  Writer writer = {};
  writer.error = error;
  writer.image = image;
  writer.writing = writing;
  writer.jpeg.err = jpeg_std_error(&writer.errors);
  writer.jpeg.client_data = &writer;
  writer.errors.error_exit = &GiveUp;
  writer.errors.output_message = &PrintNothing;
  const bool done = Guarded(&writer, &WriteImage);
  jpeg_destroy_compress(&writer.jpeg);
  if (!done) std::free(writer.file);
  if (done) *file = {writer.file, writer.file_size};
  return done ? 1 : 0;
}

}  // namespace millstream::codecs
