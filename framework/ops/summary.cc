// Summaries: serialized Summary messages that event files hold.
#include "framework/op_registry.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Whether tags and values fit is checked when the op runs, not here: programs expect the step to
// fail with InvalidArgumentError, and the graph to be built.

MILLSTREAM_OP("ScalarSummary")
    .Input("tags: string")
    .Input("values: T")
    .Output("summary: string")
    .Attr(TypeAttr("T", kRealTypes))
    .Shape(ScalarShape)
    .Doc(R"(Makes a summary that gives each value the tag at the same place.

tags and values have one shape. The output is one serialized Summary.)");

MILLSTREAM_OP("MergeSummary")
    .Input("inputs: N * string")
    .Output("summary: string")
    .Attr("N: int >= 1")
    .Shape(ScalarShape)
    .Doc(R"(Joins serialized summaries into one.

inputs may have any shape. INVALID_ARGUMENT when a tag occurs twice, or for a string that is
no summary.)");

MILLSTREAM_OP("HistogramSummary")
    .Input("tag: string")
    .Input("values: T")
    .Output("summary: string")
    .Attr(TypeAttr("T", kRealTypes, " = float"))
    .Shape(ScalarShape)
    .Doc(R"(Makes a summary that counts values by interval.

The ends of the intervals are 0 and, on both sides of it, 1e-12 and on by factors of 1.1 up to 1e20.
tag is a scalar, values may have any shape. The output is one serialized Summary.
INVALID_ARGUMENT when a value is not finite.)");

MILLSTREAM_OP("ImageSummary")
    .Input("tag: string")
    .Input("tensor: T")
    .Output("summary: string")
    .Attr("max_images: int >= 1 = 3")
    .Attr("T: {uint8, float, half, double} = float")
    .Attr("bad_color: tensor = uint8[4] [255, 0, 0, 255]")
    .Shape(ScalarShape)
    .Doc(R"(Makes a summary of the first max_images images of a batch, as PNG files.

tensor is [batch, height, width, channels] with 1 (gray), 3 (RGB) or 4 (RGBA) channels. uint8
pixels are taken as they are. Others are scaled, image by image: without negative values so that the
largest becomes 255, else so that 0 becomes 128 and the largest magnitude 127 away from it. A pixel
with a value that is not finite gets bad_color. Image i has the tag `tag/image/i`; `tag/image` when
max_images is 1.)");

void OfAudio(OpSpec* spec) {
  (*spec).Output("summary: string").Attr("max_outputs: int >= 1 = 3").Shape(ScalarShape);
}

MILLSTREAM_OP("AudioSummaryV2")
    .Input("tag: string")
    .Input("tensor: float")
    .Input("sample_rate: float")
    .With(OfAudio)
    .Doc(R"(Makes a summary of the first max_outputs clips of a batch, as WAV files.

tensor is [batch, samples] or [batch, samples, channels], with values from -1 to 1; others are cut.
sample_rate is the number of samples a second, a scalar. Clip i has the tag `tag/audio/i`; `tag/audio` when
max_outputs is 1.)");

MILLSTREAM_OP("AudioSummary")
    .Input("tag: string")
    .Input("tensor: float")
    .Attr("sample_rate: float")
    .With(OfAudio)
    .Doc(R"(Does what AudioSummaryV2 does, with one sample_rate for all steps.)");

MILLSTREAM_OP("TensorSummary")
    .Input("tensor: T")
    .Output("summary: string")
    .Attr("T: type")
    .Attr("description: string = \"\"")
    .Attr("labels: list(string) = []")
    .Attr("display_name: string = \"\"")
    .Shape(ScalarShape)
    .Doc(R"(Makes a summary that holds a tensor as it is, under the name of the node.

description is a SummaryDescription as JSON. It, labels and display_name are for readers of the graph:
the output, one serialized Summary, has no tag and no metadata.)");

MILLSTREAM_OP("TensorSummaryV2")
    .Input("tag: string")
    .Input("tensor: T")
    .Input("serialized_summary_metadata: string")
    .Output("summary: string")
    .Attr("T: type")
    .Shape(ScalarShape)
    .Doc(R"(Makes a summary that holds a tensor as it is.

tag and serialized_summary_metadata (a SummaryMetadata, which names the viewer) are scalars. The
output is one serialized Summary.)");

MILLSTREAM_OP("Timestamp")
    .Output("ts: double")
    .Stateful()
    .Shape(ScalarShape)
    .Doc(R"(Gives the time of day when it runs: seconds since 1970, with a fraction.)")
    .Example(R"(
>>> import time
>>> int(tf.timestamp().eval() - time.time()) // 60 in (-1, 0)
True)");

}  // namespace
}  // namespace millstream
