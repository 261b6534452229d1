// The fixture of the runtime's tests: a session with the CPU plugin, and short functions to build
// graphs.
#ifndef MILLSTREAM_CORE_TESTING_SESSION_FIXTURE_H_
#define MILLSTREAM_CORE_TESTING_SESSION_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/session/session.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {

struct Feed {
  Output tensor;
  Tensor value;
};

// A tensor from a list: Values<float>({1, 2}).
template <typename T>
Tensor Values(const std::vector<T>& values) {
  return Tensor::Vector<T>(values);
}

// The elements as a vector, to compare with.
template <typename T>
std::vector<T> Elements(const Tensor& tensor) {
  EXPECT_EQ(tensor.dtype(), DataTypeOf<T>()) << tensor.DebugString();
  if (tensor.dtype() != DataTypeOf<T>()) return {};
  return std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.num_elements());
}

// A place in a step where it stops until the test lets it go: the op TestPause.
class PausePoint {
 public:
  // Steps stop from now on.
  static void Close();
  // Waits until a step has stopped there. The test fails if none does.
  static void AwaitStep();
  static void Open();
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : build(&graph, "") {}

  // ---- Building; errors fail the test ----
  Output Placeholder(const std::string& name, DataType dtype,
                     const PartialShape& shape = PartialShape());
  Output Constant(const Tensor& value) { return Checked(build.Const(value)); }
  Output Constant(float value) { return Constant(Tensor::Scalar<float>(value)); }
  // The handle of a variable.
  Output Variable(const std::string& name, DataType dtype, const PartialShape& shape);
  Output Read(const Output& handle, const std::vector<const Node*>& after = {});
  const Node* Assign(const Output& handle, const Output& value,
                     const std::vector<const Node*>& after = {});
  // Runs after all of `nodes`.
  const Node* Group(const std::vector<const Node*>& nodes);
  Output Op(absl::string_view op, const std::vector<Output>& inputs,
            GraphBuilder::Attrs attrs = {}) {
    return Checked(build.Op(op, inputs, attrs));
  }
  // A node as the caller wants it; the error is the caller's to look at.
  StatusOr<const Node*> TryNode(const std::string& name, const std::string& op,
                                const std::vector<Output>& inputs, GraphBuilder::Attrs attrs = {});

  // ---- Running ----
  // Called by the first run when the test did not. Ends the process when there is no device.
  // A time limit of kHangGuardMillis guards against steps that hang: failures say so.
  void StartSession(const SessionOptions& options = SessionOptions());
  StatusOr<std::vector<Tensor>> Run(const std::vector<Output>& fetches,
                                    const std::vector<Feed>& feeds = {},
                                    const std::vector<const Node*>& targets = {},
                                    const RunOptions& options = RunOptions());
  // The value of one tensor; no value, and a failed test, after an error.
  Tensor Value(const Output& fetch, const std::vector<Feed>& feeds = {});
  Status Execute(const std::vector<const Node*>& targets, const std::vector<Feed>& feeds = {}) {
    return Run({}, feeds, targets).status();
  }
  // The error of a run that must fail.
  Status Error(const Output& fetch, const std::vector<Feed>& feeds = {});
  std::unique_ptr<Callable> MakeCallable(const StepSignature& signature);

  Graph graph;
  GraphBuilder build;
  std::unique_ptr<Session> session;

 private:
  Output Checked(const Output& output) const;
  std::optional<::testing::ScopedTrace> hang_guard_;
};

// Expects a code and that every one of the texts occurs in the message.
void ExpectError(const Status& status, absl::StatusCode code,
                 const std::vector<std::string>& texts);

// Makes the CPU plugin known to the loader. Sessions of SessionTest call it.
Status LoadCpuPlugin();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_TESTING_SESSION_FIXTURE_H_
