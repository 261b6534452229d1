#include "core/import/lower_control_flow.h"

#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/import/lowering.h"

namespace millstream {
namespace {

// ---- Branches ----

class BranchLowering : public Lowering {
 public:
  using Lowering::Lowering;

  Status LowerIf();
  Status LowerCase();
  Status LowerRemoteCall();
  Status LowerBatchFunction();

 private:
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

  // The types of what the functions take.
  StatusOr<DataTypeList> ArgumentTypes() const {
    MS_ASSIGN_OR_RETURN(DataTypeList types, Attr<DataTypeList>("Tin"));
    const DataTypeList captured = Attr<DataTypeList>("Tcaptured").value_or(DataTypeList());
    types.insert(types.end(), captured.begin(), captured.end());
    return types;
  }
  StatusOr<PlannedInput> AddIdentity(const std::string& name, const PlannedInput& tensor,
                                     Tensors controls = {}) {
    return Add(name, "Identity", Attrs({{"T", DataType::kBool}}), {tensor}, std::move(controls));
  }
  StatusOr<Offered> Take(const std::string& name, const PlannedInput& choice, Offered* remaining);
  StatusOr<Given> AddBranch(const Branch& branch, const Offered& taken);
  StatusOr<PlannedInput> AddBatch();
  StatusOr<PlannedInput> AddUnbatch(size_t i, DataType type, const PlannedInput& index,
                                    const PlannedInput& result, const PlannedInput& others);
  Status Choose(const std::vector<Branch>& branches, const Tensors& choices,
                const Tensors& arguments);
};

// Takes the tensors of the branch that runs where `choice` is true from those that remain.
StatusOr<BranchLowering::Offered> BranchLowering::Take(const std::string& name,
                                                       const PlannedInput& choice,
                                                       Offered* remaining) {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, ArgumentTypes());
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
StatusOr<BranchLowering::Given> BranchLowering::AddBranch(const Branch& branch,
                                                          const Offered& taken) {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, ArgumentTypes());
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
  given.results = OutputsOf(call, result_types.size());
  given.end = call;
  if (taken.reached.has_value()) {
    MS_ASSIGN_OR_RETURN(given.end,
                        AddIdentity(absl::StrCat(branch.name, "_end"), begin, {After(call)}));
  }
  return given;
}

// Branch k runs if choice k is the first that is true, the last branch if none is. The results of
// the branches are merged from the last one on.
Status BranchLowering::Choose(const std::vector<Branch>& branches, const Tensors& choices,
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
  MS_ASSIGN_OR_RETURN(const auto shapes, Attr<std::vector<PartialShape>>("output_shapes"));
  MS_ASSIGN_OR_RETURN(Tensors declared, Declared(types, shapes, std::move(all.results), nullptr));
  return editor_.Become(owner_, types, std::move(declared), {After(all.end)});
}

Status BranchLowering::LowerIf() {
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

Status BranchLowering::LowerCase() {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("Tin"));
  MS_RETURN_IF_ERROR(CheckInputs(types.size() + 1));
  MS_ASSIGN_OR_RETURN(const auto functions, Attr<std::vector<FunctionRef>>("branches"));
  std::vector<Branch> branches;
  Tensors choices;
  for (size_t k = 0; k < functions.size(); ++k) {
    branches.push_back({absl::StrCat("branch_", k), functions[k]});
    if (k + 1 == functions.size()) break;
    MS_ASSIGN_OR_RETURN(const PlannedInput index,
                        AddInt32(absl::StrCat("index_", k), static_cast<int32_t>(k)));
    MS_ASSIGN_OR_RETURN(const PlannedInput choice,
                        Add(absl::StrCat("is_", k), "Equal", Attrs({{"T", DataType::kInt32}}),
                            {inputs_[0], index}, controls_));
    choices.push_back(choice);
  }
  return Choose(branches, choices, Tensors(inputs_.begin() + 1, inputs_.end()));
}

// Calls a function on another device.
Status BranchLowering::LowerRemoteCall() {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("Tin"));
  MS_ASSIGN_OR_RETURN(const DataTypeList result_types, Attr<DataTypeList>("Tout"));
  MS_ASSIGN_OR_RETURN(const FunctionRef f, Attr<FunctionRef>("f"));
  MS_RETURN_IF_ERROR(CheckInputs(types.size() + 1));
  const PlannedInput& target = inputs_[0];
  if (target.node < 0 || editor_.node(target.node).op->name != "Const") {
    return errors::Unimplemented("argument 'target' must be a constant");
  }
  MS_ASSIGN_OR_RETURN(const auto device,
                      GetAttr<class Tensor>(editor_.node(target.node).spec.attrs, "value"));
  if (device.dtype() != DataType::kString || device.num_elements() != 1) {
    return errors::InvalidArgument("argument 'target' must be the name of a device");
  }
  MS_ASSIGN_OR_RETURN(const PlannedInput call,
                      AddCall({"call", f}, types, result_types,
                              Tensors(inputs_.begin() + 1, inputs_.end()), controls_));
  editor_.node(call.node).spec.device = device.data<std::string>()[0];
  MS_ASSIGN_OR_RETURN(Tensors declared,
                      Declared(result_types, {}, OutputsOf(call, result_types.size()), nullptr));
  return editor_.Become(owner_, result_types, std::move(declared), {After(call)});
}

