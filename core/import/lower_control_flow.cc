#include "core/import/lower_control_flow.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

using Tensors = std::vector<PlannedInput>;

PlannedInput OutputOf(int node, int index = 0) { return PlannedInput{node, index, Output()}; }
PlannedInput After(const PlannedInput& tensor) {
  return PlannedInput{tensor.node, TensorName::kControl, tensor.existing};
}

AttrMap Attrs(std::initializer_list<std::pair<const char*, AttrValue>> attrs) {
  AttrMap map;
  for (const auto& [name, value] : attrs) SetAttr(&map, name, value);
  return map;
}

// A function and what it is called in the names of nodes.
struct Branch {
  std::string name;
  FunctionRef function;
};

// What the branches that were not chosen yet can take. `reached` is live where one of them runs;
// none if there is one branch alone.
struct Offered {
  Tensors tensors;
  std::optional<PlannedInput> reached;
};

// What a branch gives. `end` is live, and comes after the branch's effects, where it runs.
struct Given {
  Tensors results;
  PlannedInput end;
};

class Lowering {
 public:
  Lowering(int owner, PlanEditor* editor)
      : owner_(owner),
        editor_(*editor),
        attrs_(editor->node(owner).spec.attrs),
        inputs_(editor->node(owner).inputs),
        controls_(editor->node(owner).control_inputs) {}

  Status LowerIf();
  Status LowerCase();
  Status LowerWhile();

 private:
  StatusOr<PlannedInput> Add(const std::string& name, const char* op, AttrMap attrs, Tensors inputs,
                             Tensors controls = {}) {
    MS_ASSIGN_OR_RETURN(const int node, editor_.AddHidden(owner_, name, op, std::move(attrs),
                                                          std::move(inputs), std::move(controls)));
    return OutputOf(node);
  }
  template <typename T>
  StatusOr<T> Attr(const char* name) const {
    return GetAttr<T>(attrs_, name);
  }
  StatusOr<PlannedInput> AddCall(const Branch& branch, const DataTypeList& arguments,
                                 const DataTypeList& results, Tensors inputs, Tensors controls) {
    return Add(branch.name, "PartitionedCall",
               Attrs({{"Tin", arguments}, {"Tout", results}, {"f", branch.function}}),
               std::move(inputs), std::move(controls));
  }
  // The two outputs of a Switch are 0, where `choice` is false, and 1.
  StatusOr<PlannedInput> AddSwitch(const std::string& name, DataType type, const PlannedInput& data,
                                   const PlannedInput& choice) {
    return Add(name, "Switch", Attrs({{"T", type}}), {data, choice});
  }
  StatusOr<PlannedInput> AddMerge(const std::string& name, DataType type, const PlannedInput& first,
                                  const PlannedInput& second) {
    return Add(name, "Merge", Attrs({{"T", type}, {"N", 2}}), {first, second});
  }
  StatusOr<PlannedInput> AddIdentity(const std::string& name, const PlannedInput& tensor,
                                     Tensors controls = {}) {
    return Add(name, "Identity", Attrs({{"T", DataType::kBool}}), {tensor}, std::move(controls));
  }
  Status CheckInputs(size_t expected) const;
  StatusOr<Offered> Take(const std::string& name, const PlannedInput& choice, Offered* remaining);
  StatusOr<Given> AddBranch(const Branch& branch, const Offered& taken);
  Status Choose(const std::vector<Branch>& branches, const Tensors& choices,
                const Tensors& arguments);
  StatusOr<Tensors> EnterLoop(const DataTypeList& types);
  StatusOr<Tensors> Declared(const DataTypeList& types, Tensors results, const Tensors* like);

  const int owner_;
  PlanEditor& editor_;
  const AttrMap attrs_;
  const Tensors inputs_;
  const Tensors controls_;
};

Status Lowering::CheckInputs(size_t expected) const {
  if (inputs_.size() == expected) return absl::OkStatus();
  return errors::InvalidArgument("the op has ", expected, " inputs, the node gives ",
                                 inputs_.size());
}

