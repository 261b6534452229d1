/* The table of functions of the library that reads and writes files of images, and unpacks
 * compressed bytes. Kernels open the library when they first need it (codecs.h); nothing else of
 * Millstream is linked with libjpeg and giflib.
 *
 * Functions may be called from any thread. One returns 1 for success. For 0 it has written what is
 * wrong into `error`, unless `make` gave NULL. None keeps a pointer that it was given. */
#ifndef MILLSTREAM_KERNELS_CODECS_CODEC_TABLE_H_
#define MILLSTREAM_KERNELS_CODECS_CODEC_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kMillstreamCodecsVersion = 1 };

typedef struct millstream_codec_error {
  char text[256];
} millstream_codec_error;

/* Bytes that the library allocated. `release` frees them. */
typedef struct millstream_codec_bytes {
  uint8_t* data;
  size_t size;
} millstream_codec_bytes;

typedef struct millstream_image_size {
  int64_t frames;
  int64_t height;
  int64_t width;
  int64_t channels;
} millstream_image_size;

/* Gives memory for frames * height * width * channels numbers; NULL for none, which ends the
 * function. It is called once at most. It must not throw. */
typedef void* (*millstream_make_image)(void* user, const millstream_image_size* size);

/* A file that is to be read. */
typedef struct millstream_image_file {
  const uint8_t* data;
  size_t size;
  int32_t channels;   /* of the image: 1, 3 or 4; 0 for those of the file */
  int64_t max_pixels; /* a larger image is refused before there is memory for it */
  millstream_make_image make;
  void* user;
} millstream_image_file;

typedef struct millstream_jpeg_reading {
  int32_t ratio; /* 1, 2, 4 or 8: how often smaller height and width become */
  int32_t fancy_upscaling;
  int32_t recovers;          /* rows that the file lacks are made up */
  float acceptable_fraction; /* of rows that the file must have; the rest becomes black */
  int32_t is_accurate;       /* the exact inverse transform of integers, not the fast one */
  int32_t crops;
  int64_t window[4]; /* of a crop: first row, first column, height, width */
} millstream_jpeg_reading;

/* An image that is to be written. */
typedef struct millstream_pixels {
  const void* data;
  int64_t height;
  int64_t width;
  int64_t channels;
} millstream_pixels;

typedef struct millstream_jpeg_writing {
  int32_t quality; /* 0 to 100 */
  int32_t progressive;
  int32_t optimizes_size;
  int32_t chroma_downsampling;
  int32_t per_centimeter; /* the densities are so, and not an inch */
  int32_t x_density;
  int32_t y_density;
  const char* xmp; /* a packet of metadata; of no size for none */
  size_t xmp_size;
} millstream_jpeg_writing;

typedef struct millstream_codec_table {
  uint32_t version; /* kMillstreamCodecsVersion */
  /* PNG with 8 or 16 bits a number. Gray with alpha has two channels where those of the file are
   * asked for. */
  int32_t (*read_png)(const millstream_image_file* file, int32_t bits,
                      millstream_codec_error* error);
  /* JPEG, 8 bits a number; without 4 channels. max_pixels counts each channel. */
  int32_t (*read_jpeg)(const millstream_image_file* file, const millstream_jpeg_reading* reading,
                       millstream_codec_error* error);
  /* GIF, 8 bits a number and 3 channels. max_pixels counts each channel of all frames. */
  int32_t (*read_gif)(const millstream_image_file* file, millstream_codec_error* error);
  /* The size that the header of a JPEG file says, with the channels of the file. */
  int32_t (*jpeg_size)(const uint8_t* data, size_t size, millstream_image_size* image,
                       millstream_codec_error* error);
  /* `level`: 0 to 9, -1 for zlib's default. */
  int32_t (*write_png)(const millstream_pixels* image, int32_t bits, int32_t level,
                       millstream_codec_bytes* file, millstream_codec_error* error);
  /* One channel or three, 8 bits a number. */
  int32_t (*write_jpeg)(const millstream_pixels* image, const millstream_jpeg_writing* writing,
                        millstream_codec_bytes* file, millstream_codec_error* error);
  /* Unpacks streams of zlib's format, or of gzip's, one after the other. Fails for more than
   * `max_size` bytes. */
  int32_t (*unpack)(const uint8_t* data, size_t size, int32_t is_gzip, size_t max_size,
                    millstream_codec_bytes* bytes, millstream_codec_error* error);
  void (*release)(millstream_codec_bytes* bytes);
} millstream_codec_table;

/* The library's only symbol. */
typedef const millstream_codec_table* (*millstream_get_codecs)(void);
#define MILLSTREAM_CODECS_SYMBOL "millstream_codecs"

#ifdef __cplusplus
}
#endif

#endif /* MILLSTREAM_KERNELS_CODECS_CODEC_TABLE_H_ */
