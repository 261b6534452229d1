// How near the kernels of the CPU plugin come to what the machine can move and compute. Each row is
// a step of one kernel; the last number of its name is the threads that the kernel may use. Bytes
// are those that the op must read and write at least.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "benchmarks/step.h"

namespace millstream {
namespace {

using benchmark::internal::Benchmark;

constexpr int64_t kFloat = sizeof(float);

SessionOptions Threads(int64_t threads) {
  SessionOptions options;
  options.intra_op_threads = static_cast<int>(threads);
  options.inter_op_threads = 1;
  return options;
}

// One input of a row: fed, so that nothing is computed before the step.
struct Inputs {
  std::vector<Output> feeds;
  std::vector<Tensor> values;

  Output Add(BenchmarkGraph* graph, const Tensor& value) {
    feeds.push_back(graph->Placeholder(value.shape(), value.dtype()));
    values.push_back(value);
    return feeds.back();
  }
  Output AddNumbers(BenchmarkGraph* graph, const Shape& shape) {
    return Add(graph, Numbers(shape));
  }
};

// ---- Elementwise: from the cache, and from memory -----------------------------------------------

void Elementwise(benchmark::State& state, const char* op, int num_inputs) {
  const int64_t size = state.range(0);
  BenchmarkGraph graph(Threads(state.range(1)));
  Inputs inputs;
  for (int i = 0; i < num_inputs; ++i) inputs.AddNumbers(&graph, Shape({size}));
  const Node* const node = graph.Target(op, inputs.feeds);
  TimeTargets(state, &graph, inputs.feeds, {node}, inputs.values);
  ReportBytes(state, static_cast<double>((num_inputs + 1) * size * kFloat));
}

void ElementwiseSizes(Benchmark* row) {
  row->ArgNames({"elements", "threads"})->UseRealTime();
  row->ArgsProduct({{4, 16 << 10, 16 << 20}, {1, 2}});
}

BENCHMARK_CAPTURE(Elementwise, Add, "Add", 2)->Apply(ElementwiseSizes);
BENCHMARK_CAPTURE(Elementwise, Relu, "Relu", 1)->Apply(ElementwiseSizes);
BENCHMARK_CAPTURE(Elementwise, ReluGrad, "ReluGrad", 2)->Apply(ElementwiseSizes);
BENCHMARK_CAPTURE(Elementwise, Exp, "Exp", 1)->Apply(ElementwiseSizes);
BENCHMARK_CAPTURE(Elementwise, Tanh, "Tanh", 1)->Apply(ElementwiseSizes);
BENCHMARK_CAPTURE(Elementwise, Sigmoid, "Sigmoid", 1)->Apply(ElementwiseSizes);

void BiasAdd(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const int64_t channels = state.range(1);
  BenchmarkGraph graph(Threads(state.range(2)));
  Inputs inputs;
  inputs.AddNumbers(&graph, Shape({rows, channels}));
  inputs.AddNumbers(&graph, Shape({channels}));
  TimeTargets(state, &graph, inputs.feeds, {graph.Target("BiasAdd", inputs.feeds)}, inputs.values);
  ReportBytes(state, static_cast<double>(2 * rows * channels * kFloat));
}
BENCHMARK(BiasAdd)
    ->ArgNames({"rows", "channels", "threads"})
    ->UseRealTime()
    ->ArgsProduct({{25088}, {64}, {1, 2}});

void SumOfColumns(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const int64_t channels = state.range(1);
  BenchmarkGraph graph(Threads(state.range(2)));
  Inputs inputs;
  const Output matrix = inputs.AddNumbers(&graph, Shape({rows, channels}));
  const Node* const sum = graph.Target("Sum", {matrix, graph.build.Int32Vector({0})});
  TimeTargets(state, &graph, inputs.feeds, {sum}, inputs.values);
  ReportBytes(state, static_cast<double>(rows * channels * kFloat));
}
BENCHMARK(SumOfColumns)
    ->ArgNames({"rows", "channels", "threads"})
    ->UseRealTime()
    ->ArgsProduct({{25088}, {64}, {1, 2}});

// The gradient of a Relu and, summed over its rows, of the bias before it. `fused`: in one pass.
void ReluAndBiasGradients(benchmark::State& state, bool fused) {
  const Shape shape({state.range(0), state.range(1)});
  SessionOptions options = Threads(state.range(2));
  if (!fused) options.disabled_passes = {"fuse_relu_grad"};
  BenchmarkGraph graph(options);
  Inputs inputs;
  inputs.AddNumbers(&graph, shape);
  inputs.AddNumbers(&graph, shape);
  const Node* const sum = graph.Target("BiasAddGrad", {graph.Op("ReluGrad", inputs.feeds)});
  TimeTargets(state, &graph, inputs.feeds, {sum}, inputs.values);
  ReportBytes(state, static_cast<double>(3 * shape.num_elements() * kFloat));
}

void BatchesOfGradients(Benchmark* row) {
  row->ArgNames({"rows", "channels", "threads"})->UseRealTime();
  for (const int64_t threads : {1, 2}) {
    row->Args({128 * 28 * 28, 32, threads});
    row->Args({128 * 14 * 14, 64, threads});
    row->Args({128, 512, threads});
    row->Args({128, 256, threads});
  }
}
BENCHMARK_CAPTURE(ReluAndBiasGradients, Apart, false)->Apply(BatchesOfGradients);
BENCHMARK_CAPTURE(ReluAndBiasGradients, Together, true)->Apply(BatchesOfGradients);

// ---- Products -----------------------------------------------------------------------------------

void MatMul(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const int64_t inner = state.range(1);
  const int64_t columns = state.range(2);
  BenchmarkGraph graph(Threads(state.range(3)));
  Inputs inputs;
  inputs.AddNumbers(&graph, Shape({rows, inner}));
  inputs.AddNumbers(&graph, Shape({inner, columns}));
  TimeTargets(state, &graph, inputs.feeds, {graph.Target("MatMul", inputs.feeds)}, inputs.values);
  ReportFlops(state, 2.0 * static_cast<double>(rows * inner * columns));
}
BENCHMARK(MatMul)
    ->ArgNames({"m", "k", "n", "threads"})
    ->UseRealTime()
    ->ArgsProduct({{512}, {512}, {512}, {1, 2}})
    ->ArgsProduct({{1024}, {1024}, {1024}, {1, 2}})
    ->ArgsProduct({{1, 32, 128}, {784}, {256}, {1, 2}})  // the first layer of a small classifier
    ->ArgsProduct({{16}, {4096}, {4096}, {1, 2}});       // a wide layer, bound by its weights

// ---- Convolutions of NHWC images, 3 x 3 and 1 x 1 -----------------------------------------------

struct ConvolutionCase {
  Shape image;
  Shape filter;
  Shape output;
  double flops;
};

// Stride 1 and SAME padding: the output is as large as the image.
ConvolutionCase MakeConvolution(const benchmark::State& state) {
  const int64_t batch = state.range(0);
  const int64_t size = state.range(1);
  const int64_t channels = state.range(2);
  const int64_t filters = state.range(3);
  const int64_t window = state.range(4);
  return {Shape({batch, size, size, channels}), Shape({window, window, channels, filters}),
          Shape({batch, size, size, filters}),
          2.0 * static_cast<double>(batch * size * size * channels * filters * window * window)};
}

Output SizesOf(BenchmarkGraph* graph, const Shape& shape) {
  const auto dims = shape.dims();
  return graph->build.Int32Vector(std::vector<int32_t>(dims.begin(), dims.end()));
}

enum class Direction { kForward, kInputGradient, kFilterGradient };

// The convolution `op` of the shapes, or one of its gradients.
const Node* ConvolutionTarget(BenchmarkGraph* graph, Inputs* inputs, const std::string& op,
                              const ConvolutionCase& shapes, Direction direction) {
  const GraphBuilder::Attrs attrs = {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
                                     {"padding", std::string("SAME")}};
  switch (direction) {
    case Direction::kForward: {
      const Output image = inputs->AddNumbers(graph, shapes.image);
      const Output filter = inputs->AddNumbers(graph, shapes.filter);
      return graph->Target(op, {image, filter}, attrs);
    }
    case Direction::kInputGradient: {
      const Output sizes = SizesOf(graph, shapes.image);
      const Output filter = inputs->AddNumbers(graph, shapes.filter);
      const Output gradient = inputs->AddNumbers(graph, shapes.output);
      return graph->Target(op + "BackpropInput", {sizes, filter, gradient}, attrs);
    }
    case Direction::kFilterGradient: break;
  }
  const Output image = inputs->AddNumbers(graph, shapes.image);
  const Output sizes = SizesOf(graph, shapes.filter);
  const Output gradient = inputs->AddNumbers(graph, shapes.output);
  return graph->Target(op + "BackpropFilter", {image, sizes, gradient}, attrs);
}

void Convolution(benchmark::State& state, Direction direction) {
  const ConvolutionCase shapes = MakeConvolution(state);
  BenchmarkGraph graph(Threads(state.range(5)));
  Inputs inputs;
  const Node* const node = ConvolutionTarget(&graph, &inputs, "Conv2D", shapes, direction);
  TimeTargets(state, &graph, inputs.feeds, {node}, inputs.values);
  ReportFlops(state, shapes.flops);
}

void ConvolutionSizes(Benchmark* row) {
  row->ArgNames({"batch", "size", "channels", "filters", "window", "threads"})->UseRealTime();
  for (const int64_t threads : {1, 2}) {
    row->Args({8, 56, 64, 64, 3, threads});
    row->Args({8, 56, 256, 64, 1, threads});
    row->Args({1, 56, 128, 128, 1, threads});
    row->Args({1, 14, 512, 512, 1, threads});
    row->Args({1, 7, 1024, 1024, 1, threads});
    row->Args({16, 13, 256, 384, 3, threads});
  }
}

BENCHMARK_CAPTURE(Convolution, Forward, Direction::kForward)->Apply(ConvolutionSizes);
BENCHMARK_CAPTURE(Convolution, InputGradient, Direction::kInputGradient)->Apply(ConvolutionSizes);
BENCHMARK_CAPTURE(Convolution, FilterGradient, Direction::kFilterGradient)->Apply(ConvolutionSizes);

// ---- Depthwise convolutions of NHWC images, one filter a channel --------------------------------

void Depthwise(benchmark::State& state, Direction direction) {
  const int64_t size = state.range(1);
  const int64_t window = state.range(3);
  const Shape image({state.range(0), size, size, state.range(2)});
  const ConvolutionCase shapes = {image, Shape({window, window, state.range(2), 1}), image, 0};
  BenchmarkGraph graph(Threads(state.range(4)));
  Inputs inputs;
  const Node* const node =
      ConvolutionTarget(&graph, &inputs, "DepthwiseConv2dNative", shapes, direction);
  TimeTargets(state, &graph, inputs.feeds, {node}, inputs.values);
  ReportBytes(state, 2 * static_cast<double>(image.num_elements() * kFloat));
}

void DepthwiseSizes(Benchmark* row) {
  row->ArgNames({"batch", "size", "channels", "window", "threads"})->UseRealTime();
  for (const int64_t threads : {1, 2}) {
    row->Args({8, 56, 64, 3, threads});
    row->Args({8, 14, 256, 5, threads});
  }
}

BENCHMARK_CAPTURE(Depthwise, Forward, Direction::kForward)->Apply(DepthwiseSizes);
BENCHMARK_CAPTURE(Depthwise, InputGradient, Direction::kInputGradient)->Apply(DepthwiseSizes);
BENCHMARK_CAPTURE(Depthwise, FilterGradient, Direction::kFilterGradient)->Apply(DepthwiseSizes);

// ---- Pooling: windows of a side, half as many as pixels each way --------------------------------

const Node* PoolTarget(BenchmarkGraph* graph, const char* op, const Inputs& inputs, int64_t side) {
  return graph->Target(op, inputs.feeds,
                       {{"ksize", std::vector<int64_t>{1, side, side, 1}},
                        {"strides", std::vector<int64_t>{1, 2, 2, 1}},
                        {"padding", std::string("SAME")}});
}

void Pool(benchmark::State& state, const char* op) {
  const Shape image({state.range(0), state.range(1), state.range(1), state.range(2)});
  BenchmarkGraph graph(Threads(state.range(4)));
  Inputs inputs;
  inputs.AddNumbers(&graph, image);
  const Node* const node = PoolTarget(&graph, op, inputs, state.range(3));
  TimeTargets(state, &graph, inputs.feeds, {node}, inputs.values);
  ReportBytes(state, 1.25 * static_cast<double>(image.num_elements() * kFloat));
}

void MaxPoolGrad(benchmark::State& state) {
  const int64_t size = state.range(1);
  const Shape image({state.range(0), size, size, state.range(2)});
  const Shape pooled({state.range(0), size / 2, size / 2, state.range(2)});
  BenchmarkGraph graph(Threads(state.range(4)));
  Inputs inputs;
  inputs.AddNumbers(&graph, image);
  inputs.AddNumbers(&graph, pooled);
  inputs.AddNumbers(&graph, pooled);
  const Node* const node = PoolTarget(&graph, "MaxPoolGrad", inputs, state.range(3));
  TimeTargets(state, &graph, inputs.feeds, {node}, inputs.values);
  ReportBytes(state, 2.25 * static_cast<double>(image.num_elements() * kFloat));
}

void PoolSizes(Benchmark* row) {
  row->ArgNames({"batch", "size", "channels", "side", "threads"})->UseRealTime();
  for (const int64_t threads : {1, 2}) {
    row->Args({128, 28, 32, 2, threads});
    row->Args({128, 14, 64, 2, threads});
    row->Args({8, 112, 64, 3, threads});
    row->Args({8, 28, 480, 3, threads});
  }
}
BENCHMARK_CAPTURE(Pool, MaxPool, "MaxPool")->Apply(PoolSizes);
BENCHMARK_CAPTURE(Pool, AvgPool, "AvgPool")->Apply(PoolSizes);
BENCHMARK(MaxPoolGrad)->Apply(PoolSizes);

// ---- Losses -------------------------------------------------------------------------------------

// Loss and gradient, both used.
void SparseSoftmaxCrossEntropy(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const int64_t classes = state.range(1);
  BenchmarkGraph graph(Threads(state.range(2)));
  Inputs inputs;
  inputs.AddNumbers(&graph, Shape({rows, classes}));
  std::vector<int32_t> labels(rows);
  for (int64_t i = 0; i < rows; ++i) labels[i] = static_cast<int32_t>(i * 7919 % classes);
  inputs.Add(&graph, Tensor::Vector<int32_t>(labels));
  const Node* const node = graph.Target("SparseSoftmaxCrossEntropyWithLogits", inputs.feeds);
  TimeTargets(state, &graph, inputs.feeds, {node}, inputs.values);
  ReportBytes(state, static_cast<double>(2 * rows * classes * kFloat));
}
BENCHMARK(SparseSoftmaxCrossEntropy)
    ->ArgNames({"rows", "classes", "threads"})
    ->UseRealTime()
    ->ArgsProduct({{128}, {10, 1000, 40000}, {1, 2}});

// ---- Optimizers: 100 parameters, in one kernel --------------------------------------------------

constexpr int kParameters = 100;

enum class Optimizer { kGradientDescent, kMomentum, kAdagrad, kAdam };

const Node* AddUpdate(BenchmarkGraph* graph, Optimizer optimizer, const Shape& shape,
                      const Output& gradient) {
  const Tensor ones = Tensor::FromValues<float>(shape, std::vector<float>(shape.num_elements(), 1));
  const auto number = [&](float value) { return graph->build.Const(Tensor::Scalar(value)); };
  const Output parameter = graph->Variable(Numbers(shape));
  const Output rate = number(1e-3f);
  switch (optimizer) {
    case Optimizer::kGradientDescent:
      return graph->Target("ResourceApplyGradientDescent", {parameter, rate, gradient});
    case Optimizer::kMomentum:
      return graph->Target("ResourceApplyMomentum",
                           {parameter, graph->Variable(ones), rate, gradient, number(0.9f)});
    case Optimizer::kAdagrad:
      return graph->Target("ResourceApplyAdagrad",
                           {parameter, graph->Variable(ones), rate, gradient});
    case Optimizer::kAdam:
      return graph->Target(
          "ResourceApplyAdam",
          {parameter, graph->Variable(ones), graph->Variable(ones), number(0.9f), number(0.999f),
           rate, number(0.9f), number(0.999f), number(1e-8f), gradient});
  }
  return nullptr;
}

// `passes`: how often a parameter's floats cross memory, its state and gradient counted.
void Update(benchmark::State& state, Optimizer optimizer, int passes) {
  const Shape shape({state.range(0)});
  BenchmarkGraph graph(Threads(state.range(1)));
  Inputs inputs;
  std::vector<const Node*> updates;
  for (int i = 0; i < kParameters; ++i) {
    const Output gradient = inputs.AddNumbers(&graph, shape);
    updates.push_back(AddUpdate(&graph, optimizer, shape, gradient));
  }
  TimeTargets(state, &graph, inputs.feeds, updates, inputs.values);
  const double floats = static_cast<double>(kParameters * shape.num_elements());
  ReportBytes(state, passes * floats * kFloat);
  ReportItems(state, "time/parameter", floats);
}
void UpdateArgs(benchmark::internal::Benchmark* update) {
  update->ArgNames({"floats", "threads"})->UseRealTime()->ArgsProduct({{16, 1 << 16}, {1, 2}});
}
BENCHMARK_CAPTURE(Update, GradientDescent, Optimizer::kGradientDescent, 3)->Apply(UpdateArgs);
BENCHMARK_CAPTURE(Update, Momentum, Optimizer::kMomentum, 5)->Apply(UpdateArgs);
BENCHMARK_CAPTURE(Update, Adagrad, Optimizer::kAdagrad, 5)->Apply(UpdateArgs);
BENCHMARK_CAPTURE(Update, Adam, Optimizer::kAdam, 7)->Apply(UpdateArgs);

}  // namespace
}  // namespace millstream
