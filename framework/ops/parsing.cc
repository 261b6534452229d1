// Training examples, which are messages in strings, as tensors of their features.
#include <cstdint>
#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- Shapes ----

// The shape of a batch of elements.
StatusOr<PartialShape> Batched(const ShapeContext& context, absl::string_view attr,
                               std::vector<int64_t> batch, const PartialShape& element) {
  batch.insert(batch.end(), element.dims().begin(), element.dims().end());
  const Status fits = CheckRank(static_cast<int>(batch.size()));
  if (!fits.ok()) return AttrError(context, attr, fits);
  return PartialShape(batch);
}

// The shapes of one kind of dense features. Only their first dimension may be unknown, if
// `may_vary`.
StatusOr<std::vector<PartialShape>> DenseShapes(const ShapeContext& context, absl::string_view attr,
                                                size_t count, bool may_vary) {
  MS_ASSIGN_OR_RETURN(std::vector<PartialShape> shapes,
                      context.Attr<std::vector<PartialShape>>(attr));
  if (shapes.size() != count) {
    return InvalidAttr(context, attr, "expected a shape for each of ", count, " features, got ",
                       shapes.size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    bool is_known = shapes[i].known_rank();
    for (int d = may_vary ? 1 : 0; is_known && d < shapes[i].rank(); ++d) {
      is_known = shapes[i].dim(d) != kUnknownDim;
    }
    if (is_known) continue;
    return InvalidAttr(context, attr, "dense_shapes[", i, "] has unknown rank or unknown inner ",
                       "dimensions: ", shapes[i].ToString());
  }
  return shapes;
}

// Sets the outputs of one group of features, one after the other. `batch` is empty for features of
// one example.
class FeatureOutputs {
 public:
  explicit FeatureOutputs(ShapeContext* context) : context_(context) {}

  // Indices, values and shapes of sparse tensors. The attribute lists their types.
  Status Sparse(absl::string_view types_attr, int64_t count, int64_t index_size) {
    MS_ASSIGN_OR_RETURN(const DataTypeList types, context_->Attr<DataTypeList>(types_attr));
    if (static_cast<int64_t>(types.size()) != count) {
      return InvalidAttr(*context_, types_attr, "expected a type for each of ", count,
                         " features, got ", types.size());
    }
    for (int64_t i = 0; i < count; ++i) Add(PartialShape::Matrix(kUnknownDim, index_size));
    for (int64_t i = 0; i < count; ++i) Add(PartialShape::Vector(kUnknownDim));
    for (int64_t i = 0; i < count; ++i) Add(PartialShape::Vector(index_size));
    return absl::OkStatus();
  }
  Status Dense(absl::string_view types_attr, absl::string_view shapes_attr, bool may_vary,
               const std::vector<int64_t>& batch) {
    MS_ASSIGN_OR_RETURN(const DataTypeList types, context_->Attr<DataTypeList>(types_attr));
    MS_ASSIGN_OR_RETURN(const std::vector<PartialShape> shapes,
                        DenseShapes(*context_, shapes_attr, types.size(), may_vary));
    for (const PartialShape& shape : shapes) {
      MS_ASSIGN_OR_RETURN(PartialShape whole, Batched(*context_, shapes_attr, batch, shape));
      Add(std::move(whole));
    }
    return absl::OkStatus();
  }
  void Add(PartialShape shape) { context_->SetOutput(next_++, std::move(shape)); }

 private:
  ShapeContext* const context_;
  int next_ = 0;
};

// The number of records of a vector of them; checks that the names are a vector.
StatusOr<int64_t> RecordCount(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const PartialShape records, context.WithRank(0, 1));
  MS_RETURN_IF_ERROR(context.WithRank(1, 1).status());
  return records.dim(0);
}

Status ScalarInputs(const ShapeContext& context, int first, int64_t count) {
  for (int i = first; i < first + count; ++i) MS_RETURN_IF_ERROR(context.WithRank(i, 0).status());
  return absl::OkStatus();
}

