// The fixture of tests of collective operations over the tasks of a cluster.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_COLLECTIVES_FIXTURE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_COLLECTIVES_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "distributed_runtime/collective_coding.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/testing/cluster_fixture.h"
#include "framework/testing/hang_guard.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {

// Operations of the group 1, whose members are devices of the two tasks.
class ClusterCollectivesTest : public ClusterTest {
 protected:
  void AskFor(int task, int device) {
    build.set_device(absl::StrCat("/job:worker/task:", task, "/device:CPU:", device));
  }
  Output Collective(const std::string& op, int task, int device, const std::vector<Output>& inputs,
                    GraphBuilder::Attrs attrs) {
    AskFor(task, device);
    const Output output = Op(op, inputs, attrs);
    build.set_device("");
    return output;
  }
  Output Reduce(int task, int device, const Output& input, int64_t group_size,
                const std::string& final = "Id") {
    return Collective("CollectiveReduce", task, device, {input},
                      {{"group_size", group_size},
                       {"group_key", int64_t{1}},
                       {"instance_key", int64_t{0}},
                       {"merge_op", std::string("Add")},
                       {"final_op", final},
                       {"subdiv_offsets", std::vector<int64_t>{0}}});
  }
  Output ReduceScatter(int task, int device, const Output& input, int32_t group_size,
                       float timeout_seconds = 0) {
    AskFor(task, device);
    std::vector<std::vector<Output>> arguments = {{input}};
    for (const int32_t key : {group_size, 1, 3}) {
      arguments.push_back({Constant(Tensor::Scalar<int32_t>(key))});
    }
    arguments.emplace_back();  // no tokens
    const Node* const node = build.Variadic("CollectiveReduceScatterV2", arguments,
                                            {{"merge_op", std::string("Add")},
                                             {"final_op", std::string("Id")},
                                             {"timeout_seconds", timeout_seconds}});
    build.set_device("");
    EXPECT_NE(node, nullptr) << build.status();
    return node == nullptr ? Output() : node->output(0);
  }
  // A broadcast from one task to the other, as the sender's or the receiver's output.
  Output Broadcast(int task, int64_t size, bool sends) {
    const GraphBuilder::Attrs attrs = {{"T", DataType::kFloat},
                                       {"group_size", int64_t{2}},
                                       {"group_key", int64_t{1}},
                                       {"instance_key", int64_t{2}},
                                       {"shape", PartialShape({size})}};
    if (!sends) return Collective("CollectiveBcastRecv", task, 0, {}, attrs);
    return Collective("CollectiveBcastSend", task, 0, {Numbers(task, 0, size, 7)}, attrs);
  }
  // A constant of `size` elements, each of them another, on a device.
  Output Numbers(int task, int device, int64_t size, float first) {
    AskFor(task, device);
    const Output output = Constant(Tensor::Vector<float>(Values(size, first)));
    build.set_device("");
    return output;
  }
  static std::vector<float> Values(int64_t size, float first) {
    std::vector<float> values;
    for (int64_t i = 0; i < size; ++i) values.push_back(first + static_cast<float>(i % 1000));
    return values;
  }
  static proto::ConfigProto TwoDevices() {
    proto::ConfigProto config;
    (*config.mutable_device_count())["CPU"] = 2;
    return config;
  }
  static std::string Device(int task) {
    return absl::StrCat("/job:worker/replica:0/task:", task, "/device:CPU:0");
  }
  // Of Reduce, to ask who is missing.
  static CollectiveSpec Spec(int64_t group_size) {
    CollectiveSpec spec;
    spec.dtype = DataType::kFloat;
    spec.group_size = group_size;
    spec.group_key = 1;
    return spec;
  }
  // What the first task, the leader, says to a member of the second one that comes with messages of
  // this version and without a tensor.
  Status JoinWithoutTensor(const CollectiveSpec& spec, int version = kMessageVersion) {
    proto::JoinCollectiveRequest request;
    EncodeSpec(spec, request.mutable_operation());
    request.set_version(version);
    request.set_task("/job:worker/replica:0/task:1");
    request.set_member(Device(1));
    PayloadReader reader(EncodeMessage(request));
    Status status;
    const Reply reply([&status](const Status&, Payload response) {
      PayloadReader answer(std::move(response));
      proto::StatusMessage message;
      ASSERT_TRUE(DecodeMessage(&answer, &message).ok());
      status = DecodeStatus(message);
    });
    EXPECT_TRUE(servers_[0]->worker()->collectives()->Handle("JoinCollective", &reader, reply));
    return status;
  }
  // Whether the leader knows that the device of a task waits.
  static bool HasArrived(const ResourceRef<ClusterCollectives>& leader, int64_t group_size,
                         int task) {
    const std::string all = leader->Missing(Spec(group_size), "nobody");
    const std::string there = leader->Missing(Spec(group_size), Device(task));
    return absl::StrContains(there, "besides ") ? absl::StrContains(all, Device(task))
                                                : !absl::StrContains(all, Device(task));
  }
  int64_t SentBytes(int task) {
    proto::TaskStatusRecord status;
    servers_[task]->AddStatus(&status);
    int64_t bytes = 0;
    for (const proto::TrafficRecord& traffic : status.traffic()) bytes += traffic.sent_bytes();
    return bytes;
  }
  // As Run, in a session of that task alone.
  StatusOr<std::vector<Tensor>> RunOn(int task, const Output& fetch, int64_t timeout_ms = 0) {
    proto::ConfigProto config;
    config.add_device_filters(absl::StrCat("/job:worker/task:", task));
    const std::unique_ptr<Session> own = Open(task, config);
    StepSignature signature;
    signature.fetches = {fetch};
    std::vector<Tensor> fetched(1);
    RunOptions options;
    options.timeout_ms = timeout_ms == 0 ? kHangGuardMillis : timeout_ms;
    MS_RETURN_IF_ERROR(own->Run(signature, {}, absl::MakeSpan(fetched), options));
    return fetched;
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_COLLECTIVES_FIXTURE_H_
