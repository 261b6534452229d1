#include "core/resources/collective_meetings.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = CollectiveSpec::Kind;

std::string Device(int task, int device = 0) {
  return absl::StrCat("/job:worker/replica:0/task:", task, "/device:CPU:", device);
}

CollectiveSpec Sum(int64_t group_size, int64_t instance = 5) {
  CollectiveSpec spec;
  spec.dtype = DataType::kFloat;
  spec.group_size = group_size;
  spec.group_key = 1;
  spec.instance_key = instance;
  return spec;
}

class CollectiveMeetingsTest : public ::testing::Test {
 protected:
  // What a member has got.
  struct Got {
    int times = 0;
    Status status;
    MeetingOutcome outcome;
  };

  CollectiveArrival Arrival(const std::string& member, const Tensor& tensor) {
    const auto got = std::make_shared<Got>();
    got_.push_back(got);
    CollectiveArrival arrival;
    arrival.ticket = {std::string(TaskOfMember(member)), got_.size() - 1};
    arrival.member = member;
    arrival.shape = tensor.shape();
    arrival.tensor = tensor;
    arrival.done = [got](const Status& status, const MeetingOutcome& outcome) {
      ++got->times;
      got->status = status;
      got->outcome = outcome;
    };
    return arrival;
  }
  // Gives the number of the arrival.
  size_t Arrive(const CollectiveSpec& spec, const std::string& member, float value) {
    meetings_.Arrive(spec, Arrival(member, Tensor::Vector<float>({value})), SerialLoop);
    return got_.size() - 1;
  }
  void ExpectResult(size_t arrival, float value) {
    EXPECT_EQ(got_[arrival]->times, 1);
    ASSERT_EQ(got_[arrival]->status, absl::OkStatus());
    EXPECT_TRUE(TensorsEqual(got_[arrival]->outcome.result, Tensor::Vector<float>({value})))
        << got_[arrival]->outcome.result.DebugString();
  }
  void ExpectError(size_t arrival, absl::StatusCode code, const std::vector<std::string>& texts) {
    EXPECT_EQ(got_[arrival]->times, 1);
    EXPECT_EQ(got_[arrival]->status.code(), code) << got_[arrival]->status;
    for (const std::string& text : texts) {
      EXPECT_THAT(std::string(got_[arrival]->status.message()), HasSubstr(text));
    }
  }
  CollectiveTicket TicketOf(size_t arrival, int task) {
    return {std::string(TaskOfMember(Device(task))), arrival};
  }

  CollectiveMeetings meetings_{7};
  std::vector<std::shared_ptr<Got>> got_;
};

TEST_F(CollectiveMeetingsTest, AllGetTheResultWhenTheLastHasCome) {
  for (int members = 1; members <= 5; ++members) {
    const size_t first = got_.size();
    for (int member = 0; member < members; ++member) {
      if (member > 0) {
        EXPECT_EQ(got_.back()->times, 0);
      }
      Arrive(Sum(members), Device(member), static_cast<float>(member + 1));
    }
    for (size_t i = first; i < got_.size(); ++i) {
      ExpectResult(i, static_cast<float>(members * (members + 1)) / 2);
    }
  }
}

