#include "core/device/device_set.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr char kFirst[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kSecond[] = "/job:worker/replica:0/task:1/device:GPU:0";
constexpr char kThird[] = "/job:worker/replica:0/task:1/device:GPU:1";

DeviceSet SetOf(const std::vector<std::string>& names) {
  DeviceSet set;
  for (const std::string& name : names) set.Add({name, DeviceTraits()});
  return set;
}

TEST(DeviceSetTest, ADescriptionKnowsThePartsOfItsName) {
  const DeviceDescription device(kSecond, DeviceTraits());
  EXPECT_EQ(device.type(), "GPU");
  EXPECT_EQ(device.parsed_name.task, 1);
  EXPECT_EQ(device.incarnation, 0);
}

TEST(DeviceSetTest, DevicesAreFoundByTheirFullNames) {
  const DeviceSet set = SetOf({kFirst, kSecond});
  EXPECT_EQ(set.Find(kSecond), 1);
  EXPECT_EQ(set.Find(kThird), -1);
  EXPECT_EQ(set.Find("/device:CPU:0"), -1);
  EXPECT_EQ(set.Names(), std::string(kFirst) + ", " + kSecond);
}

TEST(DeviceSetTest, PeersAreKeptByDirectionWhenSetsAreJoined) {
  DeviceSet other = SetOf({kSecond, kThird});
  other.AddPeers(0, 1);
  DeviceSet set = SetOf({kFirst});
  set.Append(other);
  ASSERT_EQ(set.size(), 3);
  EXPECT_EQ(set[2].name, kThird);
  EXPECT_TRUE(set.ArePeers(1, 2));
  EXPECT_FALSE(set.ArePeers(2, 1));
  EXPECT_FALSE(set.ArePeers(0, 1));
}

TEST(DeviceSetTest, PeersAreKeptAmongTheDevicesThatAreSelected) {
  DeviceSet all = SetOf({kFirst, kSecond, kThird});
  all.AddPeers(2, 1);
  all.AddPeers(0, 1);
  const DeviceSet some =
      all.Select([](const DeviceDescription& device) { return device.name != kFirst; });
  ASSERT_EQ(some.size(), 2);
  EXPECT_EQ(some[0].name, kSecond);
  EXPECT_EQ(some[1].name, kThird);
  EXPECT_TRUE(some.ArePeers(1, 0));
  EXPECT_FALSE(some.ArePeers(0, 1));
}

}  // namespace
}  // namespace millstream