// Keys that are attributes: one for each feature.
Status CheckKeys(const ShapeContext& context, absl::string_view keys_attr, int64_t count) {
  MS_ASSIGN_OR_RETURN(const auto keys, context.Attr<std::vector<std::string>>(keys_attr));
  if (static_cast<int64_t>(keys.size()) == count) return absl::OkStatus();
  return InvalidAttr(context, keys_attr, "expected a key for each of ", count, " features, got ",
                     keys.size());
}

Status ParseExampleShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t sparse, context->Attr<int64_t>("Nsparse"));
  MS_ASSIGN_OR_RETURN(const int64_t dense, context->Attr<int64_t>("Ndense"));
  MS_ASSIGN_OR_RETURN(const DataTypeList types, context->Attr<DataTypeList>("Tdense"));
  if (static_cast<int64_t>(types.size()) != dense) {
    return InvalidAttr(*context, "Tdense", "expected a type for each of ", dense, " features, got ",
                       types.size());
  }
  MS_ASSIGN_OR_RETURN(const int64_t records, RecordCount(*context));
  MS_RETURN_IF_ERROR(ScalarInputs(*context, 2, sparse + dense));
  FeatureOutputs outputs(context);
  MS_RETURN_IF_ERROR(outputs.Sparse("sparse_types", sparse, 2));
  return outputs.Dense("Tdense", "dense_shapes", true, {records});
}

Status ParseSingleExampleShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t sparse, context->Attr<int64_t>("num_sparse"));
  MS_ASSIGN_OR_RETURN(const DataTypeList types, context->Attr<DataTypeList>("Tdense"));
  MS_RETURN_IF_ERROR(CheckKeys(*context, "sparse_keys", sparse));
  MS_RETURN_IF_ERROR(CheckKeys(*context, "dense_keys", static_cast<int64_t>(types.size())));
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  FeatureOutputs outputs(context);
  MS_RETURN_IF_ERROR(outputs.Sparse("sparse_types", sparse, 1));
  return outputs.Dense("Tdense", "dense_shapes", true, {});
}

// What both ops on sequences give; `batch` is empty for one sequence.
Status SequenceOutputs(ShapeContext* context, const std::vector<int64_t>& batch,
                       FeatureOutputs* outputs) {
  const auto batch_rank = static_cast<int64_t>(batch.size());
  for (const auto& [count_attr, types_attr] :
       {std::pair("Ncontext_dense", "Tcontext_dense"),
        std::pair("Nfeature_list_dense", "feature_list_dense_types")}) {
    MS_ASSIGN_OR_RETURN(const int64_t count, context->Attr<int64_t>(count_attr));
    MS_ASSIGN_OR_RETURN(const DataTypeList types, context->Attr<DataTypeList>(types_attr));
    if (static_cast<int64_t>(types.size()) == count) continue;
    return InvalidAttr(*context, types_attr, "expected a type for each of ", count,
                       " features, got ", types.size());
  }
  MS_ASSIGN_OR_RETURN(const int64_t sparse, context->Attr<int64_t>("Ncontext_sparse"));
  MS_ASSIGN_OR_RETURN(const int64_t sparse_lists, context->Attr<int64_t>("Nfeature_list_sparse"));
  MS_RETURN_IF_ERROR(outputs->Sparse("context_sparse_types", sparse, batch_rank + 1));
  MS_RETURN_IF_ERROR(outputs->Dense("Tcontext_dense", "context_dense_shapes", false, batch));
  MS_RETURN_IF_ERROR(outputs->Sparse("feature_list_sparse_types", sparse_lists, batch_rank + 2));
  std::vector<int64_t> steps = batch;
  steps.push_back(kUnknownDim);
  return outputs->Dense("feature_list_dense_types", "feature_list_dense_shapes", false, steps);
}

Status ParseSingleSequenceExampleShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  MS_RETURN_IF_ERROR(context->WithRank(1, 1).status());
  int64_t keys = 0;
  for (const char* const attr :
       {"Ncontext_sparse", "Ncontext_dense", "Nfeature_list_sparse", "Nfeature_list_dense"}) {
    MS_ASSIGN_OR_RETURN(const int64_t count, context->Attr<int64_t>(attr));
    keys += count;
  }
  MS_RETURN_IF_ERROR(ScalarInputs(*context, 2, keys));
  MS_RETURN_IF_ERROR(context->WithRank(context->num_inputs() - 1, 0).status());
  FeatureOutputs outputs(context);
  return SequenceOutputs(context, {}, &outputs);
}

Status ParseSequenceExampleShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t records, RecordCount(*context));
  for (const auto& [keys, count_attr] :
       {std::pair("context_sparse_keys", "Ncontext_sparse"),
        std::pair("context_dense_keys", "Ncontext_dense"),
        std::pair("feature_list_sparse_keys", "Nfeature_list_sparse"),
        std::pair("feature_list_dense_keys", "Nfeature_list_dense")}) {
    MS_ASSIGN_OR_RETURN(const int64_t count, context->Attr<int64_t>(count_attr));
    MS_RETURN_IF_ERROR(CheckKeys(*context, keys, count));
  }
  FeatureOutputs outputs(context);
  MS_RETURN_IF_ERROR(SequenceOutputs(context, {records}, &outputs));
  MS_ASSIGN_OR_RETURN(const int64_t lists, context->Attr<int64_t>("Nfeature_list_dense"));
  for (int64_t i = 0; i < lists; ++i) outputs.Add(PartialShape::Vector(records));
  return absl::OkStatus();
}

// ---- Ops ----

MILLSTREAM_OP("ParseExample")
    .Input("serialized: string")
    .Input("names: string")
    .Input("sparse_keys: Nsparse * string")
    .Input("dense_keys: Ndense * string")
    .Input("dense_defaults: Tdense")
    .Output("sparse_indices: Nsparse * int64")
    .Output("sparse_values: sparse_types")
    .Output("sparse_shapes: Nsparse * int64")
    .Output("dense_values: Tdense")
    .Attr("Nsparse: int >= 0")
    .Attr("Ndense: int >= 0")
    .Attr("sparse_types: list({float, int64, string}) >= 0")
    .Attr("Tdense: list({float, int64, string}) >= 0")
    .Attr("dense_shapes: list(shape) >= 0")
    .Shape(ParseExampleShape)
    .Doc(R"(Reads the features of a batch of Example messages.

A sparse feature is a sparse matrix with a row for each example. A dense feature has one shape in
all examples; where an example has none, it is the default, and INVALID_ARGUMENT if that has no
element. If the first size of its shape is unknown, examples may have any number of rows: they are
padded with the default, a single element. The names are for messages; there may be none.)");

MILLSTREAM_OP("ParseSingleExample")
    .Input("serialized: string")
    .Input("dense_defaults: Tdense")
    .Output("sparse_indices: num_sparse * int64")
    .Output("sparse_values: sparse_types")
    .Output("sparse_shapes: num_sparse * int64")
    .Output("dense_values: Tdense")
    .Attr("num_sparse: int >= 0")
    .Attr("sparse_keys: list(string) >= 0")
    .Attr("dense_keys: list(string) >= 0")
    .Attr("sparse_types: list({float, int64, string}) >= 0")
    .Attr("Tdense: list({float, int64, string}) >= 0")
    .Attr("dense_shapes: list(shape) >= 0")
    .Shape(ParseSingleExampleShape)
    .Doc(R"(Reads the features of an Example message.

As ParseExample, without the dimension of the batch.)");

