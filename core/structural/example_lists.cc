// Lists of features: one for each step of a sequence.
#include <algorithm>
#include <utility>

#include "core/structural/example_features.h"

namespace millstream {
namespace {

constexpr uint32_t kFeatureLists = 2;  // the field of a sequence example
constexpr uint32_t kListFeatures = 1;  // and of a FeatureList
constexpr uint64_t kNanosecondsOfList = 500;

}  // namespace

ListGroup::ListGroup(std::vector<SparseColumn> sparse, std::vector<DenseColumn> dense,
                     absl::flat_hash_set<std::string> may_miss)
    : sparse_(std::move(sparse)), dense_(std::move(dense)), may_miss_(std::move(may_miss)) {
  for (size_t k = 0; k < sparse_.size(); ++k) index_.Add(sparse_[k].key, k);
  for (size_t k = 0; k < dense_.size(); ++k) index_.Add(dense_[k].key, sparse_.size() + k);
}

Status ListGroup::CheckList(const RecordBatch& batch, int64_t i, size_t column,
                            const List& list) const {
  const bool is_sparse = column < sparse_.size();
  const size_t dense = column - sparse_.size();
  const std::string& key = is_sparse ? sparse_[column].key : dense_[dense].key;
  const DataType wanted = is_sparse ? sparse_[column].dtype : dense_[dense].dtype;
  if (!list.is_there) {
    if (is_sparse || may_miss_.contains(key)) return absl::OkStatus();
    return batch.ListError(i, key,
                           "It is required but could not be found.  Did you mean to include it in ",
                           "feature_list_dense_missing_assumed_empty or "
                           "feature_list_dense_defaults?");
  }
  for (size_t step = 0; step < list.steps.size(); ++step) {
    const FeatureValues& values = list.steps[step];
    const bool is_absent = values.dtype == DataType::kInvalid;
    if (values.dtype != wanted && !(is_absent && is_sparse)) {
      return batch.ListError(i, key, "Data types don't match in step ", step,
                             ". Expected type: ", DataTypeSpecName(wanted), ", Feature is: ",
                             is_absent ? "missing" : DataTypeSpecName(values.dtype));
    }
    if (is_sparse || values.count == dense_[dense].row_size) continue;
    return batch.ListError(i, key, "Number of ", DataTypeSpecName(wanted),
                           " values != expected in step ", step, ". Values size: ", values.count,
                           " but output shape: ", dense_[dense].row.ToString());
  }
  return absl::OkStatus();
}

Status ListGroup::ReadRecord(const RecordBatch& batch, int64_t i, List* found) const {
  std::vector<absl::string_view> messages(index_.size());
  const bool is_message = ReadSubmessages(
      batch.records[static_cast<size_t>(i)], kFeatureLists, [&](absl::string_view lists) {
        return ReadEntries(lists, [&](absl::string_view key, absl::string_view value) {
          index_.ForEach(key, [&](size_t column) {
            messages[column] = value;
            found[column].is_there = true;
          });
          return true;
        });
      });
  if (!is_message) return batch.Malformed(i);
  for (size_t k = 0; k < messages.size(); ++k) {
    const bool is_list =
        ReadSubmessages(messages[k], kListFeatures, [&](absl::string_view feature) {
          return ReadFeature(feature, &found[k].steps.emplace_back());
        });
    if (!is_list) return batch.Malformed(i);
    MS_RETURN_IF_ERROR(CheckList(batch, i, k, found[k]));
  }
  return absl::OkStatus();
}

Status ListGroup::Read(const RecordBatch& batch, const GroupOutputs& outputs,
                       StructuralFrame* frame) const {
  const auto records = static_cast<size_t>(batch.size());
  std::vector<List> found(records * index_.size());
  std::vector<Status> errors(records);
  frame->ParallelFor(records, kNanosecondsOfList * (1 + index_.size()), [&](uint64_t i) {
    errors[i] = ReadRecord(batch, static_cast<int64_t>(i), found.data() + i * index_.size());
  });
  for (const Status& error : errors) MS_RETURN_IF_ERROR(error);
  MS_RETURN_IF_ERROR(WriteSparse(batch, found, outputs, frame));
  return WriteDense(batch, found, outputs, frame);
}

Status ListGroup::WriteSparse(const RecordBatch& batch, const std::vector<List>& found,
                              const GroupOutputs& outputs, StructuralFrame* frame) const {
  const int64_t width = batch.is_single ? 2 : 3;
  for (size_t k = 0; k < sparse_.size(); ++k) {
    int64_t total = 0;
    int64_t most_steps = 0;
    int64_t most_values = 0;
    for (int64_t i = 0; i < batch.size(); ++i) {
      const List& list = found[static_cast<size_t>(i) * index_.size() + k];
      most_steps = std::max(most_steps, static_cast<int64_t>(list.steps.size()));
      for (const FeatureValues& values : list.steps) {
        total += values.count;
        most_values = std::max(most_values, values.count);
      }
    }
    const auto output = static_cast<uint32_t>(k);
    MS_ASSIGN_OR_RETURN(const Tensor indices, frame->AllocateOutput(outputs.sparse_indices + output,
                                                                    Shape({total, width})));
    MS_ASSIGN_OR_RETURN(const Tensor elements,
                        frame->AllocateOutput(outputs.sparse_values + output, Shape({total})));
    MS_ASSIGN_OR_RETURN(const Tensor shape,
                        frame->AllocateOutput(outputs.sparse_shapes + output, Shape({width})));
    int64_t* size = shape.data<int64_t>();
    if (!batch.is_single) *size++ = batch.size();
    *size++ = most_steps;
    *size = most_values;
    int64_t* index = indices.data<int64_t>();
    int64_t next = 0;
    for (int64_t i = 0; i < batch.size(); ++i) {
      const List& list = found[static_cast<size_t>(i) * index_.size() + k];
      for (size_t step = 0; step < list.steps.size(); ++step) {
        const FeatureValues& values = list.steps[step];
        for (int64_t j = 0; j < values.count; ++j) {
          if (!batch.is_single) *index++ = i;
          *index++ = static_cast<int64_t>(step);
          *index++ = j;
        }
        CopyFeature(values, ElementAt(elements, next));
        next += values.count;
      }
    }
  }
  return absl::OkStatus();
}

Status ListGroup::WriteDense(const RecordBatch& batch, const std::vector<List>& found,
                             const GroupOutputs& outputs, StructuralFrame* frame) const {
  for (size_t k = 0; k < dense_.size(); ++k) {
    const DenseColumn& column = dense_[k];
    const auto steps_of = [&](int64_t i) -> const std::vector<FeatureValues>& {
      return found[static_cast<size_t>(i) * index_.size() + sparse_.size() + k].steps;
    };
    int64_t most = 0;
    for (int64_t i = 0; i < batch.size(); ++i) {
      most = std::max(most, static_cast<int64_t>(steps_of(i).size()));
    }
    Shape shape{absl::Span<const int64_t>(batch.dims())};
    shape.AddDim(most);
    for (const int64_t dim : column.row.dims()) shape.AddDim(dim);
    const auto output = static_cast<uint32_t>(k);
    MS_ASSIGN_OR_RETURN(const Tensor values, frame->AllocateOutput(outputs.dense + output, shape));
    Tensor lengths;
    if (outputs.dense_lengths != 0) {
      MS_ASSIGN_OR_RETURN(
          lengths, frame->AllocateOutput(outputs.dense_lengths + output, Shape({batch.size()})));
    }
    for (int64_t i = 0; i < batch.size(); ++i) {
      const auto steps = static_cast<int64_t>(steps_of(i).size());
      int64_t next = i * most * column.row_size;
      for (const FeatureValues& step : steps_of(i)) {
        CopyFeature(step, ElementAt(values, next));
        next += column.row_size;
      }
      ClearElements(values, next, (most - steps) * column.row_size);
      if (lengths.has_value()) lengths.data<int64_t>()[i] = steps;
    }
  }
  return absl::OkStatus();
}

}  // namespace millstream
