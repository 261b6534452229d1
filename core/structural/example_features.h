// The features that ops ask of examples, and their tensors: for features of whole examples, and
// for lists of features, one for each step of a sequence.
#ifndef MILLSTREAM_CORE_STRUCTURAL_EXAMPLE_FEATURES_H_
#define MILLSTREAM_CORE_STRUCTURAL_EXAMPLE_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/structural/example_wire.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// A feature, or a list of features, that becomes a sparse tensor.
struct SparseColumn {
  std::string key;
  DataType dtype = DataType::kInvalid;
};

// One that becomes a dense tensor.
struct DenseColumn {
  std::string key;
  DataType dtype = DataType::kInvalid;
  Shape row;             // of an example or a step; of one row where their number varies
  bool varies = false;   // examples have any number of rows
  int64_t row_size = 1;  // elements of `row`
};

// Columns of types and shapes that attributes list, with keys yet to be set. Shapes may have an
// unknown first dimension if `may_vary`.
StatusOr<std::vector<SparseColumn>> SparseColumns(const HostKernelInfo& info,
                                                  absl::string_view types_attr);
StatusOr<std::vector<DenseColumn>> DenseColumns(const HostKernelInfo& info,
                                                absl::string_view types_attr,
                                                absl::string_view shapes_attr, bool may_vary);

// The serialized examples of one execution, which outlive it.
struct RecordBatch {
  absl::Span<const std::string> records;
  absl::Span<const std::string> names;  // one for each record, or none
  bool is_single = false;               // one record, whose outputs have no dimension for a batch

  int64_t size() const { return static_cast<int64_t>(records.size()); }
  // Dimensions of the batch in front of those of a record's tensors.
  std::vector<int64_t> dims() const {
    return is_single ? std::vector<int64_t>() : std::vector<int64_t>{size()};
  }
  // INVALID_ARGUMENT: record i is no message.
  Status Malformed(int64_t i) const;
  // INVALID_ARGUMENT: record i lacks a feature.
  Status Missing(int64_t i, absl::string_view key, DataType dtype) const;
  // INVALID_ARGUMENT: "Name: .., Key: .., Index: ..  <parts> (argument 'serialized')".
  template <typename... Parts>
  Status Error(int64_t i, absl::string_view key, const Parts&... parts) const {
    return ErrorOf(i, absl::StrCat("Key: ", Shown(key)), absl::StrCat(parts...));
  }
  // The same for a whole list of features.
  template <typename... Parts>
  Status ListError(int64_t i, absl::string_view key, const Parts&... parts) const {
    return ErrorOf(i, absl::StrCat("Feature list '", Shown(key), "'"), absl::StrCat(parts...));
  }

 private:
  static std::string Shown(absl::string_view bytes);
  Status ErrorOf(int64_t i, absl::string_view what, absl::string_view why) const;
};

// Where the outputs of one group of columns begin, and which argument has its defaults.
struct GroupOutputs {
  uint32_t sparse_indices = 0;
  uint32_t sparse_values = 0;
  uint32_t sparse_shapes = 0;
  uint32_t dense = 0;
  uint32_t dense_lengths = 0;  // of lists; 0: none
  const char* defaults_argument = "dense_defaults";
};

// Columns by key: sparse ones, then dense ones. Two may have one key.
class ColumnIndex {
 public:
  void Add(absl::string_view key, size_t column);
  // Calls `function` with each column of a key.
  template <typename Function>
  void ForEach(absl::string_view key, const Function& function) const {
    const auto found = first_.find(key);
    if (found == first_.end()) return;
    for (size_t column = found->second; column != kNone; column = next_[column]) function(column);
  }
  size_t size() const { return next_.size(); }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  absl::flat_hash_map<std::string, size_t> first_;
  std::vector<size_t> next_;
};

// Features of whole examples.
class FeatureGroup {
 public:
  FeatureGroup() = default;
  FeatureGroup(std::vector<SparseColumn> sparse, std::vector<DenseColumn> dense);

  // The tensors of the features of all records, which stand in field 1 of their messages.
  // `defaults`: of the dense ones. INVALID_ARGUMENT names the first record that does not fit.
  Status Read(const RecordBatch& batch, absl::Span<const Tensor> defaults,
              const GroupOutputs& outputs, StructuralFrame* frame) const;

 private:
  Status CheckDefaults(absl::Span<const Tensor> defaults, absl::string_view argument) const;
  Status ReadRecord(const RecordBatch& batch, int64_t i, absl::Span<const Tensor> defaults,
                    FeatureValues* found) const;
  Status CheckDense(const RecordBatch& batch, int64_t i, const DenseColumn& column,
                    const Tensor& default_value, const FeatureValues& found) const;
  Status WriteSparse(const RecordBatch& batch, const std::vector<FeatureValues>& found,
                     const GroupOutputs& outputs, StructuralFrame* frame) const;
  Status WriteDense(const RecordBatch& batch, const std::vector<FeatureValues>& found,
                    absl::Span<const Tensor> defaults, const GroupOutputs& outputs,
                    StructuralFrame* frame) const;

  std::vector<SparseColumn> sparse_;
  std::vector<DenseColumn> dense_;
  ColumnIndex index_;
};

// Lists of features.
class ListGroup {
 public:
  ListGroup() = default;
  ListGroup(std::vector<SparseColumn> sparse, std::vector<DenseColumn> dense,
            absl::flat_hash_set<std::string> may_miss);

  // The tensors of the lists of all records, which stand in field 2 of their messages. Dense lists
  // are padded with zeros to the longest one. INVALID_ARGUMENT names the first record that does not
  // fit.
  Status Read(const RecordBatch& batch, const GroupOutputs& outputs, StructuralFrame* frame) const;

 private:
  struct List {
    bool is_there = false;
    std::vector<FeatureValues> steps;
  };
  Status ReadRecord(const RecordBatch& batch, int64_t i, List* found) const;
  Status CheckList(const RecordBatch& batch, int64_t i, size_t column, const List& list) const;
  Status WriteSparse(const RecordBatch& batch, const std::vector<List>& found,
                     const GroupOutputs& outputs, StructuralFrame* frame) const;
  Status WriteDense(const RecordBatch& batch, const std::vector<List>& found,
                    const GroupOutputs& outputs, StructuralFrame* frame) const;

  std::vector<SparseColumn> sparse_;
  std::vector<DenseColumn> dense_;
  absl::flat_hash_set<std::string> may_miss_;
  ColumnIndex index_;
};

// Zeros, or empty strings, in elements [begin, begin + count).
void ClearElements(const Tensor& tensor, int64_t begin, int64_t count);
// The address of element i.
void* ElementAt(const Tensor& tensor, int64_t i);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_EXAMPLE_FEATURES_H_
