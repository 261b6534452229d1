// Sessions, on the CPU plugin.
#include "core/c_api/session_options.h"

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/c_api/c_api.h"
#include "core/c_api/testing.h"
#include "core/step/plan_features.h"
#include "core/testing/fork.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/config.pb.h"

namespace millstream::c_api {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kCpuPlugin[] = "device_plugins/cpu/libmillstream_cpu.so";

class SessionTest : public GraphFixture {
 protected:
  static void SetUpTestSuite() { setenv("MILLSTREAM_PLUGIN_PATH", kCpuPlugin, /*replace=*/0); }

  SessionHandle NewSession() {
    millstream_session* session = nullptr;
    ExpectOk(millstream_session_new(graph(), nullptr, 0, &session));
    return SessionHandle(session);
  }

  // Runs one step that feeds `feed` (null: nothing) and fetches one tensor.
  Error Run(millstream_session* session, millstream_output feed, millstream_tensor* fed,
            millstream_output fetch, TensorHandle* fetched,
            const millstream_run_options* options = nullptr) {
    millstream_tensor* out = nullptr;
    const Error error = millstream_session_run(session, &feed, &fed, fed == nullptr ? 0 : 1, &fetch,
                                               1, nullptr, 0, options, &out);
    fetched->reset(out);
    return error;
  }
};

TEST_F(SessionTest, RunsAStep) {
  const millstream_output x = Placeholder("x");
  const millstream_output y = Add("Mul", "y", {{x}, {Const("two", {2})}});
  const SessionHandle session = NewSession();
  ASSERT_NE(session, nullptr);
  TensorHandle result;
  ExpectOk(Run(session.get(), x, Floats({1, -3}).get(), y, &result));
  EXPECT_THAT(FloatsOf(result.get()), ElementsAre(2, -6));
}

TEST_F(SessionTest, BorrowedFeedsAreNotWritten) {
  const millstream_output x = Placeholder("x");
  const millstream_output y = Add("Neg", "y", {{x}});
  const SessionHandle session = NewSession();
  const std::vector<float> values = {1, 2};
  const int64_t dim = 2;
  millstream_tensor* borrowed = nullptr;
  ExpectOk(
      millstream_tensor_borrow(kFloat, &dim, 1, values.data(), 8, nullptr, nullptr, &borrowed));
  const TensorHandle feed(borrowed);
  TensorHandle result;
  ExpectOk(Run(session.get(), x, feed.get(), y, &result));
  EXPECT_THAT(FloatsOf(result.get()), ElementsAre(-1, -2));
  EXPECT_THAT(values, ElementsAre(1, 2));

  ExpectOk(Run(session.get(), x, feed.get(), x, &result));
  EXPECT_THAT(FloatsOf(result.get()), ElementsAre(1, 2));
  EXPECT_NE(millstream_tensor_data(result.get()), values.data());  // the caller may write it
}

TEST_F(SessionTest, CallablesRunManyTimes) {
  const millstream_output x = Placeholder("x");
  const millstream_output y = Add("Neg", "y", {{x}});
  const SessionHandle session = NewSession();
  millstream_callable* created = nullptr;
  ExpectOk(millstream_callable_new(session.get(), &x, 1, &y, 1, nullptr, 0, &created));
  const CallableHandle callable(created);
  for (float value : {1.0F, 5.0F}) {
    const TensorHandle feed = Floats({value});
    millstream_tensor* fed = feed.get();
    millstream_tensor* out = nullptr;
    ExpectOk(millstream_callable_run(callable.get(), &fed, nullptr, &out));
    EXPECT_THAT(FloatsOf(TensorHandle(out).get()), ElementsAre(-value));
  }
  EXPECT_GT(millstream_callable_num_instructions(callable.get()), 0);
}

TEST_F(SessionTest, ErrorsLeaveTheSessionUsable) {
  const millstream_output x = Placeholder("x");
  const millstream_output y = Add("Neg", "y", {{x}});
  const SessionHandle session = NewSession();
  TensorHandle result;
  Error error = Run(session.get(), x, nullptr, y, &result);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_EQ(error.node, "x");
  EXPECT_THAT(error.message, HasSubstr("model.py:7"));
  EXPECT_EQ(result, nullptr);

  error = Run(session.get(), x, NewTensor(kInt32, {}).get(), y, &result);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_EQ(error.node, "x");
  EXPECT_THAT(error.message, HasSubstr("float32, got int32"));

  EXPECT_EQ(Run(session.get(), x, nullptr, {9, 0}, &result).code, kInvalidArgument);
  millstream_tensor* nothing = nullptr;
  millstream_tensor* out = nullptr;
  error = millstream_session_run(session.get(), &x, &nothing, 1, &y, 1, nullptr, 0, nullptr, &out);
  EXPECT_THAT(error.message, HasSubstr("feed 0 of 1 has no tensor"));
  ExpectOk(Run(session.get(), x, Floats({1}).get(), y, &result));
}

TEST_F(SessionTest, StepsAreCancelled) {
  const millstream_output x = Placeholder("x");
  const millstream_output y = Add("Neg", "y", {{x}});
  const SessionHandle session = NewSession();
  const CancellationHandle cancellation(millstream_cancellation_new());
  millstream_run_options options = {};
  options.cancellation = cancellation.get();
  TensorHandle result;
  ExpectOk(Run(session.get(), x, Floats({1}).get(), y, &result, &options));
  millstream_cancellation_cancel(cancellation.get());
  EXPECT_EQ(Run(session.get(), x, Floats({1}).get(), y, &result, &options).code, kCancelled);
}

// Goes on at the first question and stops at the second; any answer but zero means stop.
int32_t StopAtSecondQuestion(void* argument) {
  return ++*static_cast<int*>(argument) < 2 ? 0 : 256;
}

TEST_F(SessionTest, LongStepsAskWhetherToStop) {
  // Seconds of work: a step asks only now and then.
  const millstream_output x = Placeholder("x");
  millstream_output sum = x;
  for (int i = 0; i < 5000; ++i) {
    sum = Add("Add", ("sum" + std::to_string(i)).c_str(), {{sum}, {x}});
  }
  const SessionHandle session = NewSession();
  int questions = 0;
  millstream_run_options options = {};
  options.should_stop = StopAtSecondQuestion;
  options.should_stop_argument = &questions;
  const TensorHandle feed = Floats(std::vector<float>(1 << 23, 1.0F));
  TensorHandle result;
  EXPECT_EQ(Run(session.get(), x, feed.get(), sum, &result, &options).code, kCancelled);
  EXPECT_EQ(questions, 2);
}

TEST_F(SessionTest, ClosedSessionsRefuse) {
  const millstream_output c = Const("c", {1});
  const SessionHandle session = NewSession();
  ExpectOk(millstream_session_close(session.get()));
  TensorHandle result;
  EXPECT_EQ(Run(session.get(), {}, nullptr, c, &result).code, kFailedPrecondition);
}

TEST_F(SessionTest, ATrimmedSessionGoesOn) {
  const millstream_output c = Const("c", {1});
  const SessionHandle session = NewSession();
  for (int i = 0; i < 2; ++i) {
    TensorHandle result;
    EXPECT_EQ(Run(session.get(), {}, nullptr, c, &result).code, 0);
    ExpectOk(millstream_session_trim(session.get()));
  }
  ExpectOk(millstream_session_close(session.get()));
  EXPECT_EQ(Error(millstream_session_trim(session.get())).code, kFailedPrecondition);
}

TEST_F(SessionTest, AForkedChildIsToldSoWhateverWasLocked) {
  const millstream_output x = Placeholder("x");
  const millstream_output y = Add("Neg", "y", {{x}});
  const SessionHandle session = NewSession();
  millstream_callable* created = nullptr;
  ExpectOk(millstream_callable_new(session.get(), &x, 1, &y, 1, nullptr, 0, &created));
  const CallableHandle callable(created);
  const TensorHandle feed = Floats({1});
  std::atomic<bool> stop{false};
  std::thread other([&] {
    millstream_tensor* fed = feed.get();
    while (!stop) {
      millstream_tensor* out = nullptr;
      ExpectOk(
          millstream_session_run(session.get(), &x, &fed, 1, &y, 1, nullptr, 0, nullptr, &out));
      millstream_tensor_free(out);
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(InChild([&] {
      TensorHandle result;
      millstream_tensor* fed = feed.get();
      millstream_tensor* out = nullptr;
      millstream_callable* another = nullptr;
      const Error run = Run(session.get(), x, feed.get(), y, &result);
      const Error call = millstream_callable_run(callable.get(), &fed, nullptr, &out);
      const Error make = millstream_callable_new(session.get(), &x, 1, &y, 1, nullptr, 0, &another);
      return run.code == kFailedPrecondition && call.code == kFailedPrecondition &&
             make.code == kFailedPrecondition;
    })) << i;
  }
  stop = true;
  other.join();
}

TEST_F(SessionTest, AResetClosesTheSessionsOfTheProcess) {
  const millstream_output c = Const("c", {1});
  const SessionHandle session = NewSession();
  TensorHandle result;
  ExpectOk(Run(session.get(), {}, nullptr, c, &result));
  const char* container = "experiment";
  ExpectOk(millstream_reset(&container, 1));
  EXPECT_EQ(Run(session.get(), {}, nullptr, c, &result).code, kFailedPrecondition);
  ExpectOk(millstream_reset(nullptr, 0));
  ExpectOk(Run(NewSession().get(), {}, nullptr, c, &result));
}

TEST_F(SessionTest, ListsDevices) {
  const SessionHandle session = NewSession();
  millstream_bytes devices;
  ExpectOk(millstream_session_list_devices(session.get(), &devices));
  EXPECT_EQ(Take(devices), "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST_F(SessionTest, ReadyPluginsAreListed) {
  const SessionHandle session = NewSession();
  millstream_bytes plugins;
  ExpectOk(millstream_plugin_list(&plugins));
  const std::string json = Take(plugins);
  EXPECT_THAT(json, HasSubstr("\"state\": \"READY\""));
  EXPECT_THAT(json, HasSubstr("\"code\": 0"));
}

TEST_F(SessionTest, WrongConfigBytes) {
  millstream_session* session = nullptr;
  const Error error = millstream_session_new(graph(), "\xff", 1, &session);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_EQ(session, nullptr);
}

// ---- ConfigProto ----

SessionOptions OptionsOf(const proto::ConfigProto& config) {
  const StatusOr<SessionOptions> options = MakeSessionOptions(config.SerializeAsString());
  EXPECT_TRUE(options.ok()) << options.status();
  return options.ok() ? *options : SessionOptions();
}

TEST(SessionOptionsTest, EmptyConfigIsTheDefaults) {
  const SessionOptions options = OptionsOf(proto::ConfigProto());
  EXPECT_EQ(options.intra_op_threads, 0);
  EXPECT_TRUE(options.optimize);
  EXPECT_FALSE(options.allow_soft_placement);
  EXPECT_FALSE(options.log_device_placement);
  EXPECT_EQ(options.operation_timeout_ms, 0);
  EXPECT_FALSE(options.deterministic);
  EXPECT_FALSE(options.check_numerics);
}

TEST(SessionOptionsTest, FieldsAreRead) {
  proto::ConfigProto config;
  config.set_intra_op_parallelism_threads(3);
  config.set_inter_op_parallelism_threads(2);
  config.set_allow_soft_placement(true);
  config.set_log_device_placement(true);
  config.set_operation_timeout_in_ms(1500);
  config.mutable_experimental()->set_deterministic(true);
  config.mutable_experimental()->set_check_numerics(true);
  config.mutable_experimental()->set_check_numerics_folder("failures");
  const SessionOptions options = OptionsOf(config);
  EXPECT_EQ(options.intra_op_threads, 3);
  EXPECT_EQ(options.inter_op_threads, 2);
  EXPECT_TRUE(options.allow_soft_placement);
  EXPECT_TRUE(options.log_device_placement);
  EXPECT_EQ(options.operation_timeout_ms, 1500);
  EXPECT_TRUE(options.deterministic);
  EXPECT_TRUE(options.check_numerics);
  EXPECT_EQ(options.check_numerics_folder, "failures");
}

TEST(SessionOptionsTest, EitherSwitchTurnsOptimizationOff) {
  proto::ConfigProto level;
  level.mutable_graph_options()->mutable_optimizer_options()->set_opt_level(
      proto::OptimizerOptions::L0);
  EXPECT_FALSE(OptionsOf(level).optimize);
  proto::ConfigProto rewrite;
  rewrite.mutable_graph_options()->mutable_rewrite_options()->set_disable_meta_optimizer(true);
  EXPECT_FALSE(OptionsOf(rewrite).optimize);
}

TEST(SessionOptionsTest, PassesAreDisabledByName) {
  proto::ConfigProto config;
  auto* rewrite = config.mutable_graph_options()->mutable_rewrite_options();
  rewrite->add_disabled_passes("fuse_products");
  EXPECT_THAT(OptionsOf(config).disabled_passes, ElementsAre("fuse_products"));
  rewrite->add_disabled_passes("fuse_everything");
  EXPECT_THAT(std::string(MakeSessionOptions(config.SerializeAsString()).status().message()),
              HasSubstr("unknown optimization 'fuse_everything', expected one of "));
}

TEST(SessionOptionsTest, WhatPlansDoBesidePassesIsDisabledByNameToo) {
  proto::ConfigProto config;
  auto* rewrite = config.mutable_graph_options()->mutable_rewrite_options();
  for (const std::string& name : PlanFeatureNames()) rewrite->add_disabled_passes(name);
  EXPECT_EQ(OptionsOf(config).disabled_passes, PlanFeatureNames());
}

TEST(SessionOptionsTest, RemappingSwitchesAllFusionsOff) {
  proto::ConfigProto config;
  config.mutable_graph_options()->mutable_rewrite_options()->set_remapping(
      proto::RewriterConfig::OFF);
  EXPECT_THAT(OptionsOf(config).disabled_passes, Contains("fuse_products"));
  EXPECT_THAT(OptionsOf(config).disabled_passes, Contains("fold_batch_norm"));
}

TEST(SessionOptionsTest, SwitchesOfTensorFlow) {
  proto::ConfigProto folding;
  auto* rewrite = folding.mutable_graph_options()->mutable_rewrite_options();
  rewrite->set_constant_folding(proto::RewriterConfig::OFF);
  EXPECT_THAT(OptionsOf(folding).disabled_passes, ElementsAre("fold_constants"));
  proto::ConfigProto merging;
  rewrite = merging.mutable_graph_options()->mutable_rewrite_options();
  rewrite->set_common_subgraph_elimination(proto::RewriterConfig::OFF);
  EXPECT_THAT(OptionsOf(merging).disabled_passes, ElementsAre("merge_equal"));
  proto::ConfigProto arithmetic;
  rewrite = arithmetic.mutable_graph_options()->mutable_rewrite_options();
  rewrite->set_arithmetic_optimization(proto::RewriterConfig::OFF);
  EXPECT_THAT(OptionsOf(arithmetic).disabled_passes,
              ElementsAre("simplify_arithmetic", "merge_equal"));
  rewrite->set_arithmetic_optimization(proto::RewriterConfig::ON);
  EXPECT_THAT(OptionsOf(arithmetic).disabled_passes, ElementsAre());
}

TEST(SessionOptionsTest, NegativeThreads) {
  proto::ConfigProto config;
  config.set_inter_op_parallelism_threads(-1);
  EXPECT_EQ(OptionsOf(config).inter_op_threads, 0);
  config.set_intra_op_parallelism_threads(-1);
  EXPECT_THAT(std::string(MakeSessionOptions(config.SerializeAsString()).status().message()),
              HasSubstr("intra_op_parallelism_threads must be 0 or more, got -1"));
}

// ConfigProto bytes that forbid one entry.
std::string Forbidding(const std::string& entry) {
  proto::ConfigProto config;
  config.add_forbidden_ops(entry);
  return config.SerializeAsString();
}

TEST_F(SessionTest, StepsWithForbiddenOpsAreNotBuilt) {
  const millstream_output x = Placeholder("x");
  const millstream_output y = Add("Neg", "y", {{x}});
  const millstream_output z = Add("Exp", "z", {{y}});
  const std::string config = Forbidding("Neg");
  millstream_session* made = nullptr;
  ExpectOk(millstream_session_new(graph(), config.data(), config.size(), &made));
  const SessionHandle session(made);
  TensorHandle result;
  const Error error = Run(session.get(), x, Floats({1}).get(), z, &result);
  EXPECT_EQ(error.code, kPermissionDenied);
  EXPECT_EQ(error.node, "y");
  EXPECT_THAT(error.message,
              HasSubstr("the op is forbidden by ConfigProto.forbidden_ops (\"Neg\")"));
  EXPECT_THAT(error.message, HasSubstr("node 'y' (op Neg), made at model.py:7"));
  // What the step does not need may be there.
  ExpectOk(Run(session.get(), y, Floats({0}).get(), z, &result));
  EXPECT_THAT(FloatsOf(result.get()), ElementsAre(1));
}

TEST_F(SessionTest, AnEntryThatForbidsNothingIsAnError) {
  const std::string config = Forbidding("disks");
  millstream_session* made = nullptr;
  const Error error = millstream_session_new(graph(), config.data(), config.size(), &made);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("got \"disks\""));
  EXPECT_EQ(made, nullptr);
}

}  // namespace
}  // namespace millstream::c_api
