// The fixture of tests of clusters whose tasks and clients are lost.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_FAULTS_FIXTURE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_FAULTS_FIXTURE_H_

#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "distributed_runtime/testing/cluster_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"

namespace millstream {

// As many as end a lease, and as many as end the steps that wait for a task.
inline constexpr int kLease = 31;
inline constexpr int kSilence = 5;

class ClusterFaultsTest : public ClusterTest {
 protected:
  std::vector<std::shared_ptr<WorkerSession>> SessionsIn(int task) {
    return servers_[task]->worker()->sessions();
  }
  void Beat(int task, int times) {
    for (int i = 0; i < times; ++i) servers_[task]->Beat();
  }
  // As SIGKILL: the other tasks learn nothing.
  void Kill(int task) {
    transports_[task]->Set(Fault::kRefused);
    servers_[task].reset();
  }
  // Until the task notices the end of the connection to the master of each of its sessions that is
  // of another task.
  void AwaitWatches(int task) {
    EXPECT_TRUE(Eventually([&] {
      for (const std::shared_ptr<WorkerSession>& one : SessionsIn(task)) {
        const Worker& worker = *servers_[task]->worker();
        if (one->master() != worker.task() && !worker.WatchesMasterOf(one->handle())) return false;
      }
      return true;
    }));
  }
  static proto::ConfigProto Isolated() {
    proto::ConfigProto config;
    config.set_isolate_session_state(true);
    return config;
  }
  // A variable in task 1, which is 5, and a step that adds one to it.
  struct Counted {
    const Node* add = nullptr;
    Output value;
  };
  Counted CountInTask1() {
    build.set_device("/job:worker/task:1");
    const Output v = Variable("v", DataType::kFloat, PartialShape::Scalar());
    const Node* const assign = Assign(v, Constant(5.0f));
    Counted counted;
    counted.add = build.NodeOf("AssignAddVariableOp", {v, Constant(1.0f)});
    counted.value = Read(v);
    build.set_device("");
    EXPECT_EQ(Execute({assign}), absl::OkStatus());
    return counted;
  }
  // Cancels a step whose request to task 1 is on its way, and stays so until ReleaseRequests.
  // Others arrive.
  void CancelOnTheWay(const Node* target) {
    transports_[0]->ForgetCounts();
    transports_[0]->HoldRequests("RunGraph");
    Cancellation cancellation;
    RunOptions options;
    options.cancellation = &cancellation;
    std::thread canceller([&] {
      EXPECT_TRUE(Eventually([&] { return transports_[0]->Count("RunGraph") == 1; }));
      cancellation.Cancel();
    });
    const Status status = Run({}, {}, {target}, options).status();
    canceller.join();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    transports_[0]->HoldRequests("");
  }
  // A queue in task 1, with what puts an element into it and what counts its elements.
  struct QueueInTask1 {
    const Node* put;
    Output size;
  };
  // Such a queue, for whose element a step of a master that is no longer heard there still waits.
  QueueInTask1 LeaveStepAtQueue() {
    const Output y = FromEmptyQueue(1);
    build.set_device("/job:worker/task:1");
    const Output queue = y.node->input(0);
    const QueueInTask1 left{build.Variadic("QueueEnqueueV2", {{queue}, {Constant(1.0f)}}),
                            Op("QueueSizeV2", {queue})};
    build.set_device("");
    session = Open(0);
    std::thread waiting([&] { EXPECT_FALSE(Run({y}).ok()); });
    EXPECT_TRUE(Eventually([&] { return RunningIn(1) == 1; }));
    transports_[0]->Set(Fault::kRefused);
    EXPECT_EQ(session->Close(), absl::OkStatus());
    waiting.join();
    EXPECT_EQ(RunningIn(1), 1);
    return left;
  }
  int RunningIn(int task) {
    proto::TaskStatusRecord status;
    servers_[task]->AddStatus(&status);
    return status.running_size();
  }
  // Calls `during` when a step of this session's master waits for an element of an empty queue in
  // task 1. Returns the result of the step.
  template <typename During>
  Status RunDuring(const During& during) {
    const Output y = FromEmptyQueue(1);
    const Node* const pause = build.NodeOf("TestPause", {});
    PausePoint::Close();
    std::thread other([&] {
      PausePoint::AwaitStep();
      PausePoint::Open();
      during();
    });
    const Status status = Run({y}, {}, {pause}).status();
    other.join();
    return status;
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_FAULTS_FIXTURE_H_