MILLSTREAM_OP("ParseSingleSequenceExample")
    .Input("serialized: string")
    .Input("feature_list_dense_missing_assumed_empty: string")
    .Input("context_sparse_keys: Ncontext_sparse * string")
    .Input("context_dense_keys: Ncontext_dense * string")
    .Input("feature_list_sparse_keys: Nfeature_list_sparse * string")
    .Input("feature_list_dense_keys: Nfeature_list_dense * string")
    .Input("context_dense_defaults: Tcontext_dense")
    .Input("debug_name: string")
    .Output("context_sparse_indices: Ncontext_sparse * int64")
    .Output("context_sparse_values: context_sparse_types")
    .Output("context_sparse_shapes: Ncontext_sparse * int64")
    .Output("context_dense_values: Tcontext_dense")
    .Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
    .Output("feature_list_sparse_values: feature_list_sparse_types")
    .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
    .Output("feature_list_dense_values: feature_list_dense_types")
    .Attr("Ncontext_sparse: int >= 0 = 0")
    .Attr("Ncontext_dense: int >= 0 = 0")
    .Attr("Nfeature_list_sparse: int >= 0 = 0")
    .Attr("Nfeature_list_dense: int >= 0 = 0")
    .Attr("context_sparse_types: list({float, int64, string}) >= 0 = []")
    .Attr("Tcontext_dense: list({float, int64, string}) >= 0 = []")
    .Attr("feature_list_dense_types: list({float, int64, string}) >= 0 = []")
    .Attr("context_dense_shapes: list(shape) >= 0 = []")
    .Attr("feature_list_sparse_types: list({float, int64, string}) >= 0 = []")
    .Attr("feature_list_dense_shapes: list(shape) >= 0 = []")
    .Shape(ParseSingleSequenceExampleShape)
    .Doc(R"(Reads the features of a SequenceExample message: those of the whole, and lists of steps.

Features of the whole are read as ParseSingleExample reads them. A dense list has a row for each
step, a sparse list is a matrix of steps and their values. A dense list that is missing has no rows
if it is named as one that may be, else it is INVALID_ARGUMENT.)");

MILLSTREAM_OP("ParseSequenceExample")
    .Input("serialized: string")
    .Input("debug_name: string")
    .Input("context_dense_defaults: Tcontext_dense")
    .Output("context_sparse_indices: Ncontext_sparse * int64")
    .Output("context_sparse_values: context_sparse_types")
    .Output("context_sparse_shapes: Ncontext_sparse * int64")
    .Output("context_dense_values: Tcontext_dense")
    .Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
    .Output("feature_list_sparse_values: feature_list_sparse_types")
    .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
    .Output("feature_list_dense_values: feature_list_dense_types")
    .Output("feature_list_dense_lengths: Nfeature_list_dense * int64")
    .Attr("feature_list_dense_missing_assumed_empty: list(string) >= 0")
    .Attr("context_sparse_keys: list(string) >= 0")
    .Attr("context_dense_keys: list(string) >= 0")
    .Attr("feature_list_sparse_keys: list(string) >= 0")
    .Attr("feature_list_dense_keys: list(string) >= 0")
    .Attr("Ncontext_sparse: int >= 0 = 0")
    .Attr("Ncontext_dense: int >= 0 = 0")
    .Attr("Nfeature_list_sparse: int >= 0 = 0")
    .Attr("Nfeature_list_dense: int >= 0 = 0")
    .Attr("context_sparse_types: list({float, int64, string}) >= 0 = []")
    .Attr("Tcontext_dense: list({float, int64, string}) >= 0 = []")
    .Attr("feature_list_dense_types: list({float, int64, string}) >= 0 = []")
    .Attr("context_dense_shapes: list(shape) >= 0 = []")
    .Attr("feature_list_sparse_types: list({float, int64, string}) >= 0 = []")
    .Attr("feature_list_dense_shapes: list(shape) >= 0 = []")
    .Shape(ParseSequenceExampleShape)
    .Doc(R"(Reads the features of a batch of SequenceExample messages.

As ParseSingleSequenceExample, with a dimension for the batch in front. Dense lists are padded with
zeros to the longest of the batch; feature_list_dense_lengths says how many rows each had.)");

}  // namespace
}  // namespace millstream
