#include "distributed_runtime/outgoing_tensors.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class OutgoingTensorsTest : public ::testing::Test {
 protected:
  struct Got {
    int calls = 0;
    Status status;
    std::string value;  // of the tensor
    bool came_before = false;
    std::vector<std::string> more;  // "key=value"
  };

  static std::string ValueOf(const Parcel& parcel) {
    return parcel.tensor.has_value() ? *parcel.tensor.data<std::string>() : "";
  }
  void Send(const std::string& key, const std::string& destination = "/task:1",
            const std::string& value = "x") {
    EXPECT_EQ(outgoing_.Send(key, destination,
                             Parcel{Tensor::Scalar<std::string>(value), false, nullptr}),
              absl::OkStatus());
  }
  // Filled now or later.
  std::unique_ptr<Got> Ask(const std::string& key, bool takes_more = true) {
    auto got = std::make_unique<Got>();
    outgoing_.Ask(key, takes_more,
                  [to = got.get()](const Status& status, OutgoingTensors::Answer answer) {
                    ++to->calls;
                    to->status = status;
                    to->value = ValueOf(answer.parcel);
                    to->came_before = answer.came_before;
                    for (const OutgoingTensors::Named& one : answer.more) {
                      to->more.push_back(one.key + "=" + ValueOf(one.parcel));
                    }
                  });
    return got;
  }

  OutgoingTensors outgoing_;
};

TEST_F(OutgoingTensorsTest, WhatIsThereForTheSameTaskComesAlong) {
  Send("a", "/task:1", "1");
  Send("b", "/task:1", "2");
  Send("c", "/task:2", "3");
  Send("d", "/task:1", "4");
  const auto a = Ask("a");
  EXPECT_EQ(a->value, "1");
  EXPECT_THAT(a->more, UnorderedElementsAre("b=2", "d=4"));
  const auto b = Ask("b");
  EXPECT_EQ(b->calls, 1);
  EXPECT_TRUE(b->came_before);
  EXPECT_THAT(b->more, IsEmpty());
  const auto c = Ask("c");
  EXPECT_EQ(c->value, "3");
  EXPECT_FALSE(c->came_before);
}

TEST_F(OutgoingTensorsTest, ATensorThatIsAwaitedBringsTheOthers) {
  const auto b = Ask("b");
  const auto c = Ask("c");
  Send("a", "/task:1", "1");
  EXPECT_EQ(b->calls, 0);
  Send("b", "/task:1", "2");
  EXPECT_EQ(b->value, "2");
  EXPECT_THAT(b->more, ElementsAre("a=1"));
  Send("c", "/task:1", "3");
  EXPECT_EQ(c->value, "3");
  EXPECT_THAT(c->more, IsEmpty());
}

TEST_F(OutgoingTensorsTest, WhoTakesNoMoreGetsNoMore) {
  Send("a");
  Send("b");
  EXPECT_THAT(Ask("a", /*takes_more=*/false)->more, IsEmpty());
  EXPECT_FALSE(Ask("b", /*takes_more=*/false)->came_before);
}

TEST_F(OutgoingTensorsTest, LargeTensorsAreAskedForOneByOne) {
  Send("a");
  const Tensor large = *Tensor::Create(DataType::kFloat, Shape({int64_t{100000}}));
  EXPECT_EQ(outgoing_.Send("b", "/task:1", Parcel{large, false, nullptr}), absl::OkStatus());
  EXPECT_THAT(Ask("a")->more, IsEmpty());
  EXPECT_FALSE(Ask("b")->came_before);
}

TEST_F(OutgoingTensorsTest, ATensorIsSentOnceAndAskedForOnce) {
  Send("a");
  Send("b");
  const Parcel again{Tensor::Scalar<std::string>("x"), false, nullptr};
  EXPECT_EQ(outgoing_.Send("a", "/task:1", again).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Ask("a")->more, ElementsAre("b=x"));
  EXPECT_EQ(outgoing_.Send("b", "/task:1", again).code(), absl::StatusCode::kAlreadyExists);
  const auto first = Ask("c");
  EXPECT_EQ(Ask("c")->status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(first->calls, 0);
  outgoing_.Abort(errors::Cancelled("over"));
}

TEST_F(OutgoingTensorsTest, AnErrorReachesAllWhoAsk) {
  const auto early = Ask("a");
  outgoing_.Abort(errors::Cancelled("over"));
  outgoing_.Abort(errors::Internal("late"));
  EXPECT_EQ(early->status.code(), absl::StatusCode::kCancelled);
  Send("a");
  const auto late = Ask("a");
  EXPECT_EQ(late->status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(early->calls, 1);
}

}  // namespace
}  // namespace millstream
