#include "core/host/step_profiling.h"

#include <string>
#include <utility>
#include <vector>

#include "core/host/host_trace.h"
#include "core/step/run_metadata.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What the profiler was asked for, and what it answers.
std::vector<std::string> calls;
MS_Code start_code = MS_OK;
MS_TraceEvent event = {};
std::string emitted;  // the message of what emit said

MS_Status* Start(const MS_Plugin*, uint64_t kinds, uint64_t now_ns) {
  calls.push_back("start");
  EXPECT_EQ(kinds, 63u);
  EXPECT_GT(now_ns, 0u);
  return MakeAbiStatus(start_code, "no counters");
}
MS_Status* Stop(const MS_Plugin*) {
  calls.push_back("stop");
  return nullptr;
}
MS_Status* Flush(const MS_Plugin*, MS_TraceSink* sink) {
  calls.push_back("flush");
  emitted = std::string(TakeAbiStatus(TraceApi()->emit(sink, &event)).message());
  TraceApi()->drops(sink, 5);
  return nullptr;
}

class StepProfilingTest : public ::testing::Test {
 protected:
  StepProfilingTest() {
    calls.clear();
    start_code = MS_OK;
    event = {};
    event.head.size = sizeof(event);
    event.t0_ns = 10;
    event.t1_ns = 30;
    event.kind = MS_TRACE_COPY;
    event.device = 1;
    event.stream = 2;
    event.correlation_id = 77;
    event.name = ToAbi("upload");
    event.args = &argument_;
    event.n_args = 1;
    profiler_.start = &Start;
    profiler_.stop = &Stop;
    profiler_.flush = &Flush;
    plugin_.name = "acme";
    plugin_.profiler = &profiler_;
    SetHostLogLevel(MS_LOG_ERROR + 1);
  }

  MS_KV argument_ = {ToAbi("bytes"), ToAbi("64")};
  MS_ProfilerApi profiler_ = {};
  LoadedPlugin plugin_, without_;
  StepReport report_;
};

TEST_F(StepProfilingTest, WhatProfilersSawIsInTheTrace) {
  report_.want_trace = true;
  {
    const StepProfiling profiling({&without_, &plugin_}, &report_.trace);
    EXPECT_THAT(calls, ElementsAre("start"));
  }
  EXPECT_THAT(calls, ElementsAre("start", "stop", "flush"));
  const std::vector<TracedRange> ranges = report_.trace.ranges();
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].device, "/plugin:acme/device:1");
  EXPECT_EQ(ranges[0].lane, 2u);
  EXPECT_EQ(ranges[0].end - ranges[0].start, 20);
  EXPECT_THAT(ranges[0].args, ElementsAre(std::pair<std::string, std::string>{"kind", "copy"},
                                          std::pair<std::string, std::string>{"correlation", "77"},
                                          std::pair<std::string, std::string>{"bytes", "64"}));
  EXPECT_EQ(ranges[1].name, "5 events were lost");
  EXPECT_THAT(*RunMetadataOf(report_), HasSubstr("upload = upload(kind=copy, "));
}

TEST_F(StepProfilingTest, ProfilersAreToldWhichExecutionWorkBelongsTo) {
  profiler_.head.size = sizeof(profiler_);
  profiler_.correlation_push = [](const MS_Plugin*, uint64_t id) {
    calls.push_back("push " + std::to_string(id));
  };
  profiler_.correlation_pop = [](const MS_Plugin*) { calls.emplace_back("pop"); };
  event.correlation_id = 2;
  {
    const StepProfiling profiling({&plugin_}, &report_.trace);
    EXPECT_EQ(report_.trace.BeginExecution("first"), 1u);
    report_.trace.EndExecution();
    EXPECT_EQ(report_.trace.BeginExecution("second"), 2u);
    report_.trace.EndExecution();
  }
  EXPECT_THAT(calls, ElementsAre("start", "push 1", "pop", "push 2", "pop", "stop", "flush"));
  EXPECT_THAT(report_.trace.ranges()[0].args,
              ::testing::Contains(std::pair<std::string, std::string>{"node", "second"}));
  // Nobody is told afterwards.
  report_.trace.BeginExecution("later");
  report_.trace.EndExecution();
  EXPECT_EQ(calls.size(), 7u);
}

TEST_F(StepProfilingTest, StepsThatOverlapGoWithout) {
  const StepProfiling first({&plugin_}, &report_.trace);
  StepReport other;
  { const StepProfiling second({&plugin_}, &other.trace); }
  EXPECT_THAT(calls, ElementsAre("start"));
  EXPECT_THAT(other.trace.ranges(), IsEmpty());
}

TEST_F(StepProfilingTest, AProfilerThatCannotStartIsLeftAlone) {
  start_code = MS_UNAVAILABLE;
  { const StepProfiling profiling({&plugin_}, &report_.trace); }
  EXPECT_THAT(calls, ElementsAre("start"));
  EXPECT_THAT(report_.trace.ranges(), IsEmpty());
  start_code = MS_OK;
  { const StepProfiling profiling({&plugin_}, &report_.trace); }
  EXPECT_EQ(report_.trace.ranges().size(), 2u) << "the next step has it again";
}

TEST_F(StepProfilingTest, BadEventsAreRefused) {
  const auto refused = [&] {
    { const StepProfiling profiling({&plugin_}, &report_.trace); }
    return emitted;
  };
  EXPECT_EQ(refused(), "");
  event.kind = 17;
  EXPECT_EQ(refused(), "trace events of kind 17 are unknown");
  event.kind = MS_TRACE_KERNEL;
  event.t1_ns = 9;
  EXPECT_EQ(refused(), "trace event \"upload\" ends before it begins");
  event.t1_ns = 11;
  event.head.required = 1;
  EXPECT_THAT(refused(), HasSubstr("MS_TraceEvent requires features 1"));
}

// A trace of bytes that are no text is one that nobody can read.
TEST_F(StepProfilingTest, EventsWithoutTextAreRefused) {
  const auto refused = [&] {
    { const StepProfiling profiling({&plugin_}, &report_.trace); }
    return emitted;
  };
  event.name = ToAbi("\xff\xfe");
  EXPECT_THAT(refused(), HasSubstr("MS_TraceEvent.name is no UTF-8 text"));
  event.name = {nullptr, 8};
  EXPECT_THAT(refused(), HasSubstr("MS_TraceEvent.name has 8 bytes, and its data is null"));
  const std::string long_text(size_t{1} << 20, 'x');
  event.name = ToAbi(long_text);
  EXPECT_THAT(refused(), HasSubstr("MS_TraceEvent.name has 1048576 bytes"));
  event.name = ToAbi("upload");
  argument_.value = {nullptr, 3};
  EXPECT_THAT(refused(), HasSubstr("an argument of MS_TraceEvent has 3 bytes"));
  event.args = nullptr;
  EXPECT_THAT(refused(), HasSubstr("MS_TraceEvent.args: 1 items, and the array is null"));
  event.args = &argument_;
  event.n_args = 0xffffffff;
  EXPECT_THAT(refused(), HasSubstr("MS_TraceEvent.args: 4294967295 items, at most 256"));
}

}  // namespace
}  // namespace millstream
