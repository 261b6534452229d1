// The ops that read examples: of one or many, without or with sequences.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/structural/example_features.h"
#include "core/structural/host_kernel.h"

namespace millstream {
namespace {

// ---- What the kernels have in common ----

absl::Span<const std::string> Strings(const Tensor& tensor) {
  return {tensor.data<std::string>(), static_cast<size_t>(tensor.num_elements())};
}

// The records of input 0 and their names in input `names`.
StatusOr<RecordBatch> BatchOf(const Tensor& records, const Tensor& names) {
  if (records.shape().rank() != 1) {
    return errors::InvalidArgument("argument 'serialized' must be a vector, got shape ",
                                   records.shape().ToString());
  }
  RecordBatch batch;
  batch.records = Strings(records);
  batch.names = Strings(names);
  if (batch.names.empty() || batch.names.size() == batch.records.size()) return batch;
  return errors::InvalidArgument("argument 'serialized' has ", batch.records.size(),
                                 " examples, but there are ", batch.names.size(), " names");
}

StatusOr<RecordBatch> SingleOf(const Tensor& record) {
  if (record.shape().rank() != 0) {
    return errors::InvalidArgument("argument 'serialized' must be a scalar, got shape ",
                                   record.shape().ToString());
  }
  RecordBatch batch;
  batch.records = Strings(record);
  batch.is_single = true;
  return batch;
}

std::vector<Tensor> Inputs(const StructuralFrame& frame, uint32_t first, size_t count) {
  std::vector<Tensor> inputs;
  for (uint32_t i = 0; i < count; ++i) inputs.push_back(frame.BorrowInput(first + i));
  return inputs;
}

template <typename Column>
Status SetKeys(const HostKernelInfo& info, absl::string_view attr, std::vector<Column>* columns) {
  MS_ASSIGN_OR_RETURN(const auto keys, info.Attr<std::vector<std::string>>(attr));
  for (size_t k = 0; k < columns->size(); ++k) (*columns)[k].key = keys[k];
  return absl::OkStatus();
}

// The columns with the keys that inputs have, from *next on, which becomes the input behind them.
template <typename Column>
StatusOr<std::vector<Column>> WithKeys(const StructuralFrame& frame, std::vector<Column> columns,
                                       uint32_t* next) {
  for (Column& column : columns) {
    const Tensor key = frame.BorrowInput(*next);
    if (key.shape().rank() != 0) {
      return errors::InvalidArgument("argument '", frame.call().InputName(static_cast<int>(*next)),
                                     "': keys of features must be scalars, got shape ",
                                     key.shape().ToString());
    }
    column.key = *key.data<std::string>();
    ++*next;
  }
  return columns;
}

// Where the outputs of a group begin that has `sparse` and `dense` columns, from *next on, which
// becomes the output behind them.
GroupOutputs TakeOutputs(size_t sparse, size_t dense, uint32_t* next) {
  GroupOutputs outputs;
  const auto columns = static_cast<uint32_t>(sparse);
  outputs.sparse_indices = *next;
  outputs.sparse_values = *next + columns;
  outputs.sparse_shapes = *next + 2 * columns;
  outputs.dense = *next + 3 * columns;
  *next = outputs.dense + static_cast<uint32_t>(dense);
  return outputs;
}

// ---- Examples ----

class ParseExampleKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(sparse_, SparseColumns(info, "sparse_types"));
    MS_ASSIGN_OR_RETURN(dense_, DenseColumns(info, "Tdense", "dense_shapes", true));
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame* frame) override {
    const Tensor records = frame->BorrowInput(0);
    const Tensor names = frame->BorrowInput(1);
    MS_ASSIGN_OR_RETURN(const RecordBatch batch, BatchOf(records, names));
    uint32_t next = 2;
    MS_ASSIGN_OR_RETURN(auto sparse, WithKeys(*frame, sparse_, &next));
    MS_ASSIGN_OR_RETURN(auto dense, WithKeys(*frame, dense_, &next));
    uint32_t first_output = 0;
    const GroupOutputs outputs = TakeOutputs(sparse.size(), dense.size(), &first_output);
    const FeatureGroup group(std::move(sparse), std::move(dense));
    return group.Read(batch, Inputs(*frame, next, dense_.size()), outputs, frame);
  }

 private:
  std::vector<SparseColumn> sparse_;
  std::vector<DenseColumn> dense_;
};

class ParseSingleExampleKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(auto sparse, SparseColumns(info, "sparse_types"));
    MS_ASSIGN_OR_RETURN(auto dense, DenseColumns(info, "Tdense", "dense_shapes", true));
    MS_RETURN_IF_ERROR(SetKeys(info, "sparse_keys", &sparse));
    MS_RETURN_IF_ERROR(SetKeys(info, "dense_keys", &dense));
    num_dense_ = dense.size();
    uint32_t first_output = 0;
    outputs_ = TakeOutputs(sparse.size(), dense.size(), &first_output);
    group_ = FeatureGroup(std::move(sparse), std::move(dense));
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame* frame) override {
    const Tensor record = frame->BorrowInput(0);
    MS_ASSIGN_OR_RETURN(const RecordBatch batch, SingleOf(record));
    return group_.Read(batch, Inputs(*frame, 1, num_dense_), outputs_, frame);
  }

 private:
  FeatureGroup group_;
  GroupOutputs outputs_;
  size_t num_dense_ = 0;
};

