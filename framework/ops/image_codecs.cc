// Files of images.
#include <string>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// One text. The image has the channels that the attribute says, or, for 0, those of the file.
Status DecodedShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  MS_ASSIGN_OR_RETURN(const int64_t channels, context->Attr<int64_t>("channels"));
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
    return InvalidAttr(*context, "channels", "channels must be 0, 1, 3 or 4, got ", channels);
  }
  const int64_t depth = channels == 0 ? kUnknownDim : channels;
  context->SetOutput(0, PartialShape({kUnknownDim, kUnknownDim, depth}));
  return absl::OkStatus();
}

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

}  // namespace
}  // namespace millstream
