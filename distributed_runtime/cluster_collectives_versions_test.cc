// Members of collective operations whose tasks have messages of several versions.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/tensor_coding.h"
#include "distributed_runtime/testing/collectives_fixture.h"
#include "gtest/gtest.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {
namespace {

constexpr char kLeader[] = "/job:worker/replica:0/task:0";
constexpr char kMember[] = "/job:worker/replica:0/task:1";

// Stands in for a task of another version.
class OtherTask final : public RequestHandler {
 public:
  using Answer =
      std::function<void(absl::string_view method, PayloadReader* request, const Reply& reply)>;
  explicit OtherTask(Answer answer) : answer_(std::move(answer)) {}
  void Handle(absl::string_view method, Payload request, Respond respond) override {
    PayloadReader reader(std::move(request));
    answer_(method, &reader, Reply(std::move(respond)));
  }

 private:
  const Answer answer_;
};

class ClusterCollectivesVersionsTest : public ClusterCollectivesTest {
 protected:
  // A member of the second task meets others at that leader.
  Status JoinAt(OtherTask::Answer leader) {
    const Output sum = Reduce(1, 0, Numbers(1, 0, 1, 1), 2);
    servers_[0].reset();
    const auto other = LoopbackTransport::Global()->Serve(
        def_.cluster().job(0).tasks().at(0), std::make_shared<OtherTask>(std::move(leader)));
    MS_RETURN_IF_ERROR(other.status());
    return RunOn(1, sum).status();
  }
  static std::string Own() { return absl::StrCat("version ", kMessageVersion); }
};

// Through gRPC, the name of a request does not arrive at a task of version 3.
TEST_F(ClusterCollectivesVersionsTest, AnOldLeaderThatDoesNotKnowTheRequestIsNamedByItsVersion) {
  const Status status =
      JoinAt([](absl::string_view method, PayloadReader* request, const Reply& reply) {
        if (method != "CreateWorkerSession") {
          return reply.Give(errors::Unimplemented("a task has no method "));
        }
        proto::CreateWorkerSessionRequest message;
        ASSERT_EQ(DecodeMessage(request, &message), absl::OkStatus());
        EXPECT_EQ(message.task(), "") << "a task of the same version would begin a session";
        reply.Give(errors::FailedPrecondition("the task ", kLeader, " has messages of version 3, ",
                                              "and who asks has version ", message.version()));
      });
  ExpectError(status, absl::StatusCode::kFailedPrecondition, {kLeader, "version 3", Own()});
}

TEST_F(ClusterCollectivesVersionsTest, AProgramThatKnowsNoRequestIsNamed) {
  const Status status = JoinAt([](absl::string_view, PayloadReader*, const Reply& reply) {
    reply.Give(errors::Unimplemented("no such request"));
  });
  ExpectError(status, absl::StatusCode::kUnimplemented, {kLeader, "no such request"});
}

TEST_F(ClusterCollectivesVersionsTest, AnOldLeaderThatKnowsTheRequestIsRefusedByItsAnswer) {
  const Status status = JoinAt([](absl::string_view method, PayloadReader* request,
                                  const Reply& reply) {
    if (method != "JoinCollective") return reply.Give(absl::OkStatus());
    proto::JoinCollectiveResponse response;
    TensorWriter writer;
    ASSERT_EQ(writer.Add(Tensor::Vector<float>({3}), response.mutable_result()), absl::OkStatus());
    reply.Give(writer.Finish(response));
  });
  ExpectError(status, absl::StatusCode::kFailedPrecondition,
              {kLeader, kMember, "version 4 or older", Own()});
}

TEST_F(ClusterCollectivesVersionsTest, MembersOfOtherVersionsAreRefusedByBothVersions) {
  ExpectError(JoinWithoutTensor(Spec(2), 0), absl::StatusCode::kFailedPrecondition,
              {kLeader, kMember, "version 4 or older", Own()});
  ExpectError(JoinWithoutTensor(Spec(2), kMessageVersion + 1),
              absl::StatusCode::kFailedPrecondition,
              {kLeader, kMember, absl::StrCat("version ", kMessageVersion + 1), Own()});
}

}  // namespace
}  // namespace millstream
