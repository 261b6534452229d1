// Gradients of runs of long short-term memory over sequences, BlockLSTM and BlockLSTMV2, and of
// their gradients.
#include <array>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/gradients/frame_builder.h"
#include "core/gradients/gradient_registry.h"
#include "core/gradients/gradients.h"
#include "core/gradients/lstm_step.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// The outputs of a run. Its gradient takes them from input 9 on, then the gradients of kCs and kH.
enum RunOutput : int { kI, kCs, kF, kO, kCi, kCo, kH, kNumStates };
constexpr int kFirstState = 9;
constexpr int kCsGrad = kFirstState + kNumStates;
constexpr int kHGrad = kCsGrad + 1;

// The inputs of a run and of its gradient that both read alike.
struct LstmRun {
  Output steps;
  Output x;
  Output cs_prev;
  Output h_prev;
  Output w;
  LstmPeepholes peepholes;
  bool forget_first;
};

// Gradients for the inputs of a run from x on.
struct RunGradients {
  Output x;
  Output cs_prev;
  Output h_prev;
  Output w;
  LstmPeepholes peepholes;
  Output b;
};

// The rows of a tensor from `begin` to the last but `left_out`.
Output Rows(GraphBuilder* builder, Output tensor, int begin, int left_out) {
  return builder->Op("StridedSlice",
                     {tensor, builder->Int32Vector({begin}), builder->Int32Vector({-left_out}),
                      builder->Int32Vector({1})},
                     {{"end_mask", left_out == 0 ? 1 : 0}});
}

Output FirstRow(GraphBuilder* builder, Output tensor) {
  return builder->Op("StridedSlice", {tensor, builder->Int32Vector({0}), builder->Int32Vector({1}),
                                      builder->Int32Vector({1})});
}

Output Joined(GraphBuilder* builder, const std::vector<Output>& parts, int axis) {
  const Node* const joined = builder->Variadic("ConcatV2", {parts, {builder->Int32(axis)}});
  return joined == nullptr ? Output() : joined->output(0);
}

// What each step found of a state: that of the step before, `first` in step 0.
Output Before(GraphBuilder* builder, Output states, Output first) {
  const Output row = builder->Op("ExpandDims", {first, builder->Int32(0)});
  return Rows(builder, Joined(builder, {row, states}, 0), 0, 1);
}

// Gradients for what each step found of a state: those for the state that the step before made, and
// that for what step 0 found.
struct BackByOne {
  Output states;
  Output first;
};
BackByOne MoveBack(GraphBuilder* builder, Output gradients) {
  const Output row = FirstRow(builder, gradients);
  const Output zeros = builder->Op("ZerosLike", {row});
  const Output later = Rows(builder, gradients, 1, 0);
  // The sum gives zeros where there are no steps.
  return {Joined(builder, {later, zeros}, 0), builder->Op("Sum", {row, builder->Int32(0)})};
}

// A tensor whose rows are those of steps, with zeros for the steps that are not computed.
Output OnlySteps(GraphBuilder* builder, Output tensor, Output steps) {
  const Output time = builder->Op(
      "Reshape", {ElementOf(builder, builder->Op("Shape", {tensor}), 0), builder->Int32Vector({})});
  const Output numbers = builder->Op("Range", {builder->Int32(0), time, builder->Int32(1)});
  const Output count = builder->Op("Cast", {steps}, {{"DstT", DataType::kInt32}});
  const Output is_computed = builder->Op(
      "Reshape", {builder->Op("Less", {numbers, count}), builder->Int32Vector({-1, 1, 1})});
  return builder->Op("SelectV2", {is_computed, tensor, builder->Op("ZerosLike", {tensor})});
}

// The rows of all steps and all of the batch, as a matrix.
Output AsMatrix(GraphBuilder* builder, Output tensor) {
  const Output columns = ElementOf(builder, builder->Op("Shape", {tensor}), 2);
  const Output rows = builder->Int32Vector({-1});
  return builder->Op("Reshape", {tensor, ConcatVectors(builder, {rows, columns})});
}

