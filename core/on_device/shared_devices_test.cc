// Devices that the sessions of a task share.
#include "core/device/shared_devices.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/on_device/device_session_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr char kTask[] = "/job:worker/replica:0/task:3";
constexpr int64_t kMegabyte = 1 << 20;

// Keeps a tensor that somebody else may want the memory of.
class User final : public DeviceUser {
 public:
  User() = default;
  explicit User(Tensor kept) : kept_(std::move(kept)) {}
  void DropKeptMemory() override { kept_ = Tensor(); }

 private:
  Tensor kept_;
};

class SharedDevicesTest : public ::testing::Test {
 protected:
  SharedDevicesTest() {
    LoadSims();
    devices_ = NewList();
  }

  DeviceList NewList() {
    StatusOr<DeviceList> created = shared_.Create({});
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? *std::move(created) : DeviceList();
  }
  // Of the task: "SIM:0".
  static Device* Find(const DeviceList& devices, const std::string& name) {
    for (const std::unique_ptr<Device>& device : devices) {
      if (device->name() == std::string(kTask) + "/device:" + name) return device.get();
    }
    ADD_FAILURE() << "no device " << name;
    return nullptr;
  }
  DeviceMemory* memory() { return Find(devices_, "SIM:0")->memory(); }
  // A copy of a step that ends before it.
  void LeaveHangingCopy() {
    SetOnSims(0, "hang_copy", 1);
    EXPECT_TRUE(memory()->CopyToDevice(Tensor::Scalar(1.0f)).ok());
    AwaitHangOnSims(0);
    memory()->NoteAbandoned();
  }
  static StatusOr<Tensor> Allocate(DeviceMemory* memory, int64_t megabytes) {
    return memory->Allocate(DataType::kUInt8, Shape({megabytes * kMegabyte}));
  }

  SharedDevices shared_{kTask};
  DeviceList devices_;
};

TEST_F(SharedDevicesTest, SessionsShareMemoryAndHaveKernelsOfTheirOwn) {
  const DeviceList others = NewList();
  ASSERT_EQ(others.size(), devices_.size());
  const Device* const sim = Find(devices_, "SIM:0");
  Device* const other_sim = Find(others, "SIM:0");
  ASSERT_NE(sim->memory(), nullptr);
  EXPECT_EQ(sim->memory(), other_sim->memory());
  EXPECT_NE(Find(devices_, "SIM:0")->kernels(), other_sim->kernels());
  EXPECT_EQ(sim->description().incarnation, other_sim->description().incarnation);
  EXPECT_EQ(sim->memory_limit(), other_sim->memory_limit());
  EXPECT_FALSE(other_sim->traits().host_memory);
  EXPECT_NE(Find(devices_, "SIM:1")->memory(), sim->memory());
  // What works in host memory is each session's own.
  EXPECT_NE(Find(devices_, "CPU:0")->description().incarnation,
            Find(others, "CPU:0")->description().incarnation);
}

TEST_F(SharedDevicesTest, TensorsOutliveTheSessionThatMadeThem) {
  const StatusOr<Tensor> made = memory()->CopyToDevice(Tensor::Scalar(5.0f));
  ASSERT_TRUE(made.ok()) << made.status();
  devices_ = NewList();
  const StatusOr<Tensor> read = memory()->ReadOnHost(*made, [] { return absl::OkStatus(); });
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read->data<float>(), 5.0f);
}

TEST_F(SharedDevicesTest, UsersReleaseWhatTheyKeepWhenMemoryIsExhausted) {
  StatusOr<Tensor> kept = Allocate(memory(), 40);  // of 64
  ASSERT_TRUE(kept.ok()) << kept.status();
  const auto user = std::make_shared<User>(*std::move(kept));
  kept = Tensor();
  EXPECT_FALSE(Allocate(memory(), 40).ok());
  shared_.AddUser(std::make_shared<User>());  // is gone at once
  shared_.AddUser(user);
  EXPECT_TRUE(Allocate(memory(), 40).ok());
}

TEST_F(SharedDevicesTest, ADeviceThatIsLostIsOpenedAgain) {
  const StatusOr<Tensor> made = memory()->CopyToDevice(Tensor::Scalar(5.0f));
  ASSERT_TRUE(made.ok()) << made.status();
  DeviceMemory* const lost = memory();
  DeviceMemory* const other = Find(devices_, "SIM:1")->memory();
  SetOnSims(0, "lost", 1);
  const DeviceList again = NewList();
  EXPECT_NE(Find(again, "SIM:0")->memory(), lost);
  EXPECT_EQ(Find(again, "SIM:1")->memory(), other);
  EXPECT_NE(Find(again, "SIM:0")->description().incarnation,
            Find(devices_, "SIM:0")->description().incarnation);
  EXPECT_EQ(Find(NewList(), "SIM:0")->memory(), Find(again, "SIM:0")->memory());
  EXPECT_FALSE(lost->CopyToHost(*made, nullptr).ok());
}

TEST_F(SharedDevicesTest, AUserIsKeptUntilWhatItLeftIsComplete) {
  LeaveHangingCopy();
  auto user = std::make_shared<User>();
  const std::weak_ptr<User> kept = user;
  shared_.KeepUntilIdle(std::move(user));
  shared_.LetGo();
  EXPECT_FALSE(kept.expired());
  SetOnSims(0, "hang_copy", 0);
  EXPECT_TRUE(Eventually([&] {
    shared_.LetGo();
    return kept.expired();
  }));
  EXPECT_TRUE(memory()->CopyToDevice(Tensor::Scalar(1.0f)).ok());
}

TEST_F(SharedDevicesTest, AUserIsLetGoWhenTheDeviceOfItsWorkIsLostAndOpenedAgain) {
  LeaveHangingCopy();
  auto user = std::make_shared<User>();
  const std::weak_ptr<User> kept = user;
  shared_.KeepUntilIdle(std::move(user));
  EXPECT_FALSE(shared_.HasLost());
  SetOnSims(0, "lost", 1);
  EXPECT_TRUE(shared_.HasLost());
  const DeviceList again = NewList();
  EXPECT_TRUE(shared_.HasLost());
  shared_.LetGo();
  EXPECT_TRUE(kept.expired());
}

// The device that has the source is destroyed before the one that has the copy.
TEST_F(SharedDevicesTest, ACopyThatHangsAtTheEndKeepsTheMemoryOfItsSource) {
  DeviceMemory* const source = Find(devices_, "SIM:1")->memory();
  const StatusOr<Tensor> made = source->CopyToDevice(Tensor::Scalar(5.0f));
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE(memory()->CanCopyFrom(*source));
  SetOnSims(0, "hang_copy", 1);
  EXPECT_TRUE(memory()->CopyFromPeer(*made, nullptr).ok());
  AwaitHangOnSims(0);
  memory()->NoteAbandoned();
}

TEST_F(SharedDevicesTest, AtTheEndADeviceThatHangsIsClosed) {
  LeaveHangingCopy();
  auto user = std::make_shared<User>();
  const std::weak_ptr<User> kept = user;
  shared_.KeepUntilIdle(std::move(user));
  shared_.Close();
  EXPECT_TRUE(kept.expired());
}

}  // namespace
}  // namespace millstream
