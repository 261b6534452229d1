#include "core/device/device_name.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr char kFull[] = "/job:worker/replica:2/task:1/device:CPU:0";

DeviceName Name(const std::string& text) {
  const StatusOr<DeviceName> name = DeviceName::Parse(text);
  EXPECT_TRUE(name.ok()) << name.status();
  return name.ok() ? *name : DeviceName();
}

TEST(DeviceNameTest, ReadsEveryPart) {
  const DeviceName name = Name(kFull);
  EXPECT_EQ(name.job, "worker");
  EXPECT_EQ(name.replica, 2);
  EXPECT_EQ(name.task, 1);
  EXPECT_EQ(name.type, "CPU");
  EXPECT_EQ(name.index, 0);
  EXPECT_EQ(name.ToString(), kFull);
}

TEST(DeviceNameTest, ReadsTheShortFormAndMixtures) {
  EXPECT_EQ(Name("/cpu:0").ToString(), "/device:CPU:0");
  EXPECT_EQ(Name("/job:ps/gpu:1").ToString(), "/job:ps/device:GPU:1");
  EXPECT_EQ(Name("/device:gpu:3/task:4").ToString(), "/task:4/device:GPU:3");
}

TEST(DeviceNameTest, AStarLeavesAPartOpen) {
  EXPECT_FALSE(Name("/device:GPU:*").index.has_value());
  EXPECT_FALSE(Name("/device:*:1").type.has_value());
  EXPECT_FALSE(Name("/job:a/task:*").task.has_value());
  EXPECT_EQ(Name("/gpu:*").ToString(), "/device:GPU:*");
}

TEST(DeviceNameTest, NothingIsEverything) {
  EXPECT_EQ(Name("").ToString(), "");
  EXPECT_TRUE(Name("").Fits(Name(kFull)));
}

TEST(DeviceNameTest, FitsWhatHasAllItsParts) {
  const DeviceName device = Name(kFull);
  for (const char* wanted : {"/cpu:0", "/device:CPU:*", "/job:worker", "/task:1/cpu:0", kFull}) {
    EXPECT_TRUE(Name(wanted).Fits(device)) << wanted;
  }
  for (const char* wanted : {"/cpu:1", "/gpu:0", "/job:ps", "/replica:0", "/task:2/cpu:0"}) {
    EXPECT_FALSE(Name(wanted).Fits(device)) << wanted;
  }
}

TEST(DeviceNameTest, APartThatIsOpenInTheDeviceFitsNoWish) {
  EXPECT_FALSE(Name("/cpu:0").Fits(Name("/job:worker")));
}

TEST(DeviceNameTest, SaysWhatCannotBeRead) {
  for (const char* text : {"/job:", "/task:first", "/cpu:-1", "/device:CPU:0:1", "/replica:1.5"}) {
    const Status status = DeviceName::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(text));
  }
}

}  // namespace
}  // namespace millstream
