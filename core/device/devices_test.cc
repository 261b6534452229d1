// Steps over several logical CPUs: placement, transfers, and the same results as on one.
#include <algorithm>
#include <map>
#include <thread>

#include "core/session/executable.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class DevicesTest : public SessionTest {
 protected:
  void StartWithCpus(int cpus, int inter_op_threads = 0) {
    SessionOptions options;
    options.device_count["CPU"] = cpus;
    options.inter_op_threads = inter_op_threads;
    options.allow_soft_placement = soft_placement;
    StartSession(options);
  }

  // The nodes that `body` adds ask for `device`.
  template <typename Body>
  auto On(const std::string& device, Body body) {
    build.set_device(device);
    auto result = body();
    build.set_device("");
    return result;
  }

  Output VariableOn(const std::string& device) {
    const Output handle = Variable("v", DataType::kFloat, PartialShape::Scalar());
    EXPECT_TRUE(graph.SetDevice(handle.node, device).ok());
    return handle;
  }

  // Which tensors cross between devices in a step that gives `fetches`: "a:0 0>1".
  std::vector<std::string> Transfers(const std::vector<Output>& fetches, int cpus,
                                     const std::vector<Output>& feeds = {}) {
    EXPECT_TRUE(LoadCpuPlugin().ok());
    StatusOr<DeviceList> devices = CreateDevices({{"CPU", cpus}});
    EXPECT_TRUE(devices.ok()) << devices.status();
    StepSignature signature;
    signature.feeds = feeds;
    signature.fetches = fetches;
    StatusOr<PrunedGraph> pruned = Prune(graph, signature);
    EXPECT_TRUE(pruned.ok()) << pruned.status();
    const DeviceSet described = Describe(*devices);
    StatusOr<Placement> placement = Place(graph, *pruned, described, PlacementOptions());
    EXPECT_TRUE(placement.ok()) << placement.status();
    StatusOr<PartitionedGraph> parts = PartitionGraph(*pruned, *placement, described, signature);
    EXPECT_TRUE(parts.ok()) << parts.status();
    std::vector<std::string> crossings;
    for (const Transfer& transfer : parts->transfers) {
      crossings.push_back(absl::StrCat(transfer.tensor, " ", transfer.from, ">", transfer.to));
    }
    CheckTransferNodes(*parts);
    return crossings;
  }

  // One Send and one Receive for each transfer, on the devices that it names.
  void CheckTransferNodes(const PartitionedGraph& parts) {
    std::map<int64_t, std::vector<int>> sends;
    std::map<int64_t, std::vector<int>> receives;
    for (const Partition& part : parts.parts) {
      for (const Node* node : part.pruned.nodes) {
        if (node->op().name == "_Send") sends[*node->Attr<int64_t>("_edge")].push_back(part.device);
        if (node->op().name == "_Recv") {
          receives[*node->Attr<int64_t>("_edge")].push_back(part.device);
        }
      }
    }
    ASSERT_THAT(sends, SizeIs(parts.transfers.size()));
    ASSERT_THAT(receives, SizeIs(parts.transfers.size()));
    for (size_t i = 0; i < parts.transfers.size(); ++i) {
      EXPECT_THAT(sends[i], ElementsAre(parts.transfers[i].from));
      EXPECT_THAT(receives[i], ElementsAre(parts.transfers[i].to));
    }
  }

  bool soft_placement = false;
};

TEST_F(DevicesTest, ListsAsManyCpusAsWereAskedFor) {
  StartWithCpus(3);
  std::vector<std::string> names;
  for (const DeviceInfo& device : session->ListDevices()) names.push_back(device.name);
  EXPECT_THAT(names, ElementsAre("/job:localhost/replica:0/task:0/device:CPU:0",
                                 "/job:localhost/replica:0/task:0/device:CPU:1",
                                 "/job:localhost/replica:0/task:0/device:CPU:2"));
}

TEST_F(DevicesTest, TensorsCrossBetweenDevices) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output a = On("/cpu:1", [&] { return Op("Square", {x}); });
  const Output b = On("/cpu:2", [&] { return Op("Neg", {a}); });
  const Output c = Op("AddV2", {a, b});
  StartWithCpus(3);
  EXPECT_THAT(Elements<float>(Value(c, {{x, Values<float>({3, -4})}})), ElementsAre(0, 0));
  EXPECT_THAT(Elements<float>(Value(b, {{x, Values<float>({3, -4})}})), ElementsAre(-9, -16));
}

TEST_F(DevicesTest, ATensorIsSentOnceToADeviceThatReadsItOften) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output a = On("/cpu:0", [&] { return Op("Square", {x}); });
  const auto read = [&] { return Op("AddV2", {Op("Neg", {a}), Op("AddV2", {Op("Abs", {a}), a})}); };
  const Output b = On("/cpu:1", read);
  const Output c = On("/cpu:2", read);
  // Fed and fetched tensors do not cross: the caller has them.
  EXPECT_THAT(Transfers({b, c}, 3, {x}), UnorderedElementsAre("Square:0 0>1", "Square:0 0>2"));
}

