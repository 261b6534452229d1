// Tables from keys to values. Each op has a first form, on a reference to the name of the table. It
// is for imported graphs alone, which run the second form (core/import/import_refs.h).
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// References were vectors of two names.
Status ReferenceShape(ShapeContext* context) {
  context->SetOutput(0, PartialShape::Vector(2));
  return absl::OkStatus();
}

Status HandleShape(const ShapeContext& context) {
  const bool is_reference = context.op().inputs[0].is_ref;
  return is_reference ? absl::OkStatus() : context.WithRank(0, 0).status();
}

// The handle of a table with scalar keys says what its values are.
Status SetHandle(ShapeContext* context, PartialShape value_shape) {
  MS_ASSIGN_OR_RETURN(const DataType dtype, context->Attr<DataType>("value_dtype"));
  context->SetOutput(0, PartialShape::Scalar());
  context->SetOutputHandle(0, HandleInfo{dtype, std::move(value_shape)});
  return absl::OkStatus();
}

Status MutableShape(ShapeContext* context) { return SetHandle(context, PartialShape::Scalar()); }

Status MutableOfTensorsShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->Attr<PartialShape>("value_shape"));
  return SetHandle(context, std::move(shape));
}

Status DenseShape(ShapeContext* context, const PartialShape& key) {
  if (key.rank() == 0) return MutableOfTensorsShape(context);
  return ScalarShape(context);
}

Status MutableDenseShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape empty, context->WithRankAtMost(0, 1));
  const StatusOr<PartialShape> key = empty.MergeWith(context->input(1));
  if (!key.ok()) return InputError(*context, 1, key.status());
  return DenseShape(context, *key);
}

Status OldMutableDenseShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape empty, context->WithRankAtMost(0, 1));
  return DenseShape(context, empty);
}

Status OldMutableDenseReferenceShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRankAtMost(0, 1).status());
  return ReferenceShape(context);
}

Status InitializeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(*context));
  MS_ASSIGN_OR_RETURN(const PartialShape keys, context->WithRank(1, 1));
  const StatusOr<PartialShape> values = keys.MergeWith(context->input(2));
  return values.ok() ? absl::OkStatus() : InputError(*context, 2, values.status());
}

Status FromFileShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(*context));
  return context->WithRank(1, 0).status();
}

Status OnTableShape(ShapeContext* context) { return HandleShape(*context); }

Status FindShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(*context));
  const HandleInfo* const table = context->handle(0);
  PartialShape values = context->input(1);
  if (table == nullptr || !table->shape.known_rank() || !values.known_rank()) {
    context->SetOutput(0, PartialShape());
    return absl::OkStatus();
  }
  for (const int64_t dim : table->shape.dims()) values.AddDim(dim);
  context->SetOutput(0, std::move(values));
  return absl::OkStatus();
}

Status SizeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(*context));
  return ScalarShape(context);
}

Status ExportShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(*context));
  context->SetOutput(0, PartialShape());
  context->SetOutput(1, PartialShape());
  return absl::OkStatus();
}

// ---- What the two forms of an op have in common ----

void WhereItLives(OpSpec* spec) {
  spec->Attr("container: string = \"\"")
      .Attr("shared_name: string = \"\"")
      .Attr("use_node_name_sharing: bool = false")
      .Attr("key_dtype: type")
      .Attr("value_dtype: type")
      .Stateful();
}

void HashTable(OpSpec* spec) {
  spec->With(WhereItLives)
      .Doc(R"(Gives the handle of a table that is initialized once, and not changed afterwards.

It lives in the session, in container, under the name shared_name or that of the node.)");
}
void MutableHashTable(OpSpec* spec) {
  spec->With(WhereItLives)
      .Doc(R"(Gives the handle of a table of single values, which is empty at first.

It lives in the session, in container, under the name shared_name or that of the node.)");
}
void MutableHashTableOfTensors(OpSpec* spec) {
  spec->With(WhereItLives)
      .Attr("value_shape: shape = []")
      .Doc(R"(Gives the handle of a table of tensors of value_shape, which is empty at first.

It lives in the session, in container, under the name shared_name or that of the node.)");
}
void DenseTable(OpSpec* spec) {
  spec->With(WhereItLives)
      .Attr("value_shape: shape = []")
      .Attr("initial_num_buckets: int = 131072")
      .Attr("max_load_factor: float = 0.8");
}
void OldMutableDenseHashTable(OpSpec* spec) {
  spec->With(DenseTable)
      .Doc(R"(Gives the handle of a table of tensors of value_shape, which is empty at first.

Keys have the shape of empty_key, a scalar or a vector, which is no key of the table. It lives in the
session, in container, under the name shared_name or that of the node, and keeps the empty_key of the
step that made it.)");
}
void MutableDenseHashTable(OpSpec* spec) {
  spec->With(DenseTable)
      .Doc(R"(Gives the handle of a table of tensors of value_shape, which is empty at first.

Keys have the shape of empty_key, a scalar or a vector. empty_key and deleted_key differ, and are no
keys of the table. It lives in the session, in container, under the name shared_name or that of the
node, and keeps the empty_key and the deleted_key of the step that made it.)");
}

