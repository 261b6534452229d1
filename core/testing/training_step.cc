#include "core/testing/training_step.h"

#include <cmath>
#include <utility>

#include "core/gradients/gradients.h"

namespace millstream {
namespace {

constexpr int64_t kBatch = 4;
constexpr int64_t kFeatures = 18;  // 3 x 3 pixels of 2 channels
constexpr int64_t kRows = 7;
constexpr int64_t kClasses = 3;

int64_t Product(const std::vector<int64_t>& dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

Tensor NumbersOf(const std::vector<int64_t>& dims, int seed) {
  std::vector<float> values(Product(dims));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i) + 1.7f * static_cast<float>(seed)) / 2;
  }
  return Tensor::FromValues<float>(Shape(dims), values);
}

}  // namespace

TrainingStep::TrainingStep(GraphBuilder* builder, bool with_control_flow) : build_(*builder) {
  images_ = Placeholder("images", DataType::kFloat, {kBatch, 6, 6, 1});
  labels_ = Placeholder("labels", DataType::kInt32, {kBatch});
  ids_ = Placeholder("ids", DataType::kInt32, {kBatch});
  train_.feeds = {images_, labels_, ids_};
  filter_ = Variable("filter", {3, 3, 1, 2}, 1);
  bias_ = Variable("bias", {2}, 2);
  table_ = Variable("table", {kRows, kFeatures}, 3);
  weights_ = Variable("weights", {kFeatures, kClasses}, 4);
  const Output logits = Logits();
  const Node* const losses =
      build_.NodeOf("SparseSoftmaxCrossEntropyWithLogits", {logits, labels_});
  if (losses == nullptr) return;
  const Output loss = build_.Op("Mean", {losses->output(0), build_.Int32(0)});
  AddUpdates(loss);
  AddSummaries(loss, logits);
  if (with_control_flow) AddControlFlow(loss, logits);
  // A constant, what is fed, and what only a kernel knows the shape of.
  train_.fetches.push_back(build_.Op("Exp", {Numbers({5}, 5)}));
  train_.fetches.push_back(labels_);
  train_.fetches.push_back(build_.Op("Unique", {ids_}));
}

Output TrainingStep::Numbers(const std::vector<int64_t>& dims, int seed) {
  return build_.Const(NumbersOf(dims, seed));
}

Output TrainingStep::Placeholder(const std::string& name, DataType dtype,
                                 const PartialShape& shape) {
  AttrMap attrs;
  SetAttr(&attrs, "dtype", dtype);
  SetAttr(&attrs, "shape", shape);
  const Node* const node = build_.Named(name, "Placeholder", {}, std::move(attrs));
  return node == nullptr ? Output() : node->output(0);
}

Output TrainingStep::Variable(const std::string& name, const std::vector<int64_t>& dims, int seed) {
  const PartialShape shape{Shape(dims)};
  AttrMap attrs;
  SetAttr(&attrs, "dtype", DataType::kFloat);
  SetAttr(&attrs, "shape", shape);
  SetAttr(&attrs, "shared_name", name);
  const Node* const node = build_.Named(name, "VarHandleOp", {}, std::move(attrs));
  if (node == nullptr) return Output();
  const Output handle = node->output(0);
  const Output value = build_.Op("Mul", {Numbers(dims, seed), Numbers({}, seed)});
  initialize_.targets.push_back(build_.NodeOf("AssignVariableOp", {handle, value}));
  read_.fetches.push_back(Read(handle));
  restore_.feeds.push_back(Placeholder(name + "_value", DataType::kFloat, shape));
  restore_.targets.push_back(build_.NodeOf("AssignVariableOp", {handle, restore_.feeds.back()}));
  return handle;
}

Output TrainingStep::Read(const Output& handle) {
  return build_.Op("ReadVariableOp", {handle}, {{"dtype", DataType::kFloat}});
}

Output TrainingStep::Logits() {
  const std::vector<int64_t> ones = {1, 1, 1, 1};
  const std::vector<int64_t> twos = {1, 2, 2, 1};
  const Output convolved = build_.Op("Conv2D", {images_, Read(filter_)},
                                     {{"strides", ones}, {"padding", std::string("SAME")}});
  const Output active = build_.Op("Relu", {build_.Op("BiasAdd", {convolved, Read(bias_)})});
  const Output pooled = build_.Op(
      "MaxPool", {active}, {{"ksize", twos}, {"strides", twos}, {"padding", std::string("VALID")}});
  const Output pixels = build_.Op("Reshape", {pooled, build_.Int32Vector({-1, kFeatures})});
  const Output rows = build_.Op("ResourceGather", {table_, ids_}, {{"dtype", DataType::kFloat}});
  const Output features = build_.Op("Tanh", {build_.Op("Add", {pixels, rows})});
  // Folded.
  const Output scale = build_.Op("Sqrt", {build_.Op("Exp", {Numbers({kClasses}, 6)})});
  return build_.Op("Mul", {build_.Op("MatMul", {features, Read(weights_)}), scale});
}

