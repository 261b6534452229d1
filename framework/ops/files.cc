// Which files there are.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status MatchingFilesShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRankAtMost(0, 1).status());
  context->SetOutput(0, PartialShape::Vector(kUnknownDim));
  return absl::OkStatus();
}

// Stateful: files come and go, so a constant pattern must not be folded.
MILLSTREAM_OP("MatchingFiles")
    .Input("pattern: string")
    .Output("filenames: string")
    .Stateful()
    .Touches("files")
    .Shape(MatchingFilesShape)
    .Doc(R"(Gives the paths of the files that match a pattern, or one of several, sorted.

"*" stands for any part of a name, "?" for one character, "[abc]" for one of some.)")
    .Example(R"(
>>> tf.matching_files("/no/such/folder/*").eval().tolist()
[])");

}  // namespace
}  // namespace millstream