// The results with the static shapes that the node declares; without these, those of `like`, or
// unknown ones.
StatusOr<Tensors> Lowering::Declared(const DataTypeList& types, Tensors results,
                                     const Tensors* like) {
  MS_ASSIGN_OR_RETURN(const auto shapes, Attr<std::vector<PartialShape>>("output_shapes"));
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

// ---- Branches ----

// Takes the tensors of the branch that runs where `choice` is true from those that remain.
StatusOr<Offered> Lowering::Take(const std::string& name, const PlannedInput& choice,
                                 Offered* remaining) {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("Tin"));
  Offered taken = *remaining;
  for (size_t i = 0; i < types.size(); ++i) {
    MS_ASSIGN_OR_RETURN(
        const PlannedInput both,
        AddSwitch(absl::StrCat(name, "_input_", i), types[i], remaining->tensors[i], choice));
    taken.tensors[i] = OutputOf(both.node, 1);
    remaining->tensors[i] = both;
  }
  MS_ASSIGN_OR_RETURN(
      const PlannedInput both,
      AddSwitch(absl::StrCat(name, "_choice"), DataType::kBool, *remaining->reached, choice));
  taken.reached = OutputOf(both.node, 1);
  remaining->reached = both;
  return taken;
}

// Calls a branch's function. What reads no argument in it waits for the beginning.
StatusOr<Given> Lowering::AddBranch(const Branch& branch, const Offered& taken) {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("Tin"));
  MS_ASSIGN_OR_RETURN(const DataTypeList result_types, Attr<DataTypeList>("Tout"));
  Tensors after = controls_;
  PlannedInput begin;
  if (taken.reached.has_value()) {
    MS_ASSIGN_OR_RETURN(begin, AddIdentity(absl::StrCat(branch.name, "_begin"), *taken.reached));
    after = {After(begin)};
  }
  MS_ASSIGN_OR_RETURN(const PlannedInput call,
                      AddCall(branch, types, result_types, taken.tensors, std::move(after)));
  Given given;
  for (size_t i = 0; i < result_types.size(); ++i) {
    given.results.push_back(OutputOf(call.node, static_cast<int>(i)));
  }
  given.end = call;
  if (taken.reached.has_value()) {
    MS_ASSIGN_OR_RETURN(given.end,
                        AddIdentity(absl::StrCat(branch.name, "_end"), begin, {After(call)}));
  }
  return given;
}

// Branch k runs if choice k is the first that is true, the last branch if none is. The results of
// the branches are merged from the last one on.
Status Lowering::Choose(const std::vector<Branch>& branches, const Tensors& choices,
                        const Tensors& arguments) {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("Tout"));
  Offered remaining = {arguments, std::nullopt};
  if (!choices.empty()) remaining.reached = choices[0];
  std::vector<Given> given;
  for (size_t k = 0; k < branches.size(); ++k) {
    Offered taken = remaining;
    if (k < choices.size()) {
      MS_ASSIGN_OR_RETURN(taken, Take(branches[k].name, choices[k], &remaining));
    }
    MS_ASSIGN_OR_RETURN(Given of_branch, AddBranch(branches[k], taken));
    given.push_back(std::move(of_branch));
  }
  Given all = given.back();
  for (size_t k = choices.size(); k-- > 0;) {
    const std::string name = absl::StrCat(branches[k].name, "_or_later_");
    for (size_t i = 0; i < types.size(); ++i) {
      MS_ASSIGN_OR_RETURN(all.results[i], AddMerge(absl::StrCat(name, i), types[i], all.results[i],
                                                   given[k].results[i]));
    }
    MS_ASSIGN_OR_RETURN(
        all.end, AddMerge(absl::StrCat(name, "end"), DataType::kBool, all.end, given[k].end));
  }
  MS_ASSIGN_OR_RETURN(Tensors declared, Declared(types, std::move(all.results), nullptr));
  return editor_.Become(owner_, types, std::move(declared), {After(all.end)});
}

Status Lowering::LowerIf() {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("Tin"));
  MS_RETURN_IF_ERROR(CheckInputs(types.size() + 1));
  MS_ASSIGN_OR_RETURN(const DataType type, Attr<DataType>("Tcond"));
  MS_ASSIGN_OR_RETURN(const FunctionRef then_branch, Attr<FunctionRef>("then_branch"));
  MS_ASSIGN_OR_RETURN(const FunctionRef else_branch, Attr<FunctionRef>("else_branch"));
  MS_ASSIGN_OR_RETURN(const PlannedInput choice,
                      Add("cond", "_ToBool", Attrs({{"T", type}}), {inputs_[0]}, controls_));
  return Choose({{"then", then_branch}, {"else", else_branch}}, {choice},
                Tensors(inputs_.begin() + 1, inputs_.end()));
}

