#include "distributed_runtime/testing/cluster_fixture.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "distributed_runtime/cluster_session.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/rpc.h"

namespace millstream {

ClusterTest::ClusterTest() : transports_(kTasks), servers_(kTasks) {
  EXPECT_EQ(LoadCpuPlugin(), absl::OkStatus());
  static int clusters = 0;
  ++clusters;
  def_.set_job_name("worker");
  proto::JobDef* const job = def_.mutable_cluster()->add_job();
  job->set_name("worker");
  for (int task = 0; task < kTasks; ++task) {
    (*job->mutable_tasks())[task] = absl::StrCat("cluster", clusters, ":", task + 1);
  }
  for (int task = 0; task < kTasks; ++task) servers_[task] = Start(task);
}

std::unique_ptr<Server> ClusterTest::Start(int task) {
  transports_[task] = std::make_unique<FaultyTransport>(LoopbackTransport::Global());
  def_.set_task_index(task);
  StatusOr<std::unique_ptr<Server>> server =
      Server::Create(def_.SerializeAsString(), transports_[task].get(), Heartbeats::kByHand);
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

StatusOr<std::unique_ptr<Session>> ClusterTest::TryOpen(int task,
                                                        const proto::ConfigProto& config) {
  return CreateClusterSession(&graph, servers_[task]->target(), config.SerializeAsString(),
                              LoopbackTransport::Global(), absl::InfiniteFuture());
}

std::unique_ptr<Session> ClusterTest::Open(int task, const proto::ConfigProto& config) {
  StatusOr<std::unique_ptr<Session>> opened = TryOpen(task, config);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : nullptr;
}

Status ClusterTest::Ask(int task, absl::string_view method,
                        const google::protobuf::MessageLite& request,
                        google::protobuf::MessageLite* response) {
  // The target without "grpc://".
  const auto channel = LoopbackTransport::Global()->Connect(servers_[task]->target().substr(7));
  if (!channel.ok()) return channel.status();
  return RequestMessage(channel->get(), method, request, absl::InfiniteFuture(), response);
}

Status ClusterTest::RegisterInTask1(const proto::RegisterGraphRequest& request) {
  proto::RegisterGraphResponse response;
  return Ask(1, "RegisterGraph", request, &response);
}

Output ClusterTest::On(int task, absl::string_view op, const std::vector<Output>& inputs) {
  build.set_device(absl::StrCat("/job:worker/task:", task));
  const Output output = Op(op, inputs);
  build.set_device("");
  return output;
}

Output ClusterTest::FromEmptyQueue(int task) {
  build.set_device(absl::StrCat("/job:worker/task:", task));
  const GraphBuilder::Attrs attrs = {{"component_types", DataTypeList{DataType::kFloat}}};
  const Output element = Op("QueueDequeueV2", {Op("FIFOQueueV2", {}, attrs)}, attrs);
  build.set_device("");
  return element;
}

}  // namespace millstream
