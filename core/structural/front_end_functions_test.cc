// Nodes that call functions of the front end, here made up in C++.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "core/host/front_end_function.h"
#include "core/testing/session_fixture.h"
#include "framework/held_time_limits_for_tests.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using Function = std::function<Status(FrontEndCall* call)>;

// The functions of the tests, by token.
class Functions {
 public:
  static Functions* Global() {
    static auto* const functions = new Functions();
    return functions;
  }
  void Set(const std::string& token, Function function) {
    absl::MutexLock lock(&mutex_);
    functions_[token] = std::move(function);
  }
  static Status Call(FrontEndCall* call) {
    Function function;
    {
      absl::MutexLock lock(&Global()->mutex_);
      function = Global()->functions_[call->token];
    }
    return function(call);
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, Function> functions_ ABSL_GUARDED_BY(mutex_);
};

// Adds 1 to its argument, in place.
Status AddOne(FrontEndCall* call) {
  for (float& element : call->arguments[0].flat<float>()) element += 1;
  call->results = {call->arguments[0]};
  return absl::OkStatus();
}

class FrontEndFunctionsTest : public SessionTest {
 protected:
  FrontEndFunctionsTest() { SetFrontEndCaller(&Functions::Call); }
  // A node whose function has its name as its token.
  const Node* Calling(const std::string& name, const std::vector<Output>& inputs,
                      const DataTypeList& results, Function function) {
    Functions::Global()->Set(name, std::move(function));
    AttrMap attrs;
    SetAttr(&attrs, "token", name);
    SetAttr(&attrs, "Tout", results);
    const Node* const node = build.Named(name, "PyFunc", {inputs}, std::move(attrs));
    EXPECT_TRUE(build.ok()) << build.status();
    return node;
  }
  Output Called(const std::string& name, const std::vector<Output>& inputs, Function function) {
    return Calling(name, inputs, {DataType::kFloat}, std::move(function))->output(0);
  }
};

TEST_F(FrontEndFunctionsTest, AFunctionGetsTheInputsAndGivesTheOutputs) {
  const Node* const node =
      Calling("both", {Constant(Values<float>({1, 2})), Constant(Tensor::Scalar<std::string>("a"))},
              {DataType::kString, DataType::kInt64}, [](FrontEndCall* call) {
                EXPECT_THAT(Elements<float>(call->arguments[0]), ElementsAre(1, 2));
                call->results = {call->arguments[1], Tensor::Scalar<int64_t>(7)};
                return absl::OkStatus();
              });
  const auto values = Run({node->output(0), node->output(1)});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(Elements<std::string>((*values)[0]), ElementsAre("a"));
  EXPECT_THAT(Elements<int64_t>((*values)[1]), ElementsAre(7));
}

TEST_F(FrontEndFunctionsTest, AFunctionWithoutInputsAndOutputsRuns) {
  int calls = 0;
  const Node* const node = Calling("counts", {}, {}, [&calls](FrontEndCall*) {
    ++calls;
    return absl::OkStatus();
  });
  EXPECT_TRUE(Execute({node}).ok());
  EXPECT_TRUE(Execute({node}).ok());
  EXPECT_EQ(calls, 2);
}

TEST_F(FrontEndFunctionsTest, AFunctionMayWriteToItsArguments) {
  const Output v = Variable("v", DataType::kFloat, PartialShape({2}));
  ASSERT_TRUE(Execute({Assign(v, Constant(Values<float>({1, 2})))}).ok());
  const Output read = Read(v);
  const Output more = Called("more", {read}, AddOne);
  EXPECT_THAT(Elements<float>(Value(more)), ElementsAre(2, 3));
  EXPECT_THAT(Elements<float>(Value(read)), ElementsAre(1, 2));
}

TEST_F(FrontEndFunctionsTest, AnErrorKeepsItsCodeAndNamesTheNode) {
  const Output wrong = Called(
      "wrong", {}, [](FrontEndCall*) { return errors::OutOfRange("StopIteration: no more"); });
  ExpectError(Error(wrong), absl::StatusCode::kOutOfRange,
              {"StopIteration: no more", "node 'wrong' (op PyFunc)"});
}

TEST_F(FrontEndFunctionsTest, ResultsMustBeAsManyAndOfTheTypesThatTheNodeSays) {
  const Output two = Called("two", {}, [](FrontEndCall* call) {
    call->results = {Tensor::Scalar<float>(1), Tensor::Scalar<float>(2)};
    return absl::OkStatus();
  });
  ExpectError(Error(two), absl::StatusCode::kInvalidArgument,
              {"two returns 2 values, but expects to see 1 values.", "node 'two'"});
  const Output other = Called("other", {}, [](FrontEndCall* call) {
    call->results = {Tensor::Scalar<double>(1)};
    return absl::OkStatus();
  });
  ExpectError(Error(other), absl::StatusCode::kInvalidArgument,
              {"0-th value returned by other is float64, but expects float32", "node 'other'"});
}

TEST_F(FrontEndFunctionsTest, WithoutAFrontEndNoFunctionCanBeCalled) {
  SetFrontEndCaller(nullptr);
  ExpectError(Error(Called("nobody", {}, AddOne)), absl::StatusCode::kFailedPrecondition,
              {"function 'nobody' cannot be called", "node 'nobody'"});
}

// Each waits until the other runs.
TEST_F(FrontEndFunctionsTest, FunctionsOfAStepRunAtTheSameTime) {
  absl::Notification first_runs;
  absl::Notification second_runs;
  const auto meet = [](absl::Notification* own, absl::Notification* other) {
    return [own, other](FrontEndCall* call) {
      own->Notify();
      EXPECT_TRUE(other->WaitForNotificationWithTimeout(kHangGuard));
      return AddOne(call);
    };
  };
  const Output first = Called("first", {Constant(1)}, meet(&first_runs, &second_runs));
  const Output second = Called("second", {Constant(2)}, meet(&second_runs, &first_runs));
  const auto values = Run({first, second});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(Elements<float>((*values)[1]), ElementsAre(3));
}

TEST_F(FrontEndFunctionsTest, ManyThreadsCallOneFunction) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output more = Called("more", {x}, AddOne);
  StartSession();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, x, more, t] {
      for (int i = 0; i < 50; ++i) {
        const float value = static_cast<float>(100 * t + i);
        EXPECT_THAT(Elements<float>(Value(more, {{x, Tensor::Scalar<float>(value)}})),
                    ElementsAre(value + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FrontEndFunctionsTest, AFunctionMayRunAStepOfItsSession) {
  const Output inner = Op("Neg", {Constant(5)});
  const Output outer = Called("outer", {}, [this, inner](FrontEndCall* call) {
    call->results = {Value(inner)};
    return absl::OkStatus();
  });
  EXPECT_THAT(Elements<float>(Value(outer)), ElementsAre(-5));
}

// A function that waits until the test lets it go, and then says so.
struct HeldFunction {
  absl::Notification runs;
  absl::Notification may_return;
  absl::Notification returns;
  Function Body() {
    return [this](FrontEndCall* call) {
      runs.Notify();
      EXPECT_TRUE(may_return.WaitForNotificationWithTimeout(kHangGuard));
      const Status status = AddOne(call);
      returns.Notify();
      return status;
    };
  }
  void Finish() {
    may_return.Notify();
    EXPECT_TRUE(returns.WaitForNotificationWithTimeout(kHangGuard));
  }
};

TEST_F(FrontEndFunctionsTest, AStepThatIsCancelledDoesNotWaitForItsFunction) {
  HeldFunction held;
  const Output more = Called("more", {Constant(1)}, held.Body());
  StartSession();
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  std::thread canceller([&] {
    EXPECT_TRUE(held.runs.WaitForNotificationWithTimeout(kHangGuard));
    cancellation.Cancel();
  });
  EXPECT_EQ(Run({more}, {}, {}, options).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
  held.Finish();
}

TEST_F(FrontEndFunctionsTest, ASessionMayEndBeforeItsFunction) {
  HeldFunction held;
  const Output more = Called("more", {Constant(1)}, held.Body());
  StartSession();
  std::thread runner([&] { EXPECT_EQ(Run({more}).status().code(), absl::StatusCode::kCancelled); });
  EXPECT_TRUE(held.runs.WaitForNotificationWithTimeout(kHangGuard));
  EXPECT_TRUE(session->Close().ok());
  runner.join();
  session.reset();
  held.Finish();
}

TEST_F(FrontEndFunctionsTest, AStepOutOfTimeSaysWhichFunctionItWaitedFor) {
  HeldFunction held;
  const Output more = Called("more", {Constant(1)}, held.Body());
  StartSession();
  HeldTimeLimits limits;
  std::thread clock([&] {
    EXPECT_TRUE(held.runs.WaitForNotificationWithTimeout(kHangGuard));
    limits.Release();
  });
  RunOptions options;
  options.timeout_ms = 20;
  ExpectError(Run({more}, {}, {}, options).status(), absl::StatusCode::kDeadlineExceeded,
              {"the step took longer than 20 ms", "node 'more'", "waits for function 'more'"});
  clock.join();
  held.Finish();
}

TEST_F(FrontEndFunctionsTest, AChildInWhichAFunctionReturnsEnds) {
  int status = -1;
  const Output forked = Called("forked", {Constant(1)}, [&status](FrontEndCall* call) {
    const pid_t child = fork();
    if (child > 0) {
      EXPECT_EQ(waitpid(child, &status, 0), child);
    }
    return AddOne(call);
  });
  EXPECT_THAT(Elements<float>(Value(forked)), ElementsAre(2));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), EXIT_FAILURE);
}

}  // namespace
}  // namespace millstream
