// Which files there are, whole files, and records of files.
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

Status ReadFileShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  context->SetOutput(0, PartialShape::Scalar());
  return absl::OkStatus();
}

// Stateful: files change, so a constant name must not be folded.
MILLSTREAM_OP("ReadFile")
    .Input("filename: string")
    .Output("contents: string")
    .Stateful()
    .Touches("files")
    .Shape(ReadFileShape)
    .Doc(R"(Gives what a file holds.

filename is a scalar. NOT_FOUND when there is no such file.)")
    .Example(R"(
>>> import tempfile
>>> file = tempfile.NamedTemporaryFile()
>>> file.write(b"text"), file.flush()
(4, None)
>>> tf.read_file(file.name).eval()
b'text')");

Status WriteFileShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  return context->WithRank(1, 0).status();
}

MILLSTREAM_OP("WriteFile")
    .Input("filename: string")
    .Input("contents: string")
    .Stateful()
    .Touches("files")
    .Shape(WriteFileShape)
    .Doc(R"(Writes a file, in the place of one that exists. Makes the folder if it is not there.

filename and contents are scalars. The file is at any time the old one or the new one, as a whole.)")
    .Example(R"(
>>> import os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "folder", "file")
>>> tf.write_file(path, "text").run()
>>> open(path).read()
'text')");

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
