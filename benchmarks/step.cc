#include "benchmarks/step.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/gradients/gradients.h"
#include "core/host/host_ctx.h"

namespace millstream {
namespace {

constexpr int kWarmUpSteps = 3;

template <typename T>
T ValueOrDie(StatusOr<T> value) {
  CheckOk(value.status());
  return *std::move(value);
}

// Of the plugins that this program was built with.
std::string PluginFolder(absl::string_view name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return absl::StrCat(self.string(), ".runfiles/millstream/device_plugins/", name);
}

// The one that suits the machine.
void LoadCpuPlugin() {
  CheckOk(RegisterRuntimeInterfaces());
  CheckOk(PluginLoader::Global()->LoadFrom({PluginFolder("cpu")}));
}

}  // namespace

void CheckOk(const Status& status) {
  if (status.ok()) return;
  std::cerr << "the benchmark cannot run: " << status << "\n";
  std::exit(1);
}

const LoadedPlugin& LoadSim() {
  CheckOk(RegisterRuntimeInterfaces());
  return *ValueOrDie(PluginLoader::Global()->Load(PluginFolder("sim") + "/libmillstream_sim.so"));
}

Tensor Numbers(const Shape& shape) {
  Tensor tensor = ValueOrDie(Tensor::Create(DataType::kFloat, shape));
  float* const data = tensor.data<float>();
  const int64_t size = tensor.num_elements();
  for (int64_t i = 0; i < size; ++i) data[i] = static_cast<float>(i * 7919 % 2001) / 1000 - 1;
  return tensor;
}

BenchmarkGraph::BenchmarkGraph(SessionOptions options)
    : build(&graph, ""), options_(std::move(options)) {}

Output BenchmarkGraph::Placeholder(const PartialShape& shape, DataType dtype) {
  return Op("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}});
}

Output BenchmarkGraph::Variable(const Tensor& value) {
  const std::string name = absl::StrCat("variable_", handles_.size());
  const Output handle = Op(
      "VarHandleOp", {},
      {{"dtype", DataType::kFloat}, {"shape", PartialShape(value.shape())}, {"shared_name", name}});
  handles_.push_back(handle);
  initializers_.push_back(Target("AssignVariableOp", {handle, build.Const(value)}));
  return handle;
}

Output BenchmarkGraph::Read(const Output& handle) {
  return Op("ReadVariableOp", {handle}, {{"dtype", DataType::kFloat}});
}

Output BenchmarkGraph::Op(absl::string_view op, const std::vector<Output>& inputs,
                          GraphBuilder::Attrs attrs) {
  const Output output = build.Op(op, inputs, attrs);
  CheckOk(build.status());
  return output;
}

const Node* BenchmarkGraph::Target(absl::string_view op, const std::vector<Output>& inputs,
                                   GraphBuilder::Attrs attrs) {
  const Node* const node = build.NodeOf(op, inputs, attrs);
  CheckOk(build.status());
  return node;
}

const Node* BenchmarkGraph::ControlChain(absl::string_view op, int length, const Node* first) {
  const Node* last = first;
  for (int i = 0; i < length; ++i) {
    if (last != nullptr) build.set_control_inputs({last});
    last = Target(op, {});
  }
  build.set_control_inputs({});
  return last;
}

StepSignature BenchmarkGraph::PerceptronTraining() {
  const Output images = Placeholder({kUnknownDim, 784});
  const Output labels = Placeholder(PartialShape({kUnknownDim}), DataType::kInt32);
  const std::vector<int64_t> sizes = {784, 256, 128, 10};
  std::vector<Output> weights;
  Output hidden = images;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    weights.push_back(Variable(Numbers(Shape({sizes[i], sizes[i + 1]}))));
    hidden = Op("MatMul", {hidden, Read(weights.back())});
    weights.push_back(Variable(Numbers(Shape({sizes[i + 1]}))));
    hidden = Op("Add", {hidden, Read(weights.back())});
    if (i + 2 < sizes.size()) hidden = Op("Relu", {hidden});
  }
  const Output losses = Op("SparseSoftmaxCrossEntropyWithLogits", {hidden, labels});
  const Output loss = Op("Mean", {losses, build.Int32Vector({0})});
  StepSignature step{{images, labels}, {loss}, {}};
  const std::vector<Gradient> gradients =
      ValueOrDie(AddGradients(&graph, {loss}, weights, {}, GradientOptions()));
  // Small enough that weights of this size stay numbers.
  const Output rate = build.Const(Tensor::Scalar<float>(1e-6f));
  for (size_t i = 0; i < weights.size(); ++i) {
    step.targets.push_back(
        Target("ResourceApplyGradientDescent", {weights[i], rate, gradients[i].values}));
  }
  return step;
}

std::unique_ptr<Callable> BenchmarkGraph::MakeCallable(const StepSignature& signature) {
  if (session_ == nullptr) {
    LoadCpuPlugin();
    session_ = ValueOrDie(Session::Create(&graph, options_));
    if (!initializers_.empty()) {
      CheckOk(session_->Run({{}, {}, initializers_}, {}, {}, RunOptions()));
    }
  }
  return ValueOrDie(session_->MakeCallable(signature));
}

std::vector<Tensor> PerceptronBatch(int64_t size) {
  std::vector<int32_t> labels(size);
  for (int64_t i = 0; i < size; ++i) labels[i] = static_cast<int32_t>(i % 10);
  return {Numbers(Shape({size, 784})), Tensor::Vector<int32_t>(labels)};
}

void TimeSteps(benchmark::State& state, Callable* callable, const std::vector<Tensor>& feeds,
               size_t num_fetches) {
  std::vector<Tensor> fetches(num_fetches);
  const RunOptions options;
  for (int i = 0; i < kWarmUpSteps; ++i) {
    CheckOk(callable->Run(feeds, absl::MakeSpan(fetches), options));
  }
  bool failed = false;
  for (auto _ : state) {
    failed |= !callable->Run(feeds, absl::MakeSpan(fetches), options).ok();
  }
  if (failed) state.SkipWithError("a step failed");
}

void TimeTargets(benchmark::State& state, BenchmarkGraph* graph, const std::vector<Output>& feeds,
                 const std::vector<const Node*>& targets, const std::vector<Tensor>& values) {
  const std::unique_ptr<Callable> callable = graph->MakeCallable({feeds, {}, targets});
  TimeSteps(state, callable.get(), values);
}

void ReportBytes(benchmark::State& state, double bytes) {
  state.counters["bytes/s"] =
      benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
}

void ReportFlops(benchmark::State& state, double operations) {
  state.counters["flop/s"] =
      benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

void ReportItems(benchmark::State& state, const char* name, double items) {
  state.counters[name] = benchmark::Counter(
      items, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace millstream