TEST_F(DevicesTest, ConstantsAreCopiedRatherThanSent) {
  const Output one = Constant(1.0f);
  const Output a = On("/cpu:1", [&] { return Op("Neg", {one}); });
  const Output b = On("/cpu:2", [&] { return Op("Neg", {one}); });
  EXPECT_THAT(Transfers({a, b}, 3), IsEmpty());
}

TEST_F(DevicesTest, ControlEdgesCross) {
  const Output handle = VariableOn("/cpu:1");
  const Node* assign = Assign(handle, Constant(7.0f));
  build.set_control_inputs({assign});
  const Output after = On("/cpu:0", [&] { return Op("Square", {Constant(3.0f)}); });
  build.set_control_inputs({});
  const Output read = Read(handle);
  EXPECT_THAT(Transfers({after}, 2), ElementsAre("^" + assign->name() + " 1>0"));
  StartWithCpus(2);
  EXPECT_EQ(*Value(after).data<float>(), 9);
  EXPECT_EQ(*Value(read).data<float>(), 7);
}

TEST_F(DevicesTest, ControlEdgesOfAConstantHold) {
  const Output handle = VariableOn("/cpu:1");
  const Node* assign = Assign(handle, Constant(7.0f));
  build.set_control_inputs({assign});
  const Output constant = Constant(3.0f);
  build.set_control_inputs({});
  const Output read = On("/cpu:0", [&] { return Op("Neg", {constant}); });
  StartWithCpus(2);
  EXPECT_EQ(*Value(read).data<float>(), -3);
  EXPECT_EQ(*Value(Read(handle)).data<float>(), 7);
}

// Two parts that each need the other half way: they must not wait for each other.
TEST_F(DevicesTest, PartsThatNeedEachOtherGoOn) {
  Output a = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  const Output x = a;
  Output b = x;
  for (int i = 0; i < 50; ++i) {
    const Output next_a = On("/cpu:0", [&] { return Op("Neg", {b}); });
    const Output next_b = On("/cpu:1", [&] { return Op("AddV2", {a, Constant(1.0f)}); });
    a = next_a;
    b = next_b;
  }
  for (int threads : {0, 4}) {
    StartWithCpus(2, threads);
    StatusOr<std::vector<Tensor>> values = Run({a, b}, {{x, Tensor::Scalar<float>(2)}});
    ASSERT_TRUE(values.ok()) << values.status();
    float one = 2;
    float other = 2;
    for (int i = 0; i < 50; ++i) {
      const float next = -other;
      other = one + 1;
      one = next;
    }
    EXPECT_EQ(*(*values)[0].data<float>(), one);
    EXPECT_EQ(*(*values)[1].data<float>(), other);
  }
}

TEST_F(DevicesTest, ShapesThatAreFoundAtRunTimeCross) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape({-1}));
  const Output a = On("/cpu:1", [&] { return Op("Square", {x}); });
  const Output b = On("/cpu:0", [&] { return Op("Neg", {a}); });
  StartWithCpus(2);
  for (size_t size = 1; size < 40; ++size) {
    const std::vector<float> ones(size, 1.0f);
    EXPECT_EQ(Elements<float>(Value(b, {{x, Values(ones)}})), std::vector<float>(size, -1.0f));
  }
}

TEST_F(DevicesTest, AnErrorOnOneDeviceEndsTheStepOnAll) {
  const Output x = Placeholder("x", DataType::kInt32, PartialShape::Scalar());
  const Output a = On("/cpu:1", [&] {
    return Op("FloorDiv", {Constant(Tensor::Scalar<int32_t>(1)), x});
  });
  const Output b = On("/cpu:0", [&] { return Op("Neg", {a}); });
  const Output c = On("/cpu:2", [&] { return Op("Neg", {b}); });
  StartWithCpus(3);
  ExpectError(Error(c, {{x, Tensor::Scalar<int32_t>(0)}}), absl::StatusCode::kInvalidArgument,
              {"FloorDiv", "CPU:1"});
  EXPECT_EQ(*Value(c, {{x, Tensor::Scalar<int32_t>(1)}}).data<int32_t>(), 1);
}