// Gives the first tensor of the batch; its index and the step's id follow the others.
StatusOr<PlannedInput> BranchLowering::AddBatch() {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("Tin"));
  MS_ASSIGN_OR_RETURN(const DataTypeList result_types, Attr<DataTypeList>("Tout"));
  AttrMap attrs = Attrs({{"T", types},
                         {"grad_timeout_micros", std::numeric_limits<int64_t>::max()},
                         {"_batch_results", static_cast<int64_t>(result_types.size())}});
  for (const char* name :
       {"num_batch_threads", "max_batch_size", "batch_timeout_micros", "max_enqueued_batches",
        "allowed_batch_sizes", "container", "shared_name", "batching_queue"}) {
    if (const AttrValue* value = FindAttr(attrs_, name)) SetAttr(&attrs, name, *value);
  }
  return Add("batch", "Batch", std::move(attrs),
             Tensors(inputs_.begin(), inputs_.begin() + static_cast<int64_t>(types.size())),
             controls_);
}

// The step's rows of result i, which is empty where `others` is live: in a step that does not have
// the batch's tensors. The step's id follows the index.
StatusOr<PlannedInput> BranchLowering::AddUnbatch(size_t i, DataType type,
                                                  const PlannedInput& index,
                                                  const PlannedInput& result,
                                                  const PlannedInput& others) {
  MS_ASSIGN_OR_RETURN(const Tensor nothing, Tensor::Create(type, Shape({0})));
  MS_ASSIGN_OR_RETURN(const PlannedInput empty,
                      Add(absl::StrCat("nothing_", i), "Const",
                          Attrs({{"value", nothing}, {"dtype", type}}), {}, {After(others)}));
  MS_ASSIGN_OR_RETURN(const PlannedInput either,
                      AddMerge(absl::StrCat("batched_", i), type, empty, result));
  return Add(absl::StrCat("unbatch_", i), "Unbatch",
             Attrs({{"T", type}, {"timeout_micros", std::numeric_limits<int64_t>::max()}}),
             {either, index, OutputOf(index.node, index.index + 1)});
}

// The function is called by the one step of a batch whose index has rows.
Status BranchLowering::LowerBatchFunction() {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, ArgumentTypes());
  MS_ASSIGN_OR_RETURN(const DataTypeList batched_types, Attr<DataTypeList>("Tin"));
  MS_ASSIGN_OR_RETURN(const DataTypeList result_types, Attr<DataTypeList>("Tout"));
  MS_ASSIGN_OR_RETURN(const FunctionRef f, Attr<FunctionRef>("f"));
  MS_RETURN_IF_ERROR(CheckInputs(types.size()));
  MS_ASSIGN_OR_RETURN(const PlannedInput batch, AddBatch());
  const PlannedInput index = OutputOf(batch.node, static_cast<int>(batched_types.size()));
  MS_ASSIGN_OR_RETURN(const PlannedInput size,
                      Add("size", "Size", Attrs({{"T", DataType::kInt64}}), {index}));
  MS_ASSIGN_OR_RETURN(const PlannedInput runs,
                      Add("runs", "_ToBool", Attrs({{"T", DataType::kInt32}}), {size}));
  Offered remaining = {inputs_, runs};
  for (size_t i = 0; i < batched_types.size(); ++i) {
    remaining.tensors[i] = OutputOf(batch.node, static_cast<int>(i));
  }
  MS_ASSIGN_OR_RETURN(const Offered taken, Take("call", runs, &remaining));
  MS_ASSIGN_OR_RETURN(const Given given, AddBranch({"call", f}, taken));
  MS_ASSIGN_OR_RETURN(const PlannedInput others, AddIdentity("others", *remaining.reached));
  Tensors results;
  for (size_t i = 0; i < result_types.size(); ++i) {
    MS_ASSIGN_OR_RETURN(PlannedInput result,
                        AddUnbatch(i, result_types[i], index, given.results[i], others));
    results.push_back(std::move(result));
  }
  MS_ASSIGN_OR_RETURN(const PlannedInput end, AddMerge("end", DataType::kBool, others, given.end));
  return editor_.Become(owner_, result_types, std::move(results), {After(end)});
}

