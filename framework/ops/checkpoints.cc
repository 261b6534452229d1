// Checkpoints: tensors in files.
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Inputs 1 and 2 are names of tensors, and for each the part of it that is meant.
Status CheckSlices(ShapeContext* context, int rank) {
  MS_RETURN_IF_ERROR(context->WithRank(2, rank).status());
  const Status same = context->Merge(context->input(1), context->input(2)).status();
  return same.ok() ? same : InputError(*context, 2, same);
}

// A name of files, names of tensors and slices.
Status NamesShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  MS_RETURN_IF_ERROR(context->WithRank(1, 1).status());
  return CheckSlices(context, 1);
}

// What the shapes are stands in the files.
Status RestoredShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(NamesShape(context));
  for (int k = 0; k < context->num_outputs(); ++k) context->SetOutput(k, PartialShape());
  return absl::OkStatus();
}

Status MergedShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 1).status());
  return context->WithRank(1, 0).status();
}

Status ScalarsToScalar(ShapeContext* context) {
  for (int i = 0; i < context->num_inputs(); ++i) {
    MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  }
  return ScalarShape(context);
}

MILLSTREAM_OP("SaveV2")
    .Input("prefix: string")
    .Input("tensor_names: string")
    .Input("shape_and_slices: string")
    .Input("tensors: dtypes")
    .Attr("dtypes: list(type) >= 1")
    .Stateful()
    .Touches("files")
    .Shape(NamesShape)
    .Doc(R"(Writes tensors into a checkpoint of version 2.

The files are prefix.index and prefix.data-00000-of-00001. tensors[i] is written under
tensor_names[i]; shape_and_slices[i] is empty, or says that it is a part of a tensor: "10 4 0,5:-" is
the first five of ten rows. The files get their names when they are complete.)");

MILLSTREAM_OP("RestoreV2")
    .Input("prefix: string")
    .Input("tensor_names: string")
    .Input("shape_and_slices: string")
    .Output("tensors: dtypes")
    .Attr("dtypes: list(type) >= 1")
    .Stateful()
    .Touches("files")
    .Shape(RestoredShape)
    .Doc(R"(Reads tensors from a checkpoint of either version.

prefix names the files PREFIX.index and PREFIX.data-* of version 2, or the file of version 1.

shape_and_slices[i] is empty for a whole tensor, or says which part of it is read, as in SaveV2.
NOT_FOUND for a checkpoint or a tensor that is not there; INVALID_ARGUMENT for another dtype or
shape; DATA_LOSS for a file that is cut or changed.)");

// Of the ops of version 1: a name of files, names of tensors or one name, and perhaps slices.
template <int rank, bool has_slices>
Status VersionOneShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  MS_RETURN_IF_ERROR(context->WithRank(1, rank).status());
  if (has_slices) MS_RETURN_IF_ERROR(CheckSlices(context, rank));
  for (int k = 0; k < context->num_outputs(); ++k) context->SetOutput(k, PartialShape());
  return absl::OkStatus();
}

MILLSTREAM_OP("Save")
    .Input("filename: string")
    .Input("tensor_names: string")
    .Input("data: T")
    .Attr("T: list(type) >= 1")
    .Stateful()
    .Touches("files")
    .Shape(VersionOneShape<1, false>)
    .Doc(R"(Writes tensors into a checkpoint of version 1, which is one file.

SaveV2 writes larger tensors, takes less memory, and its checkpoints have checksums of the data.)");

MILLSTREAM_OP("SaveSlices")
    .Input("filename: string")
    .Input("tensor_names: string")
    .Input("shapes_and_slices: string")
    .Input("data: T")
    .Attr("T: list(type) >= 1")
    .Stateful()
    .Touches("files")
    .Shape(VersionOneShape<1, true>)
    .Doc(R"(Writes tensors or slices of tensors into a checkpoint of version 1.

shapes_and_slices[i] is empty for a whole tensor, or says which part of it is written, as in SaveV2.)");

MILLSTREAM_OP("Restore")
    .Input("file_pattern: string")
    .Input("tensor_name: string")
    .Output("tensor: dt")
    .Attr("dt: type")
    .Attr("preferred_shard: int = -1")
    .Stateful()
    .Touches("files")
    .Shape(VersionOneShape<0, false>)
    .Doc(R"(Reads one tensor from a checkpoint of either version.

file_pattern is the prefix of a checkpoint of version 2, or the file of one of version 1. In the name
of the latter, "?" and "*" stand for any characters: "model-?????-of-00002". preferred_shard is not
used. NOT_FOUND for a checkpoint or a tensor that is not there; INVALID_ARGUMENT for another dtype;
DATA_LOSS for a file that is cut or changed.)");

MILLSTREAM_OP("RestoreSlice")
    .Input("file_pattern: string")
    .Input("tensor_name: string")
    .Input("shape_and_slice: string")
    .Output("tensor: dt")
    .Attr("dt: type")
    .Attr("preferred_shard: int = -1")
    .Stateful()
    .Touches("files")
    .Shape(VersionOneShape<0, true>)
    .Doc(R"(Reads a slice of one tensor from a checkpoint of either version.

shape_and_slice says which part is read, as in SaveV2. The rest is as in Restore.)");

MILLSTREAM_OP("MergeV2Checkpoints")
    .Input("checkpoint_prefixes: string")
    .Input("destination_prefix: string")
    .Attr("delete_old_dirs: bool = true")
    .Stateful()
    .Touches("files")
    .Shape(MergedShape)
    .Doc(R"(Makes one checkpoint of those that several SaveV2 wrote.

The data files get names of destination_prefix, the old indices are removed, and so are the
folders of the old ones if delete_old_dirs is true and they are empty then.)");

MILLSTREAM_OP("ShardedFilename")
    .Input("basename: string")
    .Input("shard: int32")
    .Input("num_shards: int32")
    .Output("filename: string")
    .Shape(ScalarsToScalar)
    .Doc("Gives the name of one of several files: basename-00001-of-00005.");

MILLSTREAM_OP("ShardedFilespec")
    .Input("basename: string")
    .Input("num_shards: int32")
    .Output("filename: string")
    .Shape(ScalarsToScalar)
    .Doc(
        "Gives the pattern of the names of several files: basename-?????"
        "-of-00005.");

}  // namespace
}  // namespace millstream
