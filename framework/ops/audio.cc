// Audio as files.
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status EncodeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 2).status());
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  return ScalarShape(context);
}

// An attribute that is a size, or -1 for any.
StatusOr<int64_t> DesiredSize(const ShapeContext& context, absl::string_view name,
                              absl::string_view what) {
  MS_ASSIGN_OR_RETURN(const int64_t size, context.Attr<int64_t>(name));
  if (size == -1) return kUnknownDim;
  if (size >= 0) return size;
  return errors::InvalidArgument("attribute '", name, "': ", what, " must be non-negative, got ",
                                 size);
}

Status DecodeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  MS_ASSIGN_OR_RETURN(const int64_t channels,
                      DesiredSize(*context, "desired_channels", "channels"));
  MS_ASSIGN_OR_RETURN(const int64_t samples, DesiredSize(*context, "desired_samples", "samples"));
  context->SetOutput(0, PartialShape({samples, channels}));
  context->SetOutput(1, PartialShape({}));
  return absl::OkStatus();
}

MILLSTREAM_OP("EncodeWav")
    .Input("audio: float")
    .Input("sample_rate: int32")
    .Output("contents: string")
    .Shape(EncodeShape)
    .Doc(R"(Encodes audio as a WAV file of 16 bits a sample.

audio is [samples, channels], with values from -1 to 1; others are cut. sample_rate is the number of
samples a second.)")
    .Example(R"(
>>> tf.audio.encode_wav([[0.5], [-0.5]], 8000).eval()[:4]
b'RIFF')");

MILLSTREAM_OP("DecodeWav")
    .Input("contents: string")
    .Output("audio: float")
    .Output("sample_rate: int32")
    .Attr("desired_channels: int = -1")
    .Attr("desired_samples: int = -1")
    .Shape(DecodeShape)
    .Doc(R"(Decodes a WAV file of 16 bits a sample.

contents is a scalar. audio is [samples, channels], with values from -1 to 1. Of more channels than
desired_channels the first are taken; of fewer the last one is taken again. Audio of another length than
desired_samples is cut, or continued by zeros. INVALID_ARGUMENT for any other file.)")
    .Example(R"(
>>> audio, sample_rate = tf.audio.decode_wav(tf.audio.encode_wav([[0.5], [-0.5]], 8000))
>>> audio.eval().tolist(), sample_rate.eval()
([[0.5], [-0.5]], 8000))");

}  // namespace
}  // namespace millstream