// ---- Loops ----

class LoopLowering : public Lowering {
 public:
  using Lowering::Lowering;

  Status LowerWhile();
  Status LowerFor();

 private:
  // What the functions of a While take.
  struct Arguments {
    Tensors inside;               // of what is no variable
    std::vector<size_t> changed;  // the numbers of the variables
    DataTypeList changed_types;
    Tensors initial;

    Tensors With(const Tensors& variables) const {
      Tensors all = inside;
      for (size_t k = 0; k < changed.size(); ++k) all[changed[k]] = variables[k];
      return all;
    }
  };

  StatusOr<Arguments> Divide(const DataTypeList& types, const BoundFunction& body);
};

// True if the function gives its argument `i` back as its result `i`.
bool PassesOn(const BoundFunction& function, size_t i) {
  const NodeSignature& expanded = function.expanded;
  const std::vector<ArgDef>& inputs = function.signature.inputs;
  const std::vector<ArgDef>& outputs = function.signature.outputs;
  // Where an argument is a list, those behind it have other numbers.
  if (inputs.size() != expanded.input_types.size() ||
      outputs.size() != expanded.output_types.size() || i >= inputs.size() || i >= outputs.size() ||
      expanded.input_starts[i] != static_cast<int>(i) ||
      expanded.output_starts[i] != static_cast<int>(i)) {
    return false;
  }
  const auto returned = function.definition->ret().find(outputs[i].name);
  return returned != function.definition->ret().end() && returned->second == inputs[i].name;
}

// What the body gives back as it came enters the loop once, and is no variable of it: what is the
// same in all iterations has a simpler gradient. The first argument is one in any case.
StatusOr<LoopLowering::Arguments> LoopLowering::Divide(const DataTypeList& types,
                                                       const BoundFunction& body) {
  Arguments arguments;
  arguments.inside.resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (i > 0 && PassesOn(body, i)) {
      MS_ASSIGN_OR_RETURN(arguments.inside[i],
                          Enter(absl::StrCat("inside_", i), types[i], inputs_[i], true));
    } else {
      arguments.changed.push_back(i);
      arguments.changed_types.push_back(types[i]);
      arguments.initial.push_back(inputs_[i]);
    }
  }
  return arguments;
}

Status LoopLowering::LowerWhile() {
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("T"));
  MS_RETURN_IF_ERROR(CheckInputs(types.size()));
  if (types.empty()) return errors::Unimplemented("a loop needs a tensor that it changes");
  MS_ASSIGN_OR_RETURN(const FunctionRef cond, Attr<FunctionRef>("cond"));
  MS_ASSIGN_OR_RETURN(const FunctionRef body, Attr<FunctionRef>("body"));
  MS_ASSIGN_OR_RETURN(const auto shapes, Attr<std::vector<PartialShape>>("output_shapes"));
  MS_ASSIGN_OR_RETURN(const BoundFunction bound_cond, editor_.Bind(cond));
  MS_ASSIGN_OR_RETURN(const BoundFunction bound_body, editor_.Bind(body));
  const DataTypeList& decision = bound_cond.expanded.output_types;
  if (decision.size() != 1) {
    return errors::InvalidArgument("function '", cond.name, "' expected one result, got ",
                                   decision.size());
  }
  MS_ASSIGN_OR_RETURN(const Arguments arguments, Divide(types, bound_body));
  const auto decide = [&](const Tensors& variables) -> StatusOr<PlannedInput> {
    MS_ASSIGN_OR_RETURN(
        const PlannedInput decided,
        AddCall({"cond", cond}, types, decision, arguments.With(variables), {After(variables[0])}));
    return Add("cond_value", "_ToBool", Attrs({{"T", decision[0]}}), {decided});
  };
  const auto repeat = [&](const Tensors& variables) -> StatusOr<Tensors> {
    MS_ASSIGN_OR_RETURN(const PlannedInput begin,
                        Add("body_begin", "Identity", Attrs({{"T", types[0]}}), {variables[0]}));
    MS_ASSIGN_OR_RETURN(
        const PlannedInput call,
        AddCall({"body", body}, types, types, arguments.With(variables), {After(begin)}));
    Tensors next;
    for (const size_t i : arguments.changed)
      next.push_back(OutputOf(call.node, static_cast<int>(i)));
    return next;
  };
  MS_ASSIGN_OR_RETURN(const Tensors last,
                      Loop(arguments.changed_types, arguments.initial, decide, repeat));
  Tensors results = inputs_;
  for (size_t k = 0; k < last.size(); ++k) results[arguments.changed[k]] = last[k];
  MS_ASSIGN_OR_RETURN(Tensors declared, Declared(types, shapes, std::move(results), &inputs_));
  return editor_.Become(owner_, types, std::move(declared), {});
}

