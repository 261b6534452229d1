// Reads JPEG files (ITU-T T.81) by libjpeg-turbo.
#include <cstdio>  // jpeglib.h needs it
//
#include <jpeglib.h>

#include <algorithm>
#include <cstring>

#include "kernels/codecs/formats.h"

namespace millstream::codecs {
namespace {

// A scan goes through all blocks, however few bytes it has. Files have some ten.
constexpr int kMaxScans = 200;
// Working memory for each pixel that the image may have: a progressive file has a coefficient of 2
// bytes for each number, and more of them than the image if that is smaller by a ratio.
constexpr long kWorkingBytes = 4;
constexpr long kLeastWorkingMemory = 1L << 20;

struct Reader : Guard<Reader> {
  const millstream_image_file* file;
  const millstream_jpeg_reading* reading;
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  millstream_image_size size;
  uint8_t* image;
  JSAMPROW row;       // of the file, where rows are not read into the image
  int64_t rows_read;  // of the image
};

Reader* Of(j_common_ptr jpeg) { return static_cast<Reader*>(jpeg->client_data); }
Reader* Of(j_decompress_ptr jpeg) { return static_cast<Reader*>(jpeg->client_data); }

[[noreturn]] void GiveUp(j_common_ptr jpeg) {
  static_assert(sizeof(millstream_codec_error) >= JMSG_LENGTH_MAX, "the message fits");
  jpeg->err->format_message(jpeg, Of(jpeg)->error->text);
  std::longjmp(Of(jpeg)->out, 1);
}

// Warnings are about faults that decoding goes on after.
void IgnoreWarning(j_common_ptr, int) {}
void PrintNothing(j_common_ptr) {}

void WatchScans(j_common_ptr jpeg) {
  Reader* const reader = Of(jpeg);
  if (reader->jpeg.input_scan_number <= kMaxScans) return;
  Refuse(reader->error, "the file has more than %d scans", kMaxScans);
  std::longjmp(reader->out, 1);
}

// ---- The file as libjpeg's source ----

void InitSource(j_decompress_ptr) {}
void EndSource(j_decompress_ptr) {}

// At the end of the file: either the marker of an end, again and again, or no more bytes, at which
// libjpeg's functions return early.
boolean FillInput(j_decompress_ptr jpeg) {
  static const JOCTET kEnd[] = {0xFF, JPEG_EOI};
  Reader* const reader = Of(jpeg);
  if (reader->reading == nullptr || reader->reading->recovers == 0) return FALSE;
  reader->source.next_input_byte = kEnd;
  reader->source.bytes_in_buffer = sizeof(kEnd);
  return TRUE;
}

void SkipInput(j_decompress_ptr jpeg, long count) {
  if (count <= 0) return;
  jpeg_source_mgr& source = Of(jpeg)->source;
  const size_t skipped = std::min(static_cast<size_t>(count), source.bytes_in_buffer);
  source.next_input_byte += skipped;
  source.bytes_in_buffer -= skipped;
}

// ---- Steps ----

bool ReadHeader(Reader* reader) {
  jpeg_create_decompress(&reader->jpeg);
  reader->jpeg.mem->max_memory_to_use =
      kLeastWorkingMemory + kWorkingBytes * static_cast<long>(reader->file->max_pixels);
  reader->jpeg.src = &reader->source;
  reader->jpeg.progress = &reader->progress;
  if (jpeg_read_header(&reader->jpeg, TRUE) == JPEG_HEADER_OK) return true;
  return Refuse(reader->error, "the file ends in its header, after %zu bytes", reader->file->size);
}

bool IsCmyk(const Reader& reader) {
  return reader.jpeg.jpeg_color_space == JCS_CMYK || reader.jpeg.jpeg_color_space == JCS_YCCK;
}

bool ChooseForm(Reader* reader) {
  jpeg_decompress_struct& jpeg = reader->jpeg;
  const int channels =
      reader->file->channels != 0 ? reader->file->channels : std::min(jpeg.num_components, 3);
  if (channels != 1 && channels != 3) {
    return Refuse(reader->error, "JPEG has 1 or 3 channels, got %d", channels);
  }
  // libjpeg makes no RGB of CMYK.
  jpeg.out_color_space = channels == 1 ? JCS_GRAYSCALE : IsCmyk(*reader) ? JCS_CMYK : JCS_RGB;
  jpeg.do_fancy_upsampling = reader->reading->fancy_upscaling != 0 ? TRUE : FALSE;
  jpeg.scale_num = 1;
  jpeg.scale_denom = static_cast<unsigned>(reader->reading->ratio);
  jpeg.dct_method = reader->reading->is_accurate != 0 ? JDCT_ISLOW : JDCT_IFAST;
  jpeg_calc_output_dimensions(&jpeg);
  reader->size = {1, jpeg.output_height, jpeg.output_width, channels};
  if (reader->size.height * reader->size.width * jpeg.num_components > reader->file->max_pixels) {
    return Refuse(reader->error, "JPEG image too large: %u by %u pixels of %d, the limit is %lld",
                  jpeg.output_width, jpeg.output_height, jpeg.num_components,
                  static_cast<long long>(reader->file->max_pixels));
  }
  const int wanted = jpeg.out_color_space == JCS_CMYK ? 4 : channels;
  if (jpeg.output_components == wanted) return true;
  return Refuse(reader->error, "%d channels of JPEG do not become %d", jpeg.num_components,
                channels);
}

bool CheckWindow(Reader* reader) {
  if (reader->reading->crops == 0) return true;
  const int64_t* const window = reader->reading->window;
  millstream_image_size& size = reader->size;
  if (window[0] < 0 || window[1] < 0 || window[2] < 1 || window[3] < 1 ||
      window[0] + window[2] > size.height || window[1] + window[3] > size.width) {
    return Refuse(reader->error,
                  "Invalid crop window: y=%lld, x=%lld, height %lld, width %lld for an image of "
                  "%lld by %lld",
                  static_cast<long long>(window[0]), static_cast<long long>(window[1]),
                  static_cast<long long>(window[2]), static_cast<long long>(window[3]),
                  static_cast<long long>(size.height), static_cast<long long>(size.width));
  }
  size.height = window[2];
  size.width = window[3];
  return true;
}

// Cyan, magenta, yellow and black; files with Adobe's marker have them inverted.
void CopyCmyk(const JSAMPLE* from, int64_t pixels, bool is_inverted, uint8_t* to) {
  const int turn = is_inverted ? 0 : 255;
  for (int64_t i = 0; i < pixels; ++i, from += 4, to += 3) {
    for (int c = 0; c < 3; ++c) {
      to[c] = static_cast<uint8_t>((from[3] ^ turn) * (from[c] ^ turn) / 255);
    }
  }
}

void CopyRow(const Reader& reader, uint8_t* to) {
  const int64_t first = reader.reading->crops != 0 ? reader.reading->window[1] : 0;
  const JSAMPLE* const from = reader.row + first * reader.jpeg.output_components;
  if (reader.jpeg.out_color_space == JCS_CMYK) {
    CopyCmyk(from, reader.size.width, reader.jpeg.saw_Adobe_marker != FALSE, to);
  } else {
    std::memcpy(to, from, static_cast<size_t>(reader.size.width * reader.size.channels));
  }
}

// Rows above a window are read too, and those below are not.
bool ReadRows(Reader* reader) {
  jpeg_decompress_struct& jpeg = reader->jpeg;
  if (jpeg_start_decompress(&jpeg) == FALSE) return true;  // no row
  const bool copies = reader->reading->crops != 0 || jpeg.out_color_space == JCS_CMYK;
  if (copies) {
    reader->row = static_cast<JSAMPROW>(jpeg.mem->alloc_large(
        reinterpret_cast<j_common_ptr>(&jpeg), JPOOL_IMAGE,
        static_cast<size_t>(jpeg.output_width) * static_cast<size_t>(jpeg.output_components)));
  }
  const int64_t above = reader->reading->crops != 0 ? reader->reading->window[0] : 0;
  for (int64_t y = -above; y < reader->size.height; ++y) {
    const int64_t row_bytes = reader->size.width * reader->size.channels;
    uint8_t* const to = reader->image + std::max<int64_t>(y, 0) * row_bytes;
    JSAMPROW row = copies ? reader->row : to;
    if (jpeg_read_scanlines(&jpeg, &row, 1) != 1) return true;
    if (y < 0) continue;
    if (copies) CopyRow(*reader, to);
    reader->rows_read = y + 1;
  }
  return true;
}

// A file without the marker of its end is cut, even if it has all rows.
bool ReadEnd(Reader* reader) {
  if (reader->jpeg.output_scanline < reader->jpeg.output_height) return true;
  if (jpeg_finish_decompress(&reader->jpeg) != FALSE) return true;
  if (reader->reading->acceptable_fraction < 1) return true;
  return Refuse(reader->error, "the file of %zu bytes lacks the marker of its end",
                reader->file->size);
}

bool CheckRows(Reader* reader) {
  const int64_t height = reader->size.height;
  if (reader->rows_read == height) return true;
  const float fraction = static_cast<float>(reader->rows_read) / static_cast<float>(height);
  if (fraction < std::min(1.0F, reader->reading->acceptable_fraction)) {
    return Refuse(reader->error, "the file of %zu bytes ends after %lld of %lld rows",
                  reader->file->size, static_cast<long long>(reader->rows_read),
                  static_cast<long long>(height));
  }
  const int64_t row_bytes = reader->size.width * reader->size.channels;
  std::memset(reader->image + reader->rows_read * row_bytes, 0,
              static_cast<size_t>((height - reader->rows_read) * row_bytes));
  return true;
}

bool ReadImage(Reader* reader) {
  if (!Guarded(reader, &ReadHeader) || !Guarded(reader, &ChooseForm)) return false;
  if (!CheckWindow(reader)) return false;
  reader->image = static_cast<uint8_t*>(reader->file->make(reader->file->user, &reader->size));
  if (reader->image == nullptr || !Guarded(reader, &ReadRows) || !CheckRows(reader)) return false;
  return reader->rows_read < reader->size.height || Guarded(reader, &ReadEnd);
}

void Prepare(const millstream_image_file* file, const millstream_jpeg_reading* reading,
             millstream_codec_error* error, Reader* reader) {
  reader->error = error;
  reader->file = file;
  reader->reading = reading;
  reader->jpeg.err = jpeg_std_error(&reader->errors);
  reader->jpeg.client_data = reader;
  reader->errors.error_exit = &GiveUp;
  reader->errors.emit_message = &IgnoreWarning;
  reader->errors.output_message = &PrintNothing;
  reader->progress.progress_monitor = &WatchScans;
  reader->source.next_input_byte = file->data;
  reader->source.bytes_in_buffer = file->size;
  reader->source.init_source = &InitSource;
  reader->source.fill_input_buffer = &FillInput;
  reader->source.skip_input_data = &SkipInput;
  reader->source.resync_to_restart = &jpeg_resync_to_restart;
  reader->source.term_source = &EndSource;
}

bool MeasureImage(Reader* reader) {
  jpeg_calc_output_dimensions(&reader->jpeg);
  reader->size = {1, reader->jpeg.output_height, reader->jpeg.output_width,
                  reader->jpeg.output_components};
  return true;
}

}  // namespace

int32_t ReadJpeg(const millstream_image_file* file, const millstream_jpeg_reading* reading,
                 millstream_codec_error* error) {
  Reader reader = {};
  Prepare(file, reading, error, &reader);
  const bool done = ReadImage(&reader);
  jpeg_destroy_decompress(&reader.jpeg);
  return done ? 1 : 0;
}

int32_t JpegSize(const uint8_t* data, size_t size, millstream_image_size* image,
                 millstream_codec_error* error) {
  const millstream_image_file file = {data, size, 0, 0, nullptr, nullptr};
  Reader reader = {};
  Prepare(&file, nullptr, error, &reader);
  const bool done = Guarded(&reader, &ReadHeader) && Guarded(&reader, &MeasureImage);
  jpeg_destroy_decompress(&reader.jpeg);
  *image = reader.size;
  return done ? 1 : 0;
}

}  // namespace millstream::codecs