// gates * w^T, for x and for h.
struct ThroughKernel {
  Output x;
  Output h;
};
ThroughKernel BackThroughKernel(GraphBuilder* builder, const LstmRun& run, Output gates) {
  const Output product = builder->Op("BatchMatMulV2", {gates, run.w}, {{"adj_y", true}});
  const Output x_shape = builder->Op("Shape", {run.x});
  const Output skipped = builder->Op("Mul", {x_shape, builder->Int32Vector({0, 0, 1})});
  return {builder->Op("Slice", {product, builder->Int32Vector({0, 0, 0}), x_shape}),
          builder->Op("Slice", {product, skipped, builder->Int32Vector({-1, -1, -1})})};
}

// The sums over all steps: the gradients for the weights by those for the gates.
void SetWeightGradients(GraphBuilder* builder, const LstmRun& run, const LstmStates& states,
                        Output h_before, const std::array<Output, 4>& gates, Output joined_gates,
                        RunGradients* gradients) {
  const Output inputs = AsMatrix(builder, Joined(builder, {run.x, h_before}, 2));
  gradients->w =
      builder->Op("MatMul", {inputs, AsMatrix(builder, joined_gates)}, {{"transpose_a", true}});
  gradients->b = builder->Op("Sum", {joined_gates, builder->Int32Vector({0, 1})});
  if (run.peepholes.input) {
    gradients->peepholes = GradientsOfPeepholes(builder, states, gates, {0, 1});
  }
}

// ---- The gradient of a run ----

// True if a state other than the memory and the output has a gradient.
bool HasGradientOfGates(const GradientContext& context) {
  for (const int i : {kI, kF, kO, kCi, kCo}) {
    if (context.has_dy(i)) return true;
  }
  return false;
}

// Gradients for gates that come from elsewhere than from cs and h. The step before gets its part of
// them through the memory and the output.
struct GateGradients {
  RunGradients inputs;
  Output cs;
  Output h;
};
GateGradients GradientsOfGates(GradientContext* context, const LstmRun& run) {
  GraphBuilder* const builder = context->builder();
  const LstmStates states = {context->output(kI),
                             context->output(kCs),
                             context->output(kF),
                             context->output(kO),
                             context->output(kCi),
                             context->output(kCo),
                             Before(builder, context->output(kCs), run.cs_prev)};
  const auto dy = [&](int i) { return OnlySteps(builder, context->dy(i), run.steps); };
  const LstmMovedGradients moved = MoveStateGradients(builder, states, run.peepholes,
                                                      {dy(kI), dy(kF), dy(kO), dy(kCi), dy(kCo)});
  const Output gates = JoinedGates(builder, moved.gates, run.forget_first);
  const ThroughKernel through = BackThroughKernel(builder, run, gates);
  const BackByOne h = MoveBack(builder, through.h);
  GateGradients found = {{}, moved.cs, h.states};
  found.inputs.x = through.x;
  found.inputs.h_prev = h.first;
  if (moved.cs_before) {
    const BackByOne cs = MoveBack(builder, moved.cs_before);
    found.cs = builder->Op("Add", {found.cs, cs.states});
    found.inputs.cs_prev = cs.first;
  }
  const Output h_before = Before(builder, context->output(kH), run.h_prev);
  SetWeightGradients(builder, run, states, h_before, moved.gates, gates, &found.inputs);
  return found;
}

StatusOr<LstmRun> RunOf(const GradientContext& context) {
  MS_ASSIGN_OR_RETURN(const bool use_peephole, context.Attr<bool>("use_peephole"));
  LstmRun run = {context.input(0),
                 context.input(1),
                 context.input(2),
                 context.input(3),
                 context.input(4),
                 {},
                 absl::EndsWith(context.call().op->name, "V2")};
  if (use_peephole) run.peepholes = {context.input(5), context.input(6), context.input(7)};
  return run;
}

constexpr const char* kLstmGrad = "BlockLSTMGrad";
constexpr const char* kLstmGradV2 = "BlockLSTMGradV2";

