// Readers: files, whose names come out of a queue, as records. Each op has a first form on a
// reference, which is not registered: programs make the second form.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// A handle is a scalar.
Status ReaderShape(ShapeContext* context) { return context->WithRank(0, 0).status(); }

Status BothHandles(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  return context->WithRank(1, 0).status();
}

Status ReadShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(BothHandles(context));
  context->SetOutput(0, PartialShape::Scalar());
  context->SetOutput(1, PartialShape::Scalar());
  return absl::OkStatus();
}

Status ReadUpToShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(BothHandles(context));
  MS_RETURN_IF_ERROR(context->WithRank(2, 0).status());
  context->SetOutput(0, PartialShape::Vector(kUnknownDim));
  context->SetOutput(1, PartialShape::Vector(kUnknownDim));
  return absl::OkStatus();
}

Status CountShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(ReaderShape(context));
  return ScalarShape(context);
}

Status RestoreShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(ReaderShape(context));
  return context->WithRank(1, 0).status();
}

void Reader(OpSpec* spec) {
  spec->Output("reader_handle: resource")
      .Attr("container: string = \"\"")
      .Attr("shared_name: string = \"\"")
      .Stateful()
      .Touches("files")
      .Shape(ScalarShape);
}

void OnReader(OpSpec* spec) { spec->Input("reader_handle: resource").Stateful().Touches("files"); }

MILLSTREAM_OP("FixedLengthRecordReaderV2")
    .Attr("header_bytes: int = 0")
    .Attr("record_bytes: int")
    .Attr("footer_bytes: int = 0")
    .Attr("hop_bytes: int = 0")
    .With(Reader)
    .Attr("encoding: string = \"\"")
    .Doc(R"(Gives the handle of a reader of records of record_bytes each.

A file has a header and a footer, which are left out. A record begins hop_bytes after the one
before; 0 stands for record_bytes. Keys are "PATH:NUMBER", from 0. encoding of the files is '',
'ZLIB' or 'GZIP'; then all sizes count after decompression.)");

MILLSTREAM_OP("IdentityReaderV2")
    .With(Reader)
    .Doc(R"(Gives the handle of a reader whose records are the names in the queue.)");

MILLSTREAM_OP("TFRecordReaderV2")
    .With(Reader)
    .Attr("compression_type: string = \"\"")
    .Doc(R"(Gives the handle of a reader of files of records.

Keys are "PATH:BYTE". compression_type of the files is '', 'ZLIB' or 'GZIP'; then BYTE counts after
decompression.)");

MILLSTREAM_OP("TextLineReaderV2")
    .Attr("skip_header_lines: int = 0")
    .With(Reader)
    .Doc(R"(Gives the handle of a reader of the lines of files.

The first skip_header_lines of each file are left out. Lines are without their ends. Keys are
"PATH:NUMBER", from 1.)");

MILLSTREAM_OP("WholeFileReaderV2")
    .With(Reader)
    .Doc(R"(Gives the handle of a reader of whole files, whose keys are their paths.)");

MILLSTREAM_OP("ReaderReadV2")
    .With(OnReader)
    .Input("queue_handle: resource")
    .Output("key: string")
    .Output("value: string")
    .Shape(ReadShape)
    .Doc(R"(Reads the next record, of the next file in the queue when a file is at its end.

It waits while the queue is empty. OUT_OF_RANGE when the queue is closed and empty.)");

MILLSTREAM_OP("ReaderReadUpToV2")
    .With(OnReader)
    .Input("queue_handle: resource")
    .Input("num_records: int64")
    .Output("keys: string")
    .Output("values: string")
    .Shape(ReadUpToShape)
    .Doc(R"(Reads the next records, at most num_records, all of one file.

It gives at least one, and waits as ReaderReadV2 does.)");

MILLSTREAM_OP("ReaderNumRecordsProducedV2")
    .With(OnReader)
    .Output("records_produced: int64")
    .Shape(CountShape)
    .Doc(R"(Gives how many records a reader has read.)");

MILLSTREAM_OP("ReaderNumWorkUnitsCompletedV2")
    .With(OnReader)
    .Output("units_completed: int64")
    .Shape(CountShape)
    .Doc(R"(Gives how many files a reader has read to their ends.)");

MILLSTREAM_OP("ReaderResetV2")
    .With(OnReader)
    .Shape(ReaderShape)
    .Doc(R"(Lets a reader forget the file that it is reading, and what it has counted.)");

MILLSTREAM_OP("ReaderRestoreStateV2")
    .With(OnReader)
    .Input("state: string")
    .Shape(RestoreShape)
    .Doc(R"(Sets how far a reader has come, as ReaderSerializeStateV2 said it.

Readers of lines, records and pieces have no such state: UNIMPLEMENTED.)");

MILLSTREAM_OP("ReaderSerializeStateV2")
    .With(OnReader)
    .Output("state: string")
    .Shape(CountShape)
    .Doc(R"(Gives how far a reader of whole files or of names has come: a ReaderBaseState message.

Readers of lines, records and pieces have no such state: UNIMPLEMENTED.)");

}  // namespace
}  // namespace millstream
