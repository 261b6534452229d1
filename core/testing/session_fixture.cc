#include "core/testing/session_fixture.h"

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/graph/structural_role.h"
#include "core/host/host_ctx.h"
#include "core/structural/structural.h"
#include "framework/op_registry.h"
#include "framework/plugin/loader.h"
#include "framework/shape_context.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"

namespace millstream {
namespace {

struct Pause {
  absl::Mutex mutex;
  bool closed ABSL_GUARDED_BY(mutex) = false;
  int waiting ABSL_GUARDED_BY(mutex) = 0;
};

Pause* ThePause() {
  static auto* const pause = new Pause();
  return pause;
}

// Lets the step go when the point is open.
Status RunPause(StructuralFrame*) {
  Pause* const pause = ThePause();
  absl::MutexLock lock(&pause->mutex);
  ++pause->waiting;
  pause->mutex.Await(absl::Condition(
      +[](Pause* p) ABSL_EXCLUSIVE_LOCKS_REQUIRED(p->mutex) { return !p->closed; }, pause));
  --pause->waiting;
  return absl::OkStatus();
}

// A kernel that does not keep its word: it sets no output.
Status SetNothing(StructuralFrame*) { return absl::OkStatus(); }

// A kernel that dies.
Status Crash(StructuralFrame*) {
  std::raise(SIGSEGV);
  return absl::OkStatus();
}

Status UnknownVector(ShapeContext* context) {
  context->SetOutput(0, PartialShape({kUnknownDim}));
  return absl::OkStatus();
}

MILLSTREAM_OP("TestPause").Stateful().Shape(NoOutputs).Doc("Stops at the test's PausePoint.");
MILLSTREAM_OP("TestSetsNothing")
    .Output("output: float")
    .Stateful()
    .Shape(UnknownVector)
    .Doc("A kernel that forgets its output.");

MILLSTREAM_OP("TestCrash").Stateful().Shape(NoOutputs).Doc("Ends the process by a SIGSEGV.");

MILLSTREAM_STRUCTURAL("TestCrash", StructuralRole::kKernel, Crash);
MILLSTREAM_STRUCTURAL("TestPause", StructuralRole::kKernel, RunPause);
MILLSTREAM_STRUCTURAL("TestSetsNothing", StructuralRole::kKernel, SetNothing);

}  // namespace

void PausePoint::Close() {
  absl::MutexLock lock(&ThePause()->mutex);
  ThePause()->closed = true;
}

void PausePoint::AwaitStep() {
  Pause* const pause = ThePause();
  absl::MutexLock lock(&pause->mutex);
  const bool came = pause->mutex.AwaitWithTimeout(
      absl::Condition(
          +[](Pause* p) ABSL_EXCLUSIVE_LOCKS_REQUIRED(p->mutex) { return p->waiting > 0; }, pause),
      kHangGuard);
  EXPECT_TRUE(came || HangGuardFailure());
}

void PausePoint::Open() {
  absl::MutexLock lock(&ThePause()->mutex);
  ThePause()->closed = false;
}

Status LoadCpuPlugin() {
  MS_RETURN_IF_ERROR(RegisterRuntimeInterfaces());
  const char* const root = std::getenv("TEST_SRCDIR");
  const char* const workspace = std::getenv("TEST_WORKSPACE");
  // Outside of the build's test runner the loader looks where the user says.
  if (root == nullptr || workspace == nullptr) return PluginLoader::Global()->LoadInstalled();
  return PluginLoader::Global()
      ->Load(absl::StrCat(root, "/", workspace, "/device_plugins/cpu/libmillstream_cpu.so"))
      .status();
}

Output SessionTest::Checked(const Output& output) const {
  EXPECT_TRUE(build.ok()) << build.status();
  return output;
}

StatusOr<const Node*> SessionTest::TryNode(const std::string& name, const std::string& op,
                                           const std::vector<Output>& inputs,
                                           GraphBuilder::Attrs attrs) {
  NodeSpec spec;
  spec.name = name;
  spec.op = op;
  spec.inputs = inputs;
  spec.input_counts.assign(inputs.size(), 1);
  for (const auto& [key, value] : attrs) SetAttr(&spec.attrs, key, value);
  return graph.AddNode(std::move(spec));
}

Output SessionTest::Placeholder(const std::string& name, DataType dtype,
                                const PartialShape& shape) {
  StatusOr<const Node*> node =
      TryNode(name, "Placeholder", {}, {{"dtype", dtype}, {"shape", shape}});
  EXPECT_TRUE(node.ok()) << node.status();
  return node.ok() ? (*node)->output(0) : Output();
}

Output SessionTest::Variable(const std::string& name, DataType dtype, const PartialShape& shape) {
  StatusOr<const Node*> node =
      TryNode(name, "VarHandleOp", {}, {{"dtype", dtype}, {"shape", shape}});
  EXPECT_TRUE(node.ok()) << node.status();
  return node.ok() ? (*node)->output(0) : Output();
}

Output SessionTest::Read(const Output& handle, const std::vector<const Node*>& after) {
  const OutputFacts facts = graph.Facts(handle);
  EXPECT_TRUE(facts.handle.has_value()) << handle.name() << " is no handle";
  build.set_control_inputs(after);
  const Output value = Op("ReadVariableOp", {handle}, {{"dtype", facts.handle->dtype}});
  build.set_control_inputs({});
  return value;
}

const Node* SessionTest::Assign(const Output& handle, const Output& value,
                                const std::vector<const Node*>& after) {
  build.set_control_inputs(after);
  const Node* node = build.NodeOf("AssignVariableOp", {handle, value});
  build.set_control_inputs({});
  EXPECT_TRUE(build.ok()) << build.status();
  return node;
}

const Node* SessionTest::Group(const std::vector<const Node*>& nodes) {
  build.set_control_inputs(nodes);
  const Node* node = build.NodeOf("NoOp", {});
  build.set_control_inputs({});
  EXPECT_TRUE(build.ok()) << build.status();
  return node;
}

void SessionTest::StartSession(const SessionOptions& options) {
  hang_guard_.reset();
  if (options.operation_timeout_ms == kHangGuardMillis) {
    hang_guard_.emplace(__FILE__, __LINE__, "the steps' time limit is a guard against hanging");
  }
  const Status loaded = LoadCpuPlugin();
  StatusOr<std::unique_ptr<Session>> created = Session::Create(&graph, options);
  if (loaded.ok() && created.ok()) {
    session = *std::move(created);
    return;
  }
  // What follows would only repeat this.
  std::cerr << "no session: " << loaded << ", " << created.status() << "\n";
  std::abort();
}

StatusOr<std::vector<Tensor>> SessionTest::Run(const std::vector<Output>& fetches,
                                               const std::vector<Feed>& feeds,
                                               const std::vector<const Node*>& targets,
                                               const RunOptions& options) {
  if (session == nullptr) StartSession();
  StepSignature signature;
  std::vector<Tensor> values;
  for (const Feed& feed : feeds) {
    signature.feeds.push_back(feed.tensor);
    values.push_back(feed.value);
  }
  signature.fetches = fetches;
  signature.targets = targets;
  std::vector<Tensor> results(fetches.size());
  MS_RETURN_IF_ERROR(session->Run(signature, values, absl::MakeSpan(results), options));
  return results;
}

Tensor SessionTest::Value(const Output& fetch, const std::vector<Feed>& feeds) {
  StatusOr<std::vector<Tensor>> results = Run({fetch}, feeds);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? (*results)[0] : Tensor();
}

Status SessionTest::Error(const Output& fetch, const std::vector<Feed>& feeds) {
  const Status status = Run({fetch}, feeds).status();
  EXPECT_FALSE(status.ok()) << "the run went well";
  return status;
}

std::unique_ptr<Callable> SessionTest::MakeCallable(const StepSignature& signature) {
  if (session == nullptr) StartSession();
  StatusOr<std::unique_ptr<Callable>> callable = session->MakeCallable(signature);
  EXPECT_TRUE(callable.ok()) << callable.status();
  return callable.ok() ? *std::move(callable) : nullptr;
}

void ExpectError(const Status& status, absl::StatusCode code,
                 const std::vector<std::string>& texts) {
  EXPECT_EQ(status.code(), code) << status;
  for (const std::string& text : texts) {
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(text));
  }
}

}  // namespace millstream
