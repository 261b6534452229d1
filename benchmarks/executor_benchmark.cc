// What the runtime itself costs: a node, a step, a plan for a new shape. Kernels of a plugin that
// do nothing stand for the work.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/step.h"
#include "device_plugins/sim/control.h"
#include "framework/op_registry.h"
#include "framework/plugin/host_status.h"
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

// ---- Work that a device records and replays -----------------------------------------------------

// These rows are the last, because sessions prefer the simulated device once it is loaded.

constexpr int kEnqueued = 100;

// How often the simulated devices have replayed recorded work.
uint64_t Replays() {
  const MS_Plugin* const sim = LoadSim().abi;
  const auto* const control =
      reinterpret_cast<const SIM_ControlApi*>(sim->get_interface(sim, SIM_CONTROL_API));
  SIM_Uses uses = {};
  CheckOk(TakeAbiStatus(control->count_uses(0, &uses)));
  return uses.replays;
}

// A step that enqueues `kEnqueued` kernels of four floats each on a simulated device.
class SimulatedStep {
 public:
  explicit SimulatedStep(bool capture) : graph_(Options(capture)) {
    LoadSim();
    Output value = graph_.Placeholder({4});
    signature_.feeds = {value};
    for (int i = 0; i < kEnqueued; ++i) {
      value = graph_.Op("Neg", {value});
      CheckOk(graph_.graph.SetDevice(value.node, "/device:SIM:0"));
    }
    signature_.fetches = {value};
  }
  // Compiled anew, with a state in which nothing is recorded.
  std::unique_ptr<Callable> MakeCallable() {
    signature_.targets.push_back(graph_.Target("NoOp", {}));
    return graph_.MakeCallable(signature_);
  }

 private:
  static SessionOptions Options(bool capture) {
    SessionOptions options = AsWritten();
    if (!capture) options.disabled_passes = {"capture"};
    return options;
  }

  BenchmarkGraph graph_;
  StepSignature signature_;
};

// The column CPU is the time of the thread that enqueues.
void TimeSimulatedSteps(benchmark::State& state, bool capture) {
  SimulatedStep step(capture);
  const std::unique_ptr<Callable> callable = step.MakeCallable();
  TimeSteps(state, callable.get(), {Numbers(Shape({4}))}, 1);
  if ((Replays() != 0) != capture) state.SkipWithError("another kind of step ran");
  ReportItems(state, "time/kernel", kEnqueued);
}

void BM_StepOf100EnqueuedKernels(benchmark::State& state) {
  TimeSimulatedSteps(state, /*capture=*/false);
}
BENCHMARK(BM_StepOf100EnqueuedKernels);

void BM_StepOf100ReplayedKernels(benchmark::State& state) {
  TimeSimulatedSteps(state, /*capture=*/true);
}
BENCHMARK(BM_StepOf100ReplayedKernels);

// The second step of a state: the kernels are called, what they enqueue is recorded, and replayed.
void BM_StepThatRecords100Kernels(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  SimulatedStep step(/*capture=*/true);
  const RunOptions options;
  const std::vector<Tensor> feeds = {Numbers(Shape({4}))};
  std::vector<Tensor> fetches(1);
  for (auto _ : state) {
    const std::unique_ptr<Callable> callable = step.MakeCallable();
    CheckOk(callable->Run(feeds, absl::MakeSpan(fetches), options));
    const Clock::time_point start = Clock::now();
    CheckOk(callable->Run(feeds, absl::MakeSpan(fetches), options));
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
  }
  if (Replays() == 0) state.SkipWithError("nothing was recorded");
  ReportItems(state, "time/kernel", kEnqueued);
}
BENCHMARK(BM_StepThatRecords100Kernels)->UseManualTime();

}  // namespace
}  // namespace millstream
