#include "core/partition/loopback_rendezvous.h"

#include <string>

#include "core/graph/graph.h"
#include "core/partition/rendezvous_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr char kSource[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kDestination[] = "/job:worker/replica:0/task:1/device:CPU:0";
constexpr char kText[] =
    "/job:worker/replica:0/task:0/device:CPU:0;000000000000002a;"
    "/job:worker/replica:0/task:1/device:CPU:0;edge_3_a:0;0000000000000007";

struct Keeper final : public Rendezvous::Receiver {
  void Receive(Status given, Parcel received) override {
    ++calls;
    status = std::move(given);
    parcel = std::move(received);
  }
  int calls = 0;
  Status status;
  Parcel parcel;
};

class LoopbackRendezvousTest : public ::testing::Test {
 protected:
  LoopbackRendezvousTest() {
    for (const char* name : {kSource, kDestination}) {
      DeviceDescription device(name, DeviceTraits());
      device.incarnation = 42;
      devices.Add(device);
    }
  }
  // The end of an edge in a part's graph, as the partitioner makes it.
  const Node* Receiving(Graph* graph, int64_t incarnation = 42, const char* source = kSource) {
    NodeSpec spec;
    spec.name = "recv";
    spec.op = "_Recv";
    SetAttr(&spec.attrs, "tensor_type", AttrValue(DataType::kFloat));
    SetAttr(&spec.attrs, "tensor_name", AttrValue(std::string("a:0")));
    SetAttr(&spec.attrs, "send_device", AttrValue(std::string(source)));
    SetAttr(&spec.attrs, "send_device_incarnation", AttrValue(incarnation));
    SetAttr(&spec.attrs, "recv_device", AttrValue(std::string(kDestination)));
    StatusOr<const Node*> node = graph->AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status();
    return *node;
  }
  static Parcel Number(float number) {
    return Parcel{Tensor::Scalar<float>(number), false, nullptr};
  }

  DeviceSet devices;
  Graph here;
  Graph there;
};

TEST_F(LoopbackRendezvousTest, ANameIsMadeOfAKeysNodeAndReadFromItsText) {
  const StatusOr<RendezvousName> name = RendezvousName::Of({3, 7, Receiving(&here)});
  ASSERT_TRUE(name.ok()) << name.status();
  EXPECT_EQ(name->ToText(), kText);
  const StatusOr<RendezvousName> read = RendezvousName::Parse(kText);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->source, kSource);
  EXPECT_EQ(read->incarnation, 42);
  EXPECT_EQ(read->destination, kDestination);
  EXPECT_EQ(read->tensor, "edge_3_a:0");
  EXPECT_EQ(read->iteration, 7);
}

TEST_F(LoopbackRendezvousTest, WhatIsNoKeyTextIsRefused) {
  for (const char* text :
       {"", "a;b;c;d", "a;000000000000002a;b;c;7", "a;2a;b;c;0000000000000007",
        "a;ffffffffffffffff;b;c;0000000000000007", "a;000000000000002a;b;c;0000000000000007;d"}) {
    const StatusOr<RendezvousName> name = RendezvousName::Parse(text);
    EXPECT_EQ(name.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(name.status().message()), HasSubstr(std::string("'") + text + "'"));
  }
}

TEST_F(LoopbackRendezvousTest, NodesOfTwoGraphsMeetByName) {
  LoopbackRendezvous rendezvous(&devices);
  Keeper keeper;
  Parcel parcel;
  EXPECT_FALSE(*rendezvous.Receive({3, 7, Receiving(&here)}, &keeper, &parcel));
  EXPECT_EQ(rendezvous.Send({3, 8, Receiving(&there)}, Number(8)), absl::OkStatus());
  EXPECT_EQ(keeper.calls, 0) << "another iteration";
  const Node* const again = there.FindNode("recv").value();
  EXPECT_EQ(rendezvous.Send({3, 7, again}, Number(7)), absl::OkStatus());
  ASSERT_EQ(keeper.calls, 1);
  EXPECT_EQ(*keeper.parcel.tensor.data<float>(), 7);
}

TEST_F(LoopbackRendezvousTest, AKeyWithoutANameStaysInItsTask) {
  LoopbackRendezvous rendezvous(&devices);
  EXPECT_EQ(rendezvous.Send({3, 0}, Number(1)).code(), absl::StatusCode::kInternal);
}

TEST_F(LoopbackRendezvousTest, ASenderThatIsNotThereAsItWasIsTold) {
  LoopbackRendezvous rendezvous(&devices);
  Keeper keeper;
  Parcel parcel;
  const Status remade = rendezvous.Receive({3, 0, Receiving(&here, 41)}, &keeper, &parcel).status();
  EXPECT_EQ(remade.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(remade.message()), HasSubstr("expected incarnation 41, it is 42"));
  constexpr char kGone[] = "/job:worker/replica:0/task:2/device:CPU:0";
  const Status gone =
      rendezvous.Receive({3, 0, Receiving(&there, 42, kGone)}, &keeper, &parcel).status();
  EXPECT_EQ(gone.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(gone.message()), HasSubstr(kGone));
  EXPECT_EQ(keeper.calls, 0);
}

TEST_F(LoopbackRendezvousTest, WhoWaitsWhenItEndsIsTold) {
  Keeper keeper;
  {
    LoopbackRendezvous rendezvous(&devices);
    Parcel parcel;
    EXPECT_FALSE(*rendezvous.Receive({3, 0, Receiving(&here)}, &keeper, &parcel));
  }
  EXPECT_EQ(keeper.calls, 1);
  EXPECT_EQ(keeper.status.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace millstream