void Initialize(OpSpec* spec) {
  spec->Input("keys: Tkey")
      .Input("values: Tval")
      .Attr("Tkey: type")
      .Attr("Tval: type")
      .Shape(InitializeShape)
      .Doc(R"(Fills a table that cannot be changed afterwards.

It may be filled again with the same. FAILED_PRECONDITION for a key with two values, and for a table that
is filled with something else.)");
}
void InitializeFromTextFile(OpSpec* spec) {
  spec->Input("filename: string")
      .Attr("key_index: int >= -2")
      .Attr("value_index: int >= -2")
      .Attr("vocab_size: int >= -1 = -1")
      .Attr("delimiter: string = \"\\t\"")
      .Touches("files")
      .Shape(FromFileShape)
      .Doc(R"(Fills a table with an entry for each line of a text file.

key_index and value_index are numbers of columns, which delimiter separates; -1 stands for the number of
the line, -2 for the whole line. Only the first vocab_size lines are read if that is not -1.)");
}
void Find(OpSpec* spec) {
  spec->Input("keys: Tin")
      .Input("default_value: Tout")
      .Output("values: Tout")
      .Attr("Tin: type")
      .Attr("Tout: type")
      .Shape(FindShape)
      .Doc(
          R"(Gives the values of keys in a table, and default_value for keys that it does not have.)");
}
void Change(OpSpec* spec) {
  spec->Input("keys: Tin")
      .Input("values: Tout")
      .Attr("Tin: type")
      .Attr("Tout: type")
      .Shape(OnTableShape);
}
void Insert(OpSpec* spec) {
  spec->With(Change).Doc(R"(Adds entries to a table. The last value of a key counts.)");
}
void Import(OpSpec* spec) {
  spec->With(Change).Doc(R"(Replaces all entries of a table by others.)");
}
void Size(OpSpec* spec) {
  spec->Output("size: int64").Shape(SizeShape).Doc(R"(Counts the entries of a table.)");
}
void Export(OpSpec* spec) {
  spec->Output("keys: Tkeys")
      .Output("values: Tvalues")
      .Attr("Tkeys: type")
      .Attr("Tvalues: type")
      .Shape(ExportShape)
      .Doc(R"(Gives all keys and values of a table, in no particular order.)");
}

void OnHandle(OpSpec* spec) { spec->Input("table_handle: resource").Stateful(); }

// ---- On handles ----

MILLSTREAM_OP("HashTableV2").Output("table_handle: resource").With(HashTable).Shape(ScalarShape);
MILLSTREAM_OP("MutableHashTableV2")
    .Output("table_handle: resource")
    .With(MutableHashTable)
    .Shape(MutableShape);
MILLSTREAM_OP("MutableHashTableOfTensorsV2")
    .Output("table_handle: resource")
    .With(MutableHashTableOfTensors)
    .Shape(MutableOfTensorsShape);
MILLSTREAM_OP("MutableDenseHashTableV2")
    .Input("empty_key: key_dtype")
    .Input("deleted_key: key_dtype")
    .Output("table_handle: resource")
    .With(MutableDenseHashTable)
    .Shape(MutableDenseShape);
// What the op on a reference runs as: the other op on handles reserves one more key.
MILLSTREAM_OP("_MutableDenseHashTable")
    .Input("empty_key: key_dtype")
    .Output("table_handle: resource")
    .With(OldMutableDenseHashTable)
    .Shape(OldMutableDenseShape);
MILLSTREAM_OP("InitializeTableV2").With(OnHandle).With(Initialize);
MILLSTREAM_OP("InitializeTableFromTextFileV2").With(OnHandle).With(InitializeFromTextFile);
MILLSTREAM_OP("LookupTableFindV2").With(OnHandle).With(Find);
MILLSTREAM_OP("LookupTableInsertV2").With(OnHandle).With(Insert);
MILLSTREAM_OP("LookupTableImportV2").With(OnHandle).With(Import);
MILLSTREAM_OP("LookupTableSizeV2").With(OnHandle).With(Size);
MILLSTREAM_OP("LookupTableExportV2").With(OnHandle).With(Export);
MILLSTREAM_OP("LookupTableRemoveV2")
    .With(OnHandle)
    .Input("keys: Tin")
    .Attr("Tin: type")
    .Shape(OnTableShape)
    .Doc(R"(Removes keys from a table. Those that it does not have are ignored.)");

// ---- On references ----

MILLSTREAM_OP("HashTable")
    .Output("table_handle: Ref(string)")
    .With(HashTable)
    .Shape(ReferenceShape);
MILLSTREAM_OP("MutableHashTable")
    .Output("table_handle: Ref(string)")
    .With(MutableHashTable)
    .Shape(ReferenceShape);
MILLSTREAM_OP("MutableHashTableOfTensors")
    .Output("table_handle: Ref(string)")
    .With(MutableHashTableOfTensors)
    .Shape(ReferenceShape);
MILLSTREAM_OP("MutableDenseHashTable")
    .Input("empty_key: key_dtype")
    .Output("table_handle: Ref(string)")
    .With(OldMutableDenseHashTable)
    .Shape(OldMutableDenseReferenceShape);
MILLSTREAM_OP("InitializeTable").Input("table_handle: Ref(string)").With(Initialize);
MILLSTREAM_OP("InitializeTableFromTextFile")
    .Input("table_handle: Ref(string)")
    .With(InitializeFromTextFile);
MILLSTREAM_OP("LookupTableFind").Input("table_handle: Ref(string)").With(Find);
MILLSTREAM_OP("LookupTableInsert").Input("table_handle: Ref(string)").With(Insert);
MILLSTREAM_OP("LookupTableImport").Input("table_handle: Ref(string)").With(Import);
MILLSTREAM_OP("LookupTableSize").Input("table_handle: Ref(string)").With(Size);
MILLSTREAM_OP("LookupTableExport").Input("table_handle: Ref(string)").With(Export);

}  // namespace
}  // namespace millstream
