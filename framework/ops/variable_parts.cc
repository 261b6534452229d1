// Ops that change rows or slices of variables. Each stands in the registry twice: on handles, and
// on references, which old graphs have and the import replaces (core/import/import_refs.h).
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/op_registry.h"
#include "framework/ops/gather_shape.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/variable_handles.h"
#include "framework/ops/variable_updates.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The type of an op on references stands in the attribute T, that of the older ones on handles in
// dtype.
template <Status (*shape)(ShapeContext*, DataType), bool is_dtype>
Status ShapeOf(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context->Attr<DataType>(is_dtype ? "dtype" : "T"));
  return shape(context, dtype);
}

// One operation.
struct Row {
  const char* name;
  const char* summary;      // what it does with rows, or slices, of a variable
  const char* repeated;     // what a row, or slice, does that is named several times
  absl::string_view types;  // of the op on handles; empty: all
  absl::string_view types_of_reference;
  bool locks;  // the default of use_locking
};

std::string TypeSpec(absl::string_view name, absl::string_view types) {
  return types.empty() ? absl::StrCat(name, ": type") : TypeAttr(name, types);
}

std::string ReferenceDoc(const Row& row) {
  return absl::StrCat("Changes parts of a variable, in imported graphs.\n\nAs Resource", row.name,
                      "; the output is the variable afterwards.");
}

OpSpec OnReferences(const Row& row) {
  OpSpec spec(row.name);
  spec.Input("ref: Ref(T)")
      .Input("indices: Tindices")
      .Input("updates: T")
      .Output("output_ref: Ref(T)")
      .Attr(TypeSpec("T", row.types_of_reference))
      .Attr(TypeAttr("Tindices", kIndexTypes))
      .Attr(absl::StrCat("use_locking: bool = ", row.locks ? "true" : "false"))
      .Doc(ReferenceDoc(row));
  return spec;
}

OpSpec RowsOnHandles(const Row& row) {
  OpSpec spec(absl::StrCat("Resource", row.name));
  spec.Input("resource: resource")
      .Input("indices: Tindices")
      .Input("updates: dtype")
      .Attr(TypeSpec("dtype", row.types))
      .Attr(TypeAttr("Tindices", kIndexTypes))
      .Stateful()
      .Shape(ShapeOf<ScatterRowsShape, true>)
      .Doc(
          absl::StrCat(row.summary, " the rows of a variable that indices name.\n\n",
                       "updates has the shape of indices followed by that of a row, or is a "
                       "scalar that counts for\nall elements of those rows. Of a row that is named "
                       "several times ",
                       row.repeated, ".\nINVALID_ARGUMENT for an index outside."));
  return spec;
}

OpSpec SlicesOnHandles(const Row& row) {
  OpSpec spec(absl::StrCat("Resource", row.name));
  spec.Input("ref: resource")
      .Input("indices: Tindices")
      .Input("updates: T")
      .Attr("T: type")
      .Attr(TypeAttr("Tindices", kIndexTypes))
      .Attr("use_locking: bool = true")
      .Stateful()
      .Shape(ShapeOf<ScatterSlicesShape, false>)
      .Doc(
          absl::StrCat(row.summary, " the slices of a variable that index vectors name.\n\n",
                       "The last dimension of indices holds the vectors, as for GatherNd, and "
                       "updates a slice for each\nof them. Of a slice that is named several times ",
                       row.repeated, ".\nINVALID_ARGUMENT for an index outside."));
  return spec;
}

constexpr char kEveryUpdate[] = "every update counts, in their order";
constexpr char kLastUpdate[] = "the last update counts";
// The types of ScatterMin and ScatterMax on references.
constexpr absl::string_view kCompared = "{half, bfloat16, float, double, int32, int64}";

const std::vector<OpRegistration>& RegisterAll() {
  const Row rows[] = {
      {"ScatterUpdate", "Replaces", kLastUpdate, "", "", true},
      {"ScatterAdd", "Adds to", kEveryUpdate, kNumberTypes, kNumberTypes, false},
      {"ScatterSub", "Subtracts from", kEveryUpdate, kNumberTypes, kNumberTypes, false},
      {"ScatterMul", "Multiplies", kEveryUpdate, kNumberTypes, kNumberTypes, false},
      {"ScatterDiv", "Divides", kEveryUpdate, kNumberTypes, kNumberTypes, false},
      {"ScatterMin", "Takes the minimum of updates and", kEveryUpdate, kNumberTypes, kCompared,
       false},
      {"ScatterMax", "Takes the maximum of updates and", kEveryUpdate, kNumberTypes, kCompared,
       false},
  };
  const Row slices[] = {
      {"ScatterNdUpdate", "Replaces", kLastUpdate, "", "", true},
      {"ScatterNdAdd", "Adds to", kEveryUpdate, "", kNumberTypes, false},
      {"ScatterNdSub", "Subtracts from", kEveryUpdate, "", kNumberTypes, false},
  };
  static auto* const registered = new std::vector<OpRegistration>();
  for (const Row& row : rows) {
    registered->emplace_back(RowsOnHandles(row));
    registered->emplace_back(OnReferences(row).Shape(ShapeOf<ScatterRowsShape, false>));
  }
  for (const Row& row : slices) {
    registered->emplace_back(SlicesOnHandles(row));
    registered->emplace_back(OnReferences(row).Shape(ShapeOf<ScatterSlicesShape, false>));
  }
  return *registered;
}

[[maybe_unused]] const std::vector<OpRegistration>& registered = RegisterAll();

Status ResourceGatherNdShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context->Attr<DataType>("dtype"));
  MS_ASSIGN_OR_RETURN(const PartialShape variable, VariableShape(*context, 0, dtype));
  MS_ASSIGN_OR_RETURN(PartialShape output, SlicesShape(*context, variable, 1));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

MILLSTREAM_OP("ResourceGatherNd")
    .Input("resource: resource")
    .Input("indices: Tindices")
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Stateful()
    .KeepsFinite()
    .Shape(ResourceGatherNdShape)
    .Doc(R"(Takes the slices of a variable that index vectors name, without reading it whole.

As GatherNd.)");

}  // namespace
}  // namespace millstream
