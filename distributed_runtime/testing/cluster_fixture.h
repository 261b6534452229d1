// The fixture of tests of clusters: two tasks in one process.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_CLUSTER_FIXTURE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_CLUSTER_FIXTURE_H_

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/testing/session_fixture.h"
#include "distributed_runtime/server.h"
#include "distributed_runtime/testing/faulty_transport.h"
#include "framework/status.h"
#include "google/protobuf/message_lite.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"
#include "millstream/framework/protos/config.pb.h"
#include "millstream/framework/protos/tensorflow_server.pb.h"

namespace millstream {

// The messages of each task go through a transport that can lose them. Hearts beat when a test says
// so.
class ClusterTest : public SessionTest {
 protected:
  static constexpr int kTasks = 2;

  ClusterTest();
  ~ClusterTest() override { session.reset(); }

  // The server of a task, with a new transport.
  std::unique_ptr<Server> Start(int task);
  // A session of the task's master.
  StatusOr<std::unique_ptr<Session>> TryOpen(
      int task, const proto::ConfigProto& config = proto::ConfigProto());
  std::unique_ptr<Session> Open(int task, const proto::ConfigProto& config = proto::ConfigProto());

  // Sends a task a request that no master sends, and waits for the answer.
  Status Ask(int task, absl::string_view method, const google::protobuf::MessageLite& request,
             google::protobuf::MessageLite* response);
  // A part of the graph, for task 1.
  Status RegisterInTask1(const proto::RegisterGraphRequest& request);

  // What `op` adds asks for that task.
  Output On(int task, absl::string_view op, const std::vector<Output>& inputs);
  // A kernel that waits until the step is stopped.
  Output FromEmptyQueue(int task);

  proto::ServerDef def_;
  std::vector<std::unique_ptr<FaultyTransport>> transports_;  // of what each task sends
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_CLUSTER_FIXTURE_H_
