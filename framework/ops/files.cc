// Which files there are, and records of files.
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
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

Status RecordInputShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t size, context->Attr<int64_t>("batch_size"));
  if (size < 0) return InvalidAttr(*context, "batch_size", "must not be negative, got ", size);
  context->SetOutput(0, PartialShape::Vector(size));
  return absl::OkStatus();
}

MILLSTREAM_OP("RecordInput")
    .Output("records: string")
    .Attr("file_pattern: string")
    .Attr("file_random_seed: int = 301")
    .Attr("file_shuffle_shift_ratio: float = 0")
    .Attr("file_buffer_size: int = 10000")
    .Attr("file_parallelism: int = 16")
    .Attr("batch_size: int = 32")
    .Attr("compression_type: string = \"\"")
    .Stateful()
    .Touches("files")
    .Shape(RecordInputShape)
    .Doc(R"(Gives records of the files that match a pattern, in random order, epoch after epoch.

Each step gives batch_size of them. In an epoch the files come in random order, turned by a part of
their number, and each record is one of file_buffer_size that are read ahead. The order follows from
the seed. compression_type of the files is '', 'ZLIB' or 'GZIP'. file_parallelism is not used.)");

}  // namespace
}  // namespace millstream