template <const char* const* kOp>
Status LstmGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  MS_ASSIGN_OR_RETURN(const LstmRun run, RunOf(*context));
  Output cs_grad = context->dy(kCs);
  Output h_grad = context->dy(kH);
  std::array<Output, 8> more;
  if (HasGradientOfGates(*context)) {
    const GateGradients gates = GradientsOfGates(context, run);
    cs_grad = builder->Op("Add", {cs_grad, gates.cs});
    h_grad = builder->Op("Add", {h_grad, gates.h});
    const LstmPeepholes& peepholes = gates.inputs.peepholes;
    more = {gates.inputs.x,  gates.inputs.cs_prev, gates.inputs.h_prev, gates.inputs.w,
            peepholes.input, peepholes.forget,     peepholes.output,    gates.inputs.b};
  }
  std::vector<Output> inputs;
  for (int i = 0; i < kFirstState; ++i) inputs.push_back(context->input(i));
  for (int i = 0; i < kNumStates; ++i) inputs.push_back(context->output(i));
  inputs.push_back(cs_grad);
  inputs.push_back(h_grad);
  const Output first = builder->OpWithAttrs(*kOp, inputs, context->attrs(), {"use_peephole"});
  if (!first) return builder->status();
  for (int i = 0; i < 8; ++i) {
    const Output dx = first.node->output(i);
    context->SetDx(1 + i, more[i] ? builder->Op("Add", {dx, more[i]}) : dx);
  }
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("BlockLSTM", LstmGradient<&kLstmGrad>);
MILLSTREAM_GRADIENT("BlockLSTMV2", LstmGradient<&kLstmGradV2>);

// ---- The gradient of the gradient of a run ----

// A loop over the steps of a run, the last one first. As a region, it takes the same tensors from
// outside in each step.
class BackwardSteps final : public GraphRegion {
 public:
  // The loop is named below the scope of `outside`, and its nodes are where those of `outside` are.
  explicit BackwardSteps(GraphBuilder* outside)
      : outside_(outside),
        frame_nodes_(outside->graph(), outside->scope()),
        body_(outside->graph(), outside->scope()),
        frame_(&frame_nodes_, this,
               outside->graph()->UniqueName(absl::StrCat(outside->scope(), "/steps")), 10) {
    frame_nodes_.StandBeside(*outside);
    body_.StandBeside(*outside);
    body_.set_region(this);
  }

  // To be called first. `count` is an int32 scalar.
  void Begin(Output count) {
    const Output zero = frame_.Invariant(outside_->Int32(0));
    const Output one = frame_.Invariant(outside_->Int32(1));
    const Output left = frame_.Merged(count);
    frame_.set_condition(frame_.Op("LoopCond", {frame_.Op("Greater", {left, zero})}));
    const FrameVariable variable = frame_.Decided(left);
    pivot_ = frame_.Op("Identity", {variable.now()}).node;
    frame_.SetNext(variable, frame_.Op("Sub", {variable.now(), one}));
  }

  FrameVariable Variable(Output first) { return frame_.Variable(first); }
  void SetNext(const FrameVariable& variable, Output next) { frame_.SetNext(variable, next); }
  Output Exit(const FrameVariable& variable) { return frame_.Exit(variable); }
  // For nodes in the loop.
  GraphBuilder* body() { return &body_; }
  Status status() const { return body_.ok() ? frame_nodes_.status() : body_.status(); }

  StatusOr<Output> Inside(const Output& tensor) override {
    if (!tensor || made_.contains(tensor.node)) return tensor;
    const auto known = known_.find(tensor);
    if (known != known_.end()) return known->second;
    const Output inside = frame_.Invariant(tensor);
    MS_RETURN_IF_ERROR(frame_nodes_.status());
    return known_[tensor] = inside;
  }
  const Node* pivot() const override { return pivot_; }
  void NoteMade(const Node* node) override { made_.insert(node); }

