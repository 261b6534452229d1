// Readers: files, whose names come out of a queue, as records. Each op has a first form, on a
// reference to the name of the reader. It is for imported graphs alone, which run the second form
// (core/import/import_refs.h).
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// References were vectors of two names.
Status ReferenceShape(ShapeContext* context) {
  context->SetOutput(0, PartialShape::Vector(2));
  return absl::OkStatus();
}

Status HandleShape(const ShapeContext& context, int i) {
  const bool is_reference = context.op().inputs[i].is_ref;
  return is_reference ? absl::OkStatus() : context.WithRank(i, 0).status();
}

Status ReaderShape(ShapeContext* context) { return HandleShape(*context, 0); }

Status BothHandles(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(*context, 0));
  return HandleShape(*context, 1);
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

// ---- What both forms of an op have ----

void Reader(OpSpec* spec) {
  spec->Attr("container: string = \"\"")
      .Attr("shared_name: string = \"\"")
      .Stateful()
      .Touches("files");
}
void FixedLengthRecordReader(OpSpec* spec) {
  spec->Attr("header_bytes: int = 0")
      .Attr("record_bytes: int")
      .Attr("footer_bytes: int = 0")
      .Attr("hop_bytes: int = 0")
      .With(Reader)
      .Doc(R"(Gives the handle of a reader of records of record_bytes each.

A file has a header and a footer, which are left out. A record begins hop_bytes after the one
before; 0 stands for record_bytes. Keys are "PATH:NUMBER", from 0. encoding of the files is '',
'ZLIB' or 'GZIP' (the second form alone has it); then all sizes count after decompression.)");
}
void IdentityReader(OpSpec* spec) {
  spec->With(Reader).Doc(
      R"(Gives the handle of a reader whose records are the names in the queue.)");
}
void TfRecordReader(OpSpec* spec) {
  spec->With(Reader)
      .Attr("compression_type: string = \"\"")
      .Doc(R"(Gives the handle of a reader of files of records.

Keys are "PATH:BYTE". compression_type of the files is '', 'ZLIB' or 'GZIP'; then BYTE counts after
decompression.)");
}
void TextLineReader(OpSpec* spec) {
  spec->Attr("skip_header_lines: int = 0")
      .With(Reader)
      .Doc(R"(Gives the handle of a reader of the lines of files.

The first skip_header_lines of each file are left out. Lines are without their ends. Keys are
"PATH:NUMBER", from 1.)");
}
void WholeFileReader(OpSpec* spec) {
  spec->With(Reader).Doc(
      R"(Gives the handle of a reader of whole files, whose keys are their paths.)");
}
void Read(OpSpec* spec) {
  spec->Output("key: string")
      .Output("value: string")
      .Shape(ReadShape)
      .Doc(R"(Reads the next record, of the next file in the queue when a file is at its end.

It waits while the queue is empty. OUT_OF_RANGE when the queue is closed and empty.)");
}
void ReadUpTo(OpSpec* spec) {
  spec->Input("num_records: int64")
      .Output("keys: string")
      .Output("values: string")
      .Shape(ReadUpToShape)
      .Doc(R"(Reads the next records, at most num_records, all of one file.

It gives at least one, and waits as ReaderReadV2 does.)");
}
void NumRecordsProduced(OpSpec* spec) {
  spec->Output("records_produced: int64")
      .Shape(CountShape)
      .Doc(R"(Gives how many records a reader has read.)");
}
void NumWorkUnitsCompleted(OpSpec* spec) {
  spec->Output("units_completed: int64")
      .Shape(CountShape)
      .Doc(R"(Gives how many files a reader has read to their ends.)");
}
void Reset(OpSpec* spec) {
  spec->Shape(ReaderShape)
      .Doc(R"(Lets a reader forget the file that it is reading, and what it has counted.)");
}
void RestoreState(OpSpec* spec) {
  spec->Input("state: string")
      .Shape(RestoreShape)
      .Doc(R"(Sets how far a reader has come, as ReaderSerializeStateV2 said it.

Readers of lines, records and pieces have no such state: UNIMPLEMENTED.)");
}
void SerializeState(OpSpec* spec) {
  spec->Output("state: string")
      .Shape(CountShape)
      .Doc(R"(Gives how far a reader of whole files or of names has come: a ReaderBaseState message.

Readers of lines, records and pieces have no such state: UNIMPLEMENTED.)");
}

// ---- On handles ----

void Handle(OpSpec* spec) { spec->Output("reader_handle: resource").Shape(ScalarShape); }
void OnReader(OpSpec* spec) { spec->Input("reader_handle: resource").Stateful().Touches("files"); }
void OnBoth(OpSpec* spec) { spec->With(OnReader).Input("queue_handle: resource"); }

MILLSTREAM_OP("FixedLengthRecordReaderV2")
    .With(FixedLengthRecordReader)
    .With(Handle)
    .Attr("encoding: string = \"\"");
MILLSTREAM_OP("IdentityReaderV2").With(IdentityReader).With(Handle);
MILLSTREAM_OP("TFRecordReaderV2").With(TfRecordReader).With(Handle);
MILLSTREAM_OP("TextLineReaderV2").With(TextLineReader).With(Handle);
MILLSTREAM_OP("WholeFileReaderV2").With(WholeFileReader).With(Handle);
MILLSTREAM_OP("ReaderReadV2").With(OnBoth).With(Read);
MILLSTREAM_OP("ReaderReadUpToV2").With(OnBoth).With(ReadUpTo);
MILLSTREAM_OP("ReaderNumRecordsProducedV2").With(OnReader).With(NumRecordsProduced);
MILLSTREAM_OP("ReaderNumWorkUnitsCompletedV2").With(OnReader).With(NumWorkUnitsCompleted);
MILLSTREAM_OP("ReaderResetV2").With(OnReader).With(Reset);
MILLSTREAM_OP("ReaderRestoreStateV2").With(OnReader).With(RestoreState);
MILLSTREAM_OP("ReaderSerializeStateV2").With(OnReader).With(SerializeState);

// ---- On references ----

void Reference(OpSpec* spec) { spec->Output("reader_handle: Ref(string)").Shape(ReferenceShape); }
void OnReference(OpSpec* spec) { spec->Input("reader_handle: Ref(string)").Touches("files"); }
void OnReferences(OpSpec* spec) { spec->With(OnReference).Input("queue_handle: Ref(string)"); }

MILLSTREAM_OP("FixedLengthRecordReader").With(FixedLengthRecordReader).With(Reference);
MILLSTREAM_OP("IdentityReader").With(IdentityReader).With(Reference);
MILLSTREAM_OP("TFRecordReader").With(TfRecordReader).With(Reference);
MILLSTREAM_OP("TextLineReader").With(TextLineReader).With(Reference);
MILLSTREAM_OP("WholeFileReader").With(WholeFileReader).With(Reference);
MILLSTREAM_OP("ReaderRead").With(OnReferences).With(Read);
MILLSTREAM_OP("ReaderReadUpTo").With(OnReferences).With(ReadUpTo);
MILLSTREAM_OP("ReaderNumRecordsProduced").With(OnReference).With(NumRecordsProduced);
MILLSTREAM_OP("ReaderNumWorkUnitsCompleted").With(OnReference).With(NumWorkUnitsCompleted);
MILLSTREAM_OP("ReaderReset").With(OnReference).With(Reset);
MILLSTREAM_OP("ReaderRestoreState").With(OnReference).With(RestoreState);
MILLSTREAM_OP("ReaderSerializeState").With(OnReference).With(SerializeState);

}  // namespace
}  // namespace millstream
