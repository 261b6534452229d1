// The fixture of the dynamic executor's tests: steps that only it runs, and functions to build
// branches and loops with.
#ifndef MILLSTREAM_CORE_DYNAMIC_DYNAMIC_FIXTURE_H_
#define MILLSTREAM_CORE_DYNAMIC_DYNAMIC_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "core/device/kernel_instance.h"
#include "core/dynamic/program.h"
#include "core/partition/rendezvous.h"
#include "core/resources/resource_manager.h"
#include "core/session/session.h"
#include "core/testing/session_fixture.h"

namespace millstream {

// The test kernels give their float input back: TestAsync from a thread of its own, TestBlocking on
// a thread that it may block (both refuse negative numbers), TestHighWater from a thread of its own
// once as many of its executions as awaited were on their way at a time.
class HighWater {
 public:
  // Counts anew, and lets executions end once so many are on their way.
  static void Await(int count);
  // The most that were on their way at a time.
  static int Most();
};

class DynamicTest : public SessionTest {
 protected:
  DynamicTest();

  struct Loop {
    std::vector<Output> variables;  // inside of the loop, as its iteration sees them
    std::vector<Output> exits;
    Output pred;  // of the LoopCond; control edges from it place nodes in the loop
  };
  struct LoopOptions {
    std::string name = "loop";
    int64_t parallel_iterations = 10;
  };

  // while (condition(variables)) variables = body(variables), written out.
  Loop While(const std::vector<Output>& initial,
             const std::function<Output(const std::vector<Output>&)>& condition,
             const std::function<std::vector<Output>(const std::vector<Output>&)>& body,
             const LoopOptions& loop_options);
  Loop While(const std::vector<Output>& initial,
             const std::function<Output(const std::vector<Output>&)>& condition,
             const std::function<std::vector<Output>(const std::vector<Output>&)>& body) {
    return While(initial, condition, body, LoopOptions());
  }
  Output Enter(const Output& data, const std::string& frame, bool is_constant = false,
               int64_t parallel_iterations = 10);
  // A constant that is there only when `after` is: in its frame, and on its branch.
  Output ConstantAfter(float value, const Node* after);
  Output Bool(bool value) { return Constant(Tensor::Scalar<bool>(value)); }
  const Node* Merge(const std::vector<Output>& inputs) { return build.Variadic("Merge", {inputs}); }

  // One step on the dynamic executor. The program is compiled for each call, unless kept.
  StatusOr<std::vector<Tensor>> Dynamic(const std::vector<Output>& fetches,
                                        const std::vector<Feed>& feeds = {},
                                        const std::vector<const Node*>& targets = {});
  // The scalar float that one fetch gives; NaN, and a failed test, after an error.
  float Scalar(const Output& fetch, const std::vector<Feed>& feeds = {});
  StatusOr<std::unique_ptr<DynamicProgram>> Compile(const StepSignature& signature);
  StatusOr<std::vector<Tensor>> RunProgram(DynamicProgram* program, size_t num_fetches,
                                           const std::vector<Tensor>& feeds);

  int threads = 1;
  RunOptions options;
  SessionSettings settings;
  Rendezvous* rendezvous = nullptr;
  KernelCache kernels;
  ResourceManager resources;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_DYNAMIC_FIXTURE_H_