 private:
  GraphBuilder* const outside_;
  GraphBuilder frame_nodes_;
  GraphBuilder body_;
  FrameBuilder frame_;
  const Node* pivot_ = nullptr;
  absl::flat_hash_set<const Node*> made_;
  absl::flat_hash_map<Output, Output> known_;
};

// The sizes of the last two dimensions.
Output RowShape(GraphBuilder* builder, Output tensor) {
  return builder->Op("Slice", {builder->Op("Shape", {tensor}), builder->Int32Vector({1}),
                               builder->Int32Vector({2})});
}

// What goes back from the first step: gradients for the memory and the output before the run, and
// those for the gates of all steps, in the order of the kernel's columns.
struct RunBackward {
  Output cs_prev;
  Output h_prev;
  Output gates;
};

// Runs the steps backward. Each reads its part of the states and of the gradients that came to it.
StatusOr<RunBackward> GoBackward(GraphBuilder* builder, const LstmRun& run,
                                 const LstmStates& states, Output cs_grad, Output h_grad) {
  const DataType dtype = run.x.dtype();
  const std::vector<Output> parts = {states.i,  states.cs,        states.f, states.o, states.ci,
                                     states.co, states.cs_before, cs_grad,  h_grad};
  const Output rows = OnlySteps(builder, Joined(builder, parts, 2), run.steps);
  const Output row_shape = RowShape(builder, rows);
  const Output list = builder->Op("TensorListFromTensor", {rows, row_shape},
                                  {{"element_dtype", dtype}, {"shape_type", DataType::kInt32}});
  const Output batch = ElementOf(builder, builder->Op("Shape", {run.x}), 1);
  const Output columns = ElementOf(builder, builder->Op("Shape", {run.w}), 1);
  const Output gates_shape = ConcatVectors(builder, {batch, columns});
  const Output no_gates = builder->Op("EmptyTensorList", {gates_shape, builder->Int32(-1)},
                                      {{"element_dtype", dtype}, {"shape_type", DataType::kInt32}});
  const Output input_size = ElementOf(builder, builder->Op("Shape", {run.x}), 2);
  const Output first_row = ConcatVectors(builder, {input_size, builder->Int32Vector({0})});
  const Output h_kernel = builder->Op("Slice", {run.w, first_row, builder->Int32Vector({-1, -1})});
  const Output time = ElementOf(builder, builder->Op("Shape", {run.x}), 0);

  MS_RETURN_IF_ERROR(builder->status());
  BackwardSteps loop(builder);
  loop.Begin(builder->Op("Reshape", {time, builder->Int32Vector({})}));
  const FrameVariable left = loop.Variable(list);
  const FrameVariable memory = loop.Variable(builder->Op("ZerosLike", {run.cs_prev}));
  const FrameVariable output = loop.Variable(builder->Op("ZerosLike", {run.h_prev}));
  const FrameVariable found = loop.Variable(no_gates);
  GraphBuilder* const body = loop.body();
  const Node* const taken =
      body->NodeOf("TensorListPopBack", {left.now(), row_shape}, {{"element_dtype", dtype}});
  if (taken == nullptr) return loop.status();
  const Node* const row = body->NodeOf("Split", {body->Int32(1), taken->output(1)},
                                       {{"num_split", static_cast<int64_t>(parts.size())}});
  if (row == nullptr) return loop.status();
  const LstmStates now = {row->output(0), row->output(1), row->output(2), row->output(3),
                          row->output(4), row->output(5), row->output(6)};
  const Output for_memory = body->Op("Add", {row->output(7), memory.now()});
  const Output for_output = body->Op("Add", {row->output(8), output.now()});
  const LstmStepGradients step =
      GradientsOfLstmStep(body, now, run.peepholes, for_memory, for_output);
  const Output gates = JoinedGates(body, step.gates, run.forget_first);
  loop.SetNext(left, taken->output(0));
  loop.SetNext(memory, step.cs_before);
  loop.SetNext(output, body->Op("MatMul", {gates, h_kernel}, {{"transpose_b", true}}));
  loop.SetNext(found,
               body->Op("TensorListPushBack", {found.now(), gates}, {{"element_dtype", dtype}}));
  MS_RETURN_IF_ERROR(loop.status());
  const Output all =
      builder->Op("TensorListStack", {loop.Exit(found), gates_shape}, {{"element_dtype", dtype}});
  return RunBackward{loop.Exit(memory), loop.Exit(output),
                     builder->Op("ReverseV2", {all, builder->Int32Vector({0})})};
}