// ---- Sequences ----

// The columns of both kinds of sequence ops, and where their outputs are.
struct SequenceColumns {
  std::vector<SparseColumn> context_sparse, list_sparse;
  std::vector<DenseColumn> context_dense, list_dense;
  GroupOutputs context, lists;

  Status Init(const HostKernelInfo& info) {
    MS_ASSIGN_OR_RETURN(context_sparse, SparseColumns(info, "context_sparse_types"));
    MS_ASSIGN_OR_RETURN(context_dense,
                        DenseColumns(info, "Tcontext_dense", "context_dense_shapes", false));
    MS_ASSIGN_OR_RETURN(list_sparse, SparseColumns(info, "feature_list_sparse_types"));
    MS_ASSIGN_OR_RETURN(list_dense, DenseColumns(info, "feature_list_dense_types",
                                                 "feature_list_dense_shapes", false));
    uint32_t next = 0;
    context = TakeOutputs(context_sparse.size(), context_dense.size(), &next);
    context.defaults_argument = "context_dense_defaults";
    lists = TakeOutputs(list_sparse.size(), list_dense.size(), &next);
    return absl::OkStatus();
  }
};

class ParseSingleSequenceExampleKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override { return columns_.Init(info); }
  Status Compute(StructuralFrame* frame) override {
    const Tensor record = frame->BorrowInput(0);
    MS_ASSIGN_OR_RETURN(RecordBatch batch, SingleOf(record));
    const Tensor may_miss = frame->BorrowInput(1);
    uint32_t next = 2;
    MS_ASSIGN_OR_RETURN(auto sparse, WithKeys(*frame, columns_.context_sparse, &next));
    MS_ASSIGN_OR_RETURN(auto dense, WithKeys(*frame, columns_.context_dense, &next));
    MS_ASSIGN_OR_RETURN(auto sparse_lists, WithKeys(*frame, columns_.list_sparse, &next));
    MS_ASSIGN_OR_RETURN(auto dense_lists, WithKeys(*frame, columns_.list_dense, &next));
    const std::vector<Tensor> defaults = Inputs(*frame, next, dense.size());
    const Tensor name = frame->BorrowInput(next + static_cast<uint32_t>(dense.size()));
    batch.names = Strings(name);
    if (batch.names.size() != 1) {
      return errors::InvalidArgument("argument 'debug_name' must be a scalar, got shape ",
                                     name.shape().ToString());
    }
    const FeatureGroup context(std::move(sparse), std::move(dense));
    MS_RETURN_IF_ERROR(context.Read(batch, defaults, columns_.context, frame));
    const absl::Span<const std::string> missing = Strings(may_miss);
    const ListGroup lists(std::move(sparse_lists), std::move(dense_lists),
                          {missing.begin(), missing.end()});
    return lists.Read(batch, columns_.lists, frame);
  }

 private:
  SequenceColumns columns_;
};

class ParseSequenceExampleKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    SequenceColumns columns;
    MS_RETURN_IF_ERROR(columns.Init(info));
    MS_RETURN_IF_ERROR(SetKeys(info, "context_sparse_keys", &columns.context_sparse));
    MS_RETURN_IF_ERROR(SetKeys(info, "context_dense_keys", &columns.context_dense));
    MS_RETURN_IF_ERROR(SetKeys(info, "feature_list_sparse_keys", &columns.list_sparse));
    MS_RETURN_IF_ERROR(SetKeys(info, "feature_list_dense_keys", &columns.list_dense));
    MS_ASSIGN_OR_RETURN(const auto may_miss, info.Attr<std::vector<std::string>>(
                                                 "feature_list_dense_missing_assumed_empty"));
    num_defaults_ = columns.context_dense.size();
    context_outputs_ = columns.context;
    list_outputs_ = columns.lists;
    list_outputs_.dense_lengths =
        columns.lists.dense + static_cast<uint32_t>(columns.list_dense.size());
    context_ = FeatureGroup(std::move(columns.context_sparse), std::move(columns.context_dense));
    lists_ = ListGroup(std::move(columns.list_sparse), std::move(columns.list_dense),
                       {may_miss.begin(), may_miss.end()});
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame* frame) override {
    const Tensor records = frame->BorrowInput(0);
    const Tensor names = frame->BorrowInput(1);
    MS_ASSIGN_OR_RETURN(const RecordBatch batch, BatchOf(records, names));
    MS_RETURN_IF_ERROR(
        context_.Read(batch, Inputs(*frame, 2, num_defaults_), context_outputs_, frame));
    return lists_.Read(batch, list_outputs_, frame);
  }

 private:
  FeatureGroup context_;
  ListGroup lists_;
  GroupOutputs context_outputs_, list_outputs_;
  size_t num_defaults_ = 0;
};

MILLSTREAM_HOST_KERNEL("ParseExample", ParseExampleKernel);
MILLSTREAM_HOST_KERNEL("ParseSingleExample", ParseSingleExampleKernel);
MILLSTREAM_HOST_KERNEL("ParseSequenceExample", ParseSequenceExampleKernel);
MILLSTREAM_HOST_KERNEL("ParseSingleSequenceExample", ParseSingleSequenceExampleKernel);

}  // namespace
}  // namespace millstream
