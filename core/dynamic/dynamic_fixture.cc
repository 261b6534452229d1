#include "core/dynamic/dynamic_fixture.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>
#include <utility>

#include "core/dynamic/dynamic_run.h"
#include "core/graph/prune.h"
#include "core/graph/structural_role.h"
#include "core/host/host_ctx.h"
#include "core/step/step_scheduler.h"
#include "core/structural/structural.h"
#include "framework/op_registry.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/shape_context.h"
#include "framework/testing/hang_guard.h"

namespace millstream {
namespace {

constexpr char kDevice[] = "/job:localhost/replica:0/task:0/device:CPU:0";

std::atomic<int> on_their_way{0};
std::atomic<int> most_on_their_way{0};
std::atomic<int> awaited_on_their_way{0};

// Gives input 0 back as output 0.
Status CopyThrough(MS_Frame* frame) {
  StatusOr<Tensor> tensor = frame->ctx->host->InputTensor(*frame->ctx, 0);
  if (!tensor.ok()) return tensor.status();
  frame->ctx->host->SetOutput(frame, 0, *std::move(tensor));
  return absl::OkStatus();
}

float FirstOf(const MS_Frame* frame) {
  return *static_cast<const float*>(frame->inputs[0].mem.base);
}

// A negative number is refused.
Status CheckedCopy(MS_Frame* frame) {
  if (FirstOf(frame) < 0) return errors::OutOfRange("the number is negative");
  return CopyThrough(frame);
}

void ComputeAsync(void*, MS_Frame* frame, MS_Done* done) {
  std::thread([frame, done] {
    const Status status = CheckedCopy(frame);
    CtxApi()->done(done, status.ok() ? nullptr : ToAbiStatus(status));
  }).detach();
}

MS_Status* ComputeBlocking(void*, MS_Frame* frame) {
  const Status status = CheckedCopy(frame);
  return status.ok() ? nullptr : ToAbiStatus(status);
}

void ComputeHighWater(void*, MS_Frame* frame, MS_Done* done) {
  const int now = ++on_their_way;
  int most = most_on_their_way.load();
  while (most < now && !most_on_their_way.compare_exchange_weak(most, now)) {
  }
  std::thread([frame, done] {
    if (!Eventually([] { return most_on_their_way >= awaited_on_their_way; })) {
      awaited_on_their_way = 0;  // the test fails by what it counts
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // one too many may come meanwhile
    const Status status = CopyThrough(frame);
    --on_their_way;
    CtxApi()->done(done, status.ok() ? nullptr : ToAbiStatus(status));
  }).detach();
}

KernelRegistration Kernel(const char* op) {
  KernelRegistration kernel;
  kernel.op = op;
  kernel.device_type = kAnyDevice;
  kernel.plugin = "test";
  return kernel;
}

Status RegisterTestKernels() {
  std::vector<KernelRegistration> kernels;
  kernels.push_back(Kernel("TestAsync"));
  kernels.back().compute_async = &ComputeAsync;
  kernels.back().flags = MS_KERNEL_ASYNC;
  kernels.push_back(Kernel("TestBlocking"));
  kernels.back().compute = &ComputeBlocking;
  kernels.back().flags = MS_KERNEL_BLOCKING;
  kernels.push_back(Kernel("TestHighWater"));
  kernels.back().compute_async = &ComputeHighWater;
  kernels.back().flags = MS_KERNEL_ASYNC;
  return KernelRegistry::Global()->Commit(std::move(kernels));
}

#define TEST_COPY_OP(name)   \
  MILLSTREAM_OP(name)        \
      .Input("x: float")     \
      .Output("y: float")    \
      .Stateful()            \
      .Shape(UnchangedShape) \
      .Doc("Gives its input back.")
TEST_COPY_OP("TestAsync");
TEST_COPY_OP("TestBlocking");
TEST_COPY_OP("TestHighWater");
MILLSTREAM_OP("TestSend").Input("x: float").Attr("_edge: int").Shape(NoOutputs).Doc("Sends.");
MILLSTREAM_OP("TestReceive")
    .Output("y: float")
    .Attr("_edge: int")
    .Shape(ScalarShape)
    .Doc("Receives.");
MILLSTREAM_STRUCTURAL("TestSend", StructuralRole::kSend, nullptr);
MILLSTREAM_STRUCTURAL("TestReceive", StructuralRole::kReceive, nullptr);

}  // namespace

void HighWater::Await(int count) {
  most_on_their_way = 0;
  awaited_on_their_way = count;
}
int HighWater::Most() { return most_on_their_way; }

DynamicTest::DynamicTest() : kernels("CPU", kDevice, &kNoDevice) {
  static std::once_flag once;
  std::call_once(once, [] {
    EXPECT_EQ(LoadCpuPlugin(), absl::OkStatus());
    EXPECT_EQ(RegisterStructuralKernels(), absl::OkStatus());
    EXPECT_EQ(RegisterTestKernels(), absl::OkStatus());
  });
}

Output DynamicTest::Enter(const Output& data, const std::string& frame, bool is_constant,
                          int64_t parallel_iterations) {
  return Op("Enter", {data},
            {{"frame_name", frame},
             {"is_constant", is_constant},
             {"parallel_iterations", parallel_iterations}});
}

Output DynamicTest::ConstantAfter(float value, const Node* after) {
  build.set_control_inputs({after});
  const Output constant = Constant(value);
  build.set_control_inputs({});
  return constant;
}

DynamicTest::Loop DynamicTest::While(
    const std::vector<Output>& initial,
    const std::function<Output(const std::vector<Output>&)>& condition,
    const std::function<std::vector<Output>(const std::vector<Output>&)>& body,
    const LoopOptions& loop_options) {
  Loop loop;
  std::vector<const Node*> merges;
  for (const Output& value : initial) {
    const Output entered = Enter(value, loop_options.name, false, loop_options.parallel_iterations);
    merges.push_back(Merge({entered, entered}));
    loop.variables.push_back(merges.back()->output(0));
  }
  loop.pred = Op("LoopCond", {condition(loop.variables)});
  std::vector<Output> goes_on;
  for (const Node* merge : merges) {
    const Node* decision = build.NodeOf("Switch", {merge->output(0), loop.pred});
    loop.exits.push_back(Op("Exit", {decision->output(0)}));
    goes_on.push_back(Op("Identity", {decision->output(1)}));
  }
  const std::vector<Output> results = body(goes_on);
  for (size_t i = 0; i < merges.size(); ++i) {
    const Output next = Op("NextIteration", {results[i]});
    EXPECT_EQ(graph.SetBackEdge(merges[i], 1, next.node), absl::OkStatus());
  }
  return loop;
}

StatusOr<std::unique_ptr<DynamicProgram>> DynamicTest::Compile(const StepSignature& signature) {
  MS_RETURN_IF_ERROR(build.status());
  MS_ASSIGN_OR_RETURN(const PrunedGraph pruned, Prune(graph, signature));
  DynamicRequest request;
  request.graph = &pruned;
  request.signature = &signature;
  request.kernels = &kernels;
  settings.resources = &resources;
  request.settings = &settings;
  return DynamicProgram::Compile(request);
}

StatusOr<std::vector<Tensor>> DynamicTest::RunProgram(DynamicProgram* program, size_t num_fetches,
                                                      const std::vector<Tensor>& feeds) {
  StepContext step(options, settings);
  StepScheduler scheduler(&step, threads);
  step.scheduler = &scheduler;
  step.rendezvous = rendezvous;
  DynamicRun run(program, kDevice);
  MS_RETURN_IF_ERROR(run.Begin(&step, feeds));
  MS_RETURN_IF_ERROR(scheduler.Drive({&run}));
  std::vector<Tensor> fetches(num_fetches);
  MS_RETURN_IF_ERROR(run.Fetch(absl::MakeSpan(fetches)));
  return fetches;
}

StatusOr<std::vector<Tensor>> DynamicTest::Dynamic(const std::vector<Output>& fetches,
                                                   const std::vector<Feed>& feeds,
                                                   const std::vector<const Node*>& targets) {
  StepSignature signature;
  std::vector<Tensor> values;
  for (const Feed& feed : feeds) {
    signature.feeds.push_back(feed.tensor);
    values.push_back(feed.value);
  }
  signature.fetches = fetches;
  signature.targets = targets;
  MS_ASSIGN_OR_RETURN(std::unique_ptr<DynamicProgram> program, Compile(signature));
  return RunProgram(program.get(), fetches.size(), values);
}

float DynamicTest::Scalar(const Output& fetch, const std::vector<Feed>& feeds) {
  StatusOr<std::vector<Tensor>> results = Dynamic({fetch}, feeds);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? *(*results)[0].data<float>() : NAN;
}

}  // namespace millstream
