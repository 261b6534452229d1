// The library's table.
#include <cstdarg>
#include <cstdio>

#include "kernels/codecs/codec_table.h"
#include "kernels/codecs/formats.h"

namespace millstream::codecs {
namespace {

constexpr millstream_codec_table kTable = {kMillstreamCodecsVersion,
                                           &ReadPng,
                                           &ReadJpeg,
                                           &ReadGif,
                                           &JpegSize,
                                           &WritePng,
                                           &WriteJpeg,
                                           &Unpack,
                                           &Release};

}  // namespace

bool Refuse(millstream_codec_error* error, const char* format, ...) {
  va_list parts;
  va_start(parts, format);
  std::vsnprintf(error->text, sizeof(error->text), format, parts);
  va_end(parts);
  return false;
}

const millstream_codec_table* Table() { return &kTable; }

}  // namespace millstream::codecs

extern "C" __attribute__((visibility("default"))) const millstream_codec_table*
millstream_codecs() {
  return millstream::codecs::Table();
}
