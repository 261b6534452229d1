#include "core/import/lowering.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace millstream {

std::vector<PlannedInput> OutputsOf(const PlannedInput& first, size_t count) {
  std::vector<PlannedInput> outputs;
  for (size_t i = 0; i < count; ++i) outputs.push_back(OutputOf(first.node, static_cast<int>(i)));
  return outputs;
}

AttrMap Attrs(std::initializer_list<std::pair<const char*, AttrValue>> attrs) {
  AttrMap map;
  for (const auto& [name, value] : attrs) SetAttr(&map, name, value);
  return map;
}

StatusOr<PlannedInput> Lowering::Add(const std::string& name, const char* op, AttrMap attrs,
                                     Tensors inputs, Tensors controls) {
  MS_ASSIGN_OR_RETURN(const int node, editor_.AddHidden(owner_, name, op, std::move(attrs),
                                                        std::move(inputs), std::move(controls)));
  return OutputOf(node);
}

StatusOr<PlannedInput> Lowering::AddCall(const Branch& branch, const DataTypeList& arguments,
                                         const DataTypeList& results, Tensors inputs,
                                         Tensors controls) {
  return Add(branch.name, "PartitionedCall",
             Attrs({{"Tin", arguments}, {"Tout", results}, {"f", branch.function}}),
             std::move(inputs), std::move(controls));
}

Status Lowering::CheckInputs(size_t expected) const {
  if (inputs_.size() == expected) return absl::OkStatus();
  return errors::InvalidArgument("the op has ", expected, " inputs, the node gives ",
                                 inputs_.size());
}

StatusOr<PlannedInput> Lowering::AddInt32(const std::string& name,
                                          const std::vector<int32_t>& values, const Shape& shape) {
  MS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DataType::kInt32, shape));
  std::copy(values.begin(), values.end(), tensor.data<int32_t>());
  return Add(name, "Const", Attrs({{"value", tensor}, {"dtype", DataType::kInt32}}), {});
}

StatusOr<std::vector<PlannedInput>> Lowering::Declared(const DataTypeList& types,
                                                       const std::vector<PartialShape>& shapes,
                                                       Tensors results, const Tensors* like) {
  if (!shapes.empty() && shapes.size() != results.size()) {
    return errors::InvalidArgument("attribute 'output_shapes' expected ", results.size(),
                                   " shapes, got ", shapes.size());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (types[i] == DataType::kResource || types[i] == DataType::kVariant) continue;
    const PartialShape shape = shapes.empty() ? PartialShape() : shapes[i];
    MS_ASSIGN_OR_RETURN(results[i],
                        Add(absl::StrCat("result_", i), "PlaceholderWithDefault",
                            Attrs({{"dtype", types[i]}, {"shape", shape}}), {results[i]}));
    if (shapes.empty() && like != nullptr) editor_.node(results[i].node).shape_of = (*like)[i];
  }
  return results;
}

StatusOr<PlannedInput> Lowering::Enter(const std::string& name, DataType type,
                                       const PlannedInput& tensor, bool is_constant) {
  constexpr int64_t kParallel = 10;
  const std::string frame = absl::StrCat(editor_.node(owner_).spec.name, "/loop");
  return Add(
      name, "Enter",
      Attrs({{"T", type},
             {"frame_name", frame},
             {"is_constant", is_constant},
             {"parallel_iterations", Attr<int64_t>("parallel_iterations").value_or(kParallel)}}),
      {tensor}, controls_);
}

StatusOr<std::vector<PlannedInput>> Lowering::Loop(const DataTypeList& types,
                                                   const Tensors& initial, Decide decide,
                                                   Repeat repeat) {
  // The Merges at the beginning of an iteration. The second input of each is the NextIteration,
  // which is set below.
  Tensors merged;
  for (size_t i = 0; i < types.size(); ++i) {
    MS_ASSIGN_OR_RETURN(const PlannedInput entered,
                        Enter(absl::StrCat("enter_", i), types[i], initial[i], false));
    MS_ASSIGN_OR_RETURN(const PlannedInput both,
                        AddMerge(absl::StrCat("merge_", i), types[i], entered, entered));
    merged.push_back(both);
  }
  MS_ASSIGN_OR_RETURN(const PlannedInput decided, decide(merged));
  MS_ASSIGN_OR_RETURN(const PlannedInput goes_on, Add("goes_on", "LoopCond", {}, {decided}));
  Tensors taken;
  Tensors results;
  for (size_t i = 0; i < types.size(); ++i) {
    MS_ASSIGN_OR_RETURN(const PlannedInput both,
                        AddSwitch(absl::StrCat("switch_", i), types[i], merged[i], goes_on));
    taken.push_back(OutputOf(both.node, 1));
    MS_ASSIGN_OR_RETURN(const PlannedInput left,
                        Add(absl::StrCat("exit_", i), "Exit", Attrs({{"T", types[i]}}), {both}));
    results.push_back(left);
  }
  MS_ASSIGN_OR_RETURN(const Tensors repeated, repeat(taken));
  for (size_t i = 0; i < types.size(); ++i) {
    MS_ASSIGN_OR_RETURN(const PlannedInput next, Add(absl::StrCat("next_", i), "NextIteration",
                                                     Attrs({{"T", types[i]}}), {repeated[i]}));
    editor_.node(merged[i].node).inputs[1] = next;
  }
  return results;
}

}  // namespace millstream
