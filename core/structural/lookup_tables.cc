// Tables from keys to values: their handles, and the ops on them.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/io/file_system.h"
#include "core/resources/lookup_table.h"
#include "core/resources/resource_handle.h"
#include "core/resources/run_time_handle.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"

namespace millstream {
namespace {

// ---- The table ----

TableKind KindOf(absl::string_view op) {
  if (op == "HashTableV2") return TableKind::kConstant;
  const bool is_dense = op == "MutableDenseHashTableV2" || op == "_MutableDenseHashTable";
  return is_dense ? TableKind::kDense : TableKind::kMutable;
}

Status CheckBuckets(const OpCall& call) {
  MS_ASSIGN_OR_RETURN(const int64_t buckets, call.Attr<int64_t>("initial_num_buckets"));
  if (buckets < 1 || (buckets & (buckets - 1)) != 0) {
    return errors::InvalidArgument("attribute 'initial_num_buckets' must be a power of 2, got ",
                                   buckets);
  }
  MS_ASSIGN_OR_RETURN(const float load, call.Attr<float>("max_load_factor"));
  if (load > 0 && load < 1) return absl::OkStatus();
  return errors::InvalidArgument("attribute 'max_load_factor' must be between 0 and 1, got ", load);
}

// What the attributes say. Those of a dense table do not say its keys.
StatusOr<TableSpec> SpecOf(const OpCall& call) {
  TableSpec spec;
  spec.kind = KindOf(call.op->name);
  MS_ASSIGN_OR_RETURN(spec.key_dtype, call.Attr<DataType>("key_dtype"));
  MS_ASSIGN_OR_RETURN(spec.value_dtype, call.Attr<DataType>("value_dtype"));
  for (const DataType dtype : {spec.key_dtype, spec.value_dtype}) {
    if (dtype == DataType::kString || DataTypeSize(dtype) > 0) continue;
    return errors::Unimplemented("a table holds no elements of type ", DataTypeName(dtype));
  }
  if (call.op->FindAttr("value_shape") != nullptr) {
    MS_ASSIGN_OR_RETURN(const PartialShape shape, call.Attr<PartialShape>("value_shape"));
    if (!shape.IsFullyKnown()) {
      return errors::InvalidArgument("attribute 'value_shape' must be fully known, got ",
                                     shape.ToString());
    }
    spec.value_shape = shape.ToShape();
  }
  if (spec.kind == TableKind::kDense) MS_RETURN_IF_ERROR(CheckBuckets(call));
  return spec;
}

// The keys of a table that is there are not compared: it keeps those that it was made with.
Status CheckShared(const LookupTable& table, const TableSpec& wanted) {
  const TableSpec& spec = table.spec();
  if (spec.kind == wanted.kind && spec.key_dtype == wanted.key_dtype &&
      spec.value_dtype == wanted.value_dtype && spec.value_shape == wanted.value_shape) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument(
      "Conflicting key/value dtypes or shapes: another node has a table '", table.name(), "' from ",
      DataTypeName(spec.key_dtype), " to ", DataTypeName(spec.value_dtype));
}

StatusOr<ResourceRef<Resource>> FindTable(const Node& node, ResourceManager* resources) {
  MS_ASSIGN_OR_RETURN(const ResourceName name, ResourceNameOf(node));
  MS_ASSIGN_OR_RETURN(const TableSpec spec, SpecOf(node.call()));
  MS_ASSIGN_OR_RETURN(ResourceRef<LookupTable> table,
                      resources->LookupOrCreate<LookupTable>(
                          name.container, name.name, [&]() -> StatusOr<ResourceRef<LookupTable>> {
                            return MakeResource<LookupTable>(name.name, spec);
                          }));
  MS_RETURN_IF_ERROR(CheckShared(*table, spec));
  return ResourceRef<Resource>(std::move(table));
}

// ---- The dense table ----

// Of graphs from before there was a key for removed entries, the table has but the first one.
Status ReadReservedKeys(const StructuralFrame& frame, TableSpec* spec) {
  const Tensor empty = frame.BorrowInput(0);
  const int64_t elements = empty.num_elements();
  if (empty.shape().rank() > 1) {
    return errors::InvalidArgument("argument 'empty_key': expected a scalar or a vector, got ",
                                   empty.shape().ToString());
  }
  spec->key_shape = empty.shape();
  spec->reserved_keys = {TableKey(empty, 0, elements)};
  if (frame.num_inputs() == 1) return absl::OkStatus();
  const Tensor deleted = frame.BorrowInput(1);
  if (deleted.shape() != empty.shape()) {
    return errors::InvalidArgument("argument 'deleted_key': expected the shape of 'empty_key', a ",
                                   "scalar or a vector, got ", deleted.shape().ToString(), " and ",
                                   empty.shape().ToString());
  }
  spec->reserved_keys.push_back(TableKey(deleted, 0, elements));
  if (spec->reserved_keys[0] != spec->reserved_keys[1]) return absl::OkStatus();
  return errors::InvalidArgument("Empty and deleted keys cannot be equal: argument ",
                                 "'deleted_key'");
}

// Its reserved keys are tensors of the step, so its handle is made in each step. The first step
// makes the table with its keys; later ones find it, and do not read theirs.
class DenseTableHandle final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(spec_, SpecOf(info.call()));
    MS_ASSIGN_OR_RETURN(name_.container, info.Attr<std::string>("container"));
    MS_ASSIGN_OR_RETURN(name_.name, info.Attr<std::string>("shared_name"));
    if (name_.name.empty()) name_.name = std::string(info.node_name());
    return absl::OkStatus();
  }

