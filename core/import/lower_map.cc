// Expands a function of rows (MapDefun) to a loop.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/import/lowering.h"

namespace millstream {
namespace {

// The rows of the arguments are elements of arrays that a loop reads; it writes those of the
// results.
class MapLowering : public Lowering {
 public:
  using Lowering::Lowering;

  Status Lower();

 private:
  // A TensorArray of rows. `handle` and `flow` are inside of the loop for an argument, outside of
  // it for a result.
  struct RowArray {
    PlannedInput handle;
    PlannedInput flow;
  };

  Status ReadAttrs();
  StatusOr<PlannedInput> FirstDimension(const PlannedInput& tensor, DataType type);
  StatusOr<RowArray> AddArray(const std::string& name, DataType type, const PartialShape& shape);
  Status EnterArguments();
  Status AddResults();
  StatusOr<Tensors> CallForRow(const PlannedInput& number);
  StatusOr<Tensors> Repeat(const Tensors& variables);

  DataTypeList row_types_;
  DataTypeList captured_types_;
  DataTypeList types_;
  std::vector<PartialShape> shapes_;
  FunctionRef f_;
  PlannedInput count_;    // of the rows
  PlannedInput numbers_;  // 0, 1, ... of all rows
  std::vector<RowArray> arguments_;
  Tensors captured_;  // inside of the loop
  std::vector<RowArray> results_;
  Tensors result_handles_;  // inside of the loop
  PlannedInput step_;       // one, inside of the loop
};

Status MapLowering::ReadAttrs() {
  MS_ASSIGN_OR_RETURN(row_types_, Attr<DataTypeList>("Targuments"));
  MS_ASSIGN_OR_RETURN(captured_types_, Attr<DataTypeList>("Tcaptured"));
  MS_ASSIGN_OR_RETURN(types_, Attr<DataTypeList>("output_types"));
  MS_ASSIGN_OR_RETURN(shapes_, Attr<std::vector<PartialShape>>("output_shapes"));
  MS_ASSIGN_OR_RETURN(f_, Attr<FunctionRef>("f"));
  if (shapes_.size() == types_.size())
    return CheckInputs(row_types_.size() + captured_types_.size());
  return errors::InvalidArgument("attribute 'output_shapes' expected ", types_.size(),
                                 " shapes, got ", shapes_.size());
}

StatusOr<PlannedInput> MapLowering::FirstDimension(const PlannedInput& tensor, DataType type) {
  MS_ASSIGN_OR_RETURN(const PlannedInput shape,
                      Add("shape", "Shape", Attrs({{"T", type}}), {tensor}));
  MS_ASSIGN_OR_RETURN(const PlannedInput zero, AddInt32("first", {0}, Shape({1})));
  MS_ASSIGN_OR_RETURN(const PlannedInput one, AddInt32("second", {1}, Shape({1})));
  return Add("rows", "StridedSlice",
             Attrs({{"T", DataType::kInt32}, {"Index", DataType::kInt32}, {"shrink_axis_mask", 1}}),
             {shape, zero, one, one});
}

// An array outside of the loop.
StatusOr<MapLowering::RowArray> MapLowering::AddArray(const std::string& name, DataType type,
                                                      const PartialShape& shape) {
  MS_ASSIGN_OR_RETURN(
      const PlannedInput array,
      Add(name, "TensorArrayV3", Attrs({{"dtype", type}, {"element_shape", shape}}), {count_}));
  return RowArray{array, OutputOf(array.node, 1)};
}

Status MapLowering::EnterArguments() {
  for (size_t i = 0; i < row_types_.size(); ++i) {
    const std::string name = absl::StrCat("argument_", i);
    MS_ASSIGN_OR_RETURN(RowArray array, AddArray(name, row_types_[i], PartialShape()));
    MS_ASSIGN_OR_RETURN(array.flow, Add(absl::StrCat("scatter_", i), "TensorArrayScatterV3",
                                        Attrs({{"T", row_types_[i]}}),
                                        {array.handle, numbers_, inputs_[i], array.flow}));
    MS_ASSIGN_OR_RETURN(array.handle, Enter(absl::StrCat(name, "_inside"), DataType::kResource,
                                            array.handle, true));
    MS_ASSIGN_OR_RETURN(array.flow,
                        Enter(absl::StrCat(name, "_flow"), DataType::kFloat, array.flow, true));
    arguments_.push_back(array);
  }
  for (size_t i = 0; i < captured_types_.size(); ++i) {
    MS_ASSIGN_OR_RETURN(const PlannedInput inside,
                        Enter(absl::StrCat("captured_inside_", i), captured_types_[i],
                              inputs_[row_types_.size() + i], true));
    captured_.push_back(inside);
  }
  return absl::OkStatus();
}

Status MapLowering::AddResults() {
  for (size_t i = 0; i < types_.size(); ++i) {
    MS_ASSIGN_OR_RETURN(const RowArray array,
                        AddArray(absl::StrCat("array_", i), types_[i], shapes_[i]));
    MS_ASSIGN_OR_RETURN(const PlannedInput inside, Enter(absl::StrCat("array_inside_", i),
                                                         DataType::kResource, array.handle, true));
    results_.push_back(array);
    result_handles_.push_back(inside);
  }
  return absl::OkStatus();
}

// What the function gives for the row of this number.
StatusOr<std::vector<PlannedInput>> MapLowering::CallForRow(const PlannedInput& number) {
  Tensors given;
  DataTypeList given_types = row_types_;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    MS_ASSIGN_OR_RETURN(
        const PlannedInput row,
        Add(absl::StrCat("row_", i), "TensorArrayReadV3", Attrs({{"dtype", row_types_[i]}}),
            {arguments_[i].handle, number, arguments_[i].flow}));
    given.push_back(row);
  }
  given.insert(given.end(), captured_.begin(), captured_.end());
  given_types.insert(given_types.end(), captured_types_.begin(), captured_types_.end());
  const PlannedInput begin = After(given[0]);
  MS_ASSIGN_OR_RETURN(const PlannedInput call,
                      AddCall({"f", f_}, given_types, types_, std::move(given), {begin}));
  return OutputsOf(call, types_.size());
}

// The variables: the number of the row, and the flows of the arrays that are written.
StatusOr<std::vector<PlannedInput>> MapLowering::Repeat(const Tensors& variables) {
  MS_ASSIGN_OR_RETURN(const Tensors values, CallForRow(variables[0]));
  MS_ASSIGN_OR_RETURN(const PlannedInput next_row, AddSum("next_row", variables[0], step_));
  Tensors next = {next_row};
  for (size_t i = 0; i < types_.size(); ++i) {
    MS_ASSIGN_OR_RETURN(
        const PlannedInput flow,
        Add(absl::StrCat("write_", i), "TensorArrayWriteV3", Attrs({{"T", types_[i]}}),
            {result_handles_[i], variables[0], values[i], variables[i + 1]}));
    next.push_back(flow);
  }
  return next;
}

Status MapLowering::Lower() {
  MS_RETURN_IF_ERROR(ReadAttrs());
  MS_ASSIGN_OR_RETURN(count_, FirstDimension(inputs_[0], row_types_[0]));
  MS_ASSIGN_OR_RETURN(const PlannedInput zero, AddInt32("zero", 0));
  MS_ASSIGN_OR_RETURN(const PlannedInput one, AddInt32("one", 1));
  MS_ASSIGN_OR_RETURN(
      numbers_, Add("numbers", "Range", Attrs({{"Tidx", DataType::kInt32}}), {zero, count_, one}));
  MS_RETURN_IF_ERROR(EnterArguments());
  MS_RETURN_IF_ERROR(AddResults());
  MS_ASSIGN_OR_RETURN(const PlannedInput end, Enter("rows_inside", DataType::kInt32, count_, true));
  MS_ASSIGN_OR_RETURN(step_, Enter("one_inside", DataType::kInt32, one, true));

  DataTypeList variable_types(types_.size() + 1, DataType::kFloat);
  variable_types[0] = DataType::kInt32;
  Tensors initial = {zero};
  for (const RowArray& result : results_) initial.push_back(result.flow);
  const auto decide = [&](const Tensors& variables) { return IsLess("counts", variables[0], end); };
  const auto repeat = [this](const Tensors& variables) { return Repeat(variables); };
  MS_ASSIGN_OR_RETURN(const Tensors ends, Loop(variable_types, initial, decide, repeat));
  Tensors gathered;
  for (size_t i = 0; i < types_.size(); ++i) {
    MS_ASSIGN_OR_RETURN(const PlannedInput rows,
                        Add(absl::StrCat("result_", i), "TensorArrayGatherV3",
                            Attrs({{"dtype", types_[i]}, {"element_shape", shapes_[i]}}),
                            {results_[i].handle, numbers_, ends[i + 1]}));
    gathered.push_back(rows);
  }
  return editor_.Become(owner_, types_, std::move(gathered), {});
}

}  // namespace

Status LowerMap(int owner, PlanEditor* editor) { return MapLowering(owner, editor).Lower(); }

}  // namespace millstream
