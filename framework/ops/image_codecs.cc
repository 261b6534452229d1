// Files of images.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// What the attribute says; unknown for 0, which stands for the channels of the file.
StatusOr<int64_t> Channels(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const int64_t channels, context.Attr<int64_t>("channels"));
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
    return InvalidAttr(context, "channels", "channels must be 0, 1, 3 or 4, got ", channels);
  }
  return channels == 0 ? kUnknownDim : channels;
}

// ---- Reading ----

Status DecodedShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  MS_ASSIGN_OR_RETURN(const int64_t channels, Channels(*context));
  context->SetOutput(0, PartialShape({kUnknownDim, kUnknownDim, channels}));
  return absl::OkStatus();
}

Status CheckJpegAttrs(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const int64_t ratio, context.Attr<int64_t>("ratio"));
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
    return InvalidAttr(context, "ratio", "ratio must be 1, 2, 4, or 8, got ", ratio);
  }
  MS_ASSIGN_OR_RETURN(const std::string method, context.Attr<std::string>("dct_method"));
  if (method.empty() || method == "INTEGER_FAST" || method == "INTEGER_ACCURATE") {
    return absl::OkStatus();
  }
  return InvalidAttr(context, "dct_method",
                     "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}, got '",
                     absl::CEscape(method), "'");
}

Status DecodedJpegShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckJpegAttrs(*context));
  return DecodedShape(context);
}

// Element d of the window of a crop, which has to have a pixel.
StatusOr<int64_t> WindowSize(const ShapeContext& context, int d) {
  const std::optional<PartialValue> window = context.InputValue(1);
  if (!window.has_value() || !(*window)[d].has_value()) return kUnknownDim;
  const int64_t size = *(*window)[d];
  if (size > 0) return size;
  return InvalidInput(context, 1, "expected a height and a width above 0, got ", size);
}

Status CroppedShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(DecodedJpegShape(context));
  MS_ASSIGN_OR_RETURN(const PartialShape window, context->WithRank(1, 1));
  if (!context->MergeDim(window.dim(0), 4).ok()) {
    return InvalidInput(*context, 1, "expected a vector of 4, got shape ", window.ToString());
  }
  PartialShape image = context->output(0);
  MS_ASSIGN_OR_RETURN(const int64_t height, WindowSize(*context, 2));
  MS_ASSIGN_OR_RETURN(const int64_t width, WindowSize(*context, 3));
  image.set_dim(0, height);
  image.set_dim(1, width);
  context->SetOutput(0, std::move(image));
  return absl::OkStatus();
}

Status FramesShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  context->SetOutput(0, PartialShape({kUnknownDim, kUnknownDim, kUnknownDim, 3}));
  return absl::OkStatus();
}

Status SizeOfFileShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  context->SetOutput(0, PartialShape({3}));
  return absl::OkStatus();
}

// ---- Writing ----

Status EncodedShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 3).status());
  context->SetOutput(0, PartialShape::Scalar());
  return absl::OkStatus();
}

Status EncodedPngShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t level, context->Attr<int64_t>("compression"));
  if (level >= -1 && level <= 9) return EncodedShape(context);
  return InvalidAttr(*context, "compression", "compression should be in [-1,9], got ", level);
}

Status EncodedJpegShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t quality, context->Attr<int64_t>("quality"));
  if (quality < 0 || quality > 100) {
    return InvalidAttr(*context, "quality", "quality must be in [0,100], got ", quality);
  }
  for (const char* const name : {"x_density", "y_density"}) {
    MS_ASSIGN_OR_RETURN(const int64_t density, context->Attr<int64_t>(name));
    if (density < 0 || density > 65535) {
      return InvalidAttr(*context, name, "expected 0 to 65535, got ", density);
    }
  }
  return EncodedShape(context);
}

Status EncodedOfQualityShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  return EncodedShape(context);
}

// ---- Definitions ----