  Status Compute(StructuralFrame* frame) override {
    ResourceManager* const resources = frame->step_container()->manager();
    MS_ASSIGN_OR_RETURN(
        ResourceRef<LookupTable> table,
        resources->LookupOrCreate<LookupTable>(
            name_.container, name_.name, [&]() -> StatusOr<ResourceRef<LookupTable>> {
              TableSpec spec = spec_;
              MS_RETURN_IF_ERROR(ReadReservedKeys(*frame, &spec));
              return MakeResource<LookupTable>(name_.name, std::move(spec));
            }));
    MS_RETURN_IF_ERROR(CheckShared(*table, spec_));
    MS_ASSIGN_OR_RETURN(const Tensor handle, MakeRunTimeHandle(std::move(table)));
    return frame->SetOutput(0, handle);
  }

 private:
  TableSpec spec_;  // without keys
  ResourceName name_;
};

// ---- Ops on a table ----

// Of input 0.
StatusOr<LookupTable*> TableOf(const StructuralFrame& frame) {
  auto* const table = ResourceAs<LookupTable>(frame.handle(0));
  if (table != nullptr) return table;
  return errors::InvalidArgument("argument 'table_handle' is no handle of a table");
}

Status Initialize(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(LookupTable* const table, TableOf(*frame));
  return table->Initialize([&]() -> StatusOr<LookupTable::Entries> {
    return LookupTable::Entries{frame->BorrowInput(1), frame->BorrowInput(2)};
  });
}

Status Insert(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(LookupTable* const table, TableOf(*frame));
  return table->Insert({frame->BorrowInput(1), frame->BorrowInput(2)}, false);
}

Status Import(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(LookupTable* const table, TableOf(*frame));
  return table->Insert({frame->BorrowInput(1), frame->BorrowInput(2)}, true);
}

Status Remove(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(LookupTable* const table, TableOf(*frame));
  return table->Remove(frame->BorrowInput(1));
}

Status Find(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(LookupTable* const table, TableOf(*frame));
  const Tensor keys = frame->BorrowInput(1);
  const Tensor default_value = frame->BorrowInput(2);
  MS_RETURN_IF_ERROR(table->CheckTypes(keys.dtype(), default_value.dtype()));
  if (default_value.shape() != table->spec().value_shape) {
    return errors::InvalidArgument("argument 'default_value': expected shape ",
                                   table->spec().value_shape.ToString(), ", got ",
                                   default_value.shape().ToString());
  }
  MS_ASSIGN_OR_RETURN(const Shape shape, table->ValuesShape(keys.shape()));
  MS_ASSIGN_OR_RETURN(Tensor values, frame->AllocateOutput(0, shape));
  return table->Find(keys, default_value, &values);
}