// The outputs of the gradient of a run, made of other ops.
StatusOr<std::vector<Output>> GradientOfRun(GraphBuilder* builder, const LstmRun& run,
                                            const std::vector<Output>& inputs) {
  const auto state = [&](int i) { return inputs[kFirstState + i]; };
  const LstmStates states = {state(kI),
                             state(kCs),
                             state(kF),
                             state(kO),
                             state(kCi),
                             state(kCo),
                             Before(builder, state(kCs), run.cs_prev)};
  MS_ASSIGN_OR_RETURN(const RunBackward backward,
                      GoBackward(builder, run, states, inputs[kCsGrad], inputs[kHGrad]));
  const Node* const columns =
      builder->NodeOf("Split", {builder->Int32(2), backward.gates}, {{"num_split", int64_t{4}}});
  if (columns == nullptr) return builder->status();
  std::array<Output, 4> gates;
  gates[kInputGate] = columns->output(0);
  gates[kNewValues] = columns->output(run.forget_first ? 2 : 1);
  gates[kForgetGate] = columns->output(run.forget_first ? 1 : 2);
  gates[kOutputGate] = columns->output(3);
  RunGradients found;
  const Output h_before = Before(builder, state(kH), run.h_prev);
  SetWeightGradients(builder, run, states, h_before, gates, backward.gates, &found);
  found.x = BackThroughKernel(builder, run, backward.gates).x;
  return std::vector<Output>{found.x,
                             backward.cs_prev,
                             backward.h_prev,
                             found.w,
                             found.peepholes.input,
                             found.peepholes.forget,
                             found.peepholes.output,
                             found.b};
}

// The run's gradient is made once more of other ops, and these are differentiated.
Status LstmGradGradient(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  if (builder->region() != nullptr) {
    return errors::Unimplemented("the gradient of ", context->call().op->name,
                                 " in a loop cannot be differentiated");
  }
  std::vector<Output> inputs = {context->input(0)};
  for (int i = 1; i < context->num_inputs(); ++i) {
    inputs.push_back(builder->Op("Identity", {context->input(i)}));
  }
  MS_ASSIGN_OR_RETURN(LstmRun run, RunOf(*context));
  const bool use_peephole = static_cast<bool>(run.peepholes.input);
  run = {inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], {}, run.forget_first};
  if (use_peephole) run.peepholes = {inputs[5], inputs[6], inputs[7]};
  MS_ASSIGN_OR_RETURN(const std::vector<Output> results, GradientOfRun(builder, run, inputs));
  MS_RETURN_IF_ERROR(builder->status());
  std::vector<Output> ys;
  std::vector<Output> dys;
  for (int i = 0; i < context->num_outputs(); ++i) {
    if (!results[i] || !context->has_dy(i)) continue;
    ys.push_back(results[i]);
    dys.push_back(context->dy(i));
  }
  MS_RETURN_IF_ERROR(builder->status());
  GradientOptions options;
  options.scope = builder->scope();
  options.source = builder->source();
  options.colocate_with_forward = builder->requests_place();
  options.made = builder->made();
  const std::vector<Output> xs(inputs.begin() + 1, inputs.end());
  MS_ASSIGN_OR_RETURN(const std::vector<Gradient> dx,
                      AddGradients(builder->graph(), ys, xs, dys, options));
  for (size_t i = 0; i < dx.size(); ++i) context->SetDx(static_cast<int>(i) + 1, dx[i]);
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("BlockLSTMGrad", LstmGradGradient);
MILLSTREAM_GRADIENT("BlockLSTMGradV2", LstmGradGradient);

}  // namespace
}  // namespace millstream