MILLSTREAM_OP("DecodeBmp")
    .Input("contents: string")
    .Output("image: uint8")
    .Attr("channels: int = 0")
    .Shape(DecodedShape)
    .Doc(R"(Reads a BMP file, without compression, of 8, 24 or 32 bits a pixel.

contents is the file. The image is [height, width, channels]; channels is 0 for those of the file, else they
must be as many. A pixel of 8 bits is its number in the palette. INVALID_ARGUMENT for what is no such file,
and for one that ends too early.)")
    .Example(R"(
>>> header = b"BM" + bytes(8) + bytes([54, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 24, 0])
>>> tf.image.decode_bmp(header + bytes(24) + b"\x03\x02\x01\x00").eval().tolist()
[[[1, 2, 3]]])");

MILLSTREAM_OP("DecodePng")
    .Input("contents: string")
    .Output("image: dtype")
    .Attr("channels: int = 0")
    .Attr("dtype: {uint8, uint16} = uint8")
    .Shape(DecodedShape)
    .Doc(R"(Reads a PNG file.

contents is the file. The image is [height, width, channels]; channels is 0 for those of the file, 1 for shades
of gray, 3 for red, green and blue, 4 with alpha. Colors of a palette become red, green and blue. Numbers of 16 bits
become their upper 8 for uint8, and 8 bits become 16 for uint16. JPEG files and GIF files of one frame are read as
well. INVALID_ARGUMENT for what is no such file, for one that ends too early, and for 2^29 pixels or more.)")
    .Example(R"(
>>> image = tf.constant([[[1, 2, 3], [4, 5, 6]]], tf.uint8)
>>> tf.image.decode_png(tf.image.encode_png(image)).eval().tolist()
[[[1, 2, 3], [4, 5, 6]]])");

MILLSTREAM_OP("DecodeJpeg")
    .Input("contents: string")
    .Output("image: uint8")
    .Attr("channels: int = 0")
    .Attr("ratio: int = 1")
    .Attr("fancy_upscaling: bool = true")
    .Attr("try_recover_truncated: bool = false")
    .Attr("acceptable_fraction: float = 1")
    .Attr("dct_method: string = ''")
    .Shape(DecodedJpegShape)
    .Doc(R"(Reads a JPEG file.

contents is the file. The image is [height, width, channels]; channels is 0 for those of the file, 1 for shades
of gray, 3 for red, green and blue. Height and width become smaller by ratio, 1, 2, 4 or 8, rounded up. fancy_upscaling
interpolates colors of less resolution. dct_method is INTEGER_FAST, INTEGER_ACCURATE, or "" for the fast one. A file
that ends too early is INVALID_ARGUMENT, unless it has acceptable_fraction of its rows, where the others become
black, or try_recover_truncated makes them up. PNG files and GIF files of one frame are read as well. INVALID_ARGUMENT
for 2^29 numbers or more.)")
    .Example(R"(
>>> gray = tf.fill([8, 8, 1], tf.constant(100, tf.uint8))
>>> tf.image.decode_jpeg(tf.image.encode_jpeg(gray))[0, 0].eval().tolist()
[100])");

MILLSTREAM_OP("DecodeAndCropJpeg")
    .Input("contents: string")
    .Input("crop_window: int32")
    .Output("image: uint8")
    .Attr("channels: int = 0")
    .Attr("ratio: int = 1")
    .Attr("fancy_upscaling: bool = true")
    .Attr("try_recover_truncated: bool = false")
    .Attr("acceptable_fraction: float = 1")
    .Attr("dct_method: string = ''")
    .Shape(CroppedShape)
    .Doc(R"(Reads a part of a JPEG file: the same as DecodeJpeg and a slice of its image.

crop_window has the first row, the first column, the height and the width of the part. The rows below it are not read.
The attributes are those of DecodeJpeg.)")
    .Example(R"(
>>> file = tf.image.encode_jpeg(tf.fill([8, 8, 1], tf.constant(100, tf.uint8)))
>>> tf.image.decode_and_crop_jpeg(file, [2, 3, 4, 5]).shape.as_list()
[4, 5, None])");

