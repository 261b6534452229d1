// What the runtime itself costs: a node, a step, a plan for a new shape. Kernels of a plugin that
// do nothing stand for the work.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/step.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

constexpr int kChain = 10000;

MILLSTREAM_OP("BenchmarkNull").Stateful().Shape(NoOutputs).Doc("Does nothing.");
MILLSTREAM_OP("BenchmarkPass")
    .Input("input: float")
    .Output("output: float")
    .Stateful()
    .Shape(UnchangedShape)
    .Doc("Leaves its output as it finds it.");

MS_Status* DoNothing(void*, MS_Frame*) { return nullptr; }

// As a plugin's registration arrives, by the C interface.
void RegisterNullKernels() {
  static const bool registered = [] {
    std::vector<KernelRegistration> kernels(2);
    kernels[0].op = "BenchmarkNull";
    kernels[1].op = "BenchmarkPass";
    for (KernelRegistration& kernel : kernels) {
      kernel.device_type = "CPU";
      kernel.plugin = "benchmark";
      kernel.compute = &DoNothing;
    }
    CheckOk(KernelRegistry::Global()->Commit(kernels));
    return true;
  }();
  static_cast<void>(registered);
}

// The graph as written, so that every node is dispatched.
SessionOptions AsWritten() {
  SessionOptions options;
  options.optimize = false;
  return options;
}

// A row that promises so many nodes a step must have dispatched them.
void CheckInstructions(benchmark::State& state, const Callable& callable, int64_t expected) {
  state.counters["nodes"] = static_cast<double>(callable.num_instructions());
  if (callable.num_instructions() < expected) state.SkipWithError("nodes were optimized away");
}

void BM_NullKernelInPlan(benchmark::State& state) {
  RegisterNullKernels();
  BenchmarkGraph graph(AsWritten());
  const Node* const last = graph.ControlChain("BenchmarkNull", kChain);
  const std::unique_ptr<Callable> callable = graph.MakeCallable({{}, {}, {last}});
  TimeSteps(state, callable.get(), {});
  CheckInstructions(state, *callable, kChain);
  ReportItems(state, "time/node", kChain);
}
BENCHMARK(BM_NullKernelInPlan);

// The same with a tensor that goes from each kernel to the next.
void BM_NullKernelWithDataInPlan(benchmark::State& state) {
  RegisterNullKernels();
  BenchmarkGraph graph(AsWritten());
  const Output feed = graph.Placeholder({4});
  Output value = feed;
  for (int i = 0; i < kChain; ++i) value = graph.Op("BenchmarkPass", {value});
  const std::unique_ptr<Callable> callable = graph.MakeCallable({{feed}, {}, {value.node}});
  TimeSteps(state, callable.get(), {Numbers(Shape({4}))});
  CheckInstructions(state, *callable, kChain);
  ReportItems(state, "time/node", kChain);
}
BENCHMARK(BM_NullKernelWithDataInPlan);

// Behind a branch, which the dynamic executor alone can take.
void BM_NullKernelInDynamicExecutor(benchmark::State& state) {
  RegisterNullKernels();
  BenchmarkGraph graph(AsWritten());
  const Output pred = graph.Placeholder(PartialShape::Scalar(), DataType::kBool);
  const Output value = graph.Placeholder(PartialShape::Scalar());
  const Node* const branch = graph.Target("Switch", {value, pred});
  const Output taken = graph.Op("Identity", {branch->output(1)});
  const Node* const last = graph.ControlChain("BenchmarkNull", kChain, taken.node);
  const std::unique_ptr<Callable> callable = graph.MakeCallable({{value, pred}, {}, {last}});
  TimeSteps(state, callable.get(), {Tensor::Scalar<float>(1), Tensor::Scalar<bool>(true)});
  CheckInstructions(state, *callable, kChain);
  ReportItems(state, "time/node", kChain);
}
BENCHMARK(BM_NullKernelInDynamicExecutor);

void BM_StepOfNothing(benchmark::State& state) {
  BenchmarkGraph graph;
  TimeTargets(state, &graph, {}, {graph.Target("NoOp", {})}, {});
}
BENCHMARK(BM_StepOfNothing);

void BM_StepOfOneNullKernel(benchmark::State& state) {
  RegisterNullKernels();
  BenchmarkGraph graph;
  TimeTargets(state, &graph, {}, {graph.Target("BenchmarkNull", {})}, {});
}
BENCHMARK(BM_StepOfOneNullKernel);

// Fed and fetched: two scalars in, their product out.
void BM_StepOfOneKernel(benchmark::State& state) {
  BenchmarkGraph graph;
  const Output x = graph.Placeholder(PartialShape::Scalar());
  const Output y = graph.Placeholder(PartialShape::Scalar());
  const std::unique_ptr<Callable> callable =
      graph.MakeCallable({{x, y}, {graph.Op("Mul", {x, y})}, {}});
  TimeSteps(state, callable.get(), {Tensor::Scalar<float>(2), Tensor::Scalar<float>(3)}, 1);
}
BENCHMARK(BM_StepOfOneKernel);

// ---- A new shape --------------------------------------------------------------------------------

// Shapes that one callable is shown before another takes its place: fewer than it keeps plans for.
constexpr int kShapes = 16;

using FeedsOfSize = std::vector<Tensor> (*)(int64_t size);

// Steps of shapes that no step had before. Their kernels' work is the same as in steps of a known
// shape, which the column known_shape has; what is between the two is the plan.
void TimeNewShapes(benchmark::State& state, BenchmarkGraph* graph, const StepSignature& signature,
                   FeedsOfSize feeds_of_size) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  const RunOptions options;
  std::vector<Tensor> fetches(signature.fetches.size());
  std::unique_ptr<Callable> callable;
  // Every callable of one signature is one compiled form: another fetch list makes another.
  StepSignature other = signature;
  Seconds known(0);
  int64_t steps = 0;
  int size = kShapes;
  for (auto _ : state) {
    if (size == kShapes) {
      size = 0;
      other.targets.push_back(graph->Target("NoOp", {}));
      callable = graph->MakeCallable(other);
    }
    const std::vector<Tensor> feeds = feeds_of_size(++size);
    const Clock::time_point start = Clock::now();
    CheckOk(callable->Run(feeds, absl::MakeSpan(fetches), options));
    const Clock::time_point planned = Clock::now();
    CheckOk(callable->Run(feeds, absl::MakeSpan(fetches), options));
    known += Clock::now() - planned;
    ++steps;
    state.SetIterationTime(Seconds(planned - start).count());
  }
  state.counters["known_shape"] = known.count() / static_cast<double>(steps);
}

void BM_NewShapeOfPerceptronTraining(benchmark::State& state) {
  BenchmarkGraph graph;
  TimeNewShapes(state, &graph, graph.PerceptronTraining(), &PerceptronBatch);
}
BENCHMARK(BM_NewShapeOfPerceptronTraining)->UseManualTime();

void BM_NewShapeOfAChainOf100(benchmark::State& state) {
  BenchmarkGraph graph(AsWritten());
  const Output x = graph.Placeholder({kUnknownDim});
  Output y = x;
  for (int i = 0; i < 50; ++i) y = graph.Op("Neg", {graph.Op("Square", {y})});
  TimeNewShapes(state, &graph, {{x}, {y}, {}},
                [](int64_t size) { return std::vector<Tensor>{Numbers(Shape({size}))}; });
}
BENCHMARK(BM_NewShapeOfAChainOf100)->UseManualTime();

}  // namespace
}  // namespace millstream