// Numbers 0, 1, ... count the iterations, so that nothing overflows at the end.
Status LoopLowering::LowerFor() {
  constexpr size_t kFirst = 3;  // of the inputs that the body changes
  MS_ASSIGN_OR_RETURN(const DataTypeList types, Attr<DataTypeList>("T"));
  MS_RETURN_IF_ERROR(CheckInputs(types.size() + kFirst));
  MS_ASSIGN_OR_RETURN(const FunctionRef body, Attr<FunctionRef>("body"));
  MS_ASSIGN_OR_RETURN(const PlannedInput numbers,
                      Add("numbers", "Range", Attrs({{"Tidx", DataType::kInt32}}),
                          Tensors(inputs_.begin(), inputs_.begin() + kFirst)));
  MS_ASSIGN_OR_RETURN(const PlannedInput size,
                      Add("count", "Size", Attrs({{"T", DataType::kInt32}}), {numbers}));
  MS_ASSIGN_OR_RETURN(const PlannedInput zero, AddInt32("zero", 0));
  MS_ASSIGN_OR_RETURN(const PlannedInput one, AddInt32("one", 1));
  DataTypeList all_types = types;
  all_types.insert(all_types.begin(), DataType::kInt32);
  Tensors initial(inputs_.begin() + kFirst, inputs_.end());
  initial.insert(initial.begin(), zero);

  const auto enter = [&](const char* name, const PlannedInput& tensor) {
    return Enter(name, DataType::kInt32, tensor, true);
  };
  MS_ASSIGN_OR_RETURN(const PlannedInput start, enter("start_inside", inputs_[0]));
  MS_ASSIGN_OR_RETURN(const PlannedInput delta, enter("delta_inside", inputs_[2]));
  MS_ASSIGN_OR_RETURN(const PlannedInput count, enter("count_inside", size));
  MS_ASSIGN_OR_RETURN(const PlannedInput step, enter("one_inside", one));
  const auto decide = [&](const Tensors& variables) {
    return IsLess("counts", variables[0], count);
  };
  const auto repeat = [&](const Tensors& variables) -> StatusOr<Tensors> {
    MS_ASSIGN_OR_RETURN(
        const PlannedInput offset,
        Add("offset", "Mul", Attrs({{"T", DataType::kInt32}}), {variables[0], delta}));
    MS_ASSIGN_OR_RETURN(const PlannedInput number, AddSum("number", start, offset));
    Tensors arguments = variables;
    arguments[0] = number;
    MS_ASSIGN_OR_RETURN(const PlannedInput call,
                        AddCall({"body", body}, all_types, types, arguments, {After(number)}));
    Tensors next = OutputsOf(call, types.size());
    MS_ASSIGN_OR_RETURN(const PlannedInput counted, AddSum("next_count", variables[0], step));
    next.insert(next.begin(), counted);
    return next;
  };
  MS_ASSIGN_OR_RETURN(Tensors results, Loop(all_types, initial, decide, repeat));
  const PlannedInput end = After(results[0]);
  results.erase(results.begin());
  return editor_.Become(owner_, types, std::move(results), {end});
}

}  // namespace

bool IsFunctionalControlFlow(const OpDef& op) {
  return op.name == "If" || op.name == "StatelessIf" || op.name == "Case" || op.name == "While" ||
         op.name == "StatelessWhile" || op.name == "For" || op.name == "MapDefun" ||
         op.name == "RemoteCall" || op.name == "BatchFunction";
}

Status LowerControlFlow(int owner, PlanEditor* editor) {
  const std::string op = editor->node(owner).op->name;
  if (op == "MapDefun") return LowerMap(owner, editor);
  if (op == "For") return LoopLowering(owner, editor).LowerFor();
  if (absl::EndsWith(op, "While")) return LoopLowering(owner, editor).LowerWhile();
  BranchLowering lowering(owner, editor);
  if (op == "RemoteCall") return lowering.LowerRemoteCall();
  if (op == "BatchFunction") return lowering.LowerBatchFunction();
  return op == "Case" ? lowering.LowerCase() : lowering.LowerIf();
}

}  // namespace millstream