Status Lowering::LowerCase() {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("Tin"));
  MS_RETURN_IF_ERROR(CheckInputs(types.size() + 1));
  MS_ASSIGN_OR_RETURN(const auto functions, Attr<std::vector<FunctionRef>>("branches"));
  std::vector<Branch> branches;
  Tensors choices;
  for (size_t k = 0; k < functions.size(); ++k) {
    branches.push_back({absl::StrCat("branch_", k), functions[k]});
    if (k + 1 == functions.size()) break;
    MS_ASSIGN_OR_RETURN(Tensor number, Tensor::Create(DataType::kInt32, Shape()));
    *number.data<int32_t>() = static_cast<int32_t>(k);
    MS_ASSIGN_OR_RETURN(const PlannedInput index,
                        Add(absl::StrCat("index_", k), "Const",
                            Attrs({{"value", number}, {"dtype", DataType::kInt32}}), {}));
    MS_ASSIGN_OR_RETURN(const PlannedInput choice,
                        Add(absl::StrCat("is_", k), "Equal", Attrs({{"T", DataType::kInt32}}),
                            {inputs_[0], index}, controls_));
    choices.push_back(choice);
  }
  return Choose(branches, choices, Tensors(inputs_.begin() + 1, inputs_.end()));
}

// ---- Loops ----

// The Merges at the beginning of an iteration. The second input of each is the NextIteration, which
// is set later.
StatusOr<Tensors> Lowering::EnterLoop(const DataTypeList& types) {
  MS_ASSIGN_OR_RETURN(const int64_t parallel, Attr<int64_t>("parallel_iterations"));
  const std::string frame = absl::StrCat(editor_.node(owner_).spec.name, "/loop");
  Tensors merged;
  for (size_t i = 0; i < types.size(); ++i) {
    MS_ASSIGN_OR_RETURN(const PlannedInput entered, Add(absl::StrCat("enter_", i), "Enter",
                                                        Attrs({{"T", types[i]},
                                                               {"frame_name", frame},
                                                               {"is_constant", false},
                                                               {"parallel_iterations", parallel}}),
                                                        {inputs_[i]}, controls_));
    MS_ASSIGN_OR_RETURN(const PlannedInput both,
                        AddMerge(absl::StrCat("merge_", i), types[i], entered, entered));
    merged.push_back(both);
  }
  return merged;
}

Status Lowering::LowerWhile() {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("T"));
  MS_RETURN_IF_ERROR(CheckInputs(types.size()));
  if (types.empty()) return errors::Unimplemented("a loop needs a tensor that it changes");
  MS_ASSIGN_OR_RETURN(const FunctionRef cond, Attr<FunctionRef>("cond"));
  MS_ASSIGN_OR_RETURN(const FunctionRef body, Attr<FunctionRef>("body"));
  MS_ASSIGN_OR_RETURN(const DataTypeList decision, editor_.ResultTypes(cond));
  if (decision.size() != 1) {
    return errors::InvalidArgument("function '", cond.name, "' expected one result, got ",
                                   decision.size());
  }
  MS_ASSIGN_OR_RETURN(const Tensors merged, EnterLoop(types));
  MS_ASSIGN_OR_RETURN(const PlannedInput decided,
                      AddCall({"cond", cond}, types, decision, merged, {After(merged[0])}));
  MS_ASSIGN_OR_RETURN(const PlannedInput as_bool,
                      Add("cond_value", "_ToBool", Attrs({{"T", decision[0]}}), {decided}));
  MS_ASSIGN_OR_RETURN(const PlannedInput goes_on, Add("goes_on", "LoopCond", {}, {as_bool}));
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
  MS_ASSIGN_OR_RETURN(const PlannedInput begin,
                      Add("body_begin", "Identity", Attrs({{"T", types[0]}}), {taken[0]}));
  MS_ASSIGN_OR_RETURN(const PlannedInput call,
                      AddCall({"body", body}, types, types, taken, {After(begin)}));
  for (size_t i = 0; i < types.size(); ++i) {
    MS_ASSIGN_OR_RETURN(const PlannedInput next,
                        Add(absl::StrCat("next_", i), "NextIteration", Attrs({{"T", types[i]}}),
                            {OutputOf(call.node, static_cast<int>(i))}));
    editor_.node(merged[i].node).inputs[1] = next;
  }
  MS_ASSIGN_OR_RETURN(Tensors declared, Declared(types, std::move(results), &inputs_));
  return editor_.Become(owner_, types, std::move(declared), {});
}

}  // namespace

bool IsFunctionalControlFlow(const OpDef& op) {
  return op.name == "If" || op.name == "StatelessIf" || op.name == "Case" || op.name == "While" ||
         op.name == "StatelessWhile";
}

Status LowerControlFlow(int owner, PlanEditor* editor) {
  const std::string op = editor->node(owner).op->name;
  Lowering lowering(owner, editor);
  if (op == "Case") return lowering.LowerCase();
  return absl::EndsWith(op, "If") ? lowering.LowerIf() : lowering.LowerWhile();
}

}  // namespace millstream
