#include "core/structural/example_features.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"

namespace millstream {
namespace {

constexpr uint32_t kFeatures = 1;  // the field of an example's features, or of a sequence's context
constexpr uint64_t kNanosecondsOfFeature = 150;

// Elements [0, count) of `from` from element `to_begin` of `to` on, of the same dtype.
void CopyElements(const Tensor& from, int64_t count, const Tensor& to, int64_t to_begin) {
  if (from.dtype() == DataType::kString) {
    std::copy_n(from.data<std::string>(), count, to.data<std::string>() + to_begin);
  } else if (count > 0) {
    std::memcpy(ElementAt(to, to_begin), from.raw(),
                static_cast<size_t>(count) * DataTypeSize(from.dtype()));
  }
}

Shape Joined(const std::vector<int64_t>& batch, absl::Span<const int64_t> dims) {
  Shape shape{absl::Span<const int64_t>(batch)};
  for (const int64_t dim : dims) shape.AddDim(dim);
  return shape;
}

// The outputs of one sparse column.
struct SparseTensors {
  Tensor indices;
  Tensor values;
  std::vector<int64_t> begins;  // of each record's values
};

}  // namespace

void* ElementAt(const Tensor& tensor, int64_t i) {
  return static_cast<char*>(tensor.raw()) + static_cast<size_t>(i) * DataTypeSize(tensor.dtype());
}

void ClearElements(const Tensor& tensor, int64_t begin, int64_t count) {
  if (count <= 0) return;
  if (tensor.dtype() == DataType::kString) {
    std::fill_n(tensor.data<std::string>() + begin, count, std::string());
  } else {
    std::memset(ElementAt(tensor, begin), 0,
                static_cast<size_t>(count) * DataTypeSize(tensor.dtype()));
  }
}

// ---- Columns ----

StatusOr<std::vector<SparseColumn>> SparseColumns(const HostKernelInfo& info,
                                                  absl::string_view types_attr) {
  MS_ASSIGN_OR_RETURN(const auto types, info.Attr<DataTypeList>(types_attr));
  std::vector<SparseColumn> columns(types.size());
  for (size_t i = 0; i < types.size(); ++i) columns[i].dtype = types[i];
  return columns;
}

StatusOr<std::vector<DenseColumn>> DenseColumns(const HostKernelInfo& info,
                                                absl::string_view types_attr,
                                                absl::string_view shapes_attr, bool may_vary) {
  MS_ASSIGN_OR_RETURN(const auto types, info.Attr<DataTypeList>(types_attr));
  MS_ASSIGN_OR_RETURN(const auto shapes, info.Attr<std::vector<PartialShape>>(shapes_attr));
  std::vector<DenseColumn> columns(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    DenseColumn& column = columns[i];
    column.dtype = types[i];
    const PartialShape& shape = shapes[i];
    column.varies = may_vary && shape.rank() > 0 && shape.dim(0) == kUnknownDim;
    column.row = Shape(shape.dims().subspan(column.varies ? 1 : 0));
    const Status valid = ValidateShape(column.row);
    if (!valid.ok()) return WithContext(valid, absl::StrCat("attribute '", shapes_attr, "'"));
    column.row_size = column.row.num_elements();
    if (!column.varies || column.row_size > 0) continue;
    return errors::InvalidArgument("attribute '", shapes_attr, "': rows of any number must have ",
                                   "elements, got ", shape.ToString());
  }
  return columns;
}

void ColumnIndex::Add(absl::string_view key, size_t column) {
  next_.resize(std::max(next_.size(), column + 1), kNone);
  const auto [at, is_new] = first_.try_emplace(key, column);
  if (is_new) return;
  next_[column] = at->second;
  at->second = column;
}

// ---- Records ----

std::string RecordBatch::Shown(absl::string_view bytes) {
  constexpr size_t kMost = 80;
  return absl::StrCat(absl::CHexEscape(bytes.substr(0, kMost)), bytes.size() > kMost ? "..." : "");
}

Status RecordBatch::Malformed(int64_t i) const {
  const auto record = static_cast<size_t>(i);
  return errors::InvalidArgument("Could not parse example input, value: '", Shown(records[record]),
                                 "', record ", i, " of argument 'serialized'",
                                 names.empty() ? "" : absl::StrCat(", ", Shown(names[record])));
}

Status RecordBatch::ErrorOf(int64_t i, absl::string_view what, absl::string_view why) const {
  const std::string name = names.empty() ? "<unknown>" : Shown(names[static_cast<size_t>(i)]);
  return errors::InvalidArgument("Name: ", name, ", ", what, ", Index: ", i, ".  ", why,
                                 " (argument 'serialized')");
}

Status RecordBatch::Missing(int64_t i, absl::string_view key, DataType dtype) const {
  return ErrorOf(i, absl::StrCat("Key: ", Shown(key)),
                 absl::StrCat("Feature: ", Shown(key), " (data type: ", DataTypeSpecName(dtype),
                              ") is required but could not be found."));
}

// ---- Features of whole examples ----

FeatureGroup::FeatureGroup(std::vector<SparseColumn> sparse, std::vector<DenseColumn> dense)
    : sparse_(std::move(sparse)), dense_(std::move(dense)) {
  for (size_t k = 0; k < sparse_.size(); ++k) index_.Add(sparse_[k].key, k);
  for (size_t k = 0; k < dense_.size(); ++k) index_.Add(dense_[k].key, sparse_.size() + k);
}

Status FeatureGroup::CheckDefaults(absl::Span<const Tensor> defaults,
                                   absl::string_view argument) const {
  for (size_t k = 0; k < dense_.size(); ++k) {
    const DenseColumn& column = dense_[k];
    const Shape& shape = defaults[k].shape();
    if (column.varies) {
      if (defaults[k].num_elements() == 1) continue;
      return errors::InvalidArgument("argument '", argument, "': feature ", k,
                                     " has rows of any number, so its default must contain a ",
                                     "single element (the padding element), but has shape ",
                                     shape.ToString());
    }
    if (defaults[k].num_elements() == 0 || shape == column.row) continue;
    return errors::InvalidArgument("argument '", argument, "': expected shape ",
                                   column.row.ToString(), " for feature ", k, ", got ",
                                   shape.ToString());
  }
  return absl::OkStatus();
}

Status FeatureGroup::CheckDense(const RecordBatch& batch, int64_t i, const DenseColumn& column,
                                const Tensor& default_value, const FeatureValues& found) const {
  if (found.dtype == DataType::kInvalid) {
    if (column.varies || default_value.num_elements() > 0) return absl::OkStatus();
    return batch.Missing(i, column.key, column.dtype);
  }
  if (column.varies ? found.count % column.row_size == 0 : found.count == column.row_size) {
    return absl::OkStatus();
  }
  if (column.varies) {
    return batch.Error(i, column.key, "Number of ", DataTypeSpecName(column.dtype),
                       " values is not a multiple of stride length. Values size: ", found.count,
                       " but output shape: [?] of ", column.row.ToString());
  }
  return batch.Error(i, column.key, "Number of ", DataTypeSpecName(column.dtype),
                     " values != expected. Values size: ", found.count,
                     " but output shape: ", column.row.ToString());
}

Status FeatureGroup::ReadRecord(const RecordBatch& batch, int64_t i,
                                absl::Span<const Tensor> defaults, FeatureValues* found) const {
  std::vector<absl::string_view> messages(index_.size());
  const bool is_message = ReadSubmessages(
      batch.records[static_cast<size_t>(i)], kFeatures, [&](absl::string_view features) {
        return ReadEntries(features, [&](absl::string_view key, absl::string_view value) {
          index_.ForEach(key, [&](size_t column) { messages[column] = value; });
          return true;
        });
      });
  if (!is_message) return batch.Malformed(i);
  for (size_t k = 0; k < messages.size(); ++k) {
    if (!ReadFeature(messages[k], &found[k])) return batch.Malformed(i);
    const bool is_sparse = k < sparse_.size();
    const size_t dense = k - sparse_.size();
    const DataType wanted = is_sparse ? sparse_[k].dtype : dense_[dense].dtype;
    if (found[k].dtype != DataType::kInvalid && found[k].dtype != wanted) {
      return batch.Error(i, is_sparse ? sparse_[k].key : dense_[dense].key,
                         "Data types don't match. Data type: ", DataTypeSpecName(found[k].dtype),
                         " but expected type: ", DataTypeSpecName(wanted));
    }
    if (is_sparse) continue;
    MS_RETURN_IF_ERROR(CheckDense(batch, i, dense_[dense], defaults[dense], found[k]));
  }
  return absl::OkStatus();
}

Status FeatureGroup::Read(const RecordBatch& batch, absl::Span<const Tensor> defaults,
                          const GroupOutputs& outputs, StructuralFrame* frame) const {
  MS_RETURN_IF_ERROR(CheckDefaults(defaults, outputs.defaults_argument));
  const auto records = static_cast<size_t>(batch.size());
  std::vector<FeatureValues> found(records * index_.size());
  std::vector<Status> errors(records);
  frame->ParallelFor(records, kNanosecondsOfFeature * (1 + index_.size()), [&](uint64_t i) {
    errors[i] =
        ReadRecord(batch, static_cast<int64_t>(i), defaults, found.data() + i * index_.size());
  });
  for (const Status& error : errors) MS_RETURN_IF_ERROR(error);
  MS_RETURN_IF_ERROR(WriteSparse(batch, found, outputs, frame));
  return WriteDense(batch, found, defaults, outputs, frame);
}

Status FeatureGroup::WriteSparse(const RecordBatch& batch, const std::vector<FeatureValues>& found,
                                 const GroupOutputs& outputs, StructuralFrame* frame) const {
  const auto records = static_cast<size_t>(batch.size());
  const int64_t width = batch.is_single ? 1 : 2;
  std::vector<SparseTensors> tensors(sparse_.size());
  for (size_t k = 0; k < sparse_.size(); ++k) {
    SparseTensors& column = tensors[k];
    int64_t total = 0;
    int64_t most = 0;
    for (size_t i = 0; i < records; ++i) {
      column.begins.push_back(total);
      total += found[i * index_.size() + k].count;
      most = std::max(most, found[i * index_.size() + k].count);
    }
    const auto output = static_cast<uint32_t>(k);
    MS_ASSIGN_OR_RETURN(column.indices, frame->AllocateOutput(outputs.sparse_indices + output,
                                                              Shape({total, width})));
    MS_ASSIGN_OR_RETURN(column.values,
                        frame->AllocateOutput(outputs.sparse_values + output, Shape({total})));
    MS_ASSIGN_OR_RETURN(const Tensor shape,
                        frame->AllocateOutput(outputs.sparse_shapes + output, Shape({width})));
    if (!batch.is_single) shape.data<int64_t>()[0] = batch.size();
    shape.data<int64_t>()[width - 1] = most;
  }
  frame->ParallelFor(records, kNanosecondsOfFeature * (1 + sparse_.size()), [&](uint64_t i) {
    for (size_t k = 0; k < sparse_.size(); ++k) {
      const FeatureValues& values = found[i * index_.size() + k];
      const int64_t begin = tensors[k].begins[i];
      int64_t* index = tensors[k].indices.data<int64_t>() + begin * width;
      for (int64_t j = 0; j < values.count; ++j) {
        if (!batch.is_single) *index++ = static_cast<int64_t>(i);
        *index++ = j;
      }
      CopyFeature(values, ElementAt(tensors[k].values, begin));
    }
  });
  return absl::OkStatus();
}

Status FeatureGroup::WriteDense(const RecordBatch& batch, const std::vector<FeatureValues>& found,
                                absl::Span<const Tensor> defaults, const GroupOutputs& outputs,
                                StructuralFrame* frame) const {
  const auto records = static_cast<size_t>(batch.size());
  std::vector<Tensor> tensors(dense_.size());
  std::vector<int64_t> sizes(dense_.size());  // elements of an example
  for (size_t k = 0; k < dense_.size(); ++k) {
    const DenseColumn& column = dense_[k];
    std::vector<int64_t> batch_dims = batch.dims();
    sizes[k] = column.row_size;
    if (column.varies) {
      int64_t most = 0;
      for (size_t i = 0; i < records; ++i) {
        most = std::max(most, found[i * index_.size() + sparse_.size() + k].count);
      }
      sizes[k] = most;
      batch_dims.push_back(most / column.row_size);
    }
    MS_ASSIGN_OR_RETURN(tensors[k], frame->AllocateOutput(outputs.dense + static_cast<uint32_t>(k),
                                                          Joined(batch_dims, column.row.dims())));
  }
  frame->ParallelFor(records, kNanosecondsOfFeature * (1 + dense_.size()), [&](uint64_t i) {
    for (size_t k = 0; k < dense_.size(); ++k) {
      const FeatureValues& values = found[i * index_.size() + sparse_.size() + k];
      const int64_t begin = static_cast<int64_t>(i) * sizes[k];
      if (values.dtype != DataType::kInvalid) {
        CopyFeature(values, ElementAt(tensors[k], begin));
      } else if (!dense_[k].varies) {
        CopyElements(defaults[k], sizes[k], tensors[k], begin);
      }
      if (!dense_[k].varies) continue;
      for (int64_t j = values.count; j < sizes[k]; ++j) {
        CopyElements(defaults[k], 1, tensors[k], begin + j);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace millstream