TEST_F(DevicesTest, ManyStepsAtOnce) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(64));
  const Output a = On("/cpu:1", [&] { return Op("Square", {x}); });
  const Output b = On("/cpu:2", [&] { return Op("AddV2", {a, x}); });
  StartWithCpus(3, 3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> fed(64, static_cast<float>(t));
      for (int i = 0; i < 200; ++i) {
        StatusOr<std::vector<Tensor>> values = Run({b}, {{x, Values(fed)}});
        ASSERT_TRUE(values.ok()) << values.status();
        EXPECT_EQ(Elements<float>((*values)[0]), std::vector<float>(64, float(t * t + t)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The partitioner's own nodes stand beside the user's.
TEST_F(DevicesTest, NamesOfTheUserGoBeforeThoseOfTransfers) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  const Output a = TryNode("a", "Neg", {x}).value()->output(0);
  Output b = a;
  for (const char* name : {"a/_Recv_0", "a/_Send_0", "x/_fed_0", "a/_recv_0_1"}) {
    b = TryNode(name, "Square", {b}).value()->output(0);
  }
  ASSERT_TRUE(graph.SetDevice(a.node, "/cpu:1").ok());
  ASSERT_TRUE(graph.SetDevice(graph.FindNode("x/_fed_0").value(), "/cpu:1").ok());
  const Output c = Op("AddV2", {b, a});
  ASSERT_TRUE(graph.SetDevice(c.node, "/cpu:0").ok());
  for (const char* name : {"a/_Recv_0", "a/_Send_0"}) {
    ASSERT_TRUE(graph.SetDevice(graph.FindNode(name).value(), "/cpu:0").ok());
  }
  StartWithCpus(2);
  EXPECT_EQ(*Value(c, {{x, Tensor::Scalar<float>(2)}}).data<float>(), 65536 - 2);
}

// ---- Placement ----

TEST_F(DevicesTest, AHandleAndItsUsersStayTogether) {
  const Output handle = VariableOn("/cpu:1");
  const Output read = Read(handle);
  StartWithCpus(2);
  StepSignature signature;
  signature.fetches = {read};
  const std::string text = MakeCallable(signature)->placement_text();
  EXPECT_THAT(text, HasSubstr(read.node->name() +
                              ": (ReadVariableOp): /job:localhost/replica:0/task:0/device:CPU:1 "
                              "because it is together with 'v', which asks for '/cpu:1'"));
}

TEST_F(DevicesTest, RequestsThatContradictAreRefused) {
  const Output handle = VariableOn("/cpu:1");
  const Output read = Read(handle);
  ASSERT_TRUE(graph.SetDevice(read.node, "/cpu:0").ok());
  StartWithCpus(2);
  ExpectError(Error(read), absl::StatusCode::kInvalidArgument,
              {"'/cpu:0'", "'/cpu:1'", "'v'", "Cannot colocate"});
}

TEST_F(DevicesTest, ADeviceThatIsNotThereIsRefused) {
  const Output one = Constant(1.0f);
  const Output a = On("/cpu:5", [&] { return Op("Neg", {one}); });
  StartWithCpus(2);
  ExpectError(Error(a), absl::StatusCode::kInvalidArgument,
              {"Cannot assign a device for operation Neg", "/cpu:5", "CPU:0", "CPU:1"});
}

TEST_F(DevicesTest, SoftPlacementMovesWhatCannotBeWhereItAsks) {
  const Output a = On("/device:GPU:0", [&] { return Op("Neg", {Constant(1.0f)}); });
  soft_placement = true;
  StartWithCpus(2);
  EXPECT_EQ(*Value(a).data<float>(), -1);
  StepSignature signature;
  signature.fetches = {a};
  EXPECT_THAT(MakeCallable(signature)->placement_text(), HasSubstr("soft placement moved it"));
}

TEST_F(DevicesTest, ColocationWithWhatTheStepDoesNotRunConstrainsNothing) {
  const Output other = On("/cpu:1", [&] { return Op("Neg", {Constant(1.0f)}); });
  const Output a = On("/cpu:0", [&] {
    return Op("Neg", {Constant(1.0f)},
              {{"_class", std::vector<std::string>{"loc:@" + other.node->name()}}});
  });
  StartWithCpus(2);
  EXPECT_EQ(*Value(a).data<float>(), -1);
}

TEST_F(DevicesTest, ColocationWithAMisspeltNodeIsRefused) {
  const Output a =
      Op("Neg", {Constant(1.0f)}, {{"_class", std::vector<std::string>{"loc:@nosuch"}}});
  for (const int cpus : {1, 2}) {
    StartWithCpus(cpus);
    ExpectError(Error(a), absl::StatusCode::kInvalidArgument,
                {"'nosuch'", "node '" + a.node->name() + "'", "colocated"});
  }
}

TEST_F(DevicesTest, EveryCpuIsADefaultDeviceThatWorksInHostMemory) {
  ASSERT_TRUE(LoadCpuPlugin().ok());
  const StatusOr<DeviceList> devices = CreateDevices({{"CPU", 2}});
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_THAT(*devices, SizeIs(2));
  for (const std::unique_ptr<Device>& device : *devices) {
    EXPECT_TRUE(device->traits().is_default) << device->name();
    EXPECT_TRUE(device->traits().host_memory) << device->name();
    EXPECT_TRUE(device->traits().runs_on_callers_thread) << device->name();
  }
}

TEST_F(DevicesTest, MoreDevicesThanAnyoneWantsAreRefused) {
  const StatusOr<DeviceList> devices = CreateDevices({{"CPU", 1025}});
  ExpectError(devices.status(), absl::StatusCode::kInvalidArgument,
              {"device_count of CPU", "1024", "1025"});
  ExpectError(CreateDevices({{"GPU", -1}}).status(), absl::StatusCode::kInvalidArgument,
              {"device_count of GPU", "-1"});
}

}  // namespace
}  // namespace millstream