Status Size(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const LookupTable* const table, TableOf(*frame));
  MS_ASSIGN_OR_RETURN(const Tensor size, frame->AllocateOutput(0, Shape()));
  *size.data<int64_t>() = table->size();
  return absl::OkStatus();
}

Status Export(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const LookupTable* const table, TableOf(*frame));
  MS_RETURN_IF_ERROR(table->CheckTypes(frame->call().output_type(0), frame->call().output_type(1)));
  MS_ASSIGN_OR_RETURN(const LookupTable::Entries entries, table->Export());
  MS_RETURN_IF_ERROR(frame->SetOutput(0, entries.keys));
  return frame->SetOutput(1, entries.values);
}

// ---- Entries of a text file ----

// What a key or a value is of each line; else the number of a column.
constexpr int64_t kWholeLine = -2;
constexpr int64_t kLineNumber = -1;

struct TextFile {
  std::string path;
  int64_t key_index;
  int64_t value_index;
  int64_t lines;  // how many to read; -1: all
  std::string delimiter;
};

StatusOr<std::string> ReadFile(const std::string& path) {
  MS_ASSIGN_OR_RETURN(const auto file, LocalFileSystem()->OpenForReading(path));
  std::string text;
  constexpr size_t kStep = 1 << 20;
  for (size_t read = kStep; read == kStep;) {
    const size_t before = text.size();
    text.resize(before + kStep);
    MS_ASSIGN_OR_RETURN(read, file->ReadAt(before, absl::MakeSpan(&text[before], kStep)));
    text.resize(before + read);
  }
  return text;
}

// Sets element i of a tensor to what a text says.
Status SetElement(const Tensor& tensor, int64_t i, absl::string_view text) {
  bool is_number = true;
  switch (tensor.dtype()) {
    case DataType::kString: tensor.data<std::string>()[i] = std::string(text); break;
    case DataType::kInt32: is_number = absl::SimpleAtoi(text, tensor.data<int32_t>() + i); break;
    case DataType::kInt64: is_number = absl::SimpleAtoi(text, tensor.data<int64_t>() + i); break;
    case DataType::kFloat: is_number = absl::SimpleAtof(text, tensor.data<float>() + i); break;
    case DataType::kDouble: is_number = absl::SimpleAtod(text, tensor.data<double>() + i); break;
    default:
      return errors::InvalidArgument("a column of a file cannot be of type ",
                                     DataTypeName(tensor.dtype()));
  }
  if (is_number) return absl::OkStatus();
  return errors::InvalidArgument("Field '", text, "' is not a valid ",
                                 DataTypeName(tensor.dtype()));
}

Status SetFromLine(const TextFile& file, absl::string_view line, int64_t number, int64_t index,
                   const Tensor& tensor) {
  if (index == kWholeLine) return SetElement(tensor, number, line);
  if (index == kLineNumber) {
    tensor.data<int64_t>()[number] = number;
    return absl::OkStatus();
  }
  const std::vector<absl::string_view> columns = absl::StrSplit(line, file.delimiter);
  if (index < static_cast<int64_t>(columns.size())) {
    return SetElement(tensor, number, columns[static_cast<size_t>(index)]);
  }
  return errors::InvalidArgument("Invalid number of columns: expected more than ", index, ", got ",
                                 columns.size());
}

Status CheckIndex(absl::string_view attr, int64_t index, DataType dtype) {
  const bool fits = index == kLineNumber  ? dtype == DataType::kInt64
                    : index == kWholeLine ? dtype == DataType::kString
                                          : index >= 0;
  if (fits) return absl::OkStatus();
  return errors::InvalidArgument("attribute '", attr, "' = ", index,
                                 " does not go with elements of type ", DataTypeName(dtype));
}