void TrainingStep::AddUpdates(const Output& loss) {
  if (!build_.ok()) return;
  const std::vector<Output> variables = {filter_, bias_, table_, weights_};
  StatusOr<std::vector<Gradient>> made =
      AddGradients(build_.graph(), {loss}, variables, {}, GradientOptions());
  build_.UpdateStatus(made.status());
  if (!made.ok()) return;
  const std::vector<Gradient>& gradients = *made;
  const auto number = [&](double value) { return build_.ScalarOf(DataType::kFloat, value); };
  train_.targets = {
      build_.NodeOf("ResourceApplyMomentum", {filter_, Variable("filter_momentum", {3, 3, 1, 2}, 0),
                                              number(0.1), gradients[0].values, number(0.9)}),
      build_.NodeOf("ResourceApplyGradientDescent", {bias_, number(0.1), gradients[1].values}),
      build_.NodeOf("ResourceSparseApplyMomentum",
                    {table_, Variable("table_momentum", {kRows, kFeatures}, 0), number(0.1),
                     gradients[2].values, gradients[2].indices, number(0.9)}),
      build_.NodeOf("ResourceApplyAdam",
                    {weights_, Variable("weights_m", {kFeatures, kClasses}, 0),
                     Variable("weights_v", {kFeatures, kClasses}, 0), number(0.9), number(0.999),
                     number(0.01), number(0.9), number(0.999), number(1e-8), gradients[3].values})};
}

void TrainingStep::AddSummaries(const Output& loss, const Output& logits) {
  const auto text = [&](const char* tag) { return build_.Const(Tensor::Scalar<std::string>(tag)); };
  const Output scalar = build_.Op("ScalarSummary", {text("loss"), loss});
  const Output histogram = build_.Op("HistogramSummary", {text("logits"), logits});
  const Node* const merged = build_.Variadic("MergeSummary", {{scalar, histogram}});
  if (merged == nullptr) return;
  train_.fetches = {loss, logits, merged->output(0)};
}

Output TrainingStep::Loop(const Output& initial, const Output& weights) {
  const auto enter = [&](const Output& data, bool is_constant) {
    return build_.Op("Enter", {data},
                     {{"frame_name", std::string("loop")}, {"is_constant", is_constant}});
  };
  const auto merge = [&](const Output& entered) {
    return build_.Variadic("Merge", {{entered, entered}});
  };
  const Node* const count = merge(enter(build_.Int32(0), false));
  const Node* const state = merge(enter(initial, false));
  if (count == nullptr || state == nullptr) return Output();
  const Output pred =
      build_.Op("LoopCond", {build_.Op("Less", {count->output(0), enter(build_.Int32(3), true)})});
  const Node* const counted = build_.NodeOf("Switch", {count->output(0), pred});
  const Node* const decided = build_.NodeOf("Switch", {state->output(0), pred});
  if (counted == nullptr || decided == nullptr) return Output();
  const Output next_count = build_.Op(
      "NextIteration", {build_.Op("Add", {counted->output(1), enter(build_.Int32(1), true)})});
  const Output product = build_.Op("MatMul", {decided->output(1), enter(weights, true)});
  const Output next_state = build_.Op("NextIteration", {build_.Op("Tanh", {product})});
  if (!build_.ok()) return Output();
  build_.UpdateStatus(build_.graph()->SetBackEdge(count, 1, next_count.node));
  build_.UpdateStatus(build_.graph()->SetBackEdge(state, 1, next_state.node));
  return build_.Op("Exit", {decided->output(0)});
}

void TrainingStep::AddControlFlow(const Output& loss, const Output& logits) {
  const Output looped = Loop(logits, Numbers({kClasses, kClasses}, 7));
  const Output large = build_.Op("Greater", {loss, build_.ScalarOf(DataType::kFloat, 0.01)});
  const Node* const decision = build_.NodeOf("Switch", {looped, large});
  if (decision == nullptr) return;
  const Node* const either =
      build_.Variadic("Merge", {{decision->output(0), build_.Op("Abs", {decision->output(1)})}});
  if (either == nullptr) return;
  train_.fetches.push_back(either->output(0));
  train_.fetches.push_back(either->output(1));
}

std::vector<Tensor> TrainingStep::Batch() const {
  return {NumbersOf({kBatch, 6, 6, 1}, 8), Tensor::Vector<int32_t>({2, 0, 1, 2}),
          Tensor::Vector<int32_t>({5, 1, 5, 3})};
}

}  // namespace millstream
