// The functions of the table (codec_table.h), by format.
//
// libpng and libjpeg leave their functions by longjmp when they give up. All state of a file is in
// one structure, and `Guarded` runs a step with it. A step is a function in which nothing has a
// destructor.
#ifndef MILLSTREAM_KERNELS_CODECS_FORMATS_H_
#define MILLSTREAM_KERNELS_CODECS_FORMATS_H_

#include <csetjmp>

#include "kernels/codecs/codec_table.h"

namespace millstream::codecs {

int32_t ReadPng(const millstream_image_file* file, int32_t bits, millstream_codec_error* error);
int32_t ReadJpeg(const millstream_image_file* file, const millstream_jpeg_reading* reading,
                 millstream_codec_error* error);
int32_t ReadGif(const millstream_image_file* file, millstream_codec_error* error);
int32_t JpegSize(const uint8_t* data, size_t size, millstream_image_size* image,
                 millstream_codec_error* error);
int32_t WritePng(const millstream_pixels* image, int32_t bits, int32_t level,
                 millstream_codec_bytes* file, millstream_codec_error* error);
int32_t WriteJpeg(const millstream_pixels* image, const millstream_jpeg_writing* writing,
                  millstream_codec_bytes* file, millstream_codec_error* error);
int32_t Unpack(const uint8_t* data, size_t size, int32_t is_gzip, size_t max_size,
               millstream_codec_bytes* bytes, millstream_codec_error* error);
void Release(millstream_codec_bytes* bytes);

// All of them.
const millstream_codec_table* Table();

// Writes the message. Returns false.
bool Refuse(millstream_codec_error* error, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// What a step needs: `State` derives from it.
template <typename State>
struct Guard {
  std::jmp_buf out;
  bool (*step)(State* state);
  millstream_codec_error* error;
};

// Runs a step. False if it returns false or the library gave up in it, with a message in `error`.
// The step is called through memory, so that it is not inlined next to setjmp.
template <typename State>
bool Guarded(State* state, bool (*step)(State* state)) {
  state->step = step;
  if (setjmp(state->out) != 0) return false;
  return state->step(state);
}

}  // namespace millstream::codecs

#endif  // MILLSTREAM_KERNELS_CODECS_FORMATS_H_