TEST_F(CollectiveMeetingsTest, TheOrderOfArrivalsChangesNoBit) {
  // Beside 10^8, floats are 8 apart: the result depends on the order of additions.
  const std::vector<float> values = {3, 1e8, 3, -1e8};
  std::vector<int> order = {0, 1, 2, 3};
  std::vector<float> results;
  do {
    for (const int member : order) Arrive(Sum(4), Device(member), values[member]);
    for (size_t i = got_.size() - 4; i < got_.size(); ++i) {
      ASSERT_EQ(got_[i]->status, absl::OkStatus());
      results.push_back(got_[i]->outcome.result.data<float>()[0]);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(std::set<float>(results.begin(), results.end()).size(), 1);
}

TEST_F(CollectiveMeetingsTest, AllAreToldTheSlowestLinkThatIsKnown) {
  const std::vector<CollectiveLink> links = {{1e-3, 1e9}, {}, {1e-4, 1e6}, {5, 0}};
  for (size_t i = 0; i < links.size(); ++i) {
    CollectiveArrival arrival = Arrival(Device(static_cast<int>(i)), Tensor::Vector<float>({1}));
    arrival.link = links[i];
    meetings_.Arrive(Sum(4), std::move(arrival), SerialLoop);
  }
  for (const std::shared_ptr<Got>& got : got_) {
    ASSERT_EQ(got->status, absl::OkStatus());
    EXPECT_EQ(got->outcome.link.round_trip_seconds, 1e-3);
    EXPECT_EQ(got->outcome.link.bytes_per_second, 1e6);
  }
}

TEST_F(CollectiveMeetingsTest, AMeetingOfWhichNoLinkIsKnownTellsNone) {
  Arrive(Sum(2), Device(0), 1);
  Arrive(Sum(2), Device(1), 1);
  for (const std::shared_ptr<Got>& got : got_) EXPECT_FALSE(got->outcome.link.is_known());
}

TEST_F(CollectiveMeetingsTest, MembersOfATaskAreMergedFirst) {
  // ((3 + 3) + 10^8) keeps the sum of the two, which a task has; one by one they would be lost.
  Arrive(Sum(3), Device(0), 1e8);
  Arrive(Sum(3), Device(1, 0), 3);
  ExpectResult(Arrive(Sum(3), Device(1, 1), 3), 1e8 + 8);
}

TEST_F(CollectiveMeetingsTest, AMemberThatComesAgainWaitsForTheNextMeeting) {
  const size_t first = Arrive(Sum(2), Device(0), 1);
  const size_t second = Arrive(Sum(2), Device(0), 10);
  Arrive(Sum(2), Device(1), 2);
  ExpectResult(first, 3);
  EXPECT_EQ(got_[second]->times, 0);
  Arrive(Sum(2), Device(1), 20);
  ExpectResult(second, 30);
  EXPECT_NE(got_[first]->outcome.number, got_[second]->outcome.number);
}

TEST_F(CollectiveMeetingsTest, InstancesAndScopesDoNotMeet) {
  Arrive(Sum(2, 5), Device(0), 1);
  Arrive(Sum(2, 6), Device(1), 2);
  CollectiveSpec scoped = Sum(2, 5);
  scoped.scope = 9;
  Arrive(scoped, Device(1), 4);
  for (const auto& got : got_) EXPECT_EQ(got->times, 0);
  ExpectResult(Arrive(Sum(2, 5), Device(1), 8), 9);
}

TEST_F(CollectiveMeetingsTest, GathersInTheOrderOfNamesInWhichNumbersAreNumbers) {
  CollectiveSpec spec = Sum(3);
  spec.kind = Kind::kGather;
  Arrive(spec, Device(10), 3);
  Arrive(spec, Device(2, 11), 2);
  Arrive(spec, Device(2, 9), 1);
  for (const auto& got : got_) {
    ASSERT_EQ(got->status, absl::OkStatus());
    EXPECT_TRUE(TensorsEqual(got->outcome.result, Tensor::Vector<float>({1, 2, 3})));
    EXPECT_THAT(got->outcome.members, ElementsAre(Device(2, 9), Device(2, 11), Device(10)));
  }
}

TEST_F(CollectiveMeetingsTest, EachMemberOfAReduceScatterGetsItsPart) {
  CollectiveSpec spec = Sum(3);
  spec.kind = Kind::kReduceScatter;
  spec.divides = true;
  const auto arrive = [&](const std::string& member, const Tensor& tensor) {
    meetings_.Arrive(spec, Arrival(member, tensor), SerialLoop);
  };
  arrive(Device(10), Tensor::Vector<float>({1, 2, 3, 4, 5, 6}));
  arrive(Device(2, 1), Tensor::Vector<float>({10, 20, 30, 40, 50, 60}));
  arrive(Device(2, 0), Tensor::Vector<float>({19, 28, 37, 46, 55, 64}));
  // In the order of names: task 2's two devices, and task 10's.
  const std::vector<Tensor> expected = {Tensor::Vector<float>({110.0f / 3, 130.0f / 3}),
                                        Tensor::Vector<float>({70.0f / 3, 90.0f / 3}),
                                        Tensor::Vector<float>({30.0f / 3, 50.0f / 3})};
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(got_[i]->status, absl::OkStatus());
    EXPECT_TRUE(TensorsEqual(got_[i]->outcome.result, expected[i]))
        << got_[i]->outcome.result.DebugString();
  }
}

TEST_F(CollectiveMeetingsTest, RowsThatMembersCannotShareAreAnErrorForEach) {
  CollectiveSpec spec = Sum(2);
  spec.kind = Kind::kReduceScatter;
  for (const Tensor& tensor : {Tensor::Vector<float>({1, 2, 3}), Tensor::Scalar<float>(1)}) {
    for (int member = 0; member < 2; ++member) {
      meetings_.Arrive(spec, Arrival(Device(member), tensor), SerialLoop);
    }
    for (size_t i = got_.size() - 2; i < got_.size(); ++i) {
      ExpectError(i, absl::StatusCode::kInvalidArgument,
                  {"the 2 members of collective group 1, instance 5 have tensors of shape " +
                       tensor.shape().ToString(),
                   "group_size does not divide"});
    }
  }
}

TEST_F(CollectiveMeetingsTest, ABroadcastHasOneSender) {
  CollectiveSpec spec = Sum(2);
  spec.kind = Kind::kBroadcast;
  for (const int senders : {0, 1, 2}) {
    for (int member = 0; member < 2; ++member) {
      const bool gives = member < senders;
      const Tensor tensor = gives ? Tensor::Vector<float>({4}) : Tensor();
      CollectiveArrival arrival = Arrival(Device(member), tensor);
      arrival.gives = gives;
      meetings_.Arrive(spec, std::move(arrival), SerialLoop);
    }
    for (size_t i = got_.size() - 2; i < got_.size(); ++i) {
      if (senders == 1) {
        ExpectResult(i, 4);
      } else {
        ExpectError(i, absl::StatusCode::kInvalidArgument,
                    {"expected one sender", absl::StrCat("got ", senders)});
      }
    }
  }
}

TEST_F(CollectiveMeetingsTest, TensorsMayStayInTheirTasks) {
  CollectiveArrival remote = Arrival(Device(1), Tensor::Vector<float>({1}));
  remote.tensor = Tensor();
  meetings_.Arrive(Sum(2), std::move(remote), SerialLoop);
  Arrive(Sum(2), Device(0), 1);
  for (const auto& got : got_) {
    ASSERT_EQ(got->status, absl::OkStatus());
    EXPECT_FALSE(got->outcome.result.has_value());
    EXPECT_THAT(got->outcome.members, ElementsAre(Device(0), Device(1)));
    EXPECT_EQ(got->outcome.number, 7);
  }
}

TEST_F(CollectiveMeetingsTest, MembersThatDoNotAgreeGetAnError) {
  CollectiveSpec other = Sum(2);
  other.dtype = DataType::kInt32;
  Arrive(Sum(2), Device(0), 1);
  Arrive(other, Device(1), 1);
  other = Sum(3);
  Arrive(Sum(2), Device(0), 1);
  Arrive(other, Device(1), 1);
  meetings_.Arrive(Sum(2), Arrival(Device(0), Tensor::Vector<float>({1, 2})), SerialLoop);
  Arrive(Sum(2), Device(1), 1);
  const std::vector<std::string> differences = {"int32", "group_size 3", "shape [2]"};
  for (size_t i = 0; i < got_.size(); ++i) {
    ExpectError(i, absl::StatusCode::kInvalidArgument,
                {"collective group 1, instance 5", "do not agree", Device(0), Device(1),
                 differences[i / 2]});
  }
}

TEST_F(CollectiveMeetingsTest, WhoLeavesIsNamedToThoseWhoWaitForIt) {
  const size_t leaver = Arrive(Sum(3), Device(0), 1);
  const size_t beside = Arrive(Sum(3), Device(1), 1);
  const size_t in_another = Arrive(Sum(3, 6), Device(2), 1);
  CollectiveSpec other_group = Sum(3);
  other_group.group_key = 2;
  const size_t elsewhere = Arrive(other_group, Device(1), 1);
  meetings_.Leave(TicketOf(leaver, 0), "the disk is full");
  meetings_.Leave(TicketOf(leaver, 0), "once more");
  ExpectError(leaver, absl::StatusCode::kCancelled, {"collective group 1, instance 5"});
  for (const size_t waiting : {beside, in_another}) {
    ExpectError(waiting, absl::StatusCode::kAborted, {Device(0), "has left", "the disk is full"});
  }
  EXPECT_EQ(got_[elsewhere]->times, 0);
  // The next meeting is complete again.
  for (int member = 0; member < 3; ++member) Arrive(Sum(3), Device(member), 1);
  ExpectResult(got_.size() - 1, 3);
}

TEST_F(CollectiveMeetingsTest, OlderMembersOfATaskLeave) {
  const size_t forgotten = Arrive(Sum(2), Device(0), 1);
  const size_t again = Arrive(Sum(2), Device(0), 10);
  meetings_.LeaveBefore(TicketOf(again, 1), "of another task");
  EXPECT_EQ(got_[forgotten]->times, 0);
  meetings_.LeaveBefore(TicketOf(again, 0), "it was lost");
  ExpectError(forgotten, absl::StatusCode::kCancelled, {});
  ExpectResult(Arrive(Sum(2), Device(1), 2), 12);
}

TEST_F(CollectiveMeetingsTest, ALostTaskIsNamed) {
  for (int member = 0; member < 2; ++member) Arrive(Sum(2), Device(member), 1);
  // Has been a member, and does not come again.
  const size_t waiting = Arrive(Sum(2), Device(0), 1);
  const std::string lost(TaskOfMember(Device(1)));
  meetings_.LoseTask(TaskOfMember(Device(3)), absl::UnavailableError("no connection"));
  EXPECT_EQ(got_[waiting]->times, 0);
  meetings_.LoseTask(lost, absl::UnavailableError("no connection"));
  ExpectError(waiting, absl::StatusCode::kUnavailable, {lost, "was lost", "no connection"});
}

// A cluster may go on without a task that was lost, or with another one.
TEST_F(CollectiveMeetingsTest, ALostTaskIsNoMatterToAnotherGroup) {
  const std::string lost(TaskOfMember(Device(2)));
  for (const int other : {1, 3}) {
    for (int member = 0; member < 3; ++member) Arrive(Sum(3), Device(member), 1);
    const int64_t size = other == 1 ? 2 : 3;
    const size_t waiting = Arrive(Sum(size), Device(other), 1);
    EXPECT_THAT(meetings_.KnownTasks(Sum(size)), IsEmpty());
    meetings_.LoseTask(lost, absl::UnavailableError("no connection"));
    EXPECT_EQ(got_[waiting]->times, 0);
    meetings_.EndAll(errors::Cancelled("closed"));
  }
}

TEST_F(CollectiveMeetingsTest, SaysWhoIsMissing) {
  EXPECT_EQ(meetings_.Missing(Sum(3), Device(0)),
            absl::StrCat("2 of 3 members of collective group 1, instance 5 besides ", Device(0)));
  EXPECT_THAT(meetings_.KnownTasks(Sum(3)), IsEmpty());
  for (int member = 0; member < 3; ++member) Arrive(Sum(3), Device(member), 1);
  EXPECT_THAT(meetings_.KnownTasks(Sum(3)), SizeIs(3));
  Arrive(Sum(3), Device(0), 1);
  Arrive(Sum(3), Device(2), 1);
  for (const int member : {0, 2}) {
    EXPECT_EQ(meetings_.Missing(Sum(3), Device(member)),
              absl::StrCat("1 of 3 members of collective group 1, instance 5: ", Device(1)));
  }
}

TEST_F(CollectiveMeetingsTest, EndAllEndsThem) {
  EXPECT_FALSE(meetings_.HasWaiting());
  const size_t waiting = Arrive(Sum(2), Device(0), 1);
  EXPECT_TRUE(meetings_.HasWaiting());
  meetings_.EndAll(errors::Cancelled("closed"));
  EXPECT_FALSE(meetings_.HasWaiting());
  ExpectError(waiting, absl::StatusCode::kCancelled, {"closed"});
}

}  // namespace
}  // namespace millstream
