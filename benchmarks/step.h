// What the benchmarks in C++ share: a graph with a session on the CPU plugin, built and run with
// few words.
#ifndef MILLSTREAM_BENCHMARKS_STEP_H_
#define MILLSTREAM_BENCHMARKS_STEP_H_

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/session/session.h"
#include "framework/plugin/loader.h"

namespace millstream {

// Ends the process after an error: what would be timed then is not what the row says.
void CheckOk(const Status& status);

// The plugin of simulated devices. Once it is loaded, sessions prefer its devices to the CPU.
const LoadedPlugin& LoadSim();

// A float tensor of numbers that look random, between -1 and 1, the same in every run.
Tensor Numbers(const Shape& shape);

// A graph, and a session over it once the first callable is made. Errors end the process.
class BenchmarkGraph {
 public:
  explicit BenchmarkGraph(SessionOptions options = SessionOptions());
  BenchmarkGraph(const BenchmarkGraph&) = delete;
  BenchmarkGraph& operator=(const BenchmarkGraph&) = delete;

  // ---- Building ----
  Output Placeholder(const PartialShape& shape, DataType dtype = DataType::kFloat);
  // The handle of a float variable, which the first callable sets to `value`.
  Output Variable(const Tensor& value);
  Output Read(const Output& handle);
  // Output 0 of a new node, and the node itself.
  Output Op(absl::string_view op, const std::vector<Output>& inputs,
            GraphBuilder::Attrs attrs = {});
  const Node* Target(absl::string_view op, const std::vector<Output>& inputs,
                     GraphBuilder::Attrs attrs = {});
  // A chain of `length` nodes of an op without inputs, each after the one before it; the first
  // after `first` unless that is null. The last one.
  const Node* ControlChain(absl::string_view op, int length, const Node* first = nullptr);
  // A training step of the classifier 784-256-128-10 by gradient descent; the batch may have any
  // size. Feeds: images, labels. Fetch: the loss.
  StepSignature PerceptronTraining();

  // ---- Running ----
  // The step, compiled; the variables have their values.
  std::unique_ptr<Callable> MakeCallable(const StepSignature& signature);

  Graph graph;
  GraphBuilder build;

 private:
  const SessionOptions options_;
  std::unique_ptr<Session> session_;
  std::vector<Output> handles_;
  std::vector<const Node*> initializers_;
};

// A batch for PerceptronTraining.
std::vector<Tensor> PerceptronBatch(int64_t size);

// Times steps of the callable, after a few to warm up.
void TimeSteps(benchmark::State& state, Callable* callable, const std::vector<Tensor>& feeds,
               size_t num_fetches = 0);

// Times one step that runs `targets` on these feeds.
void TimeTargets(benchmark::State& state, BenchmarkGraph* graph, const std::vector<Output>& feeds,
                 const std::vector<const Node*>& targets, const std::vector<Tensor>& values);

// Adds a column: what one step moved ("bytes/s"), what it computed ("flop/s"), and the time for
// each of the `items` that it went through (`name`, in seconds).
void ReportBytes(benchmark::State& state, double bytes);
void ReportFlops(benchmark::State& state, double operations);
void ReportItems(benchmark::State& state, const char* name, double items);

}  // namespace millstream

#endif  // MILLSTREAM_BENCHMARKS_STEP_H_