MILLSTREAM_OP("DecodeGif")
    .Input("contents: string")
    .Output("image: uint8")
    .Shape(FramesShape)
    .Doc(R"(Reads all frames of a GIF file.

contents is the file. The image is [frames, height, width, 3], red, green and blue. A frame is drawn over the one
before, where its colors are not transparent. The way of disposal that the file says is not followed. JPEG and
PNG files are read as well, as one frame. INVALID_ARGUMENT for what is no such file, for one that ends too early, and for
2^29 numbers or more.)")
    .Example(R"(
>>> colors = b"\x01\x02\x03\x04\x05\x06"
>>> frame = b",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02L\x01\x00"
>>> tf.image.decode_gif(b"GIF89a\x01\x00\x01\x00\x80\x00\x00" + colors + frame + b";").eval().tolist()
[[[[4, 5, 6]]]])");

MILLSTREAM_OP("ExtractJpegShape")
    .Input("contents: string")
    .Output("image_shape: output_type")
    .Attr("output_type: {int32, int64} = int32")
    .Shape(SizeOfFileShape)
    .Doc(R"(Height, width and channels that a JPEG file says. No pixel is read.)")
    .Example(R"(
>>> file = tf.image.encode_jpeg(tf.fill([8, 9, 3], tf.constant(100, tf.uint8)))
>>> tf.image.extract_jpeg_shape(file).eval().tolist()
[8, 9, 3])");

MILLSTREAM_OP("EncodePng")
    .Input("image: T")
    .Output("contents: string")
    .Attr("compression: int = -1")
    .Attr("T: {uint8, uint16} = uint8")
    .Shape(EncodedPngShape)
    .Doc(R"(Writes an image as a PNG file.

image is [height, width, channels] with 1 channel for shades of gray, 2 for gray with alpha, 3 for red, green and
blue, 4 with alpha. compression is from 0, for none, to 9, for the smallest file; -1 is zlib's default.)")
    .Example(R"(
>>> tf.image.encode_png(tf.constant([[[1, 2, 3]]], tf.uint8)).eval()[:4]
b'\x89PNG')");

MILLSTREAM_OP("EncodeJpeg")
    .Input("image: uint8")
    .Output("contents: string")
    .Attr("format: {'', 'grayscale', 'rgb'} = ''")
    .Attr("quality: int = 95")
    .Attr("progressive: bool = false")
    .Attr("optimize_size: bool = false")
    .Attr("chroma_downsampling: bool = true")
    .Attr("density_unit: {'in', 'cm'} = 'in'")
    .Attr("x_density: int = 300")
    .Attr("y_density: int = 300")
    .Attr("xmp_metadata: string = ''")
    .Shape(EncodedJpegShape)
    .Doc(R"(Writes an image as a JPEG file.

image is [height, width, channels] with 1 channel for shades of gray or 3 for red, green and blue. format says which it
must be; "" is for both. quality is from 0 to 100. A progressive file shows the whole image early. optimize_size
computes codes for this image. chroma_downsampling keeps colors at half the resolution. The densities are pixels an inch
or a centimeter. xmp_metadata becomes a part of the file.)")
    .Example(R"(
>>> tf.image.encode_jpeg(tf.fill([8, 8, 1], tf.constant(100, tf.uint8))).eval()[:3]
b'\xff\xd8\xff')");

MILLSTREAM_OP("EncodeJpegVariableQuality")
    .Input("images: uint8")
    .Input("quality: int32")
    .Output("contents: string")
    .Shape(EncodedOfQualityShape)
    .Doc(R"(Writes an image as a JPEG file of a quality that an input says.

images is one image, [height, width, channels] with 1 or 3 channels; quality is from 0 to 100. Everything else
is as EncodeJpeg does it by default.)");

}  // namespace
}  // namespace millstream