StatusOr<LookupTable::Entries> ReadEntries(const TextFile& file, const TableSpec& spec) {
  MS_ASSIGN_OR_RETURN(const std::string text, ReadFile(file.path));
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.back().empty()) lines.pop_back();  // what follows the last end of a line
  int64_t count = static_cast<int64_t>(lines.size());
  if (file.lines > count) {
    return errors::InvalidArgument("Invalid vocab_size in ", file.path, ": expected ", file.lines,
                                   " but got ", count);
  }
  if (file.lines >= 0) count = file.lines;
  LookupTable::Entries entries;
  MS_ASSIGN_OR_RETURN(entries.keys, Tensor::Create(spec.key_dtype, Shape({count})));
  MS_ASSIGN_OR_RETURN(entries.values, Tensor::Create(spec.value_dtype, Shape({count})));
  for (int64_t i = 0; i < count; ++i) {
    absl::string_view line = lines[static_cast<size_t>(i)];
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    Status status = SetFromLine(file, line, i, file.key_index, entries.keys);
    if (status.ok()) status = SetFromLine(file, line, i, file.value_index, entries.values);
    if (!status.ok()) return WithContext(status, absl::StrCat(file.path, ", line ", i + 1));
  }
  return entries;
}

class InitializeFromTextFile final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(file_.key_index, info.Attr<int64_t>("key_index"));
    MS_ASSIGN_OR_RETURN(file_.value_index, info.Attr<int64_t>("value_index"));
    MS_ASSIGN_OR_RETURN(file_.lines, info.Attr<int64_t>("vocab_size"));
    MS_ASSIGN_OR_RETURN(file_.delimiter, info.Attr<std::string>("delimiter"));
    if (file_.delimiter.size() == 1) return absl::OkStatus();
    return errors::InvalidArgument("attribute 'delimiter' must be one character, got '",
                                   file_.delimiter, "'");
  }

  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(LookupTable* const table, TableOf(*frame));
    const Tensor path = frame->BorrowInput(1);
    if (path.num_elements() != 1) {
      return errors::InvalidArgument("argument 'filename' must be a scalar, got shape ",
                                     path.shape().ToString());
    }
    MS_RETURN_IF_ERROR(CheckIndex("key_index", file_.key_index, table->spec().key_dtype));
    MS_RETURN_IF_ERROR(CheckIndex("value_index", file_.value_index, table->spec().value_dtype));
    TextFile file = file_;
    file.path = *path.data<std::string>();
    return table->Initialize([&] { return ReadEntries(file, table->spec()); });
  }

 private:
  TextFile file_;
};

#define MS_TABLE_OP(op)                      \
  MILLSTREAM_RESOURCE_HANDLE(op, FindTable); \
  MILLSTREAM_STRUCTURAL(op, StructuralRole::kHandle, nullptr)
MS_TABLE_OP("HashTableV2");
MS_TABLE_OP("MutableHashTableV2");
MS_TABLE_OP("MutableHashTableOfTensorsV2");
#undef MS_TABLE_OP
MILLSTREAM_HOST_KERNEL("MutableDenseHashTableV2", DenseTableHandle);
MILLSTREAM_HOST_KERNEL("_MutableDenseHashTable", DenseTableHandle);
MILLSTREAM_HOST_KERNEL("InitializeTableV2", HostFunction<&Initialize>);
MILLSTREAM_HOST_KERNEL("InitializeTableFromTextFileV2", InitializeFromTextFile);
MILLSTREAM_HOST_KERNEL("LookupTableInsertV2", HostFunction<&Insert>);
MILLSTREAM_HOST_KERNEL("LookupTableImportV2", HostFunction<&Import>);
MILLSTREAM_HOST_KERNEL("LookupTableRemoveV2", HostFunction<&Remove>);
MILLSTREAM_HOST_KERNEL("LookupTableFindV2", HostFunction<&Find>);
MILLSTREAM_HOST_KERNEL("LookupTableSizeV2", HostFunction<&Size>);
MILLSTREAM_HOST_KERNEL("LookupTableExportV2", HostFunction<&Export>);

}  // namespace
}  // namespace millstream
